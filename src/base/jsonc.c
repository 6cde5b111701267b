/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/jsonc.h"

#include <string.h>

/* The length of a comment at this position; 0: no comment. */
static size_t comment(const char *text, size_t left)
{
    if (left < 2 || text[0] != '/' || (text[1] != '/' && text[1] != '*'))
        return 0;
    const char *close =
        text[1] == '/' ? memchr(text, '\n', left) : memmem(text + 2, left - 2, "*/", 2);
    return !close ? left : (size_t)(close - text) + (text[1] == '*' ? 2 : 0);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool tc_jsonc_blank(char *text, size_t length, size_t depth, enum tc_jsonc how)
{
    size_t inside = 0, comma = 0;
    bool string = false, pending = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (string) {
            i += c == '\\';
            string = c != '"';
            continue;
        }
        size_t blank = how == TC_JSONC_KEEP ? 0 : comment(text + i, length - i);
        if (blank) {
            memset(text + i, ' ', blank);
            i += blank - 1;
            continue;
        }
        bool closes = c == '}' || c == ']';
        if (how == TC_JSONC_STRICT && pending && closes)
            text[comma] = ' ';
        comma = c == ',' ? i : comma;
        pending = is_space(c) ? pending : c == ',';
        string = c == '"';
        inside += c == '{' || c == '[';
        inside -= inside && closes;
        if (inside > depth)
            return false;
    }
    return true;
}
