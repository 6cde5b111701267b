/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches the resolution of grants. Each byte of the input is a choice: what a policy names, what
 * an argument says, how the call is narrowed. The grant never holds what a deny names, never more
 * than the policy and the argument's bound say, never more for a flag; and it is the same twice. */
#include "fuzz.h"

#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/explain/explain.h"
#include "policy/policy.h"

enum { LIST_MAX = 4, PATH_SIZE = 128, NARROW_MAX = 4 };

static const char *const places[] = {"/w",
                                     "/w/a",
                                     "/w/a/b",
                                     "/w/c",
                                     "/w/c/d/e",
                                     "/data",
                                     "/data/x",
                                     "/workspace",
                                     "/workspace/p",
                                     "/srv/q",
                                     "/srv/p/r",
                                     "/home/me/project",
                                     "/home/me/n",
                                     "/home/me/.ssh",
                                     "/home/me/.ssh/id",
                                     "/home/me",
                                     "/tmp/z",
                                     "/usr/share/doc",
                                     "/usr/local",
                                     "/etc/ssl",
                                     "/opt/x",
                                     "/home/me/.toolcage"};
static const char *const tails[] = {"", "/f", "/a", "/a/b", "/.ssh/id", "/.env", "/d/e/f"};
static const char *const hosts[] = {"a.example.com:443", "b.example.com:80", "192.0.2.1:443", "*"};
static const struct tc_facts facts = {
    .cwd = "/home/me/project", .home = "/home/me", .state = "/home/me/.toolcage"};

struct choices {
    const uint8_t *at;
    size_t left;
};

struct list {
    char paths[LIST_MAX][PATH_SIZE];
    size_t count;
};

/* Everything that is said, beside the text of the policy. */
struct said {
    struct list readable, writable, denied;
    char bound[PATH_SIZE], value[PATH_SIZE], arguments[PATH_SIZE + 16];
    bool bound_writes;
    struct tc_narrowing narrow[NARROW_MAX];
    char values[NARROW_MAX][PATH_SIZE];
    size_t narrow_count;
    unsigned shift; /* which tail each place is asked with */
};

static unsigned pick(struct choices *c, unsigned most)
{
    if (!c->left)
        return 0;
    c->left--;
    return *c->at++ % most;
}

static void pick_path(struct choices *c, char ret[PATH_SIZE])
{
    const char *place = places[pick(c, TC_COUNT(places))];
    (void)snprintf(ret, PATH_SIZE, "%s%s", place, tails[pick(c, TC_COUNT(tails))]);
}

static void put_list(struct choices *c, struct tc_buf *out, const char *key, struct list *list)
{
    tc_buf_addf(out, "filesystem.%s = [", key);
    for (size_t n = pick(c, LIST_MAX + 1); list->count < n; list->count++) {
        pick_path(c, list->paths[list->count]);
        tc_buf_addf(out, "\"%s\",", list->paths[list->count]);
    }
    tc_buf_adds(out, "]\n");
}

static void put_network(struct choices *c, struct tc_buf *out)
{
    tc_buf_adds(out, "network = [");
    for (unsigned n = pick(c, 3); n; n--)
        tc_buf_addf(out, "\"%s\",", hosts[pick(c, TC_COUNT(hosts))]);
    tc_buf_adds(out, "]\n");
}

static void choose_flags(struct choices *c, struct said *said)
{
    static const char *const keys[] = {"read", "write", "network", "timeout", "pids", "memory"};
    for (unsigned n = pick(c, NARROW_MAX + 1); n; n--) {
        unsigned key = pick(c, TC_COUNT(keys));
        char *value = said->values[said->narrow_count];
        if (key < 2)
            pick_path(c, value);
        else if (key == 2)
            (void)snprintf(value, PATH_SIZE, "%s", hosts[pick(c, TC_COUNT(hosts))]);
        else
            (void)snprintf(value, PATH_SIZE,
                           key == 3   ? "%us"
                           : key == 4 ? "%u"
                                      : "%uMiB",
                           pick(c, 200) + 1);
        said->narrow[said->narrow_count++] =
            (struct tc_narrowing){(char *)(uintptr_t)keys[key], value};
    }
}

static struct toolcage_policy *choose(struct choices *c, struct said *said)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct toolcage_policy *policy = NULL;
    struct list inherited = {0};
    if (pick(c, 2)) {
        tc_buf_adds(&out, "[defaults]\n");
        put_list(c, &out, "denied", &inherited);
    }
    tc_buf_adds(&out, "[tool.t]\ncommand = [\"t\", \"{p}\"]\ntimeout = \"90s\"\npids = 100\n");
    put_list(c, &out, "readable", &said->readable);
    put_list(c, &out, "writable", &said->writable);
    put_list(c, &out, "denied", &said->denied);
    put_network(c, &out);
    pick_path(c, said->bound);
    said->bound_writes = pick(c, 2);
    tc_buf_addf(&out, "arguments.p = { type = \"string\", %s = [\"%s\"] }\n",
                said->bound_writes ? "write" : "read", said->bound);
    (void)snprintf(said->value, PATH_SIZE, "%.100s%s",
                   pick(c, 4) ? said->bound : places[pick(c, TC_COUNT(places))],
                   tails[pick(c, TC_COUNT(tails))]);
    (void)snprintf(said->arguments, sizeof(said->arguments), "{\"p\":\"%s\"}", said->value);
    choose_flags(c, said);
    said->shift = pick(c, TC_COUNT(tails));
    for (size_t i = 0; i < inherited.count && said->denied.count < LIST_MAX; i++)
        memcpy(said->denied.paths[said->denied.count++], inherited.paths[i], PATH_SIZE);
    INVARIANT(!out.failed);
    (void)tc_policy_compile(out.data, out.len, "fuzz.toml", "/srv/p", "/home/me", &policy, NULL);
    return policy;
}

static bool covers(const struct list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (tc_path_within(list->paths[i], path))
            return true;
    return false;
}

static bool allows(const struct toolcage_policy *policy, const struct tc_grant *grant,
                   const char *verb, const char *path, bool *ret_said)
{
    char access[PATH_SIZE * 2];
    _auto_(tc_verdict_done) struct tc_verdict v = {0};
    (void)snprintf(access, sizeof(access), "%s %s", verb, path);
    INVARIANT(tc_policy_verdict(policy, grant, access, &v, NULL) == 0);
    INVARIANT(tc_streq(v.target, path) && v.reason[0]);
    *ret_said = v.key[0];
    return v.allowed;
}

/* What is allowed by words of the policy is what its words allow. */
static void check_path(const struct toolcage_policy *policy, const struct tc_grant *grant,
                       const struct said *said, const char *path)
{
    bool by_word,
        by_value = tc_path_within(said->bound, said->value) && tc_path_within(said->value, path);
    bool reads = allows(policy, grant, "read", path, &by_word);
    if (reads && by_word)
        INVARIANT(covers(&said->readable, path) || covers(&said->writable, path) || by_value);
    bool writes = allows(policy, grant, "write", path, &by_word);
    if (writes && by_word)
        INVARIANT(covers(&said->writable, path) || (by_value && said->bound_writes));
    INVARIANT(reads || !writes);
    if (covers(&said->denied, path))
        INVARIANT(!reads && !writes && !allows(policy, grant, "exec", path, &by_word));
}

static int rank(const struct tc_grant *grant, const char *path)
{
    const struct tc_fs_entry *entry = tc_grant_find(grant, path);
    return !entry || entry->access == TC_ACCESS_DENY ? 0 : (int)entry->access;
}

static void check_narrowed(const struct tc_grant *less, const struct tc_grant *more)
{
    for (size_t i = 0; i < less->net_count; i++)
        INVARIANT(
            tc_endpoint_find(more->net, more->net_count, less->net[i].host, less->net[i].port));
    INVARIANT(less->limits.timeout_ms <= more->limits.timeout_ms);
    INVARIANT(less->limits.pids <= more->limits.pids);
    INVARIANT(less->limits.memory <= more->limits.memory);
    INVARIANT((more->clauses & ~less->clauses &
               ~(TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW) | TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT) |
                 TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET) | TC_CLAUSE_BIT(TC_CLAUSE_FS_STEERING) |
                 TC_CLAUSE_BIT(TC_CLAUSE_FS_DENIED))) == 0);
}

static void check_paths(const struct toolcage_policy *policy, const struct said *said,
                        const struct tc_grant *less, const struct tc_grant *more)
{
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof(path), "%s%s", places[i],
                       tails[(i + said->shift) % TC_COUNT(tails)]);
        check_path(policy, more, said, path);
        if (less)
            INVARIANT(rank(less, path) <= rank(more, path));
    }
}

static int resolve(const struct toolcage_policy *policy, const struct said *said, size_t narrowed,
                   struct tc_grant *ret)
{
    const struct tc_request request = {.tool = "t",
                                       .arguments = said->arguments,
                                       .narrow = said->narrow,
                                       .narrow_count = narrowed};
    return tc_policy_resolve(policy, &request, &facts, ret, NULL);
}

static void check(const struct toolcage_policy *policy, const struct said *said)
{
    _auto_(tc_grant_done) struct tc_grant more = {0}, again = {0}, less = {0};
    if (resolve(policy, said, 0, &more))
        return;
    INVARIANT(resolve(policy, said, 0, &again) == 0 && tc_streq(more.digest, again.digest));
    bool narrowed = resolve(policy, said, said->narrow_count, &less) == 0;
    check_paths(policy, said, narrowed ? &less : NULL, &more);
    if (narrowed)
        check_narrowed(&less, &more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices choices = {data, size};
    struct said said = {0};
    struct toolcage_policy *policy = choose(&choices, &said);
    if (policy)
        check(policy, &said);
    tc_policy_unref(policy);
    return 0;
}
