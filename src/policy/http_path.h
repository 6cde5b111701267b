/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths of HTTP requests in the one form in which a rule is compared with them. What two servers
 * could read in two ways has no such form. Pure. */
#ifndef TC_POLICY_HTTP_PATH_H
#define TC_POLICY_HTTP_PATH_H

#include <stdbool.h>

#include "base/buf.h"

/* Adds the form of a target's path to a buffer, without its query: letters that need no escape are
 * not escaped, other escapes are in upper case, and nothing else is changed. NULL, or what is not
 * clear (a failed buffer is the caller's to see). */
const char *tc_http_path_read(const char *at, size_t len, struct tc_buf *to);

/* Is it the rule's path, or below it? Both in that form. A rule that ends in a slash is of what is
 * below it alone. */
bool tc_http_path_within(const char *rule, const char *path);

#endif
