/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The client's open requests. A server message is forwarded as a response only if it answers one of
 * these. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mcp/wrap.h"

struct tc_asked *tc_asked_of(struct tc_wrap *wrap, const char *key)
{
    for (size_t i = 0; i < wrap->asked_count; i++)
        if (strcmp(wrap->asked[i].key, key) == 0)
            return &wrap->asked[i];
    return NULL;
}

struct tc_asked *tc_asked_find(struct tc_wrap *wrap, struct tc_slice id)
{
    char *key = tc_rpc_key(id);
    struct tc_asked *found = key ? tc_asked_of(wrap, key) : NULL;
    wrap->failed |= !key;
    free(key);
    return found;
}

struct tc_asked *tc_asked_add(struct tc_wrap *wrap, struct tc_slice id)
{
    if (wrap->asked_count == TC_ASKED_MAX)
        return NULL;
    struct tc_asked asked = {.key = tc_rpc_key(id), .id = strndup(id.at, id.length)};
    struct tc_asked *slot = &wrap->asked[wrap->asked_count];
    if (!asked.key || !asked.id) {
        free(asked.key);
        free(asked.id);
        wrap->failed = true;
        return NULL;
    }
    wrap->asked_count++;
    *slot = asked;
    return slot;
}

void tc_asked_remove(struct tc_wrap *wrap, struct tc_asked *asked)
{
    free(asked->key);
    free(asked->id);
    free(asked->waiting);
    /* in their order: calls that wait are decided one after the other */
    size_t after = (size_t)(wrap->asked + --wrap->asked_count - asked);
    memmove(asked, asked + 1, after * sizeof(*asked));
}

/* ---- tasks ---- */

/* A task is a result that arrives later, through a request without limits. So requests about a task
 * are allowed only if a permitted call created it. */

bool tc_tasks_concern(struct tc_wrap *wrap, struct tc_slice method)
{
    static const char prefix[] = "tasks/";
    static const char *const words[] = {"tasks/get", "tasks/result", "tasks/cancel",
                                        "tasks/update"};
    size_t length = 0;
    char *text = tc_scan_text(method, &length);
    bool list = tc_scan_is(method, "tasks/list"), found = false;
    wrap->failed |= !text;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        found |= tc_scan_folds(method, words[i]);
    found |= text && strncasecmp(text, prefix, sizeof(prefix) - 1) == 0;
    free(text);
    return found && !list;
}

static bool is_known(const struct tc_wrap *wrap, const char *key)
{
    for (size_t i = 0; i < wrap->task_count; i++)
        if (strcmp(wrap->tasks[i], key) == 0)
            return true;
    return false;
}

bool tc_tasks_know(struct tc_wrap *wrap, struct tc_slice params)
{
    struct tc_slice id;
    if (!tc_scan_member(params, "taskId", &id) || !tc_scan_is_string(id))
        return false;
    char *key = tc_rpc_key(id);
    bool known = key && is_known(wrap, key);
    wrap->failed |= !key;
    free(key);
    return known;
}

/* Replaces the oldest id when the table is full. */
static void remember(struct tc_wrap *wrap, char *key)
{
    size_t at = wrap->task_next++ % TC_ASKED_MAX;
    if (at == wrap->task_count)
        wrap->task_count++;
    else
        free(wrap->tasks[at]);
    wrap->tasks[at] = key;
}

void tc_tasks_begin(struct tc_wrap *wrap, struct tc_slice result)
{
    struct tc_slice task, id;
    if (!tc_scan_member(result, "task", &task) ||
        !tc_scan_member(task.at ? task : result, "taskId", &id) || !tc_scan_is_string(id))
        return;
    char *key = tc_rpc_key(id);
    wrap->failed |= !key;
    if (key && !is_known(wrap, key))
        remember(wrap, key);
    else
        free(key);
}

void tc_tasks_done(struct tc_wrap *wrap)
{
    while (wrap->task_count)
        free(wrap->tasks[--wrap->task_count]);
}
