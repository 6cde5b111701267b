/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "document/yaml/walls.h"

#include <stdbool.h>
#include <string.h>

#include "base/strv.h"

enum {
    EMPTY_LINES_MAX =
        64, /* each line of such a run is looked at once more for each line before it */
    SPACE_MAX = 4096,
    OPEN_MAX = 1000, /* each open bracket keeps all tokens since, in case it begins a key */
    BRACKETS_MAX =
        1 << 18, /* as many as values; closing ones in quotes or comments count nothing here */
};

struct scan {
    size_t lines, spaces, open, brackets;
};

static bool count_space(struct scan *s, char c)
{
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        s->spaces++;
        s->lines += c == '\n' || c == '\r';
    } else {
        s->spaces = s->lines = 0;
    }
    return s->spaces <= SPACE_MAX && s->lines <= 2 * EMPTY_LINES_MAX;
}

static bool count_bracket(struct scan *s, char c)
{
    if (c == '[' || c == '{') {
        s->open++;
        s->brackets++;
    } else if ((c == ']' || c == '}') && s->open) {
        s->open--;
    }
    return s->open <= OPEN_MAX && s->brackets <= BRACKETS_MAX;
}

/* The library would take it for UTF-16, or mend it. */
static size_t first_bad_byte(const char *text, size_t len)
{
    size_t i = 0;
    for (size_t n = 1; i < len; i += n, n = 1) {
        while (i + n < len && n < 4 && ((unsigned char)text[i + n] & 0xc0) == 0x80)
            n++;
        if (!tc_utf8_valid(text + i, n))
            break;
    }
    return i;
}

struct tc_yaml_wall tc_yaml_walls(const char *text, size_t len)
{
    struct scan s = {0};
    if (!tc_utf8_valid(text, len))
        return (struct tc_yaml_wall){"the file holds a NUL or is not UTF-8",
                                     "write the policy as UTF-8", first_bad_byte(text, len)};
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && (i == 0 || text[i - 1] == '\n' || text[i - 1] == '\r'))
            return (struct tc_yaml_wall){"directives have no place in a policy",
                                         "leave the line out: what is read is YAML 1.2", i};
        if (!count_space(&s, text[i]))
            return (struct tc_yaml_wall){"too much empty space in one place",
                                         "leave at most 64 lines empty, and 4096 bytes", i};
        if (!count_bracket(&s, text[i]))
            return (struct tc_yaml_wall){
                "too many brackets", "at most 1000 may be open at once, and 262144 be in the file",
                i};
    }
    return (struct tc_yaml_wall){NULL, NULL, 0};
}
