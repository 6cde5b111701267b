/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Versions of container runtimes out of whose containers ways are known. */
#ifndef TC_PLAN_ESCAPES_H
#define TC_PLAN_ESCAPES_H

/* What is to be said of the runtimes that a text names with their versions, as in "Docker Engine
 * 20.10.24, runc 1.1.5+ds1": begins with "; ", or is "". Owned; NULL when out of memory. */
char *tc_known_escapes(const char *text);

#endif
