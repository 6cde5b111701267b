/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Names of caches (`review.ignore`): files that programs regenerate and no one reviews. A pattern
 * is one or more components, each with at most one `*`; it matches at any depth, including
 * everything below. */
#ifndef TC_POLICY_NAMES_CACHES_H
#define TC_POLICY_NAMES_CACHES_H

#include <stddef.h>

#include "base/strv.h"

/* The built-in patterns, for a policy without the key. NULL-terminated. */
extern const char *const tc_caches_shipped[];

/* The length of the prefix that names a cache: "a/__pycache__" of "a/__pycache__/b.pyc". 0:
 * none. */
size_t tc_cache_name(const struct tc_strv *patterns, const char *relative);

#endif
