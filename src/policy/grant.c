/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The grant as a value: freeing, looking up, order, digest. */
#include "policy/grant.h"
#include "policy/endpoint.h"

#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "policy/model.h"
#include "policy/resolve.h"

void tc_fs_entry_done(struct tc_fs_entry *entry)
{
    free(entry->path);
    free(entry->from);
    free(entry->bound);
    free(entry->origin.key);
    memset(entry, 0, sizeof(*entry));
}

void tc_grant_done(struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        tc_fs_entry_done(&grant->fs[i]);
    for (size_t i = 0; i < grant->net_count; i++)
        tc_net_entry_done(&grant->net[i]);
    for (size_t i = 0; i < grant->socket_count; i++)
        tc_fs_entry_done(&grant->sockets[i]);
    for (size_t i = 0; i < grant->secret_count; i++)
        tc_secret_done(&grant->secrets[i]);
    free(grant->secrets);
    char *texts[] = {grant->tool,     grant->backend,    grant->tier,  grant->stdin_bytes,
                     grant->cwd,      grant->caller_cwd, grant->image, grant->runtime,
                     grant->platform, grant->setup};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    struct tc_strv *lists[] = {
        &grant->argv,          &grant->env,      &grant->programs, &grant->collect,
        &grant->tool_writable, &grant->fallback, &grant->layers,   &grant->syscalls_allow,
        &grant->syscalls_deny};
    tc_steering_done(&grant->steering);
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    free(grant->fs);
    free(grant->net);
    free(grant->sockets);
    (void)tc_policy_unref(grant->policy);
    memset(grant, 0, sizeof(*grant));
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

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_texts(struct tc_strv *v)
{
    if (v->count < 2)
        return;
    qsort(v->items, v->count, sizeof(*v->items), compare_texts);
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
    sort_texts(&grant->syscalls_allow);
    sort_texts(&grant->syscalls_deny);
    sort_texts(&grant->steering.add);
    sort_texts(&grant->steering.remove);
    sort_texts(&grant->tool_writable);
}

/* Does it depend on what is said inside of a connection? */
static bool inspects(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->net_count; i++)
        if (grant->net[i].methods.count || grant->net[i].paths.count)
            return true;
    return grant->secret_count > 0;
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
    if (grant->limits.cpu_time_ms)
        set |= TC_CLAUSE_BIT(TC_CLAUSE_LIMIT_CPU_TIME);
    if (grant->limits.cpus_milli)
        set |= TC_CLAUSE_BIT(TC_CLAUSE_LIMIT_CPUS);
    return set;
}

/* Texts that are not UTF-8 must not share a digest, so they come as base64. */
static void add_text(struct tc_buf *out, const char *text)
{
    if (!text) {
        tc_buf_adds(out, "null");
    } else if (tc_utf8_valid(text, strlen(text))) {
        tc_json_string(out, text, strlen(text));
    } else {
        tc_buf_addc(out, '{');
        tc_json_bytes(out, "text", "base64", text, strlen(text));
        tc_buf_addc(out, '}');
    }
}

static void add_list(struct tc_buf *out, const char *key, const struct tc_strv *v)
{
    tc_json_key(out, key);
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < v->count; i++) {
        tc_buf_adds(out, i ? "," : "");
        add_text(out, v->items[i]);
    }
    tc_buf_addc(out, ']');
}

static void add_member(struct tc_buf *out, const char *key, const char *text)
{
    tc_json_key(out, key);
    add_text(out, text);
}

static void add_number(struct tc_buf *out, const char *key, int64_t value)
{
    tc_json_key(out, key);
    tc_buf_addf(out, "%lld", (long long)value);
}

static void add_fs(struct tc_buf *out, const struct tc_grant *grant)
{
    tc_json_key(out, "filesystem");
    tc_buf_addc(out, '[');
    for (size_t i = 0, said = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &grant->fs[i];
        if (entry->found) /* what programs leave in a home makes no other grant */
            continue;
        tc_buf_adds(out, said++ ? ",{" : "{");
        add_number(out, "access", entry->access);
        add_number(out, "argument", entry->argument);
        add_member(out, "bound", entry->bound);
        add_number(out, "built_in", entry->built_in);
        add_member(out, "from", entry->from);
        if (entry->own)
            add_number(out, "own", 1);
        add_number(out, "optional", entry->optional);
        add_member(out, "path", entry->path);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

static void add_limits(struct tc_buf *out, const struct tc_limits *l)
{
    tc_json_key(out, "limits");
    tc_buf_addc(out, '{');
    add_number(out, "cpu_time_ms", l->cpu_time_ms);
    add_number(out, "cpus_milli", l->cpus_milli);
    add_number(out, "disk", l->disk);
    add_number(out, "disk_set", l->disk_set);
    add_number(out, "grace_ms", l->grace_ms);
    add_number(out, "inodes", l->inodes);
    add_number(out, "memory", l->memory);
    add_number(out, "memory_any", l->memory_any);
    add_number(out, "open_files", l->open_files);
    add_number(out, "output", l->output);
    add_number(out, "output_kill", l->output_kill);
    add_number(out, "pids", l->pids);
    add_number(out, "timeout_ms", l->timeout_ms);
    tc_buf_addc(out, '}');
}

static void add_net(struct tc_buf *out, const struct tc_grant *grant)
{
    tc_json_key(out, "network");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->net_count; i++) {
        tc_buf_adds(out, i ? ",{" : "{");
        add_member(out, "host", grant->net[i].host);
        add_list(out, "methods", &grant->net[i].methods);
        add_list(out, "paths", &grant->net[i].paths);
        add_number(out, "port", grant->net[i].port);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

static void add_secrets(struct tc_buf *out, const struct tc_grant *grant)
{
    if (!grant->secret_count)
        return;
    tc_json_key(out, "secrets");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->secret_count; i++) {
        tc_buf_adds(out, i ? ",{" : "{");
        add_member(out, "from", grant->secrets[i].from);
        add_member(out, "header", grant->secrets[i].header);
        add_list(out, "hosts", &grant->secrets[i].hosts);
        add_member(out, "name", grant->secrets[i].name);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

static void add_sockets(struct tc_buf *out, const struct tc_grant *grant)
{
    tc_json_key(out, "unix_sockets");
    if (!grant->unix_sockets) {
        tc_buf_adds(out, "null");
        return;
    }
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->socket_count; i++) {
        const struct tc_fs_entry *entry = &grant->sockets[i];
        tc_buf_adds(out, i ? ",{" : "{");
        add_member(out, "from", entry->from);
        add_number(out, "optional", entry->optional);
        add_member(out, "path", entry->path);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

/* `words`: with what is run, beside what that may do. */
static int digest(const struct tc_grant *grant, bool words, char ret[TC_DIGEST_SIZE],
                  struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    char input[TC_DIGEST_SIZE] = "";
    if (words && grant->stdin_bytes)
        tc_digest(grant->stdin_bytes, grant->stdin_len, input);
    tc_buf_addc(&out, '{');
    add_number(&out, "approval", grant->approval);
    if (words)
        add_list(&out, "argv", &grant->argv);
    add_member(&out, "backend", grant->backend);
    add_member(&out, "caller_cwd", grant->caller_cwd);
    add_number(&out, "clauses", (int64_t)grant->clauses);
    add_list(&out, "collect", &grant->collect);
    add_number(&out, "commit", grant->commit);
    add_member(&out, "cwd", grant->cwd);
    add_number(&out, "denials", grant->denials);
    add_list(&out, "env", &grant->env);
    if (grant->fallback.count)
        add_list(&out, "fallback", &grant->fallback);
    add_fs(&out, grant);
    add_member(&out, "image", grant->image);
    if (grant->layers.count)
        add_list(&out, "layers", &grant->layers);
    add_limits(&out, &grant->limits);
    add_net(&out, grant);
    add_number(&out, "overlay_or_copy", grant->overlay_or_copy);
    add_member(&out, "platform", grant->platform);
    add_member(&out, "policy_writable", grant->policy ? grant->policy->writable_digest : NULL);
    add_list(&out, "programs", &grant->programs);
    add_member(&out, "runtime", grant->runtime);
    add_secrets(&out, grant);
    add_member(&out, "stdin", input);
    if (grant->steering.add.count)
        add_list(&out, "steering_add", &grant->steering.add);
    if (grant->steering.remove.count)
        add_list(&out, "steering_remove", &grant->steering.remove);
    if (grant->syscalls_allow.count)
        add_list(&out, "syscalls_allow", &grant->syscalls_allow);
    if (grant->syscalls_deny.count)
        add_list(&out, "syscalls_deny", &grant->syscalls_deny);
    add_member(&out, "tier", grant->tier);
    add_member(&out, "tool", grant->tool);
    add_list(&out, "tool_writable", &grant->tool_writable);
    add_sockets(&out, grant);
    add_number(&out, "without", (int64_t)grant->without);
    add_number(&out, "workspace", grant->workspace);
    tc_buf_addc(&out, '}');
    if (out.failed)
        return tc_fail_memory(err);
    tc_digest(out.data, out.len, ret);
    return 0;
}

int tc_grant_digest(struct tc_grant *grant, struct toolcage_error **err)
{
    int rc = digest(grant, true, grant->digest, err);
    return rc < 0 ? rc : digest(grant, false, grant->bounds, err);
}
