/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The digits of base64 (RFC 4648), for its writer and both readers. */
#ifndef TC_TEXT_BASE64_H
#define TC_TEXT_BASE64_H

#include <string.h>

#define TC_BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* The value of a digit, or -1. */
static inline int tc_base64_value(char c)
{
    static const char digits[] = TC_BASE64_DIGITS;
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

#endif
