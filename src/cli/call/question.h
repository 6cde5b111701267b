/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The question about a call's staged changes. What a person answers is bound to the digest of what
 * was shown. */
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
};

/* each.c: asks about each file separately, and settles them. 0, or the exit code of a failure. */
int tc_question_each(struct tc_question *q);
/* Settles some changes, or all; 0, or the exit code of a failure. `digest`: only if they are still
 * what was shown; NULL: the rest of what was settled so far. */
int tc_question_settle(const struct tc_question *q, const char *action, const char *digest,
                       size_t count, char *const paths[]);

#endif
