/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writing JSON text into a buffer, for the places that must not need a JSON library. Strings come
 * out as RFC 8785 wants them; bytes that are not UTF-8 become U+FFFD (callers that must keep them
 * use tc_json_bytes). */
#ifndef TC_BASE_JSONTEXT_H
#define TC_BASE_JSONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"

enum { TC_NUMBER_TEXT_SIZE = 32 };

/* "text" with quotes and escapes. */
void tc_json_string(struct tc_buf *buf, const char *text, size_t len);
/* The same as a basic string of TOML, in which control characters and those that reorder or hide
 * text are escaped: it is shown as what it is. */
void tc_toml_string(struct tc_buf *buf, const char *text);
/* ,"key":"text" (the comma only when something stands before). */
void tc_json_member(struct tc_buf *buf, const char *key, const char *text);
/* The same, or null where there is no text; a number; true or false. */
void tc_json_optional(struct tc_buf *buf, const char *key, const char *text);
void tc_json_number(struct tc_buf *buf, const char *key, int64_t value);
void tc_json_bool(struct tc_buf *buf, const char *key, bool value);
/* An array of strings, as a member; of TOML, its value alone. */
void tc_json_list(struct tc_buf *buf, const char *key, const struct tc_strv *list);
void tc_toml_list(struct tc_buf *buf, const struct tc_strv *list);
/* A number as the shortest text that reads back as the same one, whatever the locale. */
void tc_number_write(double value, char out[TC_NUMBER_TEXT_SIZE]);
/* ,"key": and nothing more. */
void tc_json_key(struct tc_buf *buf, const char *key);
/* RFC 4648, with padding; without quotation marks. */
void tc_json_base64(struct tc_buf *buf, const void *bytes, size_t len);
/* ,"key":"text" when it is UTF-8, else ,"key_or_base64":"…" under the name `base64_key`. */
void tc_json_bytes(struct tc_buf *buf, const char *key, const char *base64_key, const void *bytes,
                   size_t len);

#endif
