/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Is a private file system unchanged after a call used it? Compares the root directory and the free
 * space, from outside. */
#ifndef TC_STATE_UNTOUCHED_H
#define TC_STATE_UNTOUCHED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statfs.h>

struct tc_untouched {
    struct stat was;
    struct statfs space;
    bool rested; /* old enough before the call that a change would show in its times */
};

/* Records the current state. 0, or -1 with errno. */
int tc_untouched_take(struct tc_untouched *rest, int fd);
/* The call begins to use it. */
void tc_untouched_note(struct tc_untouched *rest);
/* Is it unchanged? */
bool tc_untouched_still(const struct tc_untouched *rest, int fd);

#endif
