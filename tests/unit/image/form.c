/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "image/form.h"

#define HEX "1111111111111111111111111111111111111111111111111111111111111111"
#define ONE "sha256:" HEX
#define BLOB "{\"digest\":\"" ONE "\",\"size\":5}"
#define FOR(arch)                                                                                \
    "{\"digest\":\"" ONE "\",\"size\":5,\"platform\":{\"os\":\"linux\",\"architecture\":\"" arch \
    "\"}}"

static void manifest_is_chosen_by_architecture(void **state)
{
    static const struct {
        const char *json;
        bool fine, index;
        const char *name;
    } rows[] = {
        {"{\"manifests\":[" BLOB "]}", true, false, ""},
        {"{\"manifests\":[{\"digest\":\"" ONE
         "\",\"size\":5,\"mediaType\":\"application/vnd.oci.image.index.v1+json\"}]}",
         true, true, ""},
        {"{\"manifests\":[{\"digest\":\"" ONE
         "\",\"size\":5,\"annotations\":{\"org.opencontainers.image.ref.name\":\"a:1\"}}]}",
         true, false, "a:1"},
        {"{\"manifests\":[{\"digest\":\"" ONE
         "\",\"size\":5,\"annotations\":{\"org.opencontainers.image.ref.name\":\"../a\"}}]}",
         true, false, ""},
        {"{\"manifests\":[" FOR("arm64") "," FOR("amd64") "]}", true, false, ""},
        {"{\"manifests\":[" FOR("amd64") "," FOR("amd64") "]}", false, false, ""},
        {"{\"manifests\":[" FOR("arm64") "," FOR("riscv64") "]}", false, false, ""},
        {"{\"manifests\":[" BLOB "," BLOB "]}", false, false, ""},
        {"{\"manifests\":[]}", false, false, ""},
        {"{\"manifests\":[{\"digest\":\"sha256:1\",\"size\":5}]}", false, false, ""},
        {"{\"manifests\":[{\"digest\":\"" ONE "\",\"size\":-5}]}", false, false, ""},
        {"{\"manifests\":[{\"digest\":\"" ONE "\",\"size\":\"5\"}]}", false, false, ""},
        {"[]", false, false, ""},
        {"", false, false, ""},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_image_choice choice;
        const char *complaint =
            tc_image_read_choice(rows[i].json, strlen(rows[i].json), "amd64", &choice);
        if ((complaint == NULL) != rows[i].fine)
            fail_msg("%s: %s", rows[i].json, complaint ? complaint : "taken");
        if (complaint)
            continue;
        assert_int_equal(choice.index, rows[i].index);
        assert_string_equal(choice.name, rows[i].name);
    }
}

static void manifests_are_validated(void **state)
{
    static const char good[] = "{\"config\":" BLOB ",\"layers\":[" BLOB "," BLOB "]}";
    static const char *const bad[] = {"{}", "{\"config\":" BLOB "}", "{\"layers\":[]}",
                                      "{\"config\":" BLOB ",\"layers\":[{}]}",
                                      "{\"config\":" BLOB ",\"layers\":{}}"};
    struct tc_image_manifest m;
    assert_null(tc_image_read_manifest(good, strlen(good), &m));
    assert_int_equal(m.count, 2);
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        assert_non_null(tc_image_read_manifest(bad[i], strlen(bad[i]), &m));
}

static void many_layers(void **state)
{
    enum { SIZE = 64 << 10 };
    _autofree_ char *json = calloc(1, SIZE);
    struct tc_image_manifest m;
    char *at = stpcpy(json, "{\"config\":" BLOB ",\"layers\":[");
    for (int i = 0; i < TC_IMAGE_LAYERS_MAX; i++)
        at = stpcpy(stpcpy(at, i ? "," : ""), BLOB);
    (void)stpcpy(at, "]}");
    assert_null(tc_image_read_manifest(json, strlen(json), &m));
    assert_int_equal(m.count, TC_IMAGE_LAYERS_MAX);
    (void)stpcpy(at, "," BLOB "]}");
    assert_non_null(tc_image_read_manifest(json, strlen(json), &m));
}

static void configurations_are_validated(void **state)
{
    static const struct {
        const char *json;
        bool fine;
    } rows[] = {
        {"{\"os\":\"linux\",\"architecture\":\"amd64\",\"rootfs\":{\"diff_ids\":[\"" ONE "\"]}}",
         true},
        {"{\"rootfs\":{\"diff_ids\":[]}}", true},
        {"{\"os\":\"windows\",\"rootfs\":{\"diff_ids\":[]}}", false},
        {"{\"architecture\":\"arm64\",\"rootfs\":{\"diff_ids\":[]}}", false},
        {"{\"rootfs\":{\"diff_ids\":[\"x\"]}}", false},
        {"{\"rootfs\":{}}", false},
        {"[]", false},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_image_config config;
        const char *complaint =
            tc_image_read_config(rows[i].json, strlen(rows[i].json), "amd64", &config);
        assert_int_equal(complaint == NULL, rows[i].fine);
    }
}

static void docker_lists(void **state)
{
    static const struct {
        const char *json, *name;
        size_t layers;
    } rows[] = {
        {"[{\"Config\":\"c\",\"RepoTags\":[\"a:1\"],\"Layers\":[\"1\",\"2\"]}]", "a:1", 2},
        {"[{\"Config\":\"c\",\"RepoTags\":null,\"Layers\":[]}]", "", 0},
        {"[{\"Config\":\"c\",\"RepoTags\":[\"A\"],\"Layers\":[\"1\"]}]", "", 1},
        {"[]", NULL, 0},
        {"[{},{}]", NULL, 0},
        {"[{\"Layers\":[]}]", NULL, 0},
        {"[{\"Config\":\"c\",\"Layers\":[1]}]", NULL, 0},
        {"[{\"Config\":1,\"Layers\":[\"1\"]}]", NULL, 0},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_image_docker docker;
        const char *complaint = tc_image_read_docker(rows[i].json, strlen(rows[i].json), &docker);
        assert_int_equal(complaint == NULL, rows[i].name != NULL);
        if (!complaint) {
            assert_string_equal(docker.name, rows[i].name);
            assert_int_equal(docker.count, rows[i].layers);
        }
        free(docker.layers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_is_chosen_by_architecture),
        cmocka_unit_test(manifests_are_validated),
        cmocka_unit_test(many_layers),
        cmocka_unit_test(configurations_are_validated),
        cmocka_unit_test(docker_lists),
    };
    return cmocka_run_group_tests_name("image/form", tests, NULL, NULL);
}
