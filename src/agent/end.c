/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a run ends: the reason, in words for the operator and for scripts, and the time that is left.
 */
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "agent/agent.h"

int64_t tc_agent_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t tc_agent_left_ms(const struct tc_agent *agent)
{
    return agent->deadline_ms - tc_agent_now_ms();
}

const char *tc_agent_word(enum tc_agent_code code)
{
    static const char *const words[] = {
        [TC_AGENT_ANSWERED] = "answered",
        [TC_AGENT_TURNS] = "limit.turns",
        [TC_AGENT_TOKENS] = "limit.tokens",
        [TC_AGENT_TIME] = "limit.time",
        [TC_AGENT_CALLS] = "limit.calls",
        [TC_AGENT_CONNECT] = "upstream.unreachable",
        [TC_AGENT_STATUS] = "upstream.status",
        [TC_AGENT_CUT] = "upstream.cut",
        [TC_AGENT_LARGE] = "upstream.too_large",
        [TC_AGENT_MALFORMED] = "upstream.malformed",
        [TC_AGENT_INPUT] = "input",
        [TC_AGENT_TRANSCRIPT] = "transcript",
        [TC_AGENT_ENGINE] = "engine",
        [TC_AGENT_MEMORY] = "memory",
    };
    return words[code];
}

bool tc_agent_fail(struct tc_agent *agent, enum tc_agent_code code, const char *hint,
                   const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    agent->code = code;
    (void)vsnprintf(agent->message, sizeof(agent->message), fmt, ap);
    (void)snprintf(agent->hint, sizeof(agent->hint), "%s", hint ? hint : "");
    va_end(ap);
    return false;
}
