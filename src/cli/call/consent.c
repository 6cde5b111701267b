/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Before a call that needs a person's approval: asks the user at the terminal, or waits for
 * `toolcage approvals`. No answer is a no. */
#include "cli/call/consent.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "approve/queue/queue.h"
#include "cli/call/notify.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

/* ---- at the terminal ---- */

bool tc_person_open(struct tc_person *ret)
{
    ret->in = NULL;
    ret->fd = isatty(STDERR_FILENO) ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    int copy = ret->fd < 0 ? -1 : fcntl(ret->fd, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0)
        ret->in = fdopen(copy, "r");
    return ret->in;
}

void tc_person_close(struct tc_person *person)
{
    if (person->in)
        (void)fclose(person->in);
    if (person->fd >= 0)
        (void)close(person->fd);
}

/* Is something left out? */
static bool show(struct tc_slice subject, bool whole)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return true;
    bool cut = tc_subject_show(out, subject, whole);
    if (!fclose(out))
        tc_cli_stderr_painted(TC_PAINT_NOTHING, text);
    free(text);
    return cut;
}

/* The last approved subject of the same tool and policy; owned, NULL: none. */
static char *read_last(struct tc_slice subject, int64_t *ret_at)
{
    _autofree_ char *tool = tc_json_text(tc_json_get(subject, "tool"));
    _autofree_ char *policy = tc_json_text(tc_json_get(subject, "policy"));
    return tool && policy ? tc_last_approved_read(tool, policy, ret_at) : NULL;
}

void tc_subject_approved(struct tc_slice subject)
{
    _autofree_ char *tool = tc_json_text(tc_json_get(subject, "tool"));
    _autofree_ char *policy = tc_json_text(tc_json_get(subject, "policy"));
    if (tool && policy)
        tc_last_approved_keep(tool, policy, subject.at, subject.length);
}

/* Shows what differs from the last approved call. False: nothing does, or it is not known.
 * *ret_cut: not all of it was shown. */
static bool show_new(struct tc_slice subject, bool *ret_cut)
{
    char *text = NULL, when[TC_CLI_TIME_SIZE];
    size_t size = 0;
    int64_t at = 0;
    bool any = false;
    _autofree_ char *last = read_last(subject, &at);
    struct tc_slice before = last ? tc_json_of(last) : (struct tc_slice){0};
    FILE *out = before.at ? open_memstream(&text, &size) : NULL;
    if (!out)
        return false;
    *ret_cut = tc_subject_compare(out, subject, before, &any);
    any = !fclose(out) && any;
    if (any) {
        tc_cli_time(when, at, false);
        tc_cli_say("only this differs from the call of it that was approved %s:", when);
        tc_cli_stderr_painted(TC_PAINT_NOTHING, text);
    }
    free(text);
    return any;
}

/* NULL: no reason. */
static char *ask_reason(const struct tc_person *person)
{
    char line[512] = "";
    if (!tc_cli_ask(person->fd, "why not? the model reads this; empty: no reason") ||
        !fgets(line, sizeof(line), person->in))
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return line[0] ? strdup(line) : NULL;
}

char tc_person_decide(const struct tc_person *person, struct tc_slice subject, char **ret_reason)
{
    _autofree_ char *tool = tc_json_line(tc_json_get(subject, "tool"));
    _autofree_ char *tier = tc_json_line(tc_json_get(subject, "tier"));
    *ret_reason = NULL;
    if (!tier)
        return 0;
    tc_cli_say("tool %s needs a person's approval (tier %s)", tool ? tool : "(a bare command)",
               tier);
    bool more = false, compared = show_new(subject, &more);
    if (!compared)
        more = show(subject, false); /* a person approves only what was shown */
    for (;;) {
        char answer = tc_cli_answer(person->fd, person->in,
                                    more       ? "run this call? v: view all of it first, n: no"
                                    : compared ? "run this call? y: yes, n: no, v: view all of it"
                                               : "run this call? y: yes, n: no");
        switch (more && answer == 'y' ? 'v' : answer) {
        case 'y':
            return 'y';
        case 'n':
            *ret_reason = ask_reason(person);
            return 'n';
        case 'v':
            more = show(subject, true);
            continue;
        default:
            return 0;
        }
    }
}

static const struct tc_claim *claimed;

static int ask_person(struct toolcage_call *call, const struct tc_person *person,
                      struct tc_slice subject, const char *digest, struct tc_failure *failure)
{
    _autofree_ char *reason = NULL;
    char answer = tc_person_decide(person, subject, &reason);
    if (answer == 'y' && claimed && claimed->take(claimed->userdata, failure))
        return -1;
    if (answer == 'n')
        return toolcage_call_deny(call, reason, tc_failure_error(failure));
    int rc = answer == 'y' ? toolcage_call_approve(call, digest, tc_failure_error(failure)) : 0;
    if (answer == 'y' && rc == 0)
        tc_subject_approved(subject);
    return rc;
}

/* ---- by the queue ---- */

static int fail_queue(struct toolcage_call *call, const struct tc_fault *fault,
                      struct tc_failure *failure)
{
    if (fault->code == TOOLCAGE_EDENIED)
        return toolcage_call_deny(call, fault->text, tc_failure_error(failure));
    return tc_failure_set(failure, fault->code, fault->hint, "%s", fault->text);
}

static int wait_for_person(struct toolcage_call *call, const char *asker, const char *request,
                           const char *digest, struct tc_failure *failure)
{
    const struct timespec pause = {.tv_nsec = TC_QUEUE_LOOK_MS * 1000000L};
    struct tc_fault fault;
    struct tc_wait *wait;
    _autofree_ char *reason = NULL;
    enum tc_answer answer;
    if (tc_wait_begin(request, asker, &wait, &fault) < 0)
        return fail_queue(call, &fault, failure);
    tc_cli_say("the call waits for a person's approval: toolcage approvals show %s",
               tc_wait_id(wait));
    tc_notify_request(tc_wait_id(wait));
    while ((answer = tc_wait_look(wait, &reason)) == TC_ANSWER_NONE)
        (void)nanosleep(&pause, NULL);
    tc_wait_end(wait);
    return answer != TC_ANSWER_NO ? toolcage_call_approve(call, digest, tc_failure_error(failure))
                                  : toolcage_call_deny(call, reason, tc_failure_error(failure));
}

/* ---- both ---- */

void tc_consent_claim(const struct tc_claim *claim)
{
    claimed = claim;
}

/* Is the call the stored one? Its policy is the one that was served, so that its tier is, too. */
static int check_claim(struct tc_slice request, struct tc_failure *failure)
{
    struct tc_slice subject = tc_json_get(request, "subject");
    if (tc_json_true(tc_json_get(request, "needed")) &&
        tc_scan_is(tc_json_get(subject, "policy"), claimed->policy))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EDENIED,
                          "toolcage approvals deny ID removes the call; the model can ask again",
                          "the policy has changed since the model asked for this call");
}

static int fail_alone(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_EDENIED, "run it at a terminal",
                          "only a person starts this call, and there is no terminal to ask at");
}

static int ask(struct toolcage_call *call, const char *queue, const char *json,
               struct tc_failure *failure)
{
    struct tc_person person = {.fd = -1};
    struct tc_slice request = tc_json_of(json), subject = tc_json_get(request, "subject");
    _autofree_ char *digest = tc_json_text(tc_json_get(request, "digest"));
    int rc = 0;
    if (claimed && check_claim(request, failure))
        return -1;
    if (!digest || !tc_json_true(tc_json_get(request, "needed")))
        return 0;
    /* a call of this tier is started by a person, so one must be at a terminal */
    bool by_hand = tc_scan_is(tc_json_get(subject, "tier"), "ManualOnly");
    if (tc_person_open(&person))
        rc = ask_person(call, &person, subject, digest, failure);
    else if (claimed)
        rc = fail_alone(failure);
    else if (queue && !by_hand)
        rc = wait_for_person(call, queue, json, digest, failure);
    tc_person_close(&person);
    return rc;
}

int tc_consent_ask(struct toolcage_call *call, const char *queue, struct tc_failure *failure)
{
    _autoerror_ struct toolcage_error *err = NULL;
    char *json = NULL;
    if (claimed && !isatty(STDERR_FILENO))
        return fail_alone(failure);
    if (!queue && !isatty(STDERR_FILENO))
        return 0;
    if (toolcage_call_approval_json(call, &json, &err)) /* else start fails for the same reason */
        return strcmp(toolcage_error_stage(err), "approve") == 0
                   ? toolcage_call_deny(call, toolcage_error_message(err),
                                        tc_failure_error(failure))
                   : 0;
    int rc = ask(call, queue, json, failure);
    toolcage_free(json);
    return rc;
}
