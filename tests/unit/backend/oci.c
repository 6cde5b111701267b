/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Grants lowered to OCI configurations, on paper. With an argument it prints one configuration a
 * line, for whoever has the schema. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <toolcage/error.h>

#include "linux/seccomp_profile.h"
#include "plan/backend.h"
#include "test.h"

#define TEXT(literal) ((char[]){literal}) /* fields of a grant are not const */

static struct tc_fs_entry entries[] = {
    {.path = TEXT("/data"), .from = TEXT("/srv/data"), .access = TC_ACCESS_READ},
    {.path = TEXT("/workspace"), .from = TEXT("/srv/\"ws\""), .access = TC_ACCESS_WRITE},
    {.path = TEXT("/data/secret"), .access = TC_ACCESS_DENY},
};
static char *words[] = {TEXT("sh"), TEXT("-c"), TEXT("echo \"$A\"\n\x01"), NULL};
static char *env[] = {TEXT("PATH=/usr/bin"), TEXT("A=\u00e9"), NULL};

static struct tc_grant some_grant(void)
{
    return (struct tc_grant){.limits = {.timeout_ms = 1000, .memory = 1 << 20, .pids = 5},
                             .clauses = tc_clauses_always(),
                             .fs = entries,
                             .fs_count = TC_COUNT(entries),
                             .argv = {words, 3},
                             .env = {env, 2},
                             .digest = "sha256:0"};
}

static char *payload(const char *backend, const struct tc_grant *grant)
{
    struct tc_plan plan = {0};
    struct toolcage_error *err = NULL;
    const struct tc_planner *planner = tc_planner_find(backend);
    assert_non_null(planner);
    assert_int_equal(tc_planner_lower(planner, grant, &plan, &err), 0);
    assert_string_equal(plan.backend, backend);
    char *text = plan.payload;
    plan.payload = NULL;
    tc_plan_done(&plan);
    return text;
}

static json_t *config(const char *backend)
{
    struct tc_grant grant = some_grant();
    char *text = payload(backend, &grant);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static json_t *at(json_t *root, const char *a, const char *b)
{
    json_t *found = json_object_get(root, a);
    found = b ? json_object_get(found, b) : found;
    assert_non_null(found);
    return found;
}

static bool holds(json_t *list, const char *text)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), text) == 0)
            return true;
    }
    return false;
}

static const char *const both[] = {"oci", "gvisor"};

static void walls_are_asked_for(void **state)
{
    for (size_t i = 0; i < TC_COUNT(both); i++) {
        json_t *c = config(both[i]);
        assert_true(json_is_true(at(c, "root", "readonly")));
        assert_true(json_is_true(at(c, "process", "noNewPrivileges")));
        assert_true(json_is_false(at(c, "process", "terminal")));
        assert_int_equal(
            json_array_size(json_object_get(at(c, "process", "capabilities"), "ambient")), 0);
        assert_true(holds(at(c, "linux", "maskedPaths"), "/proc/kcore"));
        assert_true(holds(at(c, "linux", "readonlyPaths"), "/proc/sys"));
        json_t *seccomp = json_object_get(at(c, "linux", NULL), "seccomp");
        if (i == 0) /* runsc heeds none, and our PID 1 has a filter */
            assert_string_equal(json_string_value(at(seccomp, "defaultAction", NULL)),
                                "SCMP_ACT_ERRNO");
        else
            assert_null(seccomp);
        assert_null(json_object_get(c, "hooks"));
        json_decref(c);
    }
}

static bool has_namespace(json_t *c, const char *type)
{
    size_t i;
    json_t *one;
    json_array_foreach(at(c, "linux", "namespaces"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "type")), type) == 0)
            return !json_object_get(one, "path"); /* a new one, not somebody's */
    }
    return false;
}

static void every_namespace_is_new(void **state)
{
    static const char *const types[] = {"user", "pid", "mount", "ipc", "uts", "cgroup"};
    json_t *c = config("oci"), *maps = at(c, "linux", "uidMappings");
    for (size_t i = 0; i < TC_COUNT(types); i++)
        assert_true(has_namespace(c, types[i]));
    assert_false(has_namespace(c, "network")); /* the runtime is in a new one already */
    assert_int_equal(json_array_size(maps), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(maps, 0), "size")), 1);
    json_decref(c);
}

static void command_stands_behind_our_program(void **state)
{
    json_t *c = config("gvisor"), *args = at(c, "process", "args");
    assert_int_equal(json_array_size(args), 4);
    assert_string_equal(json_string_value(json_array_get(args, 0)), "/.toolcage/init");
    for (size_t j = 0; j < 3; j++)
        assert_string_equal(json_string_value(json_array_get(args, j + 1)), words[j]);
    assert_int_equal(json_array_size(at(c, "process", "env")), 2);
    assert_string_equal(json_string_value(json_array_get(at(c, "process", "env"), 1)), env[1]);
    json_decref(c);
}

/* A container that waits for a call holds nothing of one: neither a command nor a variable, nor a
 * path. Two calls of one tool have the same. */
static void a_container_is_the_same_for_every_call(void **state)
{
    char *other[] = {TEXT("true"), NULL}, *others[] = {TEXT("SECRET=1"), NULL};
    struct tc_grant grant = some_grant(), different = some_grant();
    different.argv = (struct tc_strv){other, 1};
    different.env = (struct tc_strv){others, 1};
    different.fs = entries + 1;
    different.fs_count = 1;
    different.limits.memory *= 2;
    char *text = payload("oci", &grant), *same = payload("oci", &different);
    assert_string_equal(text, same);
    json_t *c = json_loads(text, 0, NULL), *args = at(c, "process", "args");
    assert_int_equal(json_array_size(args), 1);
    assert_string_equal(json_string_value(json_array_get(args, 0)), "/.toolcage/init");
    assert_int_equal(json_array_size(at(c, "process", "env")), 0);
    json_decref(c);
    free(text);
    free(same);
}

/* Every mount's source is a place of the bundle, or a kind of file system: no runtime resolves a
 * path of the host. */
static void no_path_of_the_host_is_named(void **state)
{
    for (size_t i = 0; i < TC_COUNT(both); i++) {
        json_t *c = config(both[i]), *one;
        size_t j;
        json_array_foreach(at(c, "mounts", NULL), j, one)
        {
            const char *source = json_string_value(json_object_get(one, "source"));
            assert_true(source[0] != '/' || strncmp(source, "/tmp/rootfs/", 12) == 0);
        }
        char *text = json_dumps(c, 0);
        assert_null(strstr(text, "/srv/"));
        free(text);
        json_decref(c);
    }
}

static json_t *mount_of(json_t *c, const char *path)
{
    size_t i;
    json_t *one;
    json_array_foreach(at(c, "mounts", NULL), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "destination")), path) == 0)
            return json_object_get(one, "options");
    }
    return NULL;
}

static void gvisor_gets_trees_by_mounts(void **state)
{
    json_t *c = config("gvisor"), *kernel = config("oci");
    assert_true(holds(mount_of(c, "/data"), "ro"));
    assert_true(holds(mount_of(c, "/workspace"), "rw"));
    assert_true(holds(mount_of(c, "/tmp"), "rw"));
    assert_null(mount_of(kernel, "/data"));
    assert_null(mount_of(kernel, "/workspace"));
    json_decref(kernel);
    json_decref(c);
}

static const char *verdict(json_t *seccomp, const char *name)
{
    size_t i;
    json_t *rule;
    json_array_foreach(json_object_get(seccomp, "syscalls"), i, rule)
    {
        if (holds(json_object_get(rule, "names"), name))
            return json_string_value(json_object_get(rule, "action"));
    }
    return "default";
}

static bool is_ours(const char *name)
{
    static const char *const ours[] = {"mount_setattr", "move_mount", "fsopen", "fsconfig",
                                       "fsmount",       "umount2",    "openat2"};
    for (size_t i = 0; i < TC_COUNT(ours); i++)
        if (strcmp(ours[i], name) == 0)
            return true;
    return false;
}

static void profile_says_the_same_of_every_call(void **state)
{
    json_t *c = config("oci"), *seccomp = at(c, "linux", "seccomp");
    assert_int_equal(json_integer_value(json_object_get(seccomp, "defaultErrnoRet")), ENOSYS);
    for (size_t i = 0; i < TC_COUNT(tc_seccomp_rows); i++) {
        const struct tc_seccomp_row *row = &tc_seccomp_rows[i];
        bool closed = row->verdict == TC_SECCOMP_ABSENT || row->verdict == TC_SECCOMP_REFUSE ||
                      row->verdict == TC_SECCOMP_PROBE;
        const char *said = verdict(seccomp, row->name);
        if (is_ours(row->name)) { /* our PID 1 needs it; its filter closes it */
            assert_true(closed);
            assert_string_equal(said, "SCMP_ACT_ALLOW");
            continue;
        }
        if (closed && row->errnum == ENOSYS)
            assert_string_equal(said, "default");
        else
            assert_string_equal(said, closed ? "SCMP_ACT_ERRNO" : "SCMP_ACT_ALLOW");
        assert_true(!closed || row->errnum == ENOSYS || row->errnum == EPERM);
    }
    assert_string_equal(verdict(seccomp, "a_call_of_tomorrow"), "default");
    json_decref(c);
}

/* What the policy allows must pass the runtime's list too; what it denies is our filter's. */
static void allowed_calls_are_in_the_runtimes_list(void **state)
{
    char *allowed[] = {TEXT("ptrace")}, *denied[] = {TEXT("mlock")};
    struct tc_grant grant = some_grant();
    struct tc_plan plan = {0};
    struct toolcage_error *err = NULL;
    grant.syscalls_allow = (struct tc_strv){allowed, 1};
    grant.syscalls_deny = (struct tc_strv){denied, 1};
    assert_int_equal(tc_planner_lower(tc_planner_find("oci"), &grant, &plan, &err), 0);
    json_t *c = json_loads(plan.payload, JSON_REJECT_DUPLICATES, NULL);
    json_t *seccomp = at(c, "linux", "seccomp");
    assert_string_equal(verdict(seccomp, "ptrace"), "SCMP_ACT_ALLOW");
    assert_string_equal(verdict(seccomp, "kcmp"), "SCMP_ACT_ERRNO");
    assert_string_equal(plan.syscalls_deny.items[0], "mlock");
    json_decref(c);
    tc_plan_done(&plan);
    assert_int_equal(tc_planner_lacks(tc_planner_find("oci"), &grant, 0), 0);
    assert_int_equal(tc_planner_lacks(tc_planner_find("gvisor"), &grant, 0),
                     TC_FEATURE_BIT(SYSCALLS));
}

static void bytes_that_json_cannot_carry_are_refused(void **state)
{
    char *odd[] = {TEXT("echo"), TEXT("\xff\xfe"), NULL};
    struct tc_strv line = {odd, 2};
    for (size_t i = 0; i < TC_COUNT(both); i++) {
        struct tc_grant grant = some_grant(), other = some_grant();
        assert_int_equal(tc_planner_lacks(tc_planner_find(both[i]), &grant, 0), 0);
        grant.argv = line;
        other.env = line;
        assert_int_equal(tc_planner_lacks(tc_planner_find(both[i]), &grant, 0),
                         TC_FEATURE_BIT(BYTES));
        assert_int_equal(tc_planner_lacks(tc_planner_find(both[i]), &other, 0),
                         TC_FEATURE_BIT(BYTES));
        assert_int_equal(tc_planner_lacks(tc_planner_find("process"), &grant, 0), 0);
        struct tc_fs_entry named = {.path = odd[1]};
        grant = some_grant();
        grant.fs = &named;
        grant.fs_count = 1;
        assert_int_equal(tc_planner_lacks(tc_planner_find(both[i]), &grant, 0),
                         TC_FEATURE_BIT(BYTES));
        named.access = TC_ACCESS_DENY;
        assert_int_equal(tc_planner_lacks(tc_planner_find(both[i]), &grant, 0), 0);
    }
}

static int print_all(void)
{
    for (size_t i = 0; i < TC_COUNT(both); i++) {
        struct tc_grant grant = some_grant(), empty = {.argv = {words, 1}, .digest = "sha256:0"};
        const struct tc_grant *all[] = {&grant, &empty};
        for (size_t j = 0; j < TC_COUNT(all); j++) {
            char *text = payload(both[i], all[j]);
            (void)puts(text);
            free(text);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_are_asked_for),
        cmocka_unit_test(every_namespace_is_new),
        cmocka_unit_test(command_stands_behind_our_program),
        cmocka_unit_test(a_container_is_the_same_for_every_call),
        cmocka_unit_test(no_path_of_the_host_is_named),
        cmocka_unit_test(gvisor_gets_trees_by_mounts),
        cmocka_unit_test(profile_says_the_same_of_every_call),
        cmocka_unit_test(allowed_calls_are_in_the_runtimes_list),
        cmocka_unit_test(bytes_that_json_cannot_carry_are_refused),
    };
    if (argc > 1)
        return print_all();
    return cmocka_run_group_tests_name("oci", tests, NULL, NULL);
}
