/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reading base64, as the library writes it: RFC 4648, with padding and without anything else. */
#ifndef TC_CLI_SHOW_BASE64_H
#define TC_CLI_SHOW_BASE64_H

#include "cli/cli.h"

/* Fresh memory with `*ret_length` bytes and a NUL, or NULL with errno: EINVAL or ENOMEM. */
char *tc_base64_decode(const char *text, size_t length, size_t *ret_length);

#endif
