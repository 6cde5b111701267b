/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Indexes of the compiled policy, so that resolving a grant does not slow down with the number of
 * tools: tools by name, and the host paths that any tool can write. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "policy/model.h"
#include "policy/pathrule.h"
#include "policy/resolve/resolve.h"

/* ---- tools by name ---- */

static int compare_names(const void *a, const void *b)
{
    const struct tc_spec *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int compare_name(const void *name, const void *spec)
{
    const struct tc_spec *const *s = spec;
    return strcmp(name, (*s)->name);
}

bool tc_policy_index_tools(struct toolcage_policy *policy)
{
    policy->by_name = calloc(policy->tool_count + 1, sizeof(const struct tc_spec *));
    for (size_t i = 0; policy->by_name && i < policy->tool_count; i++)
        if (policy->tools[i].name)
            policy->by_name[policy->named_count++] = &policy->tools[i];
    if (policy->named_count)
        qsort(policy->by_name, policy->named_count, sizeof(*policy->by_name), compare_names);
    return policy->by_name != NULL;
}

const struct tc_spec *tc_policy_find_tool(const struct toolcage_policy *policy, const char *name)
{
    const struct tc_spec **found = NULL;
    if (name && policy->named_count)
        found = bsearch(name, policy->by_name, policy->named_count, sizeof(*policy->by_name),
                        compare_name);
    return found ? *found : NULL;
}

/* ---- paths that tools can write ---- */

/* Adds the host path `from`, or without one, `path` below the call's workspace. */
static bool add_place(struct toolcage_policy *policy, const char *from, const char *path)
{
    return from ? tc_strv_add(&policy->writable, from)
                : tc_strv_add(&policy->workspace_writable, path);
}

static bool add_rules(struct toolcage_policy *policy, const struct tc_spec *spec)
{
    bool fine = true;
    for (size_t i = 0; fine && i < spec->fs_count; i++)
        if (spec->fs[i].access == TC_ACCESS_WRITE)
            fine = add_place(policy, spec->fs[i].from, spec->fs[i].path);
    return fine;
}

/* Adds the host path of a bound, mapped through the filesystem entries of `spec`. */
static bool add_bound(struct toolcage_policy *policy, const struct tc_spec *spec, const char *path)
{
    const struct tc_fs_rule *best = NULL;
    for (size_t i = 0; i < spec->fs_count; i++)
        if (spec->fs[i].access != TC_ACCESS_DENY && spec->fs[i].from &&
            tc_path_within(spec->fs[i].path, path) &&
            (!best || strlen(spec->fs[i].path) > strlen(best->path)))
            best = &spec->fs[i];
    if (best)
        return tc_strv_take(&policy->writable, tc_path_move(best->path, best->from, path));
    return add_place(policy, tc_path_within(TC_WORKSPACE, path) ? NULL : path, path);
}

/* `files` is the spec whose filesystem entries apply to `spec`; NULL: `spec`. */
static bool add_spec(struct toolcage_policy *policy, const struct tc_spec *spec,
                     const struct tc_spec *files)
{
    bool fine = add_rules(policy, spec);
    for (size_t i = 0; fine && i < spec->argument_count; i++)
        for (size_t b = 0; fine && b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            if (bound->path && bound->access == TC_ACCESS_WRITE)
                fine = add_bound(policy, files ? files : spec, bound->path);
        }
    return fine;
}

/* Orders a directory directly before its content: '/' sorts before every other byte. */
static int compare_paths(const void *a, const void *b)
{
    const unsigned char *x = *(const unsigned char *const *)a;
    const unsigned char *y = *(const unsigned char *const *)b;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    int left = *x == '/' ? 1 : *x ? *x + 1 : 0, right = *y == '/' ? 1 : *y ? *y + 1 : 0;
    return left - right;
}

static void reduce(struct tc_strv *paths)
{
    size_t kept = 0;
    if (paths->count)
        qsort(paths->items, paths->count, sizeof(*paths->items), compare_paths);
    for (size_t i = 0; i < paths->count; i++)
        if (kept && tc_path_within(paths->items[kept - 1], paths->items[i]))
            free(paths->items[i]);
        else
            paths->items[kept++] = paths->items[i];
    if (paths->count)
        paths->items[kept] = NULL;
    paths->count = kept;
}

bool tc_policy_index_writable(struct toolcage_policy *policy)
{
    bool fine = add_spec(policy, &policy->defaults, NULL);
    for (size_t i = 0; fine && i < policy->tool_count; i++)
        fine = add_spec(policy, &policy->tools[i],
                        tc_policy_given(policy, &policy->tools[i], TC_KEY_FILESYSTEM));
    for (size_t i = 0; fine && i < policy->server_count; i++) {
        const struct tc_spec *server = &policy->servers[i].spec;
        const struct tc_spec *files = tc_policy_given(policy, server, TC_KEY_FILESYSTEM);
        fine = add_spec(policy, server, files);
        for (size_t t = 0; fine && t < policy->servers[i].tool_count; t++)
            fine = add_spec(policy, &policy->servers[i].tools[t], files);
    }
    reduce(&policy->writable);
    reduce(&policy->workspace_writable);
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    for (size_t i = 0; i < policy->writable.count; i++)
        tc_buf_add(&text, policy->writable.items[i], strlen(policy->writable.items[i]) + 1);
    if (policy->writable.count)
        tc_digest(text.data, text.len, policy->writable_digest);
    return fine && !text.failed;
}

bool tc_grant_tool_writes(const struct tc_grant *grant, const char *path)
{
    const struct tc_strv *lists[] = {&grant->tool_writable,
                                     grant->policy ? &grant->policy->writable : NULL};
    for (size_t l = 0; l < TC_COUNT(lists); l++)
        if (lists[l] && tc_path_within_any(lists[l], path))
            return true;
    return false;
}

bool tc_grant_tool_writable(const struct tc_grant *grant, struct tc_strv *to)
{
    return tc_strv_copy(to, &grant->tool_writable) &&
           (!grant->policy || tc_strv_copy(to, &grant->policy->writable));
}

const struct tc_strv *tc_policy_writable(const struct toolcage_policy *policy)
{
    return policy ? &policy->writable : NULL;
}
