/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What must hold of every result, whatever outcome it was made from. */
#ifndef TC_TESTS_FUZZ_RESULT_H
#define TC_TESTS_FUZZ_RESULT_H

#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#include "base/strv.h"
#include "call/result/result.h"

/* A member that must be there. */
static inline json_t *member(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    INVARIANT(value);
    return value;
}

static inline void check_status(json_t *json, const struct toolcage_result *result)
{
    const char *status = json_string_value(member(json, "status"));
    bool refused = tc_streq(status, "denied") || tc_streq(status, "error");
    INVARIANT(tc_streq(status, tc_status_word(result->outcome.status)));
    INVARIANT(!refused || json_is_object(member(json, "error")));
    if (tc_streq(status, "ok"))
        INVARIANT(json_is_null(member(json, "error")) &&
                  json_integer_value(member(json, "exit_code")) == 0);
    int32_t code = tc_result_shell_code(result);
    INVARIANT(code >= 0 && code <= 255 && (code == 0 || !tc_streq(status, "ok")));
}

/* A file has its text, or base64 of what is none, or null for what was left out. */
static inline void check_file(json_t *row, const struct tc_file *file)
{
    json_t *text = json_object_get(row, "text"), *base64 = json_object_get(row, "base64");
    INVARIANT(!text != !base64);
    if (!file->content)
        INVARIANT(json_is_null(text));
    else if (text)
        INVARIANT(json_string_length(text) == file->content_len &&
                  memcmp(json_string_value(text), file->content, file->content_len) == 0);
    else
        INVARIANT(json_string_length(base64) == (file->content_len + 2) / 3 * 4);
}

/* One line that a strict reader takes, with every member, and the same when it is written again.
 * The caller's to free. */
static inline json_t *check_result(const struct toolcage_result *result)
{
    static const char *const members[] = {
        "version", "call",  "tool",    "exit_code", "signal",  "limit",       "backend",
        "layers",  "tier",  "policy",  "grant",     "stdout",  "stderr",      "message",
        "changes", "files", "session", "usage",     "denials", "enforcement", "omitted"};
    size_t length = strlen(result->json);
    INVARIANT(tc_utf8_valid(result->json, length) && !memchr(result->json, '\n', length));
    json_t *json = json_loadb(result->json, length, JSON_ALLOW_NUL, NULL);
    INVARIANT(json && json_is_object(json));
    for (size_t i = 0; i < TC_COUNT(members); i++)
        (void)member(json, members[i]);
    check_status(json, result);
    INVARIANT(json_array_size(member(json, "changes")) == result->outcome.change_count);
    INVARIANT(json_array_size(member(json, "files")) == result->outcome.file_count);
    for (size_t i = 0; i < result->outcome.file_count; i++)
        check_file(json_array_get(member(json, "files"), i), &result->outcome.files[i]);
    INVARIANT(json_array_size(member(json, "denials")) == result->outcome.denial_count);
    _autofree_ char *again = json_dumps(json, JSON_COMPACT);
    json_t *reread = again ? json_loads(again, JSON_ALLOW_NUL, NULL) : NULL;
    INVARIANT(reread && json_equal(json, reread));
    json_decref(reread);
    json_t *timings = json_loads(result->timings, 0, NULL);
    INVARIANT(json_is_array(timings));
    json_decref(timings);
    return json;
}

#endif
