/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The call object before it runs: construction, setters, cancel, end. */
#include "call/call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/live.h"
#include "call/plan_cache.h"
#include "call/ports.h"

static int fail_usage(struct toolcage_error **err, const char *subject, const char *hint,
                      const char *message)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "call", subject, hint), "%s", message);
}

static int fail_system(struct toolcage_error **err, const char *what)
{
    return tc_fail(
        err,
        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "call", what, errno,
                     "see whether this process is at its limit of open files (ulimit -n)"),
        "cannot create the call: %s failed", what);
}

int tc_call_check_new(const struct toolcage_call *call, const char *stage,
                      struct toolcage_error **err)
{
    int r = tc_engine_check(call->engine, err);
    if (r < 0 || call->state == TC_CALL_NEW)
        return r;
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, stage, call->id, "make a new call: each runs once"),
                   "the call was started already");
}

/* Every setter begins with this check. */
static int check_new(const struct toolcage_call *call, struct toolcage_error **err)
{
    return tc_call_check_new(call, "call", err);
}

static int fail_name(const struct toolcage_policy *policy, const char *tool,
                     struct toolcage_error **err)
{
    _autofree_ char *names = tc_policy_name_hint(policy, tool);
    if (!names)
        return tc_fail_memory(err);
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_ENOT_FOUND, "call", tool,
                          tc_startswith(tool, "server.") ? "see [server.…] in the policy" : names),
                   "the policy %s has no tool %s", tc_policy_name(policy), tool);
}

static int make_sockets(struct toolcage_call *call, struct toolcage_error **err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_system(err, "socketpair");
    call->sock = pair[0];
    call->peer = pair[1];
    return 0;
}

static int make_call(struct toolcage_engine *engine, struct toolcage_policy *policy,
                     const char *tool, struct toolcage_call **ret, struct toolcage_error **err)
{
    int r = 0;
    struct toolcage_call *call = calloc(1, sizeof(*call));
    if (!call)
        return tc_fail_memory(err);
    call->sock = call->peer = call->input.pipe = call->image = call->exchanges = -1;
    call->collected = -1;
    atomic_init(&call->cancelled, false);
    call->engine = tc_engine_ref(engine);
    call->policy = tc_policy_ref(policy);
    if (tool && !(call->tool = strdup(tool)))
        r = tc_fail_memory(err);
    else if (tc_ulid(call->id) < 0)
        r = fail_system(err, "getrandom");
    else
        r = make_sockets(call, err);
    if (r < 0)
        call = tc_call_unref(call);
    else
        *ret = call;
    return r;
}

/* A model may choose the tool's name. So this function refuses the names of install phases. */
int tc_call_new(struct toolcage_engine *engine, struct toolcage_policy *policy, const char *tool,
                struct toolcage_call **ret, struct toolcage_error **err)
{
    int r = tc_engine_check(engine, err);
    if (r < 0)
        return r;
    if (tool && (!tc_policy_has_tool(policy, tool) || tc_policy_names_setup(policy, tool)))
        return fail_name(policy, tool, err);
    return make_call(engine, policy, tool, ret, err);
}

int tc_call_new_setup(struct toolcage_engine *engine, struct toolcage_policy *policy,
                      const char *tool, struct toolcage_call **ret, struct toolcage_error **err)
{
    struct tc_install install;
    int r = tc_engine_check(engine, err);
    if (r < 0)
        return r;
    if (!tc_policy_setup(policy, tool, &install) || strcmp(install.tool, tool) != 0)
        return tc_fail(
            err, TC_WHY(TOOLCAGE_ENOT_FOUND, "call", tool, "toolcage-policy(5) describes `setup`"),
            "no tool %s of the policy %s has an install phase", tool, tc_policy_name(policy));
    r = make_call(engine, policy, install.name, ret, err);
    if (r == 0)
        (*ret)->installs = true;
    return r;
}

static void close_all(struct toolcage_call *call)
{
    const int fds[] = {call->sock, call->peer, call->input.pipe};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

struct toolcage_call *tc_call_unref(struct toolcage_call *call)
{
    if (!call)
        return NULL;
    /* shutdown() cancels the call. close() would not while a fork of the host holds a copy; and
     * a fork that frees its copy of the call must not cancel it. */
    if (!tc_engine_forked(call->engine)) {
        if (call->sock >= 0)
            (void)shutdown(call->sock, SHUT_RDWR);
        tc_call_record_abandoned(call);
    }
    close_all(call);
    free(call->tool);
    free(call->arguments);
    free(call->session);
    free(call->input.bytes);
    tc_strv_done(&call->argv);
    for (size_t i = 0; i < call->narrow_count; i++) {
        free(call->narrow[i].key);
        free(call->narrow[i].value);
    }
    free(call->narrow);
    tc_plan_cache_leave(tc_engine_plans(call->engine), call);
    tc_grant_done(&call->grant);
    tc_approval_done(&call->approval);
    tc_stage_free(call->stage);
    if (call->image >= 0)
        (void)close(call->image);
    if (call->exchanges >= 0)
        (void)close(call->exchanges);
    tc_ports_done(call);
    tc_result_free(call->result);
    (void)tc_policy_unref(call->policy);
    (void)tc_engine_unref(call->engine);
    free(call);
    return NULL;
}

int tc_call_set_command(struct toolcage_call *call, size_t argc, const char *const argv[],
                        struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r < 0)
        return r;
    _autostrv_ struct tc_strv copy = {0};
    for (size_t i = 0; i < argc; i++)
        if (!tc_strv_add(&copy, argv[i]))
            return tc_fail_memory(err);
    tc_strv_done(&call->argv);
    call->shell = call->live_file = false;
    call->argv = copy;
    copy = (struct tc_strv){0};
    return 0;
}

static int replace(char **field, const char *text, struct toolcage_error **err)
{
    char *copy = strdup(text);
    if (!copy)
        return tc_fail_memory(err);
    free(*field);
    *field = copy;
    return 0;
}

int tc_call_set_arguments(struct toolcage_call *call, const char *json, struct toolcage_error **err)
{
    int r = check_new(call, err);
    return r < 0 ? r : replace(&call->arguments, json, err);
}

int tc_call_set_session(struct toolcage_call *call, const char *name, struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r == 0 && tc_call_is_live(call))
        r = fail_usage(err, "session", "leave the stored session out",
                       "a live session, or a command in one, has no stored session");
    if (r < 0)
        return r;
    if (!tc_session_name(name))
        return fail_usage(
            err, "session",
            "up to 64 letters, digits, dots, dashes and underscores, no dot or dash first",
            "the session's name cannot be used");
    return replace(&call->session, name, err);
}

int tc_call_set(struct toolcage_call *call, const char *key, const char *value,
                struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r < 0)
        return r;
    r = tc_policy_check_narrowing(key, value, err);
    if (r == 0)
        r = tc_live_check_key(call, key, err);
    if (r < 0)
        return r;
    _autofree_ char *key_copy = strdup(key), *value_copy = strdup(value);
    struct tc_narrowing *n =
        key_copy && value_copy ? TC_PUSH(call->narrow, call->narrow_count) : NULL;
    if (!n)
        return tc_fail_memory(err);
    n->key = TAKE(key_copy);
    n->value = TAKE(value_copy);
    return 0;
}

int tc_call_set_stdin(struct toolcage_call *call, const void *bytes, size_t length,
                      struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r < 0)
        return r;
    if (call->rows)
        return fail_usage(err, "stdin",
                          "use toolcage_call_open_stdin(), and write the keystrokes to it",
                          "a call with a terminal has no preset standard input");
    if (call->input.pipe >= 0)
        return fail_usage(err, "stdin", "write the bytes to that descriptor",
                          "standard input was opened as a pipe already");
    char *copy = malloc(length + 1);
    if (!copy)
        return tc_fail_memory(err);
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    free(call->input.bytes);
    call->input.bytes = copy;
    call->input.length = length;
    call->input.given = true;
    return 0;
}

int tc_call_open_stdin(struct toolcage_call *call, int *ret_fd, struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r < 0)
        return r;
    if (call->input.given)
        return fail_usage(err, "stdin",
                          "use one of toolcage_call_set_stdin() and toolcage_call_open_stdin()",
                          "standard input was set already");
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return fail_system(err, "pipe2");
    call->input.pipe = pair[0];
    call->input.given = true;
    *ret_fd = pair[1];
    return 0;
}

static int check_size(int rows, int columns, struct toolcage_error **err)
{
    if (rows > 0 && rows <= UINT16_MAX && columns > 0 && columns <= UINT16_MAX)
        return 0;
    return fail_usage(err, "terminal", "give 1 to 65535 rows and columns, as in 24 and 80",
                      "invalid terminal size");
}

int tc_call_set_terminal(struct toolcage_call *call, int rows, int columns,
                         struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r == 0)
        r = check_size(rows, columns, err);
    if (r == 0 && (call->lifetime_ms || call->live_file))
        r = fail_usage(err, "terminal", "give one to the session's commands",
                       "a live session and its file actions have no terminal");
    if (r < 0)
        return r;
    if (call->input.bytes)
        return fail_usage(err, "stdin",
                          "use toolcage_call_open_stdin(), and write the keystrokes to it",
                          "a call with a terminal has no preset standard input");
    call->rows = (uint16_t)rows;
    call->columns = (uint16_t)columns;
    return 0;
}

bool tc_call_is_behind(const struct toolcage_call *call)
{
    enum { UNHEARD_MAX = 16384 };
    int unheard = 0;
    return ioctl(call->sock, SIOCOUTQ, &unheard) < 0 || unheard > UNHEARD_MAX;
}

int tc_call_resize(struct toolcage_call *call, int rows, int columns, struct toolcage_error **err)
{
    int r = tc_engine_check(call->engine, err);
    if (r == 0)
        r = check_size(rows, columns, err);
    if (r < 0)
        return r;
    if (!call->rows)
        return fail_usage(err, call->id, "call toolcage_call_set_terminal() before start",
                          "the call has no terminal");
    if (call->state == TC_CALL_DONE)
        return 0;
    if (call->state == TC_CALL_RUNNING && tc_call_is_behind(call))
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                        .stage = "resize",
                                        .hint = "try again in a moment"},
                       "the helper has not processed earlier sizes yet");
    call->rows = (uint16_t)rows;
    call->columns = (uint16_t)columns;
    struct tc_message resize = {
        .kind = TC_MESSAGE_RESIZE, .rows = call->rows, .columns = call->columns};
    if (call->state == TC_CALL_RUNNING)
        (void)tc_send(call->sock, &resize, sizeof(resize), NULL, 0);
    return 0;
}

int tc_call_set_output(struct toolcage_call *call, toolcage_output_fn fn, void *userdata,
                       struct toolcage_error **err)
{
    int r = check_new(call, err);
    if (r < 0)
        return r;
    call->output = fn;
    call->userdata = userdata;
    return 0;
}

int tc_call_fd(const struct toolcage_call *call)
{
    if (tc_engine_forked(call->engine))
        return TOOLCAGE_EFORKED;
    return call->state == TC_CALL_NEW ? TOOLCAGE_EUSAGE : call->sock;
}

int tc_call_cancel(struct toolcage_call *call)
{
    if (tc_engine_forked(call->engine))
        return TOOLCAGE_EFORKED;
    if (atomic_exchange(&call->cancelled, true))
        return 0;
    /* The socket exists from construction: before start the message waits in it, after the end
     * it is not read. Resize messages leave room for it, so it cannot block. */
    const struct tc_message cancel = {.kind = TC_MESSAGE_CANCEL};
    (void)tc_send(call->sock, &cancel, sizeof(cancel), NULL, 0);
    return 0;
}
