/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * runsc: platforms, options, and notes about it. */
#ifndef TC_GVISOR_RUNSC_H
#define TC_GVISOR_RUNSC_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "backend/oci/runtime.h"
#include "plan/backend.h"
#include "state/stamp.h"

/* ---- learnt.c: which platform works ---- */

/* Time limit for PID 1 to connect, without waits for a CPU. ptrace has no limit: it needs nothing
 * of the host. */
enum { TC_GVISOR_ANSWER_MS = 5000 };
#define TC_GVISOR_PTRACE "ptrace"

/* The platforms that a call tries, in order, NULL-terminated. With the policy's value (`wish`) only
 * that one, else systrap and ptrace. systrap is left out if it failed with this runsc within the
 * last hour, or was silent within the last five minutes. Without a runtime: all. NULL: no platform
 * has this name. */
const char *const *tc_gvisor_platforms(const char *wish, const char *runtime);
/* Notes that the second platform had to be used, or that the first one works again. */
void tc_gvisor_first_failed(const char *runtime, bool silent);
void tc_gvisor_first_working(const char *runtime);
/* The complete command, NULL-terminated: the shim, with these platforms and the note about runsc.
 * With `network`, runsc uses the network namespace around it. */
void tc_gvisor_command(const struct tc_oci_runtime *runtime, const char *path,
                       const char *const *platforms, const char *note, bool network,
                       const char **ret);

/* ---- shim.c ---- */

/* The runtime shim around runsc: the same file as PID 1, under the name TC_OCI_KEEPER. Arguments:
 * the platforms, "--", the note about runsc, and runsc's command, with "-" as placeholder for the
 * platform. It is PID 1 of the namespaces around runsc and exits with runsc's exit code. Never
 * returns. */
_Noreturn void tc_gvisor_shim_main(char **argv);

/* ---- learnt.c: which options this runsc has ---- */

enum { TC_GVISOR_OPTIONS = 2 };
extern const char *const tc_gvisor_options[TC_GVISOR_OPTIONS];

/* The note for the shim (runtime NULL: the shim must ask runsc). Owned, NULL when out of memory. */
char *tc_gvisor_options_note(const char *runtime);
/* Saves the reply that the shim stored in the bundle. Must be called before a tool runs in the
 * container, because a compromised runtime could write there, too. */
void tc_gvisor_options_learn(const char *runtime, int bundle);
/* Runs in the shim: how many of the options, from the first on, to pass. Exits with 127 if runsc
 * neither accepts nor rejects them. */
size_t tc_gvisor_options_known(const char *runtime, const char *note);

/* ---- learnt.c: notes ---- */

/* A stamp, a space, a word. */
enum { TC_GVISOR_NOTE_SIZE = TC_STAMP_SIZE + 16 };

/* The stamp of the file at this path. False: there is no file, or it changed a moment ago, so that
 * its stamp is not reliable. */
bool tc_gvisor_stamp(const char *runtime, char out[TC_STAMP_SIZE]);
/* The note of this name about the file with this mark, if younger than `oldest_s` (0: of any age).
 * False: there is none. */
bool tc_gvisor_note_read(const char *name, const char *stamp, time_t oldest_s,
                         char out[TC_GVISOR_NOTE_SIZE]);
/* The word in a note about the file with this mark; NULL: the note is about another file. */
const char *tc_gvisor_note_value(const char *note, const char *stamp);
/* Replaces the previous note. If writing fails, the next helper learns it again. */
void tc_gvisor_note_write(const char *name, const char *stamp, const char *word);
void tc_gvisor_note_drop(const char *name, const char *stamp);

/* ---- lacked.c ---- */

/* Adds the system calls in the bundle's report to the outcome's denials. */
void tc_gvisor_list_lacked(struct tc_cage *cage, int bundle);

#endif
