/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tokens and keys, and what else one program of ours hands to another without showing it. */
#ifndef TC_CLI_CALL_SECRET_H
#define TC_CLI_CALL_SECRET_H

#include "cli/show/failure.h"

/* Whose tools may write: of `policy` and in `workspace`, beside those of all earlier calls. Both
 * NULL: of no policy that is known. */
struct tc_writers {
    const struct toolcage_policy *policy;
    const char *workspace;
};

/* Refuses a file whose content is sent or obeyed, where a tool may have written it. 0, or -1 with
 * the failure. */
int tc_secret_check(const char *path, struct tc_writers writers, struct tc_failure *failure);
/* A text file of at most 256 KiB that passes this check, owned; NULL with the failure. A secret one
 * is refused where others can read or write it. */
char *tc_secret_read(const char *path, bool secret, struct tc_writers writers,
                     struct tc_failure *failure);
/* The value of an environment variable, owned, which programs after this one do not get; NULL with
 * the failure. */
char *tc_secret_take_env(const char *name, const char *option, struct tc_failure *failure);
/* Its first line is one word of `least` to 512 characters of ASCII. 0, or -1 with the failure. */
int tc_secret_judge(char *text, size_t least, const char *from, struct tc_failure *failure);
/* A descriptor with this text (wiped and freed) in memory only; -1 with the failure. */
int tc_secret_hand_over(char *text, struct tc_failure *failure);

/* "90s", "30m", "8h": milliseconds; -1 with the failure. */
long long tc_read_time(const char *option, const char *given, struct tc_failure *failure);

#endif
