/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What /proc says of a cage's processes now, for limits that the kernel counts only with a control
 * group. Samples: what came and went between two is not seen. */
#ifndef TC_CAGE_SAMPLE_H
#define TC_CAGE_SAMPLE_H

#include <stdint.h>
#include <sys/types.h>

/* Microseconds of PID 1, its descendants and those that they have reaped; -1 with errno. */
int64_t tc_sample_cpu(pid_t pid);

/* Bytes that they share: what they map of files in memory and of segments (counted once where it is
 * more than the limit), or what they keep in files without a name, whichever is more. */
int64_t tc_sample_shared(pid_t pid, int64_t limit);

#endif
