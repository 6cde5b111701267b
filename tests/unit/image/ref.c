/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "base/cleanup.h"
#include "policy/image_ref.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void valid_references_are_parsed(void **state)
{
    static const struct {
        const char *text, *name, *digest;
    } rows[] = {
        {"default", "default", ""},
        {"a", "a", ""},
        {"python:3.14-slim", "python:3.14-slim", ""},
        {"a.example/b_c/d--e:V1", "a.example/b_c/d--e:V1", ""},
        {"x@sha256:" ZEROS, "x", "sha256:" ZEROS},
        {"x:1@sha256:" ZEROS, "x:1", "sha256:" ZEROS},
        {"systems", "systems", ""},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_image_ref ref;
        assert_null(tc_image_ref_parse(rows[i].text, &ref));
        assert_string_equal(ref.name, rows[i].name);
        assert_string_equal(ref.digest, rows[i].digest);
    }
}

static void invalid_references_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        ":",
        ":1",
        "a:",
        "@sha256:" ZEROS,
        "A",
        "a b",
        "a\n",
        "a/",
        "/a",
        "a//b",
        "a/../b",
        "..",
        ".a",
        "a.",
        "-a",
        "a-",
        "a..b",
        "a/.b",
        "a/-b",
        "a:b:c",
        "a:1/b",
        "localhost:1/a",
        "a@",
        "a@x",
        "a@sha256:",
        "a@sha256:0",
        "a@sha256:" ZEROS "0",
        "a@sha512:" ZEROS,
        "a@SHA256:" ZEROS,
        "a@sha256:g000000000000000000000000000000000000000000000000000000000000000",
        "system",
        "system@sha256:" ZEROS,
        "a@sha256:" ZEROS "@sha256:" ZEROS,
        "\xc3\xa4",
        "a:\x1b"};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_image_ref ref;
        if (!tc_image_ref_parse(rows[i], &ref))
            fail_msg("\"%s\" was taken", rows[i]);
    }
}

static void overlong_reference_is_refused(void **state)
{
    char name[TC_IMAGE_NAME_SIZE + 1];
    struct tc_image_ref ref;
    memset(name, 'a', sizeof(name));
    name[TC_IMAGE_NAME_SIZE - 1] = '\0';
    assert_null(tc_image_ref_parse(name, &ref));
    name[TC_IMAGE_NAME_SIZE - 1] = 'a';
    name[TC_IMAGE_NAME_SIZE] = '\0';
    assert_non_null(tc_image_ref_parse(name, &ref));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_references_are_parsed),
        cmocka_unit_test(invalid_references_are_refused),
        cmocka_unit_test(overlong_reference_is_refused),
    };
    return cmocka_run_group_tests_name("policy/image_ref", tests, NULL, NULL);
}
