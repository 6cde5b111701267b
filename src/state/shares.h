/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Units of something that several processes use at once: each holds some of them as locks on bytes
 * of a file that all of them open. Whoever dies has given its units back. */
#ifndef TC_STATE_SHARES_H
#define TC_STATE_SHARES_H

#include <stdint.h>

/* Takes `count` of the first `all` units, whichever are free, for this opening of the file alone.
 * 0, or -1 with errno; EAGAIN: so many are not free, but *ret_free are, and it has none. */
int tc_shares_take(int fd, int64_t all, int64_t count, int64_t *ret_free);
/* At once, whoever has a copy of the descriptor. */
void tc_shares_give(int fd);

#endif
