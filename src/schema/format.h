/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The words of `format`, each of which is checked in full. Where a standard leaves room the narrow
 * reading is taken. */
#ifndef TC_SCHEMA_FORMAT_H
#define TC_SCHEMA_FORMAT_H

#include <stdbool.h>

/* The words, ended by NULL. */
extern const char *const tc_words_format[];

/* False, too, where the format is none of the words. */
bool tc_format_fits(const char *format, const char *text);
/* One that fits, for messages; NULL: none of the words. */
const char *tc_format_example(const char *format);

#endif
