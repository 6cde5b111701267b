/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/policy/compare*.c. Input: two policy texts with a NUL between them. A policy is the
 * same as itself, and one that is not widened resolves no path that the other refuses. */
#include "fuzz.h"

#include <string.h>

#include "base/error.h"
#include "policy/compare/compare.h"
#include "policy/policy.h"

static const struct tc_facts facts = {.cwd = "/home/me/project",
                                      .home = "/home/me",
                                      .workspace = "/\xe2\x80\xa6/workspace",
                                      .state = "/home/me/.toolcage",
                                      .config = "/home/me/.config/toolcage"};

static bool widened(const struct tc_differences *all)
{
    bool more = false;
    for (size_t i = 0; i < all->count; i++) {
        INVARIANT(all->items[i].place && all->items[i].text && all->items[i].text[0]);
        more |= all->items[i].kind == TC_DIFFERENCE_MORE;
    }
    return more;
}

static void check_tool(const struct toolcage_policy *from, const struct toolcage_policy *to,
                       const char *tool)
{
    const struct tc_request request = {.tool = tool, .explain = true};
    struct tc_grant a = {0}, b = {0};
    struct toolcage_error *err = NULL;
    int rc = tc_policy_resolve(to, &request, &facts, &b, &err);
    tc_error_free(err);
    if (rc)
        return;
    INVARIANT(tc_policy_has_tool(from, tool));
    INVARIANT(tc_policy_resolve(from, &request, &facts, &a, NULL) == 0);
    for (size_t i = 0; i < b.fs_count; i++) {
        const struct tc_fs_entry *outer = tc_grant_find(&a, b.fs[i].path);
        const struct tc_fs_entry *inner = tc_grant_find(&b, b.fs[i].path);
        if (inner->access == TC_ACCESS_WRITE)
            INVARIANT(outer && outer->access == TC_ACCESS_WRITE);
    }
    INVARIANT(!b.net_count || a.net_count);
    INVARIANT(b.limits.pids <= a.limits.pids && b.limits.open_files <= a.limits.open_files);
    tc_grant_done(&a);
    tc_grant_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, '\0', size) : NULL;
    size_t length = cut ? (size_t)(cut - data) : size;
    struct toolcage_policy *from = NULL, *to = NULL;
    struct tc_differences all = {0}, none = {0};
    if (!cut ||
        tc_policy_compile((const char *)data, length, "a.toml", "/srv/p", "/home/me", &from, NULL))
        return 0;
    INVARIANT(tc_policy_compare(from, from, &facts, &none, NULL) == 0 && !none.count);
    if (tc_policy_compile((const char *)cut + 1, size - length - 1, "b.toml", "/srv/p", "/home/me",
                          &to, NULL) == 0) {
        INVARIANT(tc_policy_compare(from, to, &facts, &all, NULL) == 0);
        for (size_t i = 0; !widened(&all) && i < to->tool_count; i++)
            check_tool(from, to, to->tools[i].name);
    }
    tc_differences_done(&all);
    tc_differences_done(&none);
    tc_policy_unref(from);
    tc_policy_unref(to);
    return 0;
}
