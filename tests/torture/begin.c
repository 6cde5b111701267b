/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Makes a program the host that the injector watches, from its own beginning on: linked into it,
 * with the allocator. What the loader does before does not count. */
#include <sys/prctl.h>

#include "marks.h"

__attribute__((constructor)) static void begin(void)
{
    (void)prctl(MARK, MARK_LIFE, 0, 0, 0);
    (void)prctl(MARK, MARK_BEGIN, 0, 0, 0);
    torture_counting = true;
}
