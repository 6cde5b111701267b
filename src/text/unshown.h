/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Characters that a terminal obeys or does not show: the one table of them, rows of {first, last}
 * for whoever escapes text. Unicode's Default_Ignorable_Code_Point and its general category Cf. */
#ifndef TC_TEXT_UNSHOWN_H
#define TC_TEXT_UNSHOWN_H

/* clang-format off */
/* Control characters, and those that reorder, break or hide text. */
#define TC_UNSHOWN \
    {0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f}, {0x600, 0x605}, {0x61c, 0x61c}, \
    {0x6dd, 0x6dd}, {0x70f, 0x70f}, {0x890, 0x891}, {0x8e2, 0x8e2}, {0x115f, 0x1160}, \
    {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, \
    {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x110bd, 0x110bd}, \
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, \
    {0xe0000, 0xe0fff}

/* Those that choose between forms of the sign before them, as in an emoji. A name that has one
 * looks like another name. */
#define TC_UNSHOWN_FORMS {0x180b, 0x180d}, {0x180f, 0x180f}, {0xfe00, 0xfe0f}
/* clang-format on */

#endif
