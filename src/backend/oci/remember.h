/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a helper found of a platform of runsc and what stays true after it: the platform works, or
 * this program does not know it. A failed trial is not remembered: the next may go well. A note
 * holds for one program file, one boot and one container; it saves time and decides nothing that a
 * cage relies on. */
#ifndef TC_OCI_REMEMBER_H
#define TC_OCI_REMEMBER_H

#include "backend/oci/trial.h"

enum { TC_OCI_LARGE = 1 << 20 }; /* a smaller program hands over to the real one */

/* What the note holds for: the program as it is now. Owned; NULL: nothing is to be remembered. */
char *tc_oci_identity(const char *program);
/* The note itself, for WORKS and ABSENT, and what such a text says of this identity; pure. */
char *tc_oci_note(const char *identity, enum tc_oci_finding finding);
enum tc_oci_finding tc_oci_read_note(const char *text, const char *identity);

/* From any thread; the platform by its name. */
enum tc_oci_finding tc_oci_recall(const char *identity, const char *platform);
void tc_oci_remember(const char *identity, const char *platform, enum tc_oci_finding finding);
/* Was there a note? */
bool tc_oci_forget(const char *platform);

#endif
