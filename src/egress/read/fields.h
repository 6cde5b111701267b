/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The lines of an HTTP/1 head, for requests and responses. Pure; borrows its input. */
#ifndef TC_EGRESS_READ_FIELDS_H
#define TC_EGRESS_READ_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_egress_http_text {
    const char *at;
    size_t len;
};

struct tc_egress_http_field {
    struct tc_egress_http_text name, value; /* `value` without surrounding white space */
};

bool tc_egress_http_is(struct tc_egress_http_text text, const char *word); /* ignores case */
bool tc_egress_http_is_token(struct tc_egress_http_text text);

/* The position after the head's empty line; NULL: not received yet. *ret_bad: a byte that only some
 * parsers treat as a line end or string end. */
const char *tc_egress_http_end(const char *bytes, size_t len, bool *ret_bad);
/* Returns the line at *at without its end, and moves *at after it. The head must be complete. */
struct tc_egress_http_text tc_egress_http_next(const char **at, const char *end);
/* Splits a line. NULL, or why it is ambiguous; static. */
const char *tc_egress_http_field_read(struct tc_egress_http_text line,
                                      struct tc_egress_http_field *ret);

/* Calls `visit` for each element of a comma-separated list. False when a call returns false. */
typedef bool tc_egress_http_word_fn(struct tc_egress_http_text word, void *ctx);
bool tc_egress_http_each(struct tc_egress_http_text list, tc_egress_http_word_fn *visit, void *ctx);
/* Does the list have this element? */
bool tc_egress_http_lists(struct tc_egress_http_text list, struct tc_egress_http_text word);
bool tc_egress_http_has(struct tc_egress_http_text list, const char *word);

/* A number of decimal digits, as in Content-Length. */
bool tc_egress_http_number(struct tc_egress_http_text value, uint64_t *ret);

#endif
