/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/reserve.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/cleanup.h"

/* One at a time for counters; then for changes and who gathers them, while the outcome is sent. */
static int kept[] = {-1, -1, -1, -1};

void tc_reserve_open(void)
{
    for (size_t i = 0; i < TC_COUNT(kept); i++) {
        if (kept[i] >= 0)
            (void)close(kept[i]);
        kept[i] = -1;
    }
}

bool tc_reserve_close(void)
{
    for (size_t i = 0; i < TC_COUNT(kept); i++) {
        if (kept[i] < 0)
            kept[i] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
        if (kept[i] < 0)
            return false;
    }
    return true;
}
