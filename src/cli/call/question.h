/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The question about a call's staged changes. A person's answer is bound to the digest of the shown
 * changes. */
#ifndef TC_CLI_CALL_QUESTION_H
#define TC_CLI_CALL_QUESTION_H

#include <stdio.h>

#include "cli/call/run.h"
#include "cli/show/review.h"

struct tc_question {
    struct toolcage_engine *engine;
    const char *call;
    int fd; /* the terminal */
    FILE *terminal;
    char *json;   /* the staged changes, as the library lists them */
    char *digest; /* of them; NULL: they cannot be read */
    struct tc_review review;
    bool shown; /* all of it was shown */
    struct tc_decided decided;
    const struct tc_waiting_request *asked; /* NULL: no request waits */
};

/* each.c: asks about each file separately, and settles them. 0, or the exit code of a failure. */
int tc_question_each(struct tc_question *q);
/* Settles some changes, or all; 0, or the exit code of a failure. `digest`: only if all staged
 * changes still have it; NULL: a part of them was settled by this answer already. */
int tc_question_settle(struct tc_question *q, const char *action, const char *digest, size_t count,
                       char *const paths[]);
/* Reports the changes that could not be applied. */
void tc_question_say_left(struct tc_slice answered, const char *call);
/* Adds what an answer says about the changes, of which `before` were staged at first. */
void tc_question_count(struct tc_slice answered, size_t before, struct tc_decided *ret);

#endif
