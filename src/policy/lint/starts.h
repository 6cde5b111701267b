/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What has to be in a cage for a program to start: the links that lead to it, and the interpreter
 * that a script or an ELF file names, with its own. The policy asks; who can look at files answers.
 */
#ifndef TC_POLICY_LINT_STARTS_H
#define TC_POLICY_LINT_STARTS_H

#include "base/strv.h"

/* What the cage shows beside the system directories: both clean and absolute; borrowed. */
struct tc_shown {
    const char *path; /* as the tool sees it */
    const char *from; /* of the host */
};

struct tc_starts {
    struct tc_strv hops;  /* as the tool names them: the command, what links lead to, its
                           * interpreter and so on, as far as they were found */
    char *missing;        /* the first path that the tool would not find, or NULL */
    char *by;             /* what names it: a link or a script; NULL: it is the command itself */
    bool interpreter;     /* the latter */
    bool link;            /* the file itself is a link, not only a directory that leads to it */
    struct tc_strv grant; /* what would grant it: prefixes or files; none: nothing is there */
};

enum tc_starts_flags {
    /* Goes on where the cage shows nothing, with what the host has there: for whoever may know that
     * of the host, and never for what a tool or a model reads. */
    TC_STARTS_BEYOND = 1,
};

/* `command` is clean and absolute. False: out of memory. *ret is zeroed before, and the caller's in
 * both cases. */
typedef bool tc_starts_fn(const struct tc_shown *shown, size_t count, const char *home,
                          const char *command, unsigned flags, struct tc_starts *ret);

static inline void tc_starts_done(struct tc_starts *s)
{
    tc_strv_done(&s->hops);
    tc_strv_done(&s->grant);
    free(s->missing);
    free(s->by);
}

#endif
