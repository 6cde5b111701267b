/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A private file system that is to be as it was: did who had it leave anything? Looked at from
 * outside, by its root directory and its space. */
#ifndef TC_STATE_UNTOUCHED_H
#define TC_STATE_UNTOUCHED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statfs.h>

struct tc_untouched {
    struct stat was;
    struct statfs space;
    bool rested; /* long enough before it went out for its times to tell */
};

/* As it is now. 0, or -1 with errno. */
int tc_untouched_take(struct tc_untouched *rest, int fd);
/* It goes out now. */
void tc_untouched_note(struct tc_untouched *rest);
/* Nothing was left there since. */
bool tc_untouched_still(const struct tc_untouched *rest, int fd);

#endif
