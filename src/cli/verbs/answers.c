/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/verbs/answers.h"

#include <stdlib.h>
#include <string.h>

#include "cli/call/consent.h"
#include "cli/call/staged.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

enum { EXIT_WAITS = 1 }; /* the request was not answered */

static int fail(struct tc_failure *failure, const struct tc_fault *fault)
{
    return tc_failure_set(failure, fault->code, fault->hint, "%s", fault->text);
}

static int answer_one(const struct tc_queued *q, enum tc_answer said, const char *reason,
                      struct tc_failure *failure)
{
    struct tc_fault fault;
    int rc = tc_queue_answer(q, said, reason, &fault);
    if (rc < 0)
        return fail(failure, &fault);
    if (said != TC_ANSWER_NO && !tc_staged_is(q))
        tc_subject_approved(tc_json_of(q->subject));
    tc_cli_say("%s request %s%s", said == TC_ANSWER_NO ? "refused" : "approved", q->id,
               said == TC_ANSWER_SESSION ? ", and equal calls of its server for an hour" : "");
    if (rc)
        tc_cli_hint("the program whose call waits has not read the answer yet");
    return 0;
}

/* The requests that wait with the same digest: their calls are equal in everything that an approval
 * covers. */
struct equal {
    struct tc_queued *items;
    size_t count;
};

static void free_equal(struct equal *equal)
{
    tc_queue_free(equal->items, equal->count);
}
#define _autoequal_ __attribute__((cleanup(free_equal)))

static bool is_equal(const struct tc_queued *a, const struct tc_queued *b)
{
    return strcmp(a->id, b->id) != 0 && strcmp(a->digest, b->digest) == 0;
}

/* With --all-equal, the other requests that wait now: later ones are not answered. */
static int find_equal(const struct tc_args *args, const struct tc_queued *q, struct equal *ret,
                      struct tc_failure *failure)
{
    struct tc_fault fault;
    size_t found = 0;
    if (!tc_args_has(args, "all-equal"))
        return 0;
    if (tc_queue_list(&ret->items, &ret->count, &fault) < 0)
        return fail(failure, &fault);
    for (size_t i = 0; i < ret->count; i++)
        found += is_equal(&ret->items[i], q);
    tc_cli_say("%zu other request%s equal; the answer is for all", found,
               found == 1 ? " is" : "s are");
    return 0;
}

/* One that is gone keeps no other from its answer. */
static int answer(const struct equal *equal, const struct tc_queued *q, enum tc_answer said,
                  const char *reason, struct tc_failure *failure)
{
    int rc = answer_one(q, said, reason, failure);
    for (size_t i = 0; i < equal->count; i++) {
        _autofailure_ struct tc_failure other = {0};
        if (is_equal(&equal->items[i], q) && answer_one(&equal->items[i], said, reason, &other))
            tc_cli_say("request %s was not answered: %s", equal->items[i].id,
                       other.message ? other.message : "it no longer waits");
    }
    return rc;
}

static int ask(const struct equal *equal, const struct tc_queued *q, enum tc_answer yes,
               const struct tc_person *person, struct tc_failure *failure)
{
    _autofree_ char *reason = NULL;
    if (tc_staged_is(q))
        return tc_staged_approve(q, person, 0, NULL, failure);
    char said = tc_person_decide(person, tc_json_of(q->subject), &reason);
    if (said)
        return answer(equal, q, said == 'y' ? yes : TC_ANSWER_NO, reason, failure);
    tc_cli_say("request %s was not answered: its call still waits", q->id);
    return EXIT_WAITS;
}

static enum tc_answer yes_of(const struct tc_args *args)
{
    return tc_args_has(args, "session") ? TC_ANSWER_SESSION : TC_ANSWER_YES;
}

/* After `show` has printed it. */
static int approve_shown(const struct tc_args *args, const struct equal *equal,
                         const struct tc_queued *q, struct tc_failure *failure)
{
    _autofree_ char **only = calloc(args->given_count + 1, sizeof(*only));
    size_t count = 0;
    if (!tc_staged_is(q))
        return answer(equal, q, yes_of(args), NULL, failure);
    if (!only)
        return tc_cli_no_memory();
    for (size_t i = 0; i < args->given_count; i++)
        if (!strcmp(args->given[i].option->name, "only"))
            only[count++] = (char *)args->given[i].value;
    return tc_staged_approve(q, NULL, count, only, failure);
}

/* Only a server makes an equal call again. */
static int check_session(const struct tc_args *args, const struct tc_queued *q,
                         struct tc_failure *failure)
{
    if (!tc_args_has(args, "session"))
        return 0;
    if (tc_args_has(args, "all-equal"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out one of them",
                              "--session is for one server, and --all-equal for the calls of all");
    if (strcmp(q->asker, "mcp") == 0 && !tc_staged_is(q))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out --session",
                          "--session is for a call that a server (toolcage mcp) makes again");
}

int tc_answers_approve(const struct tc_args *args, const struct tc_queued *q,
                       struct tc_failure *failure)
{
    const char *digest = tc_args_value(args, "digest");
    struct tc_person person = {.fd = -1};
    _autoequal_ struct equal equal = {0};
    int rc;
    if (tc_args_has(args, "only") && (!digest || !tc_staged_is(q)))
        return tc_failure_set(
            failure, TOOLCAGE_EUSAGE,
            "at a terminal, f asks about each file: toolcage approvals approve ID",
            "--only needs --digest, and a request about changes");
    if (digest && strcmp(digest, q->digest) != 0)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage approvals show ID",
                              "request %s has another digest than the one that was shown", q->id);
    if (check_session(args, q, failure) || find_equal(args, q, &equal, failure))
        return -1;
    if (digest)
        return approve_shown(args, &equal, q, failure);
    if (tc_person_open(&person))
        rc = ask(&equal, q, yes_of(args), &person, failure);
    else
        rc = tc_failure_set(failure, TOOLCAGE_EUSAGE,
                            "toolcage approvals show ID prints it, for --digest",
                            "there is no terminal to show request %s at, so approve needs the "
                            "digest that was shown",
                            q->id);
    tc_person_close(&person);
    return rc;
}

int tc_answers_deny(const struct tc_args *args, const struct tc_queued *q,
                    struct tc_failure *failure)
{
    _autoequal_ struct equal equal = {0};
    return find_equal(args, q, &equal, failure)
               ? -1
               : answer(&equal, q, TC_ANSWER_NO, tc_args_value(args, "reason"), failure);
}
