/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The form of all responses. An error is an object of RFC 9457. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/serve.h"

static const char plain_type[] = "application/json";
static const char problem_type[] = "application/problem+json";

int64_t tc_api_now_s(void)
{
    return (int64_t)time(NULL);
}

int64_t tc_api_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void tc_api_answer_text(struct tc_api *api, void *asker, const char *type, char *text)
{
    api->config.wire->answer(asker, 200, type, text);
}

void tc_api_answer(struct tc_api *api, void *asker, unsigned status, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    api->config.wire->answer(asker, status, plain_type, text);
}

void tc_api_refuse(struct tc_api *api, void *asker, unsigned status, const char *problem,
                   const char *hint)
{
    json_t *body = json_pack("{s:i, s:s, s:s*}", "status", (int)status, "detail", problem, "hint",
                             hint && *hint ? hint : NULL);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    api->metrics.refused++;
    api->config.wire->answer(asker, status, problem_type, text);
}

void tc_api_refuse_error(struct tc_api *api, void *asker, struct toolcage_error *err)
{
    const int32_t code = err ? toolcage_error_code(err) : TOOLCAGE_EMEMORY;
    const unsigned status =
        code == TOOLCAGE_EDENIED                                                             ? 403
        : code == TOOLCAGE_ENOT_FOUND                                                        ? 404
        : code == TOOLCAGE_EUSAGE || code == TOOLCAGE_EPOLICY || code == TOOLCAGE_EARGUMENTS ? 422
                                                                                             : 500;
    tc_api_refuse(api, asker, status, err ? toolcage_error_message(err) : "out of memory",
                  err ? toolcage_error_hint(err) : "free memory on this machine");
    toolcage_error_free(err);
}
