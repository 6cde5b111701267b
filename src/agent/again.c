/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The operator's yes to the same call of the same tool for the rest of the run, at most for an
 * hour. The same are arguments of equal value; their order and white space do not count. */
#include <string.h>
#include <time.h>

#include "agent/agent.h"

enum { SECONDS = 3600, MOST = 64 };

/* Suspended time counts. */
static json_int_t now_s(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

static json_t *read_arguments(const char *text)
{
    return json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

bool tc_agent_again_keep(struct tc_agent *agent, const char *tool, const char *arguments)
{
    json_t *entry = json_pack("{s:s, s:o, s:I, s:i}", "tool", tool, "arguments",
                              read_arguments(arguments), "until", now_s() + SECONDS, "count", 0);
    agent->again = agent->again ? agent->again : json_array();
    if (json_array_size(agent->again) == MOST)
        (void)json_array_remove(agent->again, 0);
    return (entry && json_array_append_new(agent->again, entry) == 0) ||
           tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine", "out of memory");
}

int64_t tc_agent_again_count(struct tc_agent *agent, const char *tool, const char *arguments)
{
    json_t *wanted = read_arguments(arguments), *entry;
    json_int_t count = 0;
    size_t i;
    json_array_foreach(agent->again, i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "tool")), tool) != 0 ||
            !json_equal(json_object_get(entry, "arguments"), wanted) ||
            now_s() >= json_integer_value(json_object_get(entry, "until")))
            continue;
        json_t *counted = json_object_get(entry, "count");
        count = json_integer_value(counted) + 1;
        (void)json_integer_set(counted, count);
        break;
    }
    json_decref(wanted);
    return count;
}
