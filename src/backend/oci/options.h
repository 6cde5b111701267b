/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What runsc is told beside its command, where it knows the words: later ones have made a default
 * of what older ones do not do at all. Which it knows the process around runsc asks it, and what it
 * has heard is remembered of that file. */
#ifndef TC_OCI_OPTIONS_H
#define TC_OCI_OPTIONS_H

#include <stddef.h>

enum { TC_OCI_OPTIONS = 2 };
extern const char *const tc_oci_options[TC_OCI_OPTIONS];

/* For the process around runsc: what is remembered of this runtime (NULL: it is to ask). Owned,
 * NULL when out of memory. */
char *tc_oci_options_note(const char *runtime);
/* What that process has heard, from the bundle. To be called before any tool has run in it: a
 * runtime that was taken over could write there, too. */
void tc_oci_options_learn(const char *runtime, int bundle);

/* In the process around runsc: how many of them, from the first on, are to be given. Ends with 127
 * where runsc answers otherwise than one that knows them, or one that does not. */
size_t tc_oci_options_known(const char *runtime, const char *note);

#endif
