/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Units of a resource that several processes share: each process holds units as locks on bytes of a
 * common file. The kernel frees the units of a process that dies. */
#ifndef TC_STATE_SHARES_H
#define TC_STATE_SHARES_H

#include <stdint.h>

/* Takes any `count` free units of the first `all`, for this open file description. 0, or -1 with
 * errno; EAGAIN: only *ret_free are free, and none were taken. */
int tc_shares_take(int fd, int64_t all, int64_t count, int64_t *ret_free);
/* Frees all units at once, even if other processes have copies of the fd. */
void tc_shares_give(int fd);

#endif
