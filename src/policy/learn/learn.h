/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Turns the recorded accesses of a run into the minimal policy that allows the run again, as text
 * for an operator to read and edit. It grants nothing. */
#ifndef TC_POLICY_LEARN_LEARN_H
#define TC_POLICY_LEARN_LEARN_H

#include <stdint.h>

#include "base/strv.h"

enum tc_touch { TC_TOUCH_READ, TC_TOUCH_WRITE, TC_TOUCH_EXEC, TC_TOUCH_LOOK };

/* A path and its access. Clean, absolute. */
struct tc_touched {
    char *path;
    enum tc_touch how;
    bool there, directory; /* after the run: exists, is a directory */
    bool made;             /* the run created it, so the next one may have to create it, too */
    bool refused;
    bool link;  /* a symbolic link: granting it would grant its target */
    bool above; /* granted for a path below it that a policy cannot spell */
};

/* All borrowed. */
struct tc_lesson {
    const char *name; /* of the tool */
    const struct tc_strv *argv;
    const struct tc_strv *env;      /* NAME=value: its environment */
    const struct tc_strv *passed;   /* those of `env` that the caller has */
    const struct tc_strv *programs; /* programs that the cage would not show otherwise */
    const char *system;             /* paths that every cage shows, one a line; NULL: none */
    const char *cwd;                /* its working directory */
    const char *home;               /* the caller's; NULL: unknown */
    const char *ending;             /* how the run failed, "" for success */
    const char *timeout;            /* a value for the key `timeout`; NULL: the default suffices */
    const char *memory;             /* a value for the key `memory`; NULL: the default suffices */
    struct tc_touched *touched;     /* in no particular order */
    size_t count;
    const struct tc_strv *reached;   /* "host:port" */
    const struct tc_strv *endpoints; /* endpoints ("host:port" or "host") that it tried to reach */
    bool unix_sockets;               /* it tried to create a unix socket */
};

/* Would a policy read one of the arguments as a placeholder? Then the policy cannot contain the
 * command, and each call must supply it. */
bool tc_learn_places(const struct tc_strv *argv);

/* The text of a policy with this tool; owned. NULL: out of memory. */
char *tc_learn_write(const struct tc_lesson *lesson);

/* learn_paths.c: the minimal sets of paths that cover the accesses that were not refused. A
 * directory replaces several of its files. False: out of memory. */
bool tc_learn_paths(const struct tc_lesson *lesson, struct tc_strv *ret_readable,
                    struct tc_strv *ret_writable);
/* Is the directory too wide to be granted for a few of its files? */
bool tc_learn_wide(const struct tc_lesson *lesson, const char *directory);

#endif
