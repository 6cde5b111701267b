/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How long processes were kept from running by others. On a host that is busy with twenty machines
 * a boot takes twenty times as long, and nothing is wrong with the guest: what it had to wait for a
 * processor is no time that it took. One that hangs, or runs in circles, does not wait. */
#ifndef TC_BASE_WAITED_H
#define TC_BASE_WAITED_H

#include <stdint.h>
#include <sys/types.h>

/* How long it was ready to run while the processors ran others; 0: that is not known. */
int64_t tc_waited_us(pid_t pid);
/* The same of all processes in /proc but the one that asks, together. */
int64_t tc_waited_all_us(void);

#endif
