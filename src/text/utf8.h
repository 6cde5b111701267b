/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Characters of UTF-8 (RFC 3629) in untrusted text: where they begin, their code points, and the
 * table of characters that a terminal executes or hides. */
#ifndef TC_TEXT_UTF8_H
#define TC_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this a continuation byte? */
static inline bool tc_utf8_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How many characters begin in the text: its columns on a terminal, except for the few wide and
 * combining characters, which are not worth a table. */
static inline size_t tc_utf8_count(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += !tc_utf8_inside(text[i]);
    return count;
}

/* The length of the character at `text`, which has `left` bytes; 0: invalid (truncated, overlong, a
 * surrogate, or beyond Unicode). *ret is the code point, or 0, also for NUL. */
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
        if (!tc_utf8_inside(text[i]))
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    *ret = point;
    return point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
               ? 0
               : length;
}

/* Rows of {first, last} for code that escapes text: Unicode's Default_Ignorable_Code_Point and
 * general category Cf. */

/* clang-format off */
/* Control characters, and those that reorder, break or hide text. */
#define TC_UNSHOWN \
    {0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f}, {0x600, 0x605}, {0x61c, 0x61c}, \
    {0x6dd, 0x6dd}, {0x70f, 0x70f}, {0x890, 0x891}, {0x8e2, 0x8e2}, {0x115f, 0x1160}, \
    {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, \
    {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x110bd, 0x110bd}, \
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, \
    {0xe0000, 0xe0fff}

/* Variation selectors, which choose the form of the character before them, as in an emoji. A name
 * with one looks like another name. */
#define TC_UNSHOWN_FORMS {0x180b, 0x180d}, {0x180f, 0x180f}, {0xfe00, 0xfe0f}
/* clang-format on */

/* Is the character in one of both tables? */
static inline bool tc_utf8_unshown(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } rows[] = {TC_UNSHOWN, TC_UNSHOWN_FORMS};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (point >= rows[i].first && point <= rows[i].last)
            return true;
    return false;
}

#endif
