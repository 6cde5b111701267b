/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * JSON with comments and trailing commas, as editors' settings are: blanked in place, so that a
 * strict reader accepts the text and every position stays. */
#ifndef TC_BASE_JSONC_H
#define TC_BASE_JSONC_H

#include <stdbool.h>
#include <stddef.h>

enum tc_jsonc {
    TC_JSONC_KEEP,     /* changes nothing */
    TC_JSONC_COMMENTS, /* blanks comments */
    TC_JSONC_STRICT,   /* blanks comments and trailing commas */
};

/* Strings are unchanged. False: containers are nested more deeply than `depth`. */
bool tc_jsonc_blank(char *text, size_t length, size_t depth, enum tc_jsonc how);

#endif
