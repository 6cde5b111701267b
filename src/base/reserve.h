/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Descriptors that are kept back. To say how a call ended takes some: its counters, its changes,
 * its outcome. A helper that has no more than these begins no call. Its one thread's alone. */
#ifndef TC_BASE_RESERVE_H
#define TC_BASE_RESERVE_H

#include <stdbool.h>

/* Gives them free for what comes next. */
void tc_reserve_open(void);

/* Takes them back; false with errno: not all. */
bool tc_reserve_close(void);

#endif
