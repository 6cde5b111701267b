/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths of HTTP requests in the normal form in which rules are compared with them. A path that two
 * servers could interpret differently has no normal form. Pure. */
#ifndef TC_POLICY_HTTP_PATH_H
#define TC_POLICY_HTTP_PATH_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the normal form of a target's path, without its query: characters that need no escape are
 * unescaped, other escapes are upper case, everything else is unchanged. NULL, or the reason why
 * the path is ambiguous. The caller checks the buffer for failure. */
const char *tc_http_path_read(const char *at, size_t len, struct tc_buf *to);

/* Is it the rule's path or below it? Both in normal form. A rule that ends in a slash matches only
 * paths below it. */
bool tc_http_path_within(const char *rule, const char *path);

#endif
