/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From what a run touched to the least policy that allows it again, as text for an operator to read
 * and to edit. It grants nothing by itself. */
#ifndef TC_POLICY_LEARN_LEARN_H
#define TC_POLICY_LEARN_LEARN_H

#include <stdint.h>

#include "base/strv.h"

enum tc_touch { TC_TOUCH_READ, TC_TOUCH_WRITE, TC_TOUCH_EXEC, TC_TOUCH_LOOK };

/* A path and what was done with it. Clean, absolute. */
struct tc_touched {
    char *path;
    enum tc_touch how;
    bool there, directory; /* now, after the run */
    bool refused;
    bool link;  /* there is a symbolic link, so a grant of it would be one of what that leads to */
    bool above; /* it stands for a name below it that a policy cannot say */
};

/* All borrowed. */
struct tc_lesson {
    const char *name; /* of the tool */
    const struct tc_strv *argv;
    const struct tc_strv *env;      /* NAME=value: what it was given */
    const struct tc_strv *passed;   /* those of them that the caller has */
    const struct tc_strv *programs; /* those that the cage would not show otherwise */
    const char *cwd;                /* where it ran */
    const char *home;               /* the caller's; NULL: unknown */
    const char *ending;             /* what came of it, "" for success */
    const char *timeout;            /* a value for that key, NULL: the default will do */
    const char *memory;             /* the same */
    struct tc_touched *touched;     /* sorted here */
    size_t count;
    const struct tc_strv *reached;   /* "host:port" */
    const struct tc_strv *endpoints; /* the same, or "host", that it tried to reach */
    bool unix_sockets;               /* it tried to make one */
};

/* Would a word of it be read as a place for an argument? Then the policy cannot hold the command,
 * and it is given at each call. */
bool tc_learn_places(const struct tc_strv *argv);

/* The text of a policy with this one tool; owned, NULL when out of memory. */
char *tc_learn_write(const struct tc_lesson *lesson);

/* learn_paths.c: the least sets of paths that cover what was touched and not refused. A directory
 * stands for several files in it. False: out of memory. */
bool tc_learn_paths(const struct tc_lesson *lesson, struct tc_strv *ret_readable,
                    struct tc_strv *ret_writable);
/* So wide that no grant should hold it for the sake of a few files. */
bool tc_learn_wide(const struct tc_lesson *lesson, const char *directory);

#endif
