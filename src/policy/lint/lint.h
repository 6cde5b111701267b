/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Lint: valid policy settings that are dangerous, useless or impossible to enforce. It refuses and
 * grants nothing; the operator fixes a finding or suppresses it with a reason. */
#ifndef TC_POLICY_LINT_LINT_H
#define TC_POLICY_LINT_LINT_H

#include "base/strv.h"
#include "policy/feature.h"
#include "policy/policy.h"

/* ---- requirements of a program's start ---- */

/* The files that a cage must have for a program to start: the symbolic links to it, and the
 * interpreter of a script or an ELF file, recursively. A caller with access to files provides the
 * function. */

/* A path that the cage has in addition to the system directories. Clean, absolute; borrowed. */
struct tc_shown_path {
    const char *path; /* as the tool sees it */
    const char *from; /* on the host */
};

struct tc_exec_check {
    struct tc_strv hops;  /* as the tool names them: the command, the targets of links, its
                             interpreter and so on, as far as they were found */
    struct tc_strv files; /* on the host: the program, its interpreter and so on, without links */
    char *missing;        /* the first path that the tool would not find, or NULL */
    char *by;             /* the link or script that refers to it; NULL: it is the command itself */
    bool interpreter;     /* `by` is a script or ELF file that names its interpreter */
    bool link;            /* the file itself is a link, not only one of its directories */
    bool relative;        /* the last file is a script with a relative path of its interpreter */
    bool windows_ends;    /* the program is a script whose first line ends with "\r" */
    struct tc_strv
        grant; /* paths that would grant it (prefixes or files); empty: the file does not exist */
};

enum tc_exec_check_flags {
    /* Follow paths that the cage does not have on the host. Only for readers who may learn about
     * the host's files, never for output to a tool or model. */
    TC_EXEC_CHECK_BEYOND = 1,
};

/* `command` is clean and absolute. False: out of memory. *ret is zeroed first; the caller frees it
 * in both cases. */
typedef bool tc_exec_check_fn(const struct tc_shown_path *shown, size_t count, const char *home,
                              const char *command, unsigned flags, struct tc_exec_check *ret);

static inline void tc_exec_check_done(struct tc_exec_check *s)
{
    tc_strv_done(&s->hops);
    tc_strv_done(&s->files);
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

/* Facts from outside the policy. All borrowed. */
struct tc_lint_facts {
    const struct tc_lint_backend *backends; /* the backends of this version */
    size_t backend_count;
    const char *suffixes; /* text of the public suffix list; NULL: not available */
    size_t suffixes_len;
    /* Functions that read the host's files; NULL: not available. */
    tc_exec_check_fn *starts;
    /* Appends the paths that `programs` makes readable. False: they cannot be determined. */
    bool (*brings)(const struct toolcage_policy *policy, const struct tc_strv *programs,
                   struct tc_strv *ret);
    /* The path of a program, the first match in the search path of every cage. Owned; NULL:
     * none. */
    char *(*finds)(const char *name);
    bool (*exists)(const char *path);
    bool (*variable)(const char *name); /* is it set? */
};

/* The findings as JSON (as toolcage_policy_lint_json); *ret is owned. `text` is the text from which
 * the policy was compiled. */
int tc_policy_lint(const struct toolcage_policy *policy, const char *text, size_t length,
                   const struct tc_lint_facts *facts, char **ret, struct toolcage_error **err);

#endif
