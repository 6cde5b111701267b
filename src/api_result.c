/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The exported functions that read a result; api.c has the others. NULL is a result that failed. */
#include <toolcage/result.h>
#include <toolcage/tools.h>

#include "call/result/result.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int32_t toolcage_result_status(const struct toolcage_result *result)
{
    return result ? (int32_t)result->outcome.status : (int32_t)TOOLCAGE_STATUS_ERROR;
}

EXPORT const char *toolcage_result_status_word(const struct toolcage_result *result)
{
    return tc_status_word(toolcage_result_status(result));
}

EXPORT int32_t toolcage_result_exit_code(const struct toolcage_result *result)
{
    return result ? (int32_t)result->outcome.exit_code : -1;
}

EXPORT int32_t toolcage_result_signal(const struct toolcage_result *result)
{
    return result ? (int32_t)result->outcome.signal : 0;
}

EXPORT const char *toolcage_result_limit(const struct toolcage_result *result)
{
    return result && result->outcome.limit ? result->outcome.limit : "";
}

EXPORT const char *toolcage_result_notice(const struct toolcage_result *result)
{
    return result && result->outcome.notice ? result->outcome.notice : "";
}

EXPORT int32_t toolcage_result_shell_code(const struct toolcage_result *result)
{
    enum { OWN_FAILURE = 125 };
    return result ? tc_result_shell_code(result) : OWN_FAILURE;
}

EXPORT const void *toolcage_result_output(const struct toolcage_result *result, int stream,
                                          size_t *ret_length)
{
    const struct tc_stream none = {0};
    const struct tc_stream *s = !result       ? &none
                                : stream == 1 ? &result->outcome.out
                                              : &result->outcome.err;
    if (stream != 1 && stream != 2)
        s = &none;
    if (ret_length)
        *ret_length = s->head ? s->head_len : 0;
    return s->head ? s->head : "";
}

EXPORT const char *toolcage_result_message(const struct toolcage_result *result)
{
    return result ? result->message : "";
}

EXPORT const struct toolcage_error *toolcage_result_error(const struct toolcage_result *result)
{
    return result ? result->error : NULL;
}

EXPORT const char *toolcage_result_json(const struct toolcage_result *result)
{
    return result ? result->json : "null";
}

EXPORT const char *toolcage_result_timings_json(const struct toolcage_result *result)
{
    return result ? result->timings : "[]";
}
