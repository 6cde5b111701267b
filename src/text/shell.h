/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A word in a command that a person copies. */
#ifndef TC_TEXT_SHELL_H
#define TC_TEXT_SHELL_H

#include <stdlib.h>
#include <string.h>

/* What a shell reads as this one word, with quotes only where they are needed. Fresh memory; NULL
 * without. */
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
