/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The grant as a value: free, look up, sort, digest, and its reach as JSON. */
#include "policy/grant.h"
#include "policy/endpoint.h"

#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "policy/model.h"
#include "policy/pathrule.h"
#include "policy/resolve/resolve.h"

/* `setup` and `setup_ready` are undigested because an fs entry represents the install. The digest
 * covers the policy only through its writable_digest. */
#define TC_STRUCT struct tc_grant
#define PLAIN(F, key, kind, type, member, ...) F(kind, member)
#define GRANT(F)                                                           \
    F(ONE, tool)                                                           \
    F(ONE, backend)                                                        \
    F(LIST, fallback)                                                      \
    F(LIST, layers)                                                        \
    TC_PLAIN_MAP(PLAIN, F)                                                 \
    F(ONE, module)                                                         \
    F(ONE, module_digest)                                                  \
    F(LIST, located, .flags = TC_FIELD_UNDIGESTED)                         \
    F(LIST, settings)                                                      \
    F(ONE, tier)                                                           \
    F(ONE, approval)                                                       \
    F(ARRAY, fs, TC_COUNTED(fs_count), TC_OF(tc_fs_entry_fields))          \
    F(ONE, system, .flags = TC_FIELD_UNDIGESTED)                           \
    F(ARRAY, net, TC_COUNTED(net_count), TC_OF(tc_net_entry_fields))       \
    F(STRUCT, upstream, TC_OF(tc_upstream_fields))                         \
    F(ARRAY, secrets, TC_COUNTED(secret_count), TC_OF(tc_secret_fields))   \
    F(ONE, unix_sockets)                                                   \
    F(ARRAY, sockets, TC_COUNTED(socket_count), TC_OF(tc_fs_entry_fields)) \
    F(LIST, argv, .flags = TC_FIELD_WORDS)                                 \
    F(BYTES, stdin_bytes, TC_COUNTED(stdin_len), .flags = TC_FIELD_WORDS)  \
    F(LIST, env)                                                           \
    F(LIST, syscalls_allow)                                                \
    F(LIST, syscalls_deny)                                                 \
    F(LIST, caches)                                                        \
    F(STRUCT, steering, TC_OF(tc_steering_fields))                         \
    F(ONE, caller_cwd)                                                     \
    F(ONE, umask, .flags = TC_FIELD_UNDIGESTED)                            \
    F(STRUCT, limits, TC_OF(tc_limits_fields))                             \
    F(ONE, workspace)                                                      \
    F(ONE, commit)                                                         \
    F(LIST, tool_writable)                                                 \
    F(POINTER, policy)                                                     \
    F(ONE, clauses)                                                        \
    F(ONE, without)                                                        \
    F(ONE, setup, .flags = TC_FIELD_UNDIGESTED)                            \
    F(ONE, setup_ready, .flags = TC_FIELD_UNDIGESTED)                      \
    F(CHARS, digest)                                                       \
    F(CHARS, bounds)
TC_FIELDS(tc_grant_fields, GRANT);
#undef TC_STRUCT

int tc_denials_rank(enum tc_denials denials)
{
    static const int ranks[] = {[TC_DENIALS_OFF] = 0,
                                [TC_DENIALS_CALLS] = 1,
                                [TC_DENIALS_PATHS] = 2,
                                [TC_DENIALS_ACCESSES] = 3};
    return ranks[denials];
}

int tc_commit_rank(enum tc_commit commit)
{
    static const int ranks[] = {[TC_COMMIT_ALWAYS] = 0,
                                [TC_COMMIT_SUCCESS] = 1,
                                [TC_COMMIT_ASK] = 2,
                                [TC_COMMIT_NEVER] = 3};
    return ranks[commit];
}

void tc_fs_entry_done(struct tc_fs_entry *entry)
{
    tc_fields_done(&tc_fs_entry_fields, entry);
}

void tc_grant_done(struct tc_grant *grant)
{
    (void)tc_policy_unref(grant->policy);
    tc_fields_done(&tc_grant_fields, grant);
}

const struct tc_fs_entry *tc_grant_find(const struct tc_grant *grant, const char *path)
{
    const struct tc_fs_entry *best = NULL;
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &grant->fs[i];
        if (!tc_path_within(entry->path, path))
            continue;
        bool denies = entry->access == TC_ACCESS_DENY,
             denied = best && best->access == TC_ACCESS_DENY;
        bool deeper = !best || strlen(entry->path) > strlen(best->path);
        if ((denies && !denied) || (denies == denied && deeper))
            best = entry;
    }
    return best;
}

const struct tc_fs_entry *tc_grant_shows(const struct tc_grant *grant, const char *path)
{
    const struct tc_fs_entry *entry = tc_grant_find(grant, path);
    return entry && entry->access != TC_ACCESS_DENY ? entry : NULL;
}

size_t tc_grant_starts(const struct tc_grant *grant, const char *ret[static 3])
{
    const char *own = grant->caller_cwd; /* every cage has a /tmp */
    size_t count = 0;
    if (!grant->cwd && tc_grant_shows(grant, TC_WORKSPACE))
        ret[count++] = TC_WORKSPACE;
    if (!grant->cwd && own && (tc_grant_shows(grant, own) || strcmp(own, "/tmp") == 0))
        ret[count++] = own;
    ret[count++] = grant->cwd ? grant->cwd : "/";
    return count;
}

static int compare_fs(const void *a, const void *b)
{
    const struct tc_fs_entry *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (int)x->access - (int)y->access;
}

static int compare_net(const void *a, const void *b)
{
    const struct tc_net_entry *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    return order ? order : (int)x->port - (int)y->port;
}

static void sort_texts(struct tc_strv *v)
{
    if (v->count < 2)
        return;
    tc_strv_sort(v);
    size_t kept = 1;
    for (size_t i = 1; i < v->count; i++)
        if (tc_streq(v->items[i], v->items[kept - 1]))
            free(v->items[i]);
        else
            v->items[kept++] = v->items[i];
    v->count = kept;
    v->items[kept] = NULL;
}

void tc_grant_sort(struct tc_grant *grant)
{
    if (grant->fs_count)
        qsort(grant->fs, grant->fs_count, sizeof(*grant->fs), compare_fs);
    if (grant->net_count)
        qsort(grant->net, grant->net_count, sizeof(*grant->net), compare_net);
    if (grant->socket_count)
        qsort(grant->sockets, grant->socket_count, sizeof(*grant->sockets), compare_fs);
    sort_texts(&grant->env);
    sort_texts(&grant->programs);
    sort_texts(&grant->collect);
    sort_texts(&grant->caches);
    sort_texts(&grant->syscalls_allow);
    sort_texts(&grant->syscalls_deny);
    sort_texts(&grant->steering.add);
    sort_texts(&grant->steering.remove);
    sort_texts(&grant->tool_writable);
}

/* Does any rule depend on the content of a connection? */
static bool inspects(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->net_count; i++)
        if (tc_net_entry_inspected(&grant->net[i]))
            return true;
    return false;
}

tc_clauses tc_grant_clauses(const struct tc_grant *grant)
{
    tc_clauses set = tc_clauses_always();
    for (size_t i = 0; i < grant->fs_count; i++) {
        if (grant->fs[i].access == TC_ACCESS_DENY)
            set |= TC_CLAUSE_BIT(TC_CLAUSE_FS_DENIED);
        if (grant->fs[i].access == TC_ACCESS_WRITE)
            set |= TC_CLAUSE_BIT(TC_CLAUSE_FS_STEERING);
    }
    set |= TC_CLAUSE_BIT(grant->net_count ? TC_CLAUSE_NET_ALLOW : TC_CLAUSE_NET_NONE);
    if (inspects(grant))
        set |= TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT);
    if (grant->secret_count)
        set |= TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET);
    if (grant->limits.cpu_time_ms)
        set |= TC_CLAUSE_BIT(TC_CLAUSE_LIMIT_CPU_TIME);
    if (grant->limits.cpus_milli)
        set |= TC_CLAUSE_BIT(TC_CLAUSE_LIMIT_CPUS);
    return set;
}

/* Adds the field names, so that digests of builds with different fields never match. */
static void add_names(struct tc_buf *out, const struct tc_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        tc_buf_add(out, fields->rows[i].name, strlen(fields->rows[i].name) + 1);
        if (fields->rows[i].of)
            add_names(out, fields->rows[i].of);
    }
}

/* The digest continues the hash of the bounds. */
int tc_grant_digest(struct tc_grant *grant, struct toolcage_error **err)
{
    const unsigned mask = TC_FIELD_UNDIGESTED | TC_FIELD_WORDS;
    _autofree_ struct tc_fs_entry *fs = calloc(grant->fs_count + 1, sizeof(*fs));
    struct tc_wire w = TC_WIRE_PUT_INIT;
    struct tc_grant counted = *grant;
    char *writable = grant->policy ? grant->policy->writable_digest : NULL;
    if (!fs)
        return tc_fail_memory(err);
    counted.fs = fs;
    counted.fs_count = 0;
    for (size_t i = 0; i < grant->fs_count; i++)
        if (!grant->fs[i].found) /* files that programs leave in a home do not change the digest */
            fs[counted.fs_count++] = grant->fs[i];
    add_names(&w.out, &tc_grant_fields);
    tc_fields_visit(&w, &tc_grant_fields, &counted, mask, 0);
    tc_wire_str(&w, &writable);
    size_t bounds = w.out.len;
    tc_fields_visit(&w, &tc_grant_fields, &counted, mask, TC_FIELD_WORDS);
    _autobuf_ struct tc_buf out = w.out;
    if (w.failed || out.failed)
        return tc_fail_memory(err);
    SHA2_CTX whole, part;
    SHA256Init(&whole);
    SHA256Update(&whole, (const uint8_t *)out.data, bounds);
    part = whole;
    tc_digest_finish(&part, grant->bounds);
    SHA256Update(&whole, (const uint8_t *)out.data + bounds, out.len - bounds);
    tc_digest_finish(&whole, grant->digest);
    return 0;
}

static bool copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return *to || !from;
}

const char *tc_grant_writes(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access == TC_ACCESS_WRITE)
            return grant->fs[i].path;
    return NULL;
}

bool tc_grant_add(struct tc_grant *grant, const struct tc_fs_entry *entry)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        struct tc_fs_entry *old = &grant->fs[i];
        bool denies = entry->access == TC_ACCESS_DENY;
        if (!tc_streq(old->path, entry->path) || (old->access == TC_ACCESS_DENY) != denies)
            continue;
        if (old->access < entry->access)
            old->access = entry->access;
        old->optional &= entry->optional;
        return true;
    }
    struct tc_fs_entry *to = TC_PUSH(grant->fs, grant->fs_count);
    if (!to)
        return false;
    *to = *entry;
    to->path = to->from = to->bound = to->origin.key = NULL;
    return copy_text(&to->path, entry->path) && copy_text(&to->from, entry->from) &&
           copy_text(&to->bound, entry->bound) && copy_text(&to->origin.key, entry->origin.key);
}

int tc_grant_put(struct tc_grant *grant, const struct tc_fs_entry *entry,
                 struct toolcage_error **err)
{
    return tc_grant_add(grant, entry) ? 0 : tc_fail_memory(err);
}

const struct tc_fs_entry *tc_grant_socket(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->socket_count; i++)
        if (tc_streq(grant->sockets[i].path, path))
            return &grant->sockets[i];
    return NULL;
}

/* ---- as JSON ---- */

static void add_item(struct tc_buf *out, const char *text, size_t length)
{
    if (out->len && out->data[out->len - 1] != '[')
        tc_buf_addc(out, ',');
    tc_json_string(out, text, length);
}

static void begin_list(struct tc_buf *out, const char *key)
{
    tc_json_key(out, key);
    tc_buf_addc(out, '[');
}

void tc_grant_write_reach(const struct tc_grant *grant, struct tc_buf *out)
{
    begin_list(out, "network");
    for (size_t i = 0; i < grant->net_count; i++) {
        _autofree_ char *endpoint =
            tc_format("%s:%u", grant->net[i].host, (unsigned)(grant->net[i].port & TC_PORT_NUMBER));
        add_item(out, endpoint ? endpoint : "", endpoint ? strlen(endpoint) : 0);
        out->failed = out->failed || !endpoint;
    }
    tc_buf_addc(out, ']');
    begin_list(out, "secrets");
    for (size_t i = 0; i < grant->secret_count; i++)
        add_item(out, grant->secrets[i].name, strlen(grant->secrets[i].name));
    tc_buf_addc(out, ']');
    begin_list(out, "environment");
    for (size_t i = 0; i < grant->env.count; i++)
        add_item(out, grant->env.items[i], strcspn(grant->env.items[i], "="));
    tc_buf_addc(out, ']');
}
