/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rules about settings without effect, which make a policy misleading. */
#include <string.h>

#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/lint/lint_rules.h"
#include "policy/names/system_paths.h"
#include "policy/parse/template.h"
#include "policy/plain.h"

/* ---- entries of filesystem ---- */

/* A tool's granted or denied entries, sorted by path, so that a lookup of each ancestor of a path
 * finds the entries that contain it. */
struct entries {
    const struct tc_fs_rule **items;
    size_t count;
};

static int by_path(const void *a, const void *b)
{
    const struct tc_fs_rule *x = *(const struct tc_fs_rule *const *)a;
    const struct tc_fs_rule *y = *(const struct tc_fs_rule *const *)b;
    int order = strcmp(x->path, y->path);
    return order ? order : (x > y) - (x < y); /* both are in the same array */
}

static bool sort_entries(struct tc_lint *l, const struct tc_spec *spec, bool denied,
                         struct entries *ret)
{
    ret->items = calloc(spec->fs_count ? spec->fs_count : 1, sizeof(struct tc_fs_rule *));
    for (size_t i = 0; ret->items && i < spec->fs_count; i++)
        if ((spec->fs[i].access == TC_ACCESS_DENY) == denied)
            ret->items[ret->count++] = &spec->fs[i];
    l->memory |= !ret->items;
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(struct tc_fs_rule *), by_path);
    return ret->items != NULL;
}

static void entries_done(struct entries *e)
{
    free(e->items);
}

/* The index of the first entry whose path does not sort before `path`. */
static size_t lower_bound(const struct entries *e, const char *path)
{
    size_t low = 0, high = e->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(e->items[middle]->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The nearest entry strictly above the path; with `itself`, also an entry with the same path. */
static const struct tc_fs_rule *above(struct tc_lint *l, const struct entries *e, const char *path,
                                      bool itself)
{
    _autofree_ char *at = strdup(path);
    l->memory |= !at;
    for (bool first = true; at && *at; first = false) {
        size_t i = lower_bound(e, at);
        if ((!first || itself) && i < e->count && tc_streq(e->items[i]->path, at))
            return e->items[i];
        char *slash = strrchr(at, '/');
        *(slash ? slash : at) = '\0';
    }
    return NULL;
}

/* Is an entry strictly below the path? */
static bool below(const struct entries *e, const char *path)
{
    _autofree_ char *start = tc_format("%s/", path);
    size_t i = start ? lower_bound(e, start) : e->count;
    return start && i < e->count && tc_startswith(e->items[i]->path, start);
}

/* Does the outer entry map the inner entry's path to the same host path? */
static bool same_tree(const struct tc_fs_rule *outer, const struct tc_fs_rule *inner)
{
    const char *rest = inner->path + strlen(outer->path);
    if (!outer->from || !inner->from)
        return outer->from == inner->from;
    size_t n = strlen(outer->from);
    return strncmp(outer->from, inner->from, n) == 0 && tc_streq(inner->from + n, rest);
}

static void check_shadowed(struct tc_lint *l, const struct tc_spec *spec, bool denied)
{
    _auto_(entries_done) struct entries e = {0};
    if (!sort_entries(l, spec, denied, &e))
        return;
    for (size_t i = 0; i < e.count; i++) {
        const struct tc_fs_rule *inner = e.items[i];
        bool twin = i && tc_streq(e.items[i - 1]->path, inner->path);
        const struct tc_fs_rule *outer = twin ? e.items[i - 1] : above(l, &e, inner->path, false);
        if (!outer || !same_tree(outer, inner) || (outer->access != inner->access && !twin))
            continue;
        if (twin && inner->access > outer->access)
            inner = outer, outer = e.items[i];
        tc_lint_add(l, spec, tc_access_list(inner->access), inner->line, inner->path,
                    "remove it, or set it to another value",
                    "%s has no effect: %s (line " TC_LINE_FORM ") already sets it", inner->path,
                    outer->path, TC_LINE_SHOWN(l->policy, outer->line));
    }
}

static int by_endpoint(const void *a, const void *b)
{
    const struct tc_net_entry *x = *(const struct tc_net_entry *const *)a;
    const struct tc_net_entry *y = *(const struct tc_net_entry *const *)b;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    int order = strcmp(x->host, y->host); /* "*" comes first */
    return order ? order : (x > y) - (x < y);
}

/* Reports endpoints that "*" with the same port covers, and duplicates. */
static void check_endpoints(struct tc_lint *l, const struct tc_spec *spec)
{
    _autofree_ const struct tc_net_entry **sorted =
        calloc(spec->net_count ? spec->net_count : 1, sizeof(struct tc_net_entry *));
    const struct tc_net_entry *any = NULL;
    char text[TC_ENDPOINT_SIZE];
    l->memory |= !sorted;
    for (size_t i = 0; sorted && i < spec->net_count; i++)
        sorted[i] = &spec->net[i];
    if (sorted)
        qsort(sorted, spec->net_count, sizeof(struct tc_net_entry *), by_endpoint);
    for (size_t i = 0; sorted && i < spec->net_count; i++) {
        const struct tc_net_entry *e = sorted[i], *before = i ? sorted[i - 1] : NULL;
        bool plain = !e->methods.count && !e->paths.count;
        bool twin = before && before->port == e->port && tc_streq(before->host, e->host);
        if (tc_streq(e->host, "*"))
            any = e;
        const struct tc_net_entry *by = twin ? before : any;
        tc_endpoint_format(text, sizeof(text), e->host, e->port);
        if (plain && by && by != e && by->port == e->port && !tc_host_is_address(e->host))
            tc_lint_add(l, spec, "network", e->origin.line, e->host,
                        "remove it, or the one that covers it",
                        "%s has no effect: %s (line " TC_LINE_FORM ") grants it already", text,
                        tc_streq(by->host, "*") ? "\"*\"" : "the same",
                        TC_LINE_SHOWN(l->policy, by->origin.line));
    }
}

void tc_lint_shadowed(struct tc_lint *l, const struct tc_spec *spec)
{
    if (spec->said[TC_KEY_FILESYSTEM]) {
        check_shadowed(l, spec, false);
        check_shadowed(l, spec, true);
    }
    if (spec->said[TC_KEY_NETWORK])
        check_endpoints(l, spec);
}

/* Could an argument, a system directory or an install make the path visible? */
static bool shown_otherwise(const struct tc_spec *spec, const char *path)
{
    if (tc_system_path_find(path) || tc_system_path_below(path))
        return true;
    if (tc_spec_is_setup(spec) &&
        (tc_path_within(spec->into, path) || tc_path_within(TC_SETUP_PLACE, path)))
        return true;
    for (size_t i = 0; i < spec->argument_count; i++)
        for (size_t b = 0; b < spec->arguments[i].bound_count; b++) {
            const char *bound = spec->arguments[i].bounds[b].path;
            if (bound && (tc_path_within(bound, path) || tc_path_within(path, bound)))
                return true;
        }
    return false;
}

void tc_lint_denied_nothing(struct tc_lint *l, const struct tc_spec *spec)
{
    _auto_(entries_done) struct entries granted = {0};
    /* denied paths of [defaults] apply to the grants of all tools */
    if (spec == &l->policy->defaults || !sort_entries(l, spec, false, &granted))
        return;
    for (size_t i = 0; i < spec->fs_count; i++) {
        const struct tc_fs_rule *rule = &spec->fs[i];
        if (rule->access == TC_ACCESS_DENY && !above(l, &granted, rule->path, true) &&
            !below(&granted, rule->path) && !shown_otherwise(spec, rule->path))
            tc_lint_add(l, spec, "filesystem.denied", rule->line, rule->path,
                        "write the path as the tool sees it, or remove it",
                        "%s is denied, but nothing grants it", rule->path);
    }
}

void tc_lint_denied_all(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *specs[] = {spec, &l->policy->defaults};
    size_t n = spec == specs[1] ? 1 : 2;
    for (size_t d = 0; d < n; d++) {
        _auto_(entries_done) struct entries denied = {0};
        if (!sort_entries(l, specs[d], true, &denied))
            return;
        for (size_t i = 0; denied.count && i < spec->fs_count; i++) {
            const struct tc_fs_rule *rule = &spec->fs[i];
            const struct tc_fs_rule *by =
                rule->access == TC_ACCESS_DENY ? NULL : above(l, &denied, rule->path, true);
            if (by)
                tc_lint_add(l, spec, tc_access_list(rule->access), rule->line, rule->path,
                            "remove one of the two; denied wins over all",
                            "%s is granted and completely denied (%s, %s line " TC_LINE_FORM ")",
                            rule->path, by->path, specs[d]->prefix,
                            TC_LINE_SHOWN(l->policy, by->line));
        }
    }
}

/* ---- keys ---- */

/* String keys; limits and plain keys have separate tables. */
static const struct {
    enum tc_key_id id;
    const char *key;
    size_t offset;
} same_rows[] = {
#define TEXT(id, key)                                    \
    {                                                    \
        TC_KEY_##id, #key, offsetof(struct tc_spec, key) \
    }
    TEXT(TIER, tier),
    TEXT(RISK, risk),
    TEXT(BACKEND, backend),
    TEXT(MODULE, module),
#undef TEXT
};

static bool same_text(size_t offset, const struct tc_spec *a, const struct tc_spec *b)
{
    return tc_streq(*(char *const *)(const void *)((const char *)a + offset),
                    *(char *const *)(const void *)((const char *)b + offset));
}

/* Compares all limits that the key sets. */
static bool same_limit(int key, const struct tc_limits *a, const struct tc_limits *b)
{
    bool same = true;
    for (const struct tc_field *f = tc_limits_fields.rows;
         f < tc_limits_fields.rows + tc_limits_fields.count; f++)
        same &= f->key != key || tc_field_number(f, a) == tc_field_number(f, b);
    return same;
}

static void tell_same(struct tc_lint *l, const struct tc_spec *spec, enum tc_key_id id,
                      const char *key)
{
    tc_lint_add(l, spec, key, spec->said[id], key, "remove it, or keep it on purpose",
                "%s has the same value as [defaults] (line " TC_LINE_FORM ")", key,
                TC_LINE_SHOWN(l->policy, l->policy->defaults.said[id]));
}

/* Is the key set in both, and would the tool inherit it? */
static bool said_by_both(const struct tc_spec *spec, const struct tc_spec *defaults,
                         enum tc_key_id id)
{
    return spec->said[id] && defaults->said[id] &&
           (!tc_spec_is_setup(spec) || tc_setup_inherits(id));
}

void tc_lint_same(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *defaults = &l->policy->defaults;
    if (spec == defaults)
        return;
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        if (row->word && tc_key_find(tc_keys, TC_SCOPE_TOOL, row->word) &&
            said_by_both(spec, defaults, row->key) &&
            same_limit(row->key, &spec->limits, &defaults->limits))
            tell_same(l, spec, row->key, row->word);
    }
    for (size_t i = 0; i < TC_COUNT(same_rows); i++)
        if (said_by_both(spec, defaults, same_rows[i].id) &&
            same_text(same_rows[i].offset, spec, defaults))
            tell_same(l, spec, same_rows[i].id, same_rows[i].key);
    for (size_t i = 0; i < TC_PLAIN_COUNT; i++) {
        const struct tc_plain *row = &tc_plain_rows[i];
        if (said_by_both(spec, defaults, row->id) && tc_plain_same(row, spec, defaults))
            tell_same(l, spec, row->id, row->field.name);
    }
    if (said_by_both(spec, defaults, TC_KEY_NETWORK) && !spec->net_count && !defaults->net_count)
        tell_same(l, spec, TC_KEY_NETWORK, "network");
}

/* ---- arguments ---- */

/* Collects the names of the placeholders in a text. False: it contains {*}, all arguments. */
static bool note_holes(struct tc_lint *l, const char *text, struct tc_strv *names)
{
    struct tc_hole hole;
    for (const char *at = text; at && tc_hole_find(at, &hole); at = hole.end) {
        if (hole.all)
            return false;
        l->memory |= !tc_strv_take(names, strndup(hole.name, hole.name_len));
    }
    return true;
}

static bool note_all(struct tc_lint *l, const struct tc_spec *spec, struct tc_strv *names)
{
    bool some = note_holes(l, spec->stdin_text, names);
    for (size_t i = 0; some && i < spec->command.count; i++)
        some = note_holes(l, spec->command.items[i], names);
    for (size_t i = 0; some && i < spec->env_set.count; i++)
        some = note_holes(l, spec->env_set.items[i], names);
    return some;
}

void tc_lint_argument(struct tc_lint *l, const struct tc_spec *spec)
{
    _autostrv_ struct tc_strv names = {0};
    if (!spec->command.count || tc_spec_is_server(spec) || !note_all(l, spec, &names))
        return;
    tc_strv_sort(&names);
    for (size_t i = 0; i < spec->argument_count; i++) {
        const struct tc_argument *a = &spec->arguments[i];
        if (!names.count ||
            !bsearch(&a->name, names.items, names.count, sizeof(*names.items), tc_order_texts))
            tc_lint_add(l, spec, "arguments", a->line, a->name,
                        "use it in command, stdin or env.set, or remove it",
                        "the tool never sees the argument %s%s", a->name,
                        a->bound_count ? ", but a call is granted what it names" : "");
    }
}

/* ---- tiers and risks ---- */

static bool uses(const struct tc_spec *specs, size_t count, bool tier, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (tc_streq(tier ? specs[i].tier : specs[i].risk, name))
            return true;
    return false;
}

static bool used(const struct toolcage_policy *policy, bool tier, const char *name)
{
    bool found = uses(&policy->defaults, 1, tier, name) ||
                 uses(policy->tools, policy->tool_count, tier, name);
    for (size_t i = 0; !found && i < policy->server_count; i++)
        found = uses(&policy->servers[i].spec, 1, tier, name) ||
                uses(policy->servers[i].tools, policy->servers[i].tool_count, tier, name);
    return found;
}

/* There are at most four tiers and four risks, so a walk over the tools for each is cheap. */
void tc_lint_classes(struct tc_lint *l)
{
    const struct toolcage_policy *policy = l->policy;
    for (size_t i = 0; i < policy->tier_count + policy->risk_count; i++) {
        bool tier = i < policy->tier_count;
        const struct tc_class *row =
            tier ? &policy->tiers[i] : &policy->risks[i - policy->tier_count];
        _autofree_ char *key = tc_format("%s.%s", tier ? "tier" : "risk", row->name);
        l->memory |= !key;
        if (key && !used(policy, tier, row->name))
            tc_lint_add(l, NULL, key, row->line, row->name, "remove it, or use it in a tool",
                        "no tool has the %s %s", tier ? "tier" : "risk", row->name);
    }
}

/* ---- nothing at all ---- */

static bool says_anything(const struct tc_spec *spec)
{
    for (int i = 0; i < TC_KEY_COUNT; i++)
        if (spec->said[i])
            return true;
    return false;
}

/* Has the tool only a title or description, and nothing to run or reach? */
static bool is_empty(const struct tc_lint *l, const struct tc_spec *tool)
{
    static const enum tc_key_id grants[] = {
        TC_KEY_COMMAND, TC_KEY_FILESYSTEM, TC_KEY_NETWORK, TC_KEY_PROGRAMS,    TC_KEY_IMAGE,
        TC_KEY_MODULE,  TC_KEY_ENV,        TC_KEY_SECRETS, TC_KEY_UNIX_SOCKETS};
    for (int i = 0; i < TC_KEY_COUNT; i++)
        if (tool->said[i] && i != TC_KEY_DESCRIPTION && i != TC_KEY_TITLE)
            return false;
    for (size_t i = 0; i < TC_COUNT(grants); i++)
        if (tc_lint_given(l, tool, grants[i]))
            return false;
    return !tool->setup;
}

void tc_lint_empty(struct tc_lint *l)
{
    for (size_t i = 0; i < l->policy->tool_count; i++) {
        const struct tc_spec *tool = &l->policy->tools[i];
        if (is_empty(l, tool))
            tc_lint_add(l, NULL, tool->prefix, tool->line, tool->name,
                        "add command = [\"PROGRAM\"] and what it needs, or remove the tool",
                        "%s has no command and no grant: it cannot be called", tool->prefix);
    }
}

void tc_lint_no_tools(struct tc_lint *l)
{
    const struct toolcage_policy *policy = l->policy;
    if (!policy->tool_count && !policy->server_count && !policy->test_count &&
        !says_anything(&policy->defaults))
        tc_lint_add(l, NULL, "tool", 1, NULL, "toolcage init writes one to start from",
                    "no tools here: it has no [tool.NAME], no [server.NAME] and no [defaults]");
}
