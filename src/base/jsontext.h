/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writing JSON text into a buffer, for code that must not depend on a JSON library. Strings are
 * written as RFC 8785 requires; bytes that are not UTF-8 become U+FFFD (callers that must keep
 * them use tc_json_bytes). */
#ifndef TC_BASE_JSONTEXT_H
#define TC_BASE_JSONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"

enum { TC_NUMBER_TEXT_SIZE = 32 };

/* "text" with quotes and escapes. */
void tc_json_string(struct tc_buf *buf, const char *text, size_t len);
/* A TOML basic string, in which control characters and those that reorder or hide text are
 * escaped. */
void tc_toml_string(struct tc_buf *buf, const char *text);
/* ,"key":"text" (the comma only when something precedes it). */
void tc_json_member(struct tc_buf *buf, const char *key, const char *text);
/* The same, or null without a text; a number; true or false. */
void tc_json_optional(struct tc_buf *buf, const char *key, const char *text);
void tc_json_number(struct tc_buf *buf, const char *key, int64_t value);
void tc_json_bool(struct tc_buf *buf, const char *key, bool value);
/* An array of strings, as a member; for TOML, only its value. */
void tc_json_list(struct tc_buf *buf, const char *key, const struct tc_strv *list);
void tc_toml_list(struct tc_buf *buf, const struct tc_strv *list);
/* A number as the shortest text that reads back as the same number, in any locale. */
void tc_number_write(double value, char out[TC_NUMBER_TEXT_SIZE]);
/* ,"key": without a value. */
void tc_json_key(struct tc_buf *buf, const char *key);
/* RFC 4648, with padding; without quotation marks. */
void tc_json_base64(struct tc_buf *buf, const void *bytes, size_t len);
/* ,"key":"text" when it is UTF-8, else ,"base64_key":"…" in base64. */
void tc_json_bytes(struct tc_buf *buf, const char *key, const char *base64_key, const void *bytes,
                   size_t len);

#endif
