/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches names on their way from the workspace into the result. Input: names, a NUL between them;
 * each is a changed file, a collected one and the target of a denial. Every name must come back
 * byte for byte, and a name must not write lines of its own into the text for the model. */
#include "result.h"

enum { NAMES_MAX = 64 };

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    return c && at ? (int)(at - digits) : -1;
}

static bool is_base64_of(const char *text, const char *bytes, size_t length)
{
    if (strlen(text) != (length + 2) / 3 * 4)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char *quad = text + i / 3 * 4 + i % 3;
        int high = digit(quad[0]), low = digit(quad[1]), shift = (int)(i % 3) * 2 + 2;
        int byte = (high << shift | low >> (6 - shift)) & 255;
        if (high < 0 || low < 0 || byte != (unsigned char)bytes[i])
            return false;
    }
    return true;
}

static void must_name(json_t *row, const char *key, const char *base64_key, const char *name)
{
    json_t *text = json_object_get(row, key), *base64 = json_object_get(row, base64_key);
    INVARIANT(!text != !base64);
    if (text)
        INVARIANT(tc_streq(json_string_value(text), name));
    else
        INVARIANT(is_base64_of(json_string_value(base64), name, strlen(name)));
}

static void add(struct tc_outcome *o, const char *name)
{
    struct tc_change *change = TC_PUSH(o->changes, o->change_count);
    struct tc_file *file = TC_PUSH(o->files, o->file_count);
    struct tc_denial *denial = TC_PUSH(o->denials, o->denial_count);
    INVARIANT(change && file && denial);
    *change = (struct tc_change){.path = strdup(name), .kind = strdup("added")};
    *file = (struct tc_file){.path = strdup(name)};
    *denial = (struct tc_denial){.kind = o->denial_count % 2 ? TC_DENIAL_EXEC : TC_DENIAL_CONNECT,
                                 .target = strdup(name),
                                 .count = 1};
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

static void check(const struct toolcage_result *result, char *const names[], size_t count)
{
    json_t *json = check_result(result);
    for (size_t i = 0; i < count; i++) {
        must_name(json_array_get(member(json, "changes"), i), "path", "path_base64", names[i]);
        must_name(json_array_get(member(json, "files"), i), "path", "path_base64", names[i]);
        must_name(json_array_get(member(json, "denials"), i), "target", "target_base64", names[i]);
    }
    /* the status, one line a denial up to twenty, and how many more there are */
    INVARIANT(lines_of(result->message) == 1 + (count > 20 ? 21 : count));
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct toolcage_policy *policy;
    struct tc_outcome outcome = {.status = TOOLCAGE_STATUS_FAILED, .exit_code = 1};
    struct tc_grant grant = {0};
    char *names[NAMES_MAX];
    size_t count = 0;
    if (!policy)
        INVARIANT(tc_policy_new_default(&policy, NULL) == 0);
    while (size && count < NAMES_MAX) {
        names[count] = strndup((const char *)data, size);
        INVARIANT(names[count]);
        size_t used = strlen(names[count]) + (strlen(names[count]) < size);
        data += used;
        size -= used;
        add(&outcome, names[count++]);
    }
    const struct tc_result_frame frame = {
        .call = "01JD0000000000000000000000", .policy = policy, .grant = &grant};
    struct toolcage_result *result = NULL;
    INVARIANT(tc_result_make(&frame, &outcome, NULL, &result, NULL) == 0);
    check(result, names, count);
    tc_result_free(result);
    while (count)
        free(names[--count]);
    return 0;
}
