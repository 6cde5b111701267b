/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which names are caches (`review.ignore`): what programs make again when it is lost, and nobody
 * reads in a review. A pattern is one component or more, each of which may hold one `*`; it stands
 * at any depth, and for all that lies below it. */
#ifndef TC_POLICY_NAMES_CACHES_H
#define TC_POLICY_NAMES_CACHES_H

#include <stddef.h>

#include "base/strv.h"

/* Those of a policy that says nothing. NULL-terminated. */
extern const char *const tc_caches_shipped[];

/* How much of the name, from its beginning, makes it a cache: "a/__pycache__" of
 * "a/__pycache__/b.pyc". 0: it is none. */
size_t tc_cache_name(const struct tc_strv *patterns, const char *relative);

#endif
