/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Grants lowered for the process backend, on paper. */
#include <string.h>
#include <toolcage/error.h>

#include "base/error.h"
#include "cage/lower.h"
#include "plan/backend.h"
#include "policy/names/system_paths.h"
#include "policy/policy.h"
#include "test.h"

#include "../fields.h"
#include "../source.h"

#define TEXT(literal) ((char[]){literal}) /* fields of a grant are not const */

static const struct tc_planner *planner(void)
{
    const struct tc_planner *f = tc_planner_find("process");
    assert_non_null(f);
    return f;
}

static struct tc_grant small_grant(void)
{
    return (struct tc_grant){.limits = {.timeout_ms = 1000, .memory = 1 << 20, .pids = 5},
                             .denials = TC_DENIALS_CALLS,
                             .clauses = tc_clauses_always(),
                             .digest = "sha256:0"};
}

/* Lowers a grant that must be lowerable. */
static struct tc_plan lowered(const struct tc_grant *grant)
{
    struct tc_plan plan = {0};
    struct toolcage_error *err = NULL;
    assert_int_equal(tc_planner_lower(planner(), grant, &plan, &err), 0);
    assert_null(err);
    return plan;
}

static const struct tc_mount *mount_at(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (strcmp(plan->mounts[i].path, path) == 0)
            return &plan->mounts[i];
    return NULL;
}

static void nothing_granted_is_the_system_only(void **state)
{
    struct tc_grant grant = small_grant();
    struct tc_plan plan = lowered(&grant);
    for (const struct tc_system_path *s = tc_system_paths; s->path; s++) {
        const struct tc_mount *m = mount_at(&plan, s->path);
        if (s->made && (strcmp(s->path, "/etc/passwd") == 0 || strcmp(s->path, "/etc/group") == 0))
            assert_null(m); /* their ids are known only where the cage is built */
        else
            assert_non_null(m);
        if (m && s->made)
            assert_true(m->kind == TC_MOUNT_FILE && m->content && !m->from);
        if (m && !s->made)
            assert_true(m->kind == TC_MOUNT_SYSTEM && strcmp(m->from, m->path) == 0);
    }
    for (size_t i = 0; i < plan.mount_count; i++)
        assert_true(plan.mounts[i].kind != TC_MOUNT_READ && plan.mounts[i].kind != TC_MOUNT_WRITE);
    assert_int_equal(plan.deny_count, 0);
    assert_int_equal(plan.cwd.count, 1);
    assert_string_equal(plan.cwd.items[0], "/");
    assert_string_equal(plan.backend, "process");
    assert_null(plan.tool);
    tc_plan_done(&plan);
}

static void entries_keep_their_meaning(void **state)
{
    struct tc_fs_entry entries[] = {
        {.path = TEXT("/data"),
         .from = TEXT("/srv/data"),
         .access = TC_ACCESS_READ,
         .optional = true,
         .origin = {TEXT("tool.x.filesystem.readable"), 7}},
        {.path = TEXT("/out"),
         .from = TEXT("/srv/out"),
         .access = TC_ACCESS_WRITE,
         .bound = TEXT("/srv")},
        {.path = TEXT("/data/.env"),
         .access = TC_ACCESS_DENY,
         .own = true,
         .origin = {TEXT("tool.x.filesystem.denied"), 9}},
        {.path = TEXT("/in/one"),
         .from = TEXT("/srv/in/one"),
         .access = TC_ACCESS_READ,
         .argument = true,
         .bound = TEXT("/srv/in")},
    };
    struct tc_grant grant = small_grant();
    grant.fs = entries;
    grant.fs_count = TC_COUNT(entries);
    struct tc_plan plan = lowered(&grant);
    const struct tc_mount *data = mount_at(&plan, "/data"), *out = mount_at(&plan, "/out"),
                          *one = mount_at(&plan, "/in/one");
    assert_true(data && data->kind == TC_MOUNT_READ && data->optional && !data->workspace);
    assert_string_equal(data->from, "/srv/data");
    assert_string_equal(data->key, "tool.x.filesystem.readable");
    assert_int_equal(data->line, 7);
    assert_true(out && out->kind == TC_MOUNT_WRITE && out->workspace && !out->optional);
    assert_null(out->bound); /* a bound binds arguments only */
    assert_true(one && one->bound);
    assert_string_equal(one->bound, "/srv/in");
    assert_null(mount_at(&plan, "/data/.env"));
    assert_int_equal(plan.deny_count, 1);
    assert_string_equal(plan.denies[0].path, "/data/.env");
    assert_string_equal(plan.denies[0].key, "tool.x.filesystem.denied");
    assert_int_equal(plan.denies[0].line, 9);
    assert_true(plan.denies[0].own);
    tc_plan_done(&plan);
}

struct start_case {
    const char *what, *granted, *cwd, *caller;
    enum tc_access access;
    const char *want[4];
};

static const struct start_case starts[] = {
    {"nothing", "/data", NULL, NULL, TC_ACCESS_READ, {"/"}},
    {"asked for", "/workspace", "/opt", "/workspace", TC_ACCESS_WRITE, {"/opt"}},
    {"the workspace", "/workspace", NULL, NULL, TC_ACCESS_WRITE, {"/workspace", "/"}},
    {"the workspace, readable", "/workspace", NULL, NULL, TC_ACCESS_READ, {"/workspace", "/"}},
    {"the workspace, denied", "/workspace", NULL, NULL, TC_ACCESS_DENY, {"/"}},
    {"the caller's, granted", "/srv", NULL, "/srv/a", TC_ACCESS_READ, {"/srv/a", "/"}},
    {"the caller's, not granted", "/srv", NULL, "/srvx", TC_ACCESS_READ, {"/"}},
    {"both",
     "/workspace",
     NULL,
     "/workspace/in",
     TC_ACCESS_READ,
     {"/workspace", "/workspace/in", "/"}},
};

static void working_directory_candidates_follow_the_grant(void **state)
{
    for (size_t i = 0; i < TC_COUNT(starts); i++) {
        const struct start_case *c = &starts[i];
        struct tc_fs_entry entry = {
            .path = (char *)c->granted, .from = (char *)c->granted, .access = c->access};
        struct tc_grant grant = small_grant();
        grant.fs = &entry;
        grant.fs_count = 1;
        grant.cwd = (char *)c->cwd;
        grant.caller_cwd = (char *)c->caller;
        struct tc_plan plan = lowered(&grant);
        for (size_t k = 0; k < TC_COUNT(c->want); k++) {
            const char *got = k < plan.cwd.count ? plan.cwd.items[k] : NULL;
            if (!tc_streq(got, c->want[k]))
                fail_msg("%s: place %zu is %s", c->what, k, got ? got : "absent");
        }
        tc_plan_done(&plan);
    }
}

static void limits_and_lists_are_copied(void **state)
{
    char *argv[] = {TEXT("a"), TEXT("b c"), NULL}, *env[] = {TEXT("PATH=/bin"), NULL},
         *w[] = {TEXT("/srv/out"), NULL};
    struct tc_grant grant = small_grant();
    grant.tool = TEXT("x");
    grant.argv = (struct tc_strv){argv, 2};
    grant.env = (struct tc_strv){env, 1};
    grant.tool_writable = (struct tc_strv){w, 1};
    grant.collect = (struct tc_strv){w, 1};
    grant.workspace = TC_WORKSPACE_COPY;
    grant.denials = TC_DENIALS_OFF;
    struct tc_plan plan = lowered(&grant);
    assert_string_equal(plan.tool, "x");
    assert_string_equal(plan.grant, "sha256:0");
    assert_int_equal(plan.argv.count, 2);
    assert_string_equal(plan.argv.items[1], "b c");
    assert_ptr_not_equal(plan.argv.items[1], argv[1]);
    assert_string_equal(plan.env.items[0], "PATH=/bin");
    assert_string_equal(plan.tool_writable.items[0], "/srv/out");
    assert_string_equal(plan.collect.items[0], "/srv/out");
    assert_int_equal(plan.workspace, TC_WORKSPACE_COPY);
    assert_int_equal(plan.denials, TC_DENIALS_OFF);
    assert_int_equal(plan.limits.pids, 5);
    assert_true(plan.clauses == grant.clauses);
    tc_plan_done(&plan);
}

struct refusal_case {
    const char *what, *subject; /* NULL: lowered */
    enum tc_workspace_mode mode;
    bool disk_set;
    enum tc_access access;
    enum tc_commit commit;
};

static const struct refusal_case refusals[] = {
    {"a person is asked", NULL, TC_WORKSPACE_OVERLAY, true, TC_ACCESS_WRITE, TC_COMMIT_ASK},
    {"nothing to ask of a bind", NULL, TC_WORKSPACE_BIND, false, TC_ACCESS_WRITE, TC_COMMIT_ASK},
    {"overlay", NULL, TC_WORKSPACE_OVERLAY, true, TC_ACCESS_WRITE, TC_COMMIT_NEVER},
    {"a bound that a bind cannot hold", "disk", TC_WORKSPACE_BIND, true, TC_ACCESS_WRITE},
    {"the same, copied", NULL, TC_WORKSPACE_COPY, true, TC_ACCESS_WRITE},
    {"the same, readable", NULL, TC_WORKSPACE_BIND, true, TC_ACCESS_READ},
    {"the same, denied", NULL, TC_WORKSPACE_BIND, true, TC_ACCESS_DENY},
    {"no bound said", NULL, TC_WORKSPACE_BIND, false, TC_ACCESS_WRITE},
};

static void unenforceable_grants_are_refused(void **state)
{
    for (size_t i = 0; i < TC_COUNT(refusals); i++) {
        const struct refusal_case *c = &refusals[i];
        struct tc_fs_entry entry = {
            .path = TEXT("/out"), .from = TEXT("/srv"), .access = c->access};
        struct tc_grant grant = small_grant();
        struct tc_plan plan = {0};
        struct toolcage_error *err = NULL;
        grant.fs = &entry;
        grant.fs_count = 1;
        grant.workspace = c->mode;
        grant.commit = c->commit;
        grant.limits.disk_set = c->disk_set;
        int rc = tc_planner_lower(planner(), &grant, &plan, &err);
        if (rc != (c->subject ? TOOLCAGE_EUNENFORCEABLE : 0) ||
            (c->subject && strcmp(tc_error_subject(err), c->subject) != 0))
            fail_msg("%s: %d", c->what, rc);
        if (c->subject) {
            assert_string_equal(tc_error_stage(err), "lower");
            assert_true(strlen(tc_error_hint(err)) > 0);
        }
        tc_error_free(err);
        tc_plan_done(&plan);
    }
}

static void every_clause_is_promised(void **state)
{
    for (int clause = 0; clause < TC_CLAUSE_COUNT; clause++)
        assert_true(planner()->provides & TC_CLAUSE_BIT(clause));
}

static struct tc_buf encoded(const struct tc_fields *fields, int other, struct filling *ret)
{
    struct tc_grant grant = {0};
    struct tc_plan plan = {0};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    *ret = filled(fields, &grant, other, 2);
    assert_int_equal(tc_local_lower(&grant, "process", &plan, NULL), 0);
    tc_plan_visit(&w, &plan);
    tc_plan_done(&plan);
    tc_grant_done(&grant);
    return w.out;
}

/* What the helper needs of a grant is in its plan; the rest is named here. */
static void every_field_is_lowered(void **state)
{
    static const char *const left[] = {
        /* what the library chooses by, and does itself */
        "backend", "fallback", "layers", "warm", "tier", "approval", "stdin_bytes", "programs",
        "setup", "setup_ready",
        /* those of another backend: settings_go_with_their_backend() */
        "settings", "module", "module_digest", "deterministic", "proved", "located",
        /* where others are as they are here: of an argument, of a denied name, without a cwd,
         * without an image */
        "fs.bound", "fs.own", "caller_cwd", "system",
        /* of a live session alone, where call/live.c adds it */
        "publish",
        /* what is decided by now, or means nothing of a socket */
        "fs.built_in", "fs.found", "fs.setup", "sockets.access", "sockets.argument",
        "sockets.bound", "sockets.built_in", "sockets.own", "sockets.found", "sockets.setup", NULL};
    struct filling f;
    struct tc_buf plain = encoded(&tc_grant_fields, -1, &f);
    for (int i = 0, n = f.places; i < n; i++) {
        struct tc_buf text = encoded(&tc_grant_fields, i, &f);
        bool same = text.len == plain.len && memcmp(text.data, plain.data, text.len) == 0,
             named = false;
        for (size_t k = 0; left[k]; k++)
            named |= tc_streq(left[k], f.name);
        if (same != named)
            fail_msg("%s is %sin the plan", f.name, same ? "not " : "");
        tc_buf_done(&text);
    }
    tc_buf_done(&plain);
}

/* Who is to see each access has what a tool asks of a network seen, too, where it has none. */
static void accesses_are_asked_for_where_there_is_no_network(void **state)
{
    static const enum tc_denials denials[] = {TC_DENIALS_CALLS, TC_DENIALS_PATHS,
                                              TC_DENIALS_ACCESSES};
    struct tc_net_entry entry = {.host = TEXT("a.example"), .port = 443};
    for (size_t i = 0; i < TC_COUNT(denials); i++)
        for (size_t network = 0; network < 2; network++) {
            struct tc_grant grant = small_grant();
            grant.denials = denials[i];
            grant.net = network ? &entry : NULL;
            grant.net_count = network;
            struct tc_plan plan = lowered(&grant);
            assert_int_equal(plan.asks_network, denials[i] == TC_DENIALS_ACCESSES && !network);
            /* a program that speaks to a proxy asks that one */
            assert_int_equal(plan.env.count > 0, network || plan.asks_network);
            tc_plan_done(&plan);
        }
}

static void settings_go_with_their_backend(void **state)
{
    struct tc_grant grant = {0};
    struct tc_plan plan = {0};
    assert_true(tc_strv_add(&grant.settings, "oci.runtime=runc"));
    assert_true(tc_strv_add(&grant.settings, "process.x=1=2"));
    assert_int_equal(tc_planner_lower(planner(), &grant, &plan, NULL), 0);
    assert_int_equal(plan.settings.count, 1);
    assert_string_equal(plan.settings.items[0], "x=1=2");
    tc_plan_done(&plan);
    tc_grant_done(&grant);
}

static int read_base(void *context, const char *path, struct tc_policy_found *ret,
                     struct toolcage_error **err)
{
    (void)context, (void)err;
    return found(path, "", ret);
}

/* The helper keeps the policy's files from being written, so it has to know them. */
static void the_policys_files_are_lowered(void **state)
{
    static char base[] = "/srv/p/base.toml", own[] = "/srv/p/t.toml";
    struct tc_fs_entry written[] = {{.path = base, .from = base, .access = TC_ACCESS_WRITE},
                                    {.path = own, .from = own, .access = TC_ACCESS_WRITE}};
    static const char text[] = "extends = \"base.toml\"\n[tool.x]\n";
    const struct tc_policy_source source = source_of(text, read_base, NULL);
    struct tc_grant grant = small_grant();
    assert_int_equal(tc_policy_compile_source(&source, "/srv/p", NULL, &grant.policy, NULL), 0);
    struct tc_plan plan = lowered(&grant);
    assert_string_equal(plan.policy_file, "/srv/p/t.toml");
    assert_int_equal(plan.extended.count, 1);
    assert_string_equal(plan.extended.items[0], "/srv/p/base.toml");
    tc_plan_done(&plan);
    /* its own word frees the file itself; no value of a model does, nor what is only read, and
     * nothing frees those that it extends */
    static const struct {
        enum tc_access access;
        bool argument, frees;
    } rows[] = {{TC_ACCESS_WRITE, false, true},
                {TC_ACCESS_WRITE, true, false},
                {TC_ACCESS_READ, false, false}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        written[1].access = rows[i].access;
        written[1].argument = rows[i].argument;
        grant.fs = written;
        grant.fs_count = TC_COUNT(written);
        plan = lowered(&grant);
        assert_int_equal(plan.extended.count, 1);
        assert_int_equal(plan.policy_file == NULL, rows[i].frees);
        tc_plan_done(&plan);
    }
    (void)tc_policy_unref(grant.policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_granted_is_the_system_only),
        cmocka_unit_test(entries_keep_their_meaning),
        cmocka_unit_test(working_directory_candidates_follow_the_grant),
        cmocka_unit_test(limits_and_lists_are_copied),
        cmocka_unit_test(unenforceable_grants_are_refused),
        cmocka_unit_test(every_clause_is_promised),
        cmocka_unit_test(every_field_is_lowered),
        cmocka_unit_test(accesses_are_asked_for_where_there_is_no_network),
        cmocka_unit_test(settings_go_with_their_backend),
        cmocka_unit_test(the_policys_files_are_lowered),
    };
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
