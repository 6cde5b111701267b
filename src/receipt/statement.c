/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The form of a statement (in-toto Statement v1). The signer signs nothing else, and a verified
 * envelope that contains anything else is not a receipt. */
#include <jansson.h>
#include <string.h>

#include "receipt/receipt.h"

enum { HEX = 64, ULID = 26 };

static bool is_text(const json_t *object, const char *key, const char *wanted)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && strcmp(text, wanted) == 0;
}

static bool is_hex(const char *text)
{
    return text && strlen(text) == HEX && strspn(text, "0123456789abcdef") == HEX;
}

static bool are_subjects(const json_t *subjects)
{
    size_t i;
    const json_t *subject;
    json_array_foreach(subjects, i, subject)
    {
        const json_t *digest = json_object_get(subject, "digest");
        if (!json_is_string(json_object_get(subject, "name")) ||
            !is_hex(json_string_value(json_object_get(digest, "sha256"))))
            return false;
    }
    return json_array_size(subjects) > 0;
}

static bool is_record(const json_t *record)
{
    static const char prefix[] = "sha256:";
    const char *hash = json_string_value(json_object_get(record, "hash"));
    return json_is_integer(json_object_get(record, "seq")) && hash &&
           strncmp(hash, prefix, strlen(prefix)) == 0 && is_hex(hash + strlen(prefix));
}

static bool is_predicate(const json_t *predicate)
{
    static const char *const parts[] = {"requested", "granted", "enforced", "observed"};
    const json_t *log = json_object_get(predicate, "log");
    const char *call = json_string_value(json_object_get(predicate, "call"));
    for (size_t i = 0; i < TC_COUNT(parts); i++)
        if (!json_is_object(json_object_get(predicate, parts[i])))
            return false;
    return call && strlen(call) == ULID && is_record(json_object_get(log, "decision")) &&
           is_record(json_object_get(log, "result"));
}

static const char *check(const json_t *statement)
{
    if (!is_text(statement, "_type", "https://in-toto.io/Statement/v1"))
        return "is not an in-toto statement";
    if (!is_text(statement, "predicateType", TC_RECEIPT_PREDICATE))
        return "is a statement of another type than a receipt of this toolcage";
    if (!are_subjects(json_object_get(statement, "subject")))
        return "has no subject, or one without a name and a SHA-256 digest";
    return is_predicate(json_object_get(statement, "predicate"))
               ? NULL
               : "lacks a part of what a receipt says about a call";
}

const char *tc_statement_check(const char *text, size_t length)
{
    json_error_t error;
    json_t *statement = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!statement && json_error_code(&error) == json_error_duplicate_key)
        return "has a member twice, so readers could disagree about it";
    if (!statement)
        return "is not JSON";
    const char *wrong = check(statement);
    json_decref(statement);
    return wrong;
}
