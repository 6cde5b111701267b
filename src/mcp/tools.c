/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of a policy's tools, with notes on those that need a person. */
#include "mcp/server.h"

bool tc_mcp_lists(const json_t *tools, const json_t *name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i,
                       tool) if (json_equal(json_object_get(tool, "name"), name)) return true;
    return false;
}

/* Adds the note to the descriptions of the tools that are not in `known`. */
static void note_others(json_t *tools, const json_t *known, const char *note)
{
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
    {
        const char *text = json_string_value(json_object_get(tool, "description"));
        if (tc_mcp_lists(known, json_object_get(tool, "name")))
            continue;
        (void)json_object_set_new(
            tool, "description",
            json_sprintf("%s%s%s", text ? text : "", text && *text ? " " : "", note));
    }
}

static int load_list(const struct toolcage_policy *policy, const char *format, json_t **ret,
                     struct toolcage_error **err)
{
    char *text = NULL;
    int rc = toolcage_policy_tools_json(policy, format, &text, err);
    if (rc < 0)
        return rc;
    *ret = json_loads(text, JSON_ALLOW_NUL, NULL);
    toolcage_free(text);
    return *ret ? 0 : TOOLCAGE_EMEMORY;
}

/* Tools of the smaller list keep the notes that they have there. */
static void keep_notes(json_t *tools, const json_t *smaller)
{
    size_t i, k;
    json_t *tool, *noted;
    json_array_foreach(tools, i, tool) json_array_foreach(smaller, k, noted)
    {
        json_t *name = json_object_get(tool, "name");
        if (json_equal(name, json_object_get(noted, "name")))
            (void)json_object_set(tool, "description", json_object_get(noted, "description"));
    }
}

/* The list has more tools than the next smaller one: what a call of such a tool leads to. */
static const struct {
    const char *format, *note;
} lists_of_tools[] = {
    {"mcp", NULL},
    {"mcp-approval",
     "A person must approve each call; it waits for the answer for up to ten minutes."},
    {"mcp-manual", "Only a person starts it: a call is stored for that, and is answered so."},
};

int tc_mcp_load_tools(struct tc_mcp *server, const struct toolcage_policy *policy, json_t **ret,
                      struct toolcage_error **err)
{
    const struct tc_mcp_tools *what = server->what;
    size_t most = what->keep ? 2 : what->elicits || what->queues ? 1 : 0;
    json_t *smaller = NULL;
    int rc = 0;
    for (size_t i = what->queues ? 0 : most; rc == 0 && i <= most; i++) {
        json_t *list = NULL;
        rc = load_list(policy, lists_of_tools[i].format, &list, err);
        if (smaller && list) {
            note_others(list, smaller, lists_of_tools[i].note);
            keep_notes(list, smaller);
        }
        json_decref(smaller);
        smaller = list;
    }
    *ret = smaller;
    return rc;
}
