/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/sys.h"

long tc_sys(long nr, long a, long b, long c, long d, long e, long f)
{
    return syscall(nr, a, b, c, d, e, f);
}
