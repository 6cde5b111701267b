/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reading the library's JSON in place: a value is a slice of the text, and nothing is built. Good
 * for the small objects that our own texts are made from; broken text reads as absent values, never
 * beyond its end. */
#ifndef TC_CLI_JSON_H
#define TC_CLI_JSON_H

#include <stdint.h>

#include "cli/cli.h"

struct tc_json {
    const char *at; /* NULL: absent */
    const char *end;
};

struct tc_json_each {
    struct tc_json rest;
    struct tc_json key; /* absent in arrays */
    struct tc_json value;
};

struct tc_json tc_json_of(const char *text);
/* Member `key` of an object; absent when there is none. */
struct tc_json tc_json_get(struct tc_json object, const char *key);
/* Walks an array or object: while (tc_json_next(&each)). */
struct tc_json_each tc_json_walk(struct tc_json container);
bool tc_json_next(struct tc_json_each *each);

/* The text of a string, owned; NULL for anything else. */
char *tc_json_text(struct tc_json value);
int64_t tc_json_int(struct tc_json value, int64_t otherwise);
bool tc_json_true(struct tc_json value);
bool tc_json_is(struct tc_json value, const char *string);

#endif
