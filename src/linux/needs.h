/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_LINUX_NEEDS_H
#define TC_LINUX_NEEDS_H

/* The name of a system call that every cage needs and that this machine refuses, with errno; NULL:
 * none. Some of them may only be used by whoever may mount. */
const char *tc_needs_missing(void);

#endif
