/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/live.h"

#include <string.h>

#include "base/fd.h"
#include "base/jsontext.h"

enum { SLACK_MS = 60000 /* for the start; then the session's own times end it earlier */ };
enum { SIGNAL_MAX = 64 };

#define LONGEST_MS (INT64_C(30) * 24 * 3600 * 1000)

/* The policy's lifetime, or without a policy file 8 hours. */
#define UNSAID (-1)
#define USUAL_MS (INT64_C(8) * 3600 * 1000)

/* Stands for the command that a session does not have. */
#define NO_COMMAND "live-session"

static int fail_usage(struct toolcage_error **err, const char *subject, const char *hint,
                      const char *message)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "session", subject, hint), "%s", message);
}

static bool is_time(int64_t ms)
{
    return ms > 0 && ms <= LONGEST_MS;
}

int tc_live_open(struct toolcage_call *call, int64_t idle_ms, int64_t lifetime_ms,
                 struct toolcage_error **err)
{
    static const char *const none[] = {NO_COMMAND};
    int r = tc_call_check_new(call, "session", err);
    if (r < 0)
        return r;
    if (!is_time(idle_ms) || (lifetime_ms && !is_time(lifetime_ms)))
        return fail_usage(err, call->id, "give times from 1 ms to 30 days",
                          "a live session needs an idle time and a lifetime");
    if (call->argv.count || call->arguments || call->session || call->input.given || call->rows ||
        call->installs || call->live_in[0])
        return fail_usage(err, call->id, "give them to the session's commands",
                          "a live session has no command, arguments, input, terminal or stored "
                          "session");
    r = tc_call_set_command(call, 1, none, err);
    if (r < 0)
        return r;
    call->idle_ms = idle_ms;
    call->lifetime_ms = lifetime_ms ? lifetime_ms : UNSAID;
    return 0;
}

static int check_started(const struct toolcage_call *session, struct toolcage_error **err)
{
    int r = tc_engine_check(session->engine, err);
    if (r < 0)
        return r;
    return session->lifetime_ms && session->state != TC_CALL_NEW
               ? 0
               : fail_usage(err, session->id,
                            "call toolcage_session_open() and toolcage_call_start() first",
                            "this call is not a live session that was started");
}

int tc_live_wait(struct toolcage_call *session, int timeout_ms, struct toolcage_error **err)
{
    int r = check_started(session, err);
    return r < 0 ? r : tc_call_wait_ready(session, timeout_ms, err);
}

int tc_live_call(const struct toolcage_call *session, struct toolcage_call **ret,
                 struct toolcage_error **err)
{
    int r = check_started(session, err);
    if (r == 0 && !session->ready)
        r = fail_usage(err, session->id, "call toolcage_session_wait() first",
                       "the live session does not accept commands yet");
    struct toolcage_call *call = NULL;
    if (r == 0)
        r = tc_call_new(session->engine, session->policy, session->tool, &call, err);
    for (size_t i = 0; r == 0 && i < session->narrow_count; i++)
        r = tc_call_set(call, session->narrow[i].key, session->narrow[i].value, err);
    if (r < 0) {
        (void)tc_call_unref(call);
        return r;
    }
    memcpy(call->live_in, session->id, sizeof(call->live_in));
    *ret = call;
    return 0;
}

int tc_live_shell(struct toolcage_call *call, const char *text, struct toolcage_error **err)
{
    const char *const argv[] = {"sh", "-c", text};
    int r = tc_call_check_new(call, "session", err);
    if (r == 0 && !call->live_in[0])
        r = fail_usage(err, call->id, "make the call with toolcage_session_call()",
                       "only a command of a live session continues its shell");
    if (r == 0)
        r = tc_call_set_command(call, TC_COUNT(argv), argv, err);
    call->shell = r == 0;
    return r;
}

int tc_live_signal(struct toolcage_call *call, int number, struct toolcage_error **err)
{
    const struct tc_message message = {.kind = TC_MESSAGE_SIGNAL, .signal = number};
    int r = tc_engine_check(call->engine, err);
    if (r < 0)
        return r;
    if (!call->live_in[0] || call->state == TC_CALL_NEW)
        return fail_usage(err, call->id, "start a call of toolcage_session_call() first",
                          "this call is not a running command of a live session");
    if (number < 1 || number > SIGNAL_MAX)
        return fail_usage(err, "signal", "give a number from 1 to 64", "there is no such signal");
    if (call->state == TC_CALL_DONE)
        return 0;
    if (tc_call_is_behind(call))
        return tc_fail(err, TC_WHY(TOOLCAGE_ESYSTEM, "signal", call->id, "try again in a moment"),
                       "the helper has not processed earlier messages yet");
    (void)tc_send(call->sock, &message, sizeof(message), NULL, 0);
    return 0;
}

int tc_live_end(struct toolcage_call *session, struct toolcage_error **err)
{
    const struct tc_message end = {.kind = TC_MESSAGE_END};
    int r = check_started(session, err);
    if (r < 0 || session->state != TC_CALL_RUNNING || session->asked_to_end)
        return r;
    session->asked_to_end = true;
    (void)tc_send(session->sock, &end, sizeof(end), NULL, 0);
    return 0;
}

int tc_live_check_key(const struct toolcage_call *call, const char *key,
                      struct toolcage_error **err)
{
    static const char *const keys[] = {"timeout", "output", "env", "cwd"};
    for (size_t i = 0; i < TC_COUNT(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return 0;
    if (!call->live_in[0])
        return 0;
    return fail_usage(err, key, "set it when the session starts",
                      "a command of a live session can change only its timeout, output, env and "
                      "cwd");
}

/* A call publishes nothing: a flag that has no effect would mislead. */
static int refuse_publish(const struct toolcage_call *call, struct toolcage_error **err)
{
    for (size_t i = 0; i < call->narrow_count; i++)
        if (strcmp(call->narrow[i].key, "publish") == 0)
            return fail_usage(err, "publish", "start a live session: toolcage session start NAME",
                              "only live sessions publish ports");
    return 0;
}

static int refuse_lifetime(const struct toolcage_call *call, struct toolcage_error **err)
{
    const char *prefix = NULL;
    uint32_t line = tc_policy_line(call->policy, call->tool, "session_lifetime", &prefix);
    _autofree_ char *hint =
        tc_format(line ? "ask for a shorter lifetime"
                       : "set session_lifetime in [%s%s], as in session_lifetime = \"8h\"",
                  call->tool ? "tool." : "defaults", call->tool ? call->tool : "");
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EDENIED,
                                    .stage = "session",
                                    .subject = "session_lifetime",
                                    .hint = hint,
                                    .file = line ? tc_policy_file(call->policy, line) : NULL,
                                    .line = tc_policy_number(line),
                                    .column = line ? 1 : 0},
                   line ? "the lifetime is longer than session_lifetime allows"
                        : "the policy grants no live session");
}

/* Without a policy file the caller sets the lifetime. */
int tc_live_check(struct toolcage_call *call, struct toolcage_error **err)
{
    int64_t most = call->grant.limits.session_lifetime_ms;
    if (!tc_call_is_live(call))
        return refuse_publish(call, err);
    if (call->lifetime_ms == UNSAID && tc_policy_is_callers(call->policy))
        call->lifetime_ms = USUAL_MS;
    else if (call->lifetime_ms == UNSAID && most)
        call->lifetime_ms = most;
    if (!call->lifetime_ms || tc_policy_is_callers(call->policy) ||
        (call->lifetime_ms > 0 && call->lifetime_ms <= most))
        return 0;
    return refuse_lifetime(call, err);
}

bool tc_live_plan(const struct toolcage_call *call, struct tc_plan *plan)
{
    plan->idle_ms = call->idle_ms;
    plan->lifetime_ms = call->lifetime_ms;
    if (call->lifetime_ms)
        plan->limits.timeout_ms = call->lifetime_ms + SLACK_MS;
    plan->live_shell = call->shell;
    plan->live_file = call->live_file;
    if (call->lifetime_ms && !tc_strv_copy(&plan->publish, &call->grant.publish))
        return false;
    plan->live_in = call->live_in[0] ? strdup(call->live_in) : NULL;
    return plan->live_in || !call->live_in[0];
}
