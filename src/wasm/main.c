/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-wasm: runs a WebAssembly module, inside a cage that was built around it. Nobody calls it
 * by hand. */
#include <fcntl.h>
#include <stdio.h>
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

/* More calls than one come only to who waits for them. */
static bool is_whole(struct tc_wasm_order *order)
{
    order->calls = order->ahead ? order->calls : 0;
    return order->engine && order->module && (!order->code || order->code_digest) &&
           order->memory >= 0 && order->fuel >= 0 && order->cpu_time >= 0 && order->calls >= 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *verb;
        int (*run)(struct tc_wasm_order *order);
    } verbs[] = {{"run", tc_wasm_run},
                 {"edge", tc_wasm_run_edge},
                 {"compile", tc_wasm_compile},
                 {"inspect", tc_wasm_inspect}};
    struct tc_wasm_order order = {.root = AT_FDCWD};
    for (size_t i = 0; argc > 1 && i < TC_COUNT(verbs); i++)
        if (strcmp(verbs[i].verb, argv[1]) == 0 && tc_wasm_read_words(&order, argv + 2) &&
            is_whole(&order))
            return verbs[i].run(&order);
    (void)fputs("toolcage-wasm: this is a part of toolcage, and is started by it alone\n", stderr);
    return TC_WASM_REFUSED;
}
