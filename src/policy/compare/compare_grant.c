/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares two resolved grants. Access to paths and endpoints can differ only at those that a grant
 * names, so only these are looked up in both. */
#include <string.h>

#include "base/path.h"
#include "policy/backends.h"
#include "policy/compare/compare.h"
#include "policy/endpoint.h"
#include "policy/names/system_paths.h"

/* ---- paths ---- */

enum level { NOTHING, READ, WRITE };

struct answer {
    enum level level;
    char *host; /* owned */
};

static void answer_done(struct answer *answer)
{
    free(answer->host);
}

static bool ask_path(const struct tc_grant *grant, const char *path, struct answer *ret)
{
    const struct tc_fs_entry *entry = tc_grant_find(grant, path);
    *ret = (struct answer){NOTHING, NULL};
    if (!entry && (tc_system_path_find(path) || tc_system_shows(grant->system, path)))
        *ret = (struct answer){READ, strdup(path)};
    else if (entry && entry->access != TC_ACCESS_DENY && entry->from)
        *ret = (struct answer){entry->access == TC_ACCESS_WRITE ? WRITE : READ,
                               tc_format("%s%s", entry->from, path + strlen(entry->path))};
    return ret->level == NOTHING || ret->host;
}

static bool writes(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access == TC_ACCESS_WRITE && tc_streq(grant->fs[i].path, path))
            return true;
    return false;
}

/* Steering files are read-only, and credentials hidden, unless an entry names them. An entry with
 * one of these name parts may name such a file, and so may one whose name steers. */
static bool may_lift(const struct tc_grant *from, const struct tc_grant *to, const char *path,
                     const char *host)
{
    static const char *const bare[] = {"/HEAD", "/config", "/hooks", "/commondir", "/worktrees"};
    bool special = strstr(path, "/.") || tc_steers(&to->steering, "", path + 1) != TC_STEERS_NOT ||
                   (host && tc_steers(&to->steering, "", host + 1) != TC_STEERS_NOT);
    for (size_t i = 0; i < TC_COUNT(bare); i++)
        special |= strstr(path, bare[i]) != NULL;
    return special && writes(to, path) && !writes(from, path);
}

/* Do the first `count` entries name `path`? */
static bool names(const struct tc_grant *grant, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (tc_streq(grant->fs[i].path, path))
            return true;
    return false;
}

/* The host's path if it differs from the tool's, else "". Owned. */
static char *say_host(const char *path, const struct answer *answer)
{
    bool same = !answer->host || tc_streq(path, answer->host) ||
                tc_path_within(TC_COMPARE_WORKSPACE, answer->host);
    return same ? strdup("") : tc_format(", from %s", answer->host);
}

static void compare_path(struct tc_differences *changes, const struct tc_grant *from,
                         const struct tc_grant *to, const char *path)
{
    static const char *const words[] = {
        [NOTHING] = "nothing", [READ] = "readable", [WRITE] = "writable"};
    _auto_(answer_done) struct answer a = {0}, b = {0};
    bool asked = ask_path(from, path, &a) && ask_path(to, path, &b);
    _autofree_ char *host = asked ? say_host(path, &b) : NULL;
    if (!host) {
        changes->memory = true;
        return;
    }
    if (b.level > a.level)
        tc_differences_changed(changes, TC_DIFFERENCE_MORE, words[a.level], "%s is %s%s", path,
                               words[b.level], host);
    else if (b.level && !tc_streq(a.host, b.host))
        tc_differences_changed(changes, TC_DIFFERENCE_MORE, a.host, "%s is %s of the host", path,
                               b.host);
    else if (b.level < a.level)
        tc_differences_changed(changes, TC_DIFFERENCE_LESS, words[a.level], "%s is %s", path,
                               b.level ? words[b.level] : "not there");
    else if (may_lift(from, to, path, b.host))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "%s is writable by name, even if it is a steering file", path);
    else if (may_lift(to, from, path, a.host))
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "%s is no longer writable by name", path);
    else if (names(from, from->fs_count, path) != names(to, to->fs_count, path))
        tc_differences_add(changes, TC_DIFFERENCE_NEITHER,
                           "%s is %s by itself, with the same effect", path,
                           names(to, to->fs_count, path) ? "named" : "no longer named");
}

static bool is_name(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (tc_streq(grant->fs[i].path, path) && !grant->fs[i].optional)
            return true;
    return false;
}

static void compare_files(struct tc_differences *changes, const struct tc_grant *from,
                          const struct tc_grant *to)
{
    for (size_t i = 0; i < from->fs_count; i++)
        if (!names(from, i, from->fs[i].path))
            compare_path(changes, from, to, from->fs[i].path);
    for (size_t i = 0; i < to->fs_count; i++)
        if (!names(to, i, to->fs[i].path) && !names(from, from->fs_count, to->fs[i].path))
            compare_path(changes, from, to, to->fs[i].path);
    for (size_t i = 0; i < to->fs_count; i++)
        if (to->fs[i].optional && is_name(from, to->fs[i].path))
            tc_differences_add(changes, TC_DIFFERENCE_MORE,
                               "%s may be missing; before that the call was refused",
                               to->fs[i].path);
}

/* ---- network and sockets ---- */

static bool words_within(const struct tc_strv *outer, const struct tc_strv *inner)
{
    if (!outer->count)
        return true;
    for (size_t i = 0; i < inner->count; i++)
        if (!tc_strv_has(outer, inner->items[i]))
            return false;
    return inner->count > 0;
}

static bool paths_within(const struct tc_strv *outer, const struct tc_strv *inner)
{
    bool all = !outer->count || inner->count;
    for (size_t i = 0; all && outer->count && i < inner->count; i++)
        all = tc_path_within_any(outer, inner->items[i]);
    return all;
}

/* Does the grant allow everything that `entry` allows on the host and port? */
static bool covered(const struct tc_grant *grant, const struct tc_net_entry *entry,
                    const char *host, uint32_t port)
{
    const struct tc_net_entry *outer,
        *first = tc_endpoint_find(grant->net, grant->net_count, host, port);
    size_t at = 0;
    while ((outer = tc_endpoint_next(grant->net, grant->net_count, first, &at)))
        if (words_within(&outer->methods, &entry->methods) &&
            paths_within(&outer->paths, &entry->paths))
            return true;
    return false;
}

/* Reports access to the host and port that `to` grants and `from` does not. */
static void compare_host(struct tc_differences *changes, const struct tc_grant *from,
                         const struct tc_grant *to, const char *host, uint32_t port,
                         enum tc_difference_kind kind)
{
    char text[TC_ENDPOINT_SIZE];
    const struct tc_net_entry *entry, *first = tc_endpoint_find(to->net, to->net_count, host, port);
    size_t at = 0;
    tc_endpoint_format(text, sizeof(text), host, port);
    while ((entry = tc_endpoint_next(to->net, to->net_count, first, &at))) {
        if (covered(from, entry, host, port))
            continue;
        tc_differences_add(changes, kind,
                           kind == TC_DIFFERENCE_MORE ? "reaches %s%s" : "no longer reaches %s%s",
                           text, tc_net_entry_rules(entry) ? " with these methods and paths" : "");
        return;
    }
}

static bool seen_before(const struct tc_grant *grant, size_t count,
                        const struct tc_net_entry *entry)
{
    for (size_t i = 0; i < count; i++)
        if (grant->net[i].port == entry->port && tc_streq(grant->net[i].host, entry->host))
            return true;
    return false;
}

static void compare_hosts(struct tc_differences *changes, const struct tc_grant *from,
                          const struct tc_grant *to)
{
    const struct tc_grant *both[] = {from, to};
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < both[g]->net_count; i++) {
            const struct tc_net_entry *entry = &both[g]->net[i];
            if (seen_before(both[g], i, entry) || (g && seen_before(from, from->net_count, entry)))
                continue;
            compare_host(changes, from, to, entry->host, entry->port, TC_DIFFERENCE_MORE);
            compare_host(changes, to, from, entry->host, entry->port, TC_DIFFERENCE_LESS);
        }
}

static void compare_rank(struct tc_differences *changes, int from, int to, const char *less,
                         const char *more)
{
    if (to < from)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "%s", less);
    else if (to > from)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "%s", more);
}

static bool has_socket(const struct tc_grant *grant, const struct tc_fs_entry *socket)
{
    const struct tc_fs_entry *found = tc_grant_socket(grant, socket->path);
    return found && tc_streq(found->from, socket->from);
}

static void compare_sockets(struct tc_differences *changes, const struct tc_grant *from,
                            const struct tc_grant *to)
{
    compare_rank(changes, !from->unix_sockets, !to->unix_sockets, "creates its own unix sockets",
                 "creates no unix sockets");
    for (size_t i = 0; i < to->socket_count; i++)
        if (!has_socket(from, &to->sockets[i]))
            tc_differences_add(changes, TC_DIFFERENCE_MORE, "connects to the unix socket %s",
                               to->sockets[i].path);
    for (size_t i = 0; i < from->socket_count; i++)
        if (!has_socket(to, &from->sockets[i]))
            tc_differences_add(changes, TC_DIFFERENCE_LESS,
                               "no longer connects to the unix socket %s", from->sockets[i].path);
}

/* ---- limits and choices ---- */

static void compare_limit(struct tc_differences *changes, const struct tc_field *row, int64_t from,
                          int64_t to)
{
    char was[TC_VALUE_TEXT_SIZE] = "unset", is[TC_VALUE_TEXT_SIZE] = "unset";
    bool unset = row->flags & TC_FIELD_UNSET;
    if (from == to)
        return;
    if (from || !unset)
        tc_value_write(row->unit, from, was);
    if (to || !unset)
        tc_value_write(row->unit, to, is);
    bool more = unset ? from && (!to || to > from) : to > from;
    tc_differences_changed(changes, more ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS, was, "%s is %s",
                           tc_streq(row->word, "inodes") ? "files on disk" : row->word, is);
}

static void compare_limits(struct tc_differences *changes, const struct tc_limits *from,
                           const struct tc_limits *to)
{
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        changes->key = row->key;
        if (row->word)
            compare_limit(changes, row, tc_field_number(row, from), tc_field_number(row, to));
    }
    changes->key = TC_KEY_MEMORY;
    compare_rank(changes, !from->memory_any, !to->memory_any,
                 "memory may be limited for each process separately",
                 "memory is limited by a cgroup only");
    changes->key = TC_KEY_OUTPUT;
    compare_rank(changes, from->output_kill, to->output_kill,
                 "too much output is truncated, "
                 "and does not end the call",
                 "too much output ends the call");
    changes->key = TC_KEY_DISK;
    compare_rank(changes, from->disk_set, to->disk_set, "disk is limited by the default only",
                 "disk is limited by the policy");
}

static int taking_part(const struct tc_grant *grant)
{
    return tc_streq(grant->tier, "ManualOnly") ? 2 : grant->approval;
}

static int held(const struct tc_grant *grant)
{
    return tc_commit_rank(grant->workspace == TC_WORKSPACE_BIND ? TC_COMMIT_ALWAYS : grant->commit);
}

static void compare_backends(struct tc_differences *changes, const struct tc_grant *from,
                             const struct tc_grant *to)
{
    int a = tc_backend_strength(from->backend), b = tc_backend_strength(to->backend);
    if (!tc_streq(from->backend, to->backend))
        tc_differences_add(changes, b > a && a >= 0 ? TC_DIFFERENCE_LESS : TC_DIFFERENCE_MORE,
                           "backend %s instead of %s%s", to->backend, from->backend,
                           a < 0 || b < 0 || a == b ? ", which cannot be compared" : "");
    changes->key = TC_KEY_MODULE;
    tc_differences_choice(changes, "the module", from->module, to->module);
    tc_differences_choice(changes, "the module's digest", from->module_digest, to->module_digest);
    changes->key = TC_KEY_BACKEND;
    tc_differences_lists(changes, &from->settings, &to->settings, TC_DIFFERENCE_NEITHER,
                         "has the setting backend.%; that cannot be compared",
                         "no longer has the setting backend.%; that cannot be compared");
}

/* A different upstream proxy sees the traffic. If the proxy resolves names, resolved addresses are
 * not checked here. */
static void compare_upstreams(struct tc_differences *changes, const struct tc_grant *from,
                              const struct tc_grant *to)
{
    _autofree_ char *a = tc_upstream_write(&from->upstream), *b = tc_upstream_write(&to->upstream);
    if ((from->upstream.host && !a) || (to->upstream.host && !b)) {
        changes->memory = true;
        return;
    }
    if (from->net_count && to->net_count)
        tc_differences_choice(changes, "the upstream proxy", a, b);
    compare_rank(changes, !from->upstream.names, !to->upstream.names,
                 "the upstream proxy resolves names", "names are resolved here");
}

static void compare_clauses(struct tc_differences *changes, const struct tc_grant *from,
                            const struct tc_grant *to)
{
    for (int c = 0; c < TC_CLAUSE_COUNT; c++) {
        tc_clauses bit = TC_CLAUSE_BIT(c);
        if ((from->without ^ to->without) & bit)
            tc_differences_add(changes, to->without & bit ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
                               to->without & bit ? "may run without %s" : "never runs without %s",
                               tc_clause_name((enum tc_clause)c));
    }
}

void tc_compare_grants(struct tc_differences *changes, const struct tc_grant *from,
                       const struct tc_grant *to)
{
    changes->key = TC_KEY_TIER;
    compare_rank(changes, taking_part(from), taking_part(to), "needs less human approval",
                 "needs more human approval");
    changes->key = TC_KEY_BACKEND;
    compare_backends(changes, from, to);
    changes->key = TC_KEY_FILESYSTEM;
    compare_files(changes, from, to);
    changes->key = TC_KEY_NETWORK;
    compare_hosts(changes, from, to);
    compare_upstreams(changes, from, to);
    changes->key = TC_KEY_UNIX_SOCKETS;
    compare_sockets(changes, from, to);
    compare_limits(changes, &from->limits, &to->limits);
    changes->key = TC_KEY_WORKSPACE;
    compare_rank(changes, held(from), held(to), "fewer of its changes are staged",
                 "more of its changes are staged");
    changes->key = TC_KEY_DENIALS;
    compare_rank(changes, tc_denials_rank(from->denials), tc_denials_rank(to->denials),
                 "fewer accesses are recorded", "more accesses are recorded");
    changes->key = TC_KEY_WITHOUT;
    compare_clauses(changes, from, to);
    tc_compare_more(changes, from, to);
    changes->key = TC_KEY_NONE;
}
