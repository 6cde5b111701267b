/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * UTF-8 (RFC 3629), a character at a time, for whoever reads text that anybody may have written. */
#ifndef TC_TEXT_UTF8_H
#define TC_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the character at `text`, of which `left` bytes may be read, or 0 where none is:
 * cut, overlong, a surrogate or beyond Unicode. *ret is its code point, or 0, which is NUL's too.
 */
static inline size_t tc_utf8_decode(const char *text, size_t left, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t length = !left          ? 0
                    : at[0] < 0x80 ? 1
                    : at[0] < 0xc2 ? 0
                    : at[0] < 0xe0 ? 2
                    : at[0] < 0xf0 ? 3
                    : at[0] < 0xf5 ? 4
                                   : 0;
    *ret = 0;
    if (!length || length > left)
        return 0;
    uint32_t point = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    *ret = point;
    return point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
               ? 0
               : length;
}

/* Does this byte go on with a character that began before it? */
static inline bool tc_utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How many characters begin in the text; its columns on a terminal, where each has one: the few
 * wide or combining ones are not worth a table. */
static inline size_t tc_utf8_count(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += !tc_utf8_continues(text[i]);
    return count;
}

#endif
