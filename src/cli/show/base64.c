/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/base64.h"

#include <errno.h>
#include <string.h>

/* What a digit stands for, or -1. */
static int value_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Four digits, of which `padding` are none, into the three bytes that they stand for. */
static bool decode_quad(const char quad[4], int padding, unsigned char to[3])
{
    unsigned bits = 0;
    for (int i = 0; i < 4; i++) {
        int value = i < 4 - padding ? value_of(quad[i]) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
    }
    to[0] = (unsigned char)(bits >> 16);
    to[1] = (unsigned char)(bits >> 8);
    to[2] = (unsigned char)bits;
    /* the bits that are left over say nothing, so they are none */
    return (padding < 1 || !to[2]) && (padding < 2 || !to[1]);
}

char *tc_base64_decode(const char *text, size_t length, size_t *ret_length)
{
    if (length % 4)
        return errno = EINVAL, NULL;
    int padding = !length || text[length - 1] != '=' ? 0 : text[length - 2] == '=' ? 2 : 1;
    char *bytes = malloc(length / 4 * 3 + 1);
    bool good = bytes != NULL;
    for (size_t i = 0; good && i < length; i += 4)
        good = decode_quad(text + i, i + 4 == length ? padding : 0,
                           (unsigned char *)bytes + i / 4 * 3);
    if (!good) {
        int errnum = bytes ? EINVAL : ENOMEM;
        free(bytes);
        return errno = errnum, NULL;
    }
    *ret_length = length / 4 * 3 - (size_t)padding;
    bytes[*ret_length] = '\0';
    return bytes;
}
