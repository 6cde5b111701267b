/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runscs since 2023 let their kernel reach the host's files by itself, and that renames directories
 * which hold mounts of ours: names that steer the host would be replaced. A process of runsc's own
 * has to stand between, as in older ones, which do not know the option. Which it is the process
 * around runsc asks it, and what it has heard is remembered of that file. */
#ifndef TC_OCI_DIRECT_H
#define TC_OCI_DIRECT_H

#include <stdbool.h>

#define TC_OCI_NOT_DIRECT "--directfs=false"

/* For the process around runsc: what is remembered of this runtime (NULL: it is to ask). Owned,
 * NULL when out of memory. */
char *tc_oci_direct_note(const char *runtime);
/* What that process has heard, from the bundle. To be called before any tool has run in it: a
 * runtime that was taken over could write there, too. */
void tc_oci_direct_learn(const char *runtime, int bundle);

/* In the process around runsc: is it to be given the option? Ends with 127 where it does not say
 * so. */
bool tc_oci_direct_known(const char *runtime, const char *note);

#endif
