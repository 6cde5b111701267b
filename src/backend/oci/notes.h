/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What has been learnt of a runtime's program and outlives the helper: each note is a link in the
 * state directory, whose text says of which state of which file it is true, and which is read and
 * written as a whole. */
#ifndef TC_OCI_NOTES_H
#define TC_OCI_NOTES_H

#include <stdbool.h>
#include <time.h>

#include "state/mark.h"

/* A mark, a space, a word. */
enum { TC_OCI_NOTE_SIZE = TC_MARK_SIZE + 16 };

/* Which file stands there now. False: none, or one that was written to a moment ago, of which
 * nothing can be remembered. */
bool tc_oci_mark(const char *runtime, char out[TC_MARK_SIZE]);
/* The note of this name about the file with this mark, if it is no older (0: however old it is).
 * False: there is none. */
bool tc_oci_note_read(const char *name, const char *mark, time_t oldest_s,
                      char out[TC_OCI_NOTE_SIZE]);
/* The word that a note's text says of the file with this mark; NULL: nothing of that file. */
const char *tc_oci_note_word(const char *note, const char *mark);
/* In place of the one before; of what cannot be written the next helper learns anew. */
void tc_oci_note_write(const char *name, const char *mark, const char *word);
void tc_oci_note_drop(const char *name, const char *mark);

#endif
