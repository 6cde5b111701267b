/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine is asked for, and what the first program in its container is told. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backend/engine/create.h"
#include "test.h"

static json_t *create(uid_t uid, const char *runtime, const char *tool)
{
    struct tc_plan plan = {0};
    struct tc_engine_container c = {.image = "localhost/toolcage-init:0",
                                    .call = "01J\"}",
                                    .talk = "/run/toolcage/engine/01J",
                                    .uid = uid,
                                    .gid = uid,
                                    .files = 1024,
                                    .processes = 2048};
    plan.tool = tool ? strdup(tool) : NULL;
    if (runtime)
        assert_true(tc_strv_add(&plan.settings, runtime));
    _autofree_ char *text = tc_engine_create(&plan, &c);
    json_t *got = json_loads(text, 0, NULL);
    assert_non_null(got);
    tc_plan_done(&plan);
    return got;
}

static const char *text_at(const json_t *from, const char *key)
{
    return json_string_value(json_object_get(from, key));
}

static void a_container_has_nothing(void **state)
{
    (void)state;
    json_t *c = create(2000000001, NULL, "x\", \"Privileged\": true");
    const json_t *host = json_object_get(c, "HostConfig");
    assert_string_equal(text_at(c, "User"), "2000000001:2000000001");
    assert_string_equal(text_at(host, "NetworkMode"), "none");
    assert_true(json_is_true(json_object_get(host, "ReadonlyRootfs")));
    assert_true(json_is_false(json_object_get(host, "Privileged")));
    assert_true(json_is_true(json_object_get(host, "AutoRemove")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(host, "CapDrop"), 0)),
                        "ALL");
    assert_null(json_object_get(host, "CapAdd"));
    assert_null(json_object_get(host, "Runtime"));
    assert_int_equal(json_array_size(json_object_get(host, "Binds")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(host, "Binds"), 0)),
                        "/run/toolcage/engine/01J:/.toolcage/talk:rw");
    assert_string_equal(text_at(json_object_get(c, "Labels"), "toolcage.call"), "01J\"}");
    assert_string_equal(text_at(json_object_get(c, "Labels"), "toolcage.tool"),
                        "x\", \"Privileged\": true");
    json_decref(c);
}

/* Where the caller is the container's root, and only there, the kernel wants one right of it. */
static void rootless_container_has_one_capability(void **state)
{
    (void)state;
    json_t *c = create(0, "runtime=runc", NULL);
    const json_t *host = json_object_get(c, "HostConfig"), *add = json_object_get(host, "CapAdd");
    assert_int_equal(json_array_size(add), 1);
    assert_string_equal(json_string_value(json_array_get(add, 0)), "SETFCAP");
    assert_string_equal(text_at(host, "Runtime"), "runc");
    json_decref(c);
}

static json_t *spec(uid_t uid)
{
    struct tc_engine_container c = {.talk = "/run/toolcage/engine/01J",
                                    .root = "/run/toolcage/engine-root",
                                    .program = "/opt/a \"b\", \"c",
                                    .uid = uid,
                                    .gid = uid,
                                    .files = 1024,
                                    .processes = 2048};
    _autofree_ char *text = tc_engine_spec(&c);
    json_t *got = json_loads(text, 0, NULL);
    assert_non_null(got);
    return got;
}

/* The same of containerd's, which fills in nothing by itself: what is not here is not there. */
static void containerd_spec_grants_nothing(void **state)
{
    static const char *const sets[] = {"bounding", "effective", "permitted", "inheritable",
                                       "ambient"};
    static const char *const apart[] = {"pid", "mount", "network", "ipc", "uts", "cgroup"};
    (void)state;
    for (int rootless = 0; rootless < 2; rootless++) {
        json_t *c = spec(rootless ? 0 : 2000000001);
        const json_t *process = json_object_get(c, "process"),
                     *mounts = json_object_get(c, "mounts");
        const json_t *spaces = json_object_get(json_object_get(c, "linux"), "namespaces");
        assert_true(json_is_true(json_object_get(json_object_get(c, "root"), "readonly")));
        assert_true(json_is_true(json_object_get(process, "noNewPrivileges")));
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(process, "user"), "uid")),
            rootless ? 0 : 2000000001);
        for (size_t i = 0; i < TC_COUNT(sets); i++)
            assert_int_equal(
                json_array_size(json_object_get(json_object_get(process, "capabilities"), sets[i])),
                rootless && i < 3);
        assert_int_equal(json_array_size(spaces), TC_COUNT(apart));
        for (size_t i = 0; i < TC_COUNT(apart); i++) {
            assert_string_equal(text_at(json_array_get(spaces, i), "type"), apart[i]);
            assert_null(json_object_get(json_array_get(spaces, i), "path"));
        }
        assert_int_equal(json_array_size(mounts), 4);
        assert_string_equal(text_at(json_array_get(mounts, 2), "source"), "/opt/a \"b\", \"c");
        assert_string_equal(text_at(json_array_get(mounts, 3), "source"),
                            "/run/toolcage/engine/01J");
        assert_null(json_object_get(c, "hooks"));
        assert_null(json_object_get(c, "annotations"));
        json_decref(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_has_nothing),
        cmocka_unit_test(rootless_container_has_one_capability),
        cmocka_unit_test(containerd_spec_grants_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
