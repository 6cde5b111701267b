/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The platforms of runsc: by what it stops the tool's system calls. Which of them works on a
 * machine is known when a container has run on it, and one may hang. So the call's own container is
 * the trial: a process of ours around runsc takes the next platform where one does not answer. */
#ifndef TC_OCI_PLATFORM_H
#define TC_OCI_PLATFORM_H

#include "backend/oci/config.h"

/* Until our PID 1 must have answered, without the time for which it waited for a processor; ptrace
 * needs nothing of the machine, and has no limit. */
enum { TC_OCI_ANSWER_MS = 5000 };
#define TC_OCI_PTRACE "ptrace"

/* What a call gets for its policy's word (NULL: it says none), in order, NULL-terminated: the named
 * one, or systrap and ptrace; without systrap where that failed with this runsc within the last
 * hour, or was silent within the last five minutes. Without a runtime all that there are. NULL:
 * there is none of this name. */
const char *const *tc_oci_platforms(const char *wish, const char *runtime);
/* ptrace had to be taken: remembered. Or systrap was asked again, and works. */
void tc_oci_first_failed(const char *runtime, bool silent);
void tc_oci_first_works(const char *runtime);

/* The process around runsc: the file of our PID 1 by its other name. Its words are the platforms,
 * "--", what is remembered of runsc (options.h), and runsc's command, in which the word "-" is
 * where the platform goes. It is PID 1 of the namespaces around runsc and ends with its exit code.
 * Never returns. */
#define TC_OCI_KEEPER TC_OCI_ROOT TC_OCI_INIT
_Noreturn void tc_oci_keep_main(char **argv);

#endif
