/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The words of an order: the program's own, and those that a call brings to one that waits. */
#include <string.h>

#include "cage/handed.h"
#include "wasm/worker.h"

struct option {
    const char *name;
    const char **text;
    struct tc_strv *list;
    int64_t *number;
};

static bool take(const struct option *o, const char *value)
{
    char *end = NULL;
    if (o->text)
        *o->text = value;
    if (o->number)
        *o->number = strtoll(value, &end, 10);
    return (!o->list || tc_strv_add(o->list, value)) && (!end || (end != value && !*end));
}

bool tc_wasm_read_words(struct tc_wasm_order *order, char **at)
{
    const struct option options[] = {
        {"--engine", .text = &order->engine},
        {"--module", .text = &order->module},
        {"--digest", .text = &order->digest},
        {"--code", .text = &order->code},
        {"--code-digest", .text = &order->code_digest},
        {"--code-mark", .text = &order->code_mark},
        {"--memory", .number = &order->memory},
        {"--calls", .number = &order->calls},
        {"--watched", .number = &order->watched},
        {"--fuel", .number = &order->fuel},
        {"--cpu-time", .number = &order->cpu_time},
        {"--read", .list = &order->read},
        {"--write", .list = &order->write},
        {"--env", .list = &order->env},
    };
    for (; *at && strcmp(*at, "--") != 0; at += 2) {
        if (strcmp(*at, TC_WORD_AHEAD) == 0 && !at[1])
            return order->ahead = true;
        size_t i = 0;
        while (i < TC_COUNT(options) && strcmp(options[i].name, *at) != 0)
            i++;
        if (i == TC_COUNT(options) || !at[1] || !take(&options[i], at[1]))
            return false;
    }
    for (at += *at != NULL; *at; at++)
        if (!tc_strv_add(&order->args, *at))
            return false;
    return true;
}
