/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * runsc: its platforms and options, and what has been learnt of it. */
#ifndef TC_GVISOR_RUNSC_H
#define TC_GVISOR_RUNSC_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "backend/oci/runtime.h"
#include "plan/backend.h"
#include "state/stamp.h"

/* ---- learnt.c: which platform works ---- */

/* Until our PID 1 must have answered, without the time for which it waited for a processor; ptrace
 * needs nothing of the machine, and has no limit. */
enum { TC_GVISOR_ANSWER_MS = 5000 };
#define TC_GVISOR_PTRACE "ptrace"

/* What a call gets for its policy's word (NULL: it says none), in order, NULL-terminated: the named
 * one, or systrap and ptrace; without systrap where that failed with this runsc within the last
 * hour, or was silent within the last five minutes. Without a runtime all that there are. NULL:
 * there is none of this name. */
const char *const *tc_gvisor_platforms(const char *wish, const char *runtime);
/* ptrace had to be taken: remembered. Or systrap was asked again, and works. */
void tc_gvisor_first_failed(const char *runtime, bool silent);
void tc_gvisor_first_working(const char *runtime);
/* Its whole command, NULL-terminated, on the first of these platforms that answers, with what is
 * remembered of it; with a `network` it is to use that around it. */
void tc_gvisor_command(const struct tc_oci_runtime *runtime, const char *path,
                       const char *const *platforms, const char *note, bool network,
                       const char **ret);

/* ---- shim.c ---- */

/* The process around runsc: the file of our PID 1 by its other name, TC_OCI_KEEPER. Its words are
 * the platforms, "--", what is remembered of runsc, and runsc's command, in which the word "-" is
 * where the platform goes. It is PID 1 of the namespaces around runsc and ends with its exit code.
 * Never returns. */
_Noreturn void tc_gvisor_shim_main(char **argv);

/* ---- learnt.c: which options it knows ---- */

enum { TC_GVISOR_OPTIONS = 2 };
extern const char *const tc_gvisor_options[TC_GVISOR_OPTIONS];

/* For the process around runsc: what is remembered of this runtime (NULL: it is to ask). Owned,
 * NULL when out of memory. */
char *tc_gvisor_options_note(const char *runtime);
/* What that process has heard, from the bundle. To be called before any tool has run in it: a
 * runtime that was taken over could write there, too. */
void tc_gvisor_options_learn(const char *runtime, int bundle);
/* In the process around runsc: how many of them, from the first on, are to be given. Ends with 127
 * where runsc answers otherwise than one that knows them, or one that does not. */
size_t tc_gvisor_options_known(const char *runtime, const char *note);

/* ---- learnt.c: notes ---- */

/* A stamp, a space, a word. */
enum { TC_GVISOR_NOTE_SIZE = TC_STAMP_SIZE + 16 };

/* Which file stands there now. False: none, or one that was written to a moment ago, of which
 * nothing can be remembered. */
bool tc_gvisor_stamp(const char *runtime, char out[TC_STAMP_SIZE]);
/* The note of this name about the file with this mark, if it is no older (0: however old it is).
 * False: there is none. */
bool tc_gvisor_note_read(const char *name, const char *stamp, time_t oldest_s,
                         char out[TC_GVISOR_NOTE_SIZE]);
/* The word that a note's text says of the file with this mark; NULL: nothing of that file. */
const char *tc_gvisor_note_value(const char *note, const char *stamp);
/* In place of the one before; of what cannot be written the next helper learns anew. */
void tc_gvisor_note_write(const char *name, const char *stamp, const char *word);
void tc_gvisor_note_drop(const char *name, const char *stamp);

/* ---- lacked.c ---- */

/* What the bundle's file of them says goes into the outcome's denials. */
void tc_gvisor_list_lacked(struct tc_cage *cage, int bundle);

#endif
