/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is allowed in a policy, and dangerous, useless or impossible all the same. It refuses
 * nothing and grants nothing: findings for the operator, who mends them or says why not. */
#ifndef TC_POLICY_LINT_LINT_H
#define TC_POLICY_LINT_LINT_H

#include "base/strv.h"
#include "policy/feature.h"
#include "policy/policy.h"

/* ---- what a program needs to start ---- */

/* What has to be in a cage for a program to start: the links that lead to it, and the interpreter
 * that a script or an ELF file names, with its own. The policy asks; who can look at files answers.
 */

/* What the cage shows beside the system directories: both clean and absolute; borrowed. */
struct tc_shown_path {
    const char *path; /* as the tool sees it */
    const char *from; /* of the host */
};

struct tc_exec_check {
    struct tc_strv hops;  /* as the tool names them: the command, what links lead to, its
                           * interpreter and so on, as far as they were found */
    char *missing;        /* the first path that the tool would not find, or NULL */
    char *by;             /* what names it: a link or a script; NULL: it is the command itself */
    bool interpreter;     /* the latter */
    bool link;            /* the file itself is a link, not only a directory that leads to it */
    struct tc_strv grant; /* what would grant it: prefixes or files; none: nothing is there */
};

enum tc_exec_check_flags {
    /* Goes on where the cage shows nothing, with what the host has there: for whoever may know that
     * of the host, and never for what a tool or a model reads. */
    TC_EXEC_CHECK_BEYOND = 1,
};

/* `command` is clean and absolute. False: out of memory. *ret is zeroed before, and the caller's in
 * both cases. */
typedef bool tc_exec_check_fn(const struct tc_shown_path *shown, size_t count, const char *home,
                              const char *command, unsigned flags, struct tc_exec_check *ret);

static inline void tc_exec_check_done(struct tc_exec_check *s)
{
    tc_strv_done(&s->hops);
    tc_strv_done(&s->grant);
    free(s->missing);
    free(s->by);
}

/* ---- the lint ---- */

struct tc_lint_backend {
    const char *name;
    tc_clauses provides;
    tc_features has;
    bool no_boundary;
};

/* What the policy cannot know by itself. All borrowed. */
struct tc_lint_facts {
    const struct tc_lint_backend *backends; /* of this version */
    size_t backend_count;
    const char *suffixes; /* the public suffix list; NULL: not at hand */
    size_t suffixes_len;
    /* Who looks at this machine's files; each NULL: nobody. */
    tc_exec_check_fn *starts;
    /* What `programs` makes readable, appended; false: that cannot be told. */
    bool (*brings)(const struct toolcage_policy *policy, const struct tc_strv *programs,
                   struct tc_strv *ret);
    /* Where a program of that name is, first among those of every cage; NULL: nowhere. Owned. */
    char *(*finds)(const char *name);
};

/* The findings as JSON (as toolcage_policy_lint_json says); *ret is owned. `text` is what the
 * policy was compiled from. */
int tc_policy_lint(const struct toolcage_policy *policy, const char *text, size_t length,
                   const struct tc_lint_facts *facts, char **ret, struct toolcage_error **err);

#endif
