/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Quotes an argument of a command that a user copies. */
#ifndef TC_TEXT_SHELL_H
#define TC_TEXT_SHELL_H

#include <stdlib.h>
#include <string.h>

/* The text that a shell reads as this one argument, quoted only if needed. Owned; NULL: out of
 * memory. */
static inline char *tc_shell_quote(const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-";
    if (*text && !text[strspn(text, plain)])
        return strdup(text);
    char *word = malloc(strlen(text) * 4 + 3), *to = word;
    if (!word)
        return NULL;
    *to++ = '\'';
    for (; *text; text++)
        to = *text == '\'' ? stpcpy(to, "'\\''") : mempcpy(to, text, 1);
    memcpy(to, "'", 2);
    return word;
}

#endif
