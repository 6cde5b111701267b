/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads tokens and keys safely, and passes configs that contain them to toolcage's other programs.
 */
#ifndef TC_CLI_CALL_SECRET_H
#define TC_CLI_CALL_SECRET_H

#include "cli/show/failure.h"

/* The tools whose write access is checked: those of `policy` in `workspace`, and those of all
 * earlier calls. Both NULL: only those of earlier calls. */
struct tc_writers {
    const struct toolcage_policy *policy;
    const char *workspace;
};

/* Refuses a file whose content is sent or trusted if a tool may have written it. 0, or -1 with the
 * failure. */
int tc_secret_check(const char *path, struct tc_writers writers, struct tc_failure *failure);
/* A text file of at most 256 KiB that passes this check, owned; NULL with the failure. `secret`:
 * refused if other users can read or write it. */
char *tc_secret_read(const char *path, bool secret, struct tc_writers writers,
                     struct tc_failure *failure);
/* The value of an environment variable, owned. Removes the variable, so that child processes do not
 * get it. NULL with the failure. */
char *tc_secret_take_env(const char *name, const char *option, struct tc_failure *failure);
/* Checks that the first line consists of `least` to 512 printable ASCII characters. 0, or -1 with
 * the failure. */
int tc_secret_judge(char *text, size_t least, const char *from, struct tc_failure *failure);
/* Moves the text to a memfd: wipes and frees `text`. The fd, or -1 with the failure. */
int tc_secret_hand_over(char *text, struct tc_failure *failure);

/* Converts a duration such as "90s", "30m" or "8h" to milliseconds; -1 with the failure. */
long long tc_read_time(const char *option, const char *given, struct tc_failure *failure);

#endif
