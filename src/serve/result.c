/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The text of a result, which all its readers share. */
#include <stdlib.h>
#include <string.h>

#include "serve/api.h"

static size_t held;

size_t tc_api_results_held(void)
{
    return held;
}

struct tc_api_result *tc_api_result_new(const char *json)
{
    static const char head[] = "event: result\ndata: ", tail[] = "\n\n";
    size_t begin = sizeof(head) - 1, size = strlen(json), end = begin + size;
    size_t length = end + sizeof(tail) - 1;
    struct tc_api_result *result = malloc(sizeof(*result) + length);
    if (!result)
        return NULL;
    *result = (struct tc_api_result){.references = 1, .begin = begin, .end = end, .length = length};
    held += length;
    memcpy(result->text, head, begin);
    memcpy(result->text + begin, json, size);
    memcpy(result->text + end, tail, sizeof(tail) - 1);
    return result;
}

struct tc_api_result *tc_api_result_ref(struct tc_api_result *result)
{
    result->references++;
    return result;
}

struct tc_api_result *tc_api_result_unref(struct tc_api_result *result)
{
    if (result && --result->references == 0) {
        held -= result->length;
        free(result);
    }
    return NULL;
}
