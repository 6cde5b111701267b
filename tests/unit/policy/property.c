/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Random small policies and calls: resolution is a function, and no flag ever adds. */
#include "test.h"

#include "policy/endpoint.h"

#include "../source.h"

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 11) % n);
}

static const char *const paths[] = {
    "/w",         "/w/a",          "/w/a/b",           "/w/c",
    "/data",      "/data/x",       "/workspace",       "/workspace/p",
    "/home/me",   "/home/me/.ssh", "/home/me/project", "/srv/q",
    "/w/a/b/c/d", "/tmp/z"};
static const char *const hosts[] = {"a.example.com", "b.example.com:80", "*", "10.0.0.1:443"};

static void add_paths(struct tc_buf *out, const char *key, unsigned most)
{
    tc_buf_addf(out, "filesystem.%s = [", key);
    for (unsigned i = below(most + 1); i > 0; i--)
        tc_buf_addf(out, "\"%s\",", paths[below(TC_COUNT(paths))]);
    tc_buf_adds(out, "]\n");
}

static char *random_text(const char **ret_bound)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    *ret_bound = paths[below(TC_COUNT(paths))];
    tc_buf_adds(&out, below(2)
                          ? "[defaults]\nfilesystem.denied = [\"/w/a/b\"]\npids = 50\n[tool.x]\n"
                          : "[tool.x]\n");
    add_paths(&out, "readable", 4);
    add_paths(&out, "writable", 3);
    add_paths(&out, "denied", 2);
    tc_buf_adds(&out, "network = [");
    for (unsigned i = below(3); i > 0; i--)
        tc_buf_addf(&out, "\"%s\",", hosts[below(TC_COUNT(hosts))]);
    tc_buf_addf(
        &out, "]\ntimeout = \"%us\"\ncommand = [\"t\", \"{p}\"]\narguments.p = { %s = [\"%s\"] }\n",
        below(90) + 1, below(2) ? "read" : "write", *ret_bound);
    assert_false(out.failed);
    return tc_buf_steal(&out);
}

static struct toolcage_policy *random_policy(const char **ret_bound)
{
    _autofree_ char *text = random_text(ret_bound);
    return compile(text);
}

static void random_ask(struct ask *ask, const char *bound, char *arguments, size_t size,
                       char timeout[16])
{
    static const char *const tails[] = {"", "/f", "/a/b", "/.ssh/id"};
    size_t n = 0;
    (void)snprintf(arguments, size, "{\"p\":\"%s%s\"}",
                   below(4) ? bound : paths[below(TC_COUNT(paths))], tails[below(4)]);
    *ask = (struct ask){.tool = "x", .arguments = arguments};
    for (unsigned i = below(3); i > 0; i--) {
        ask->narrow[n++] = below(2) ? "read" : "write";
        ask->narrow[n++] = paths[below(TC_COUNT(paths))];
    }
    if (below(2)) {
        (void)snprintf(timeout, 16, "%us", below(90) + 1);
        ask->narrow[n++] = "timeout";
        ask->narrow[n++] = timeout;
    }
    if (below(3) == 0) {
        ask->narrow[n++] = "network";
        ask->narrow[n++] = hosts[below(TC_COUNT(hosts))];
    }
}

static int rank(char access)
{
    return access == 'w' ? 2 : access == 'r' ? 1 : 0;
}

static void must_be_subset(const struct tc_grant *less, const struct tc_grant *more)
{
    static const char *const tails[] = {"", "/f", "/a", "/a/b", "/.ssh", "/.ssh/id", "/.env"};
    for (size_t i = 0; i < TC_COUNT(paths); i++)
        for (size_t t = 0; t < TC_COUNT(tails); t++) {
            char path[128];
            (void)snprintf(path, sizeof(path), "%s%s", paths[i], tails[t]);
            if (rank(access_of(less, path)) > rank(access_of(more, path)))
                fail_msg("%s: %c is more than %c", path, access_of(less, path),
                         access_of(more, path));
        }
    for (size_t i = 0; i < less->net_count; i++)
        assert_non_null(
            tc_endpoint_find(more->net, more->net_count, less->net[i].host, less->net[i].port));
    assert_true(less->limits.timeout_ms <= more->limits.timeout_ms);
    assert_true(less->limits.pids <= more->limits.pids);
    assert_int_equal(less->clauses & tc_clauses_always(), tc_clauses_always());
}

/* Whatever was granted, credentials and denied names stay out of reach. */
static void must_be_masked(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &grant->fs[i];
        if (entry->access == TC_ACCESS_DENY)
            assert_int_equal(access_of(grant, entry->path), 'd');
        if (entry->argument)
            assert_true(strncmp(entry->from, entry->bound, strlen(entry->bound)) == 0);
    }
}

static void flags_only_take_away(void **state)
{
    size_t granted_calls = 0, narrowed_calls = 0;
    for (unsigned round = 0; round < rounds(3000); round++) {
        seed = 0x9e3779b97f4a7c15u * (first_round() + round + 1);
        char arguments[128], timeout[16];
        struct ask ask, plain;
        const char *bound = NULL;
        _autopolicy_ struct toolcage_policy *policy = random_policy(&bound);
        random_ask(&ask, bound, arguments, sizeof(arguments), timeout);
        plain = (struct ask){.tool = "x", .arguments = arguments};
        _autogrant_ struct tc_grant less = {0}, again = {0}, more = {0};
        int narrowed = resolve(policy, &ask, &less, NULL);
        assert_int_equal(resolve(policy, &ask, &again, NULL), narrowed);
        assert_string_equal(less.digest, again.digest);
        if (resolve(policy, &plain, &more, NULL))
            continue;
        granted_calls++;
        must_be_masked(&more);
        if (narrowed)
            continue;
        narrowed_calls++;
        must_be_masked(&less);
        must_be_subset(&less, &more);
    }
    assert_true(granted_calls > rounds(300) && narrowed_calls > rounds(100));
}

/* Any file that another names is this text. */
static int read_text(void *context, const char *path, struct tc_policy_found *ret,
                     struct toolcage_error **err)
{
    (void)err;
    return found(path, context, ret);
}

/* The text with one more line before it that names the other one. */
static struct toolcage_policy *compile_above(const char *line, const char *text, char *other)
{
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    _autofree_ char *whole = tc_format("%s\n%s", line, text);
    const struct tc_policy_source source = source_of(whole, read_text, other);
    if (tc_policy_compile_source(&source, "/srv/p", "/home/me", &policy, &err))
        fail_msg("%s", tc_error_report(err));
    return policy;
}

static void no_call_is_above_its_ceiling(void **state)
{
    size_t granted_calls = 0, refused_calls = 0;
    for (unsigned round = 0; round < rounds(3000); round++) {
        seed = 0x9e3779b97f4a7c15u * (first_round() + round + 1);
        char arguments[128], timeout[16];
        struct ask ask, plain;
        const char *bound = NULL;
        _autofree_ char *high = random_text(&bound);
        _autofree_ char *low = below(3) ? random_text(&bound) : strdup(high);
        bool same = strcmp(low, high) == 0;
        _autopolicy_ struct toolcage_policy *ceiling = compile(high), *free = compile(low);
        _autopolicy_ struct toolcage_policy *policy =
            compile_above("within = \"top.toml\"", low, high);
        random_ask(&ask, bound, arguments, sizeof(arguments), timeout);
        plain = (struct ask){.tool = "x", .arguments = arguments};
        _autogrant_ struct tc_grant held = {0}, more = {0}, alone = {0};
        int rc = resolve(policy, &ask, &held, NULL), without = resolve(free, &ask, &alone, NULL);
        assert_true(rc || !without); /* a ceiling grants nothing */
        if (same && !without && rc)
            fail_msg("round %u: a policy is not within itself", round);
        refused_calls += rc && !without;
        if (rc)
            continue;
        granted_calls++;
        assert_string_equal(held.digest, alone.digest);
        assert_int_equal(resolve(ceiling, &plain, &more, NULL), 0);
        must_be_masked(&held);
        must_be_subset(&held, &more);
    }
    assert_true(granted_calls > rounds(60) && refused_calls > rounds(150));
}

/* Whatever is said anew, what a file that is extended denies stays denied; and what says nothing
 * changes nothing. */
static void a_denial_is_never_lost(void **state)
{
    size_t calls = 0;
    for (unsigned round = 0; round < rounds(3000); round++) {
        seed = 0x9e3779b97f4a7c15u * (first_round() + round + 1);
        const struct ask ask = {.tool = "x", .explain = true};
        const char *bound = NULL;
        _autofree_ char *under = random_text(&bound);
        _autofree_ char *over = random_text(&bound);
        _autopolicy_ struct toolcage_policy *base = compile(under);
        _autopolicy_ struct toolcage_policy *both =
                                                compile_above("extends = \"b.toml\"", over, under),
                                            *nothing =
                                                compile_above("extends = \"b.toml\"", "", under);
        assert_string_equal(tc_policy_digest(nothing), tc_policy_digest(base));
        _autogrant_ struct tc_grant of_base = {0}, of_both = {0};
        if (resolve(base, &ask, &of_base, NULL) || resolve(both, &ask, &of_both, NULL))
            continue;
        calls++;
        for (size_t i = 0; i < of_base.fs_count; i++)
            if (of_base.fs[i].access == TC_ACCESS_DENY && !of_base.fs[i].built_in)
                assert_int_equal(access_of(&of_both, of_base.fs[i].path), 'd');
    }
    assert_true(calls > rounds(900));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_only_take_away),
        cmocka_unit_test(no_call_is_above_its_ceiling),
        cmocka_unit_test(a_denial_is_never_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
