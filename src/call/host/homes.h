/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Home directories of this machine: where people keep what opens other doors. */
#ifndef TC_CALL_HOST_HOMES_H
#define TC_CALL_HOST_HOMES_H

#include "base/strv.h"

/* $HOME (NULL: unset), and by /etc/passwd those of the caller, of whom it is for by sudo, and of
 * all who log in; each also without the links on its way. Other sources of users are not asked: who
 * is in none of these has no home that is known. `ret_own`: is one of them the caller's? False: out
 * of memory, which must not look like nobody's home. */
bool tc_homes(const char *home, struct tc_strv *ret, bool *ret_own);

/* The places in a home that are closed where it is granted as a whole: directories with a dot but
 * for those of compilers and interpreters, and what links at the places of credentials lead to.
 * Absolute; none where there is no such home. False: it cannot be listed, or no memory. */
bool tc_home_closed(const char *home, struct tc_strv *ret);

#endif
