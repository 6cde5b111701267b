/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "image/index.h"

#define ONE "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "sha256:2222222222222222222222222222222222222222222222222222222222222222"

static const char *digest_of(const struct tc_image_index *index, const char *text)
{
    struct tc_image_ref ref;
    assert_null(tc_image_ref_parse(text, &ref));
    const struct tc_image_entry *e = tc_image_index_find(index, &ref);
    return e ? e->digest : "";
}

static void names_move(void **state)
{
    _autoindex_ struct tc_image_index index = {0};
    assert_true(tc_image_index_put(&index, "a", ONE, 10));
    assert_true(tc_image_index_put(&index, "b", ONE, 10));
    assert_true(tc_image_index_put(&index, "a", ONE, 10));
    assert_int_equal(index.count, 2);
    assert_true(tc_image_index_put(&index, "a", TWO, 20));
    assert_string_equal(digest_of(&index, "a"), TWO);
    assert_string_equal(digest_of(&index, "b"), ONE);
    assert_string_equal(digest_of(&index, "a@" ONE), ONE);
    assert_string_equal(digest_of(&index, "b@" TWO), "");
    assert_string_equal(digest_of(&index, "c"), "");
    assert_true(tc_image_index_put(&index, "a", ONE, 10)); /* and back */
    assert_int_equal(index.count, 3);
    assert_string_equal(digest_of(&index, "a"), ONE);
    assert_string_equal(digest_of(&index, "a@" TWO), TWO);
}

static void text_and_back(void **state)
{
    _autoindex_ struct tc_image_index index = {0}, again = {0};
    assert_true(tc_image_index_put(&index, "a:1", ONE, 10));
    assert_true(tc_image_index_put(&index, "a:1", TWO, 20));
    _autofree_ char *text = tc_image_index_text(&index);
    assert_null(tc_image_index_parse(text, strlen(text), &again));
    assert_int_equal(again.count, 2);
    assert_true(again.items[0].older && !again.items[1].older);
    assert_int_equal(again.items[1].size, 20);
    _autofree_ char *twice = tc_image_index_text(&again);
    assert_string_equal(text, twice);
}

static void bad_texts(void **state)
{
    static const char *const rows[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"manifests\":{}}",
        "{\"manifests\":[1]}",
        "{\"manifests\":[{}]}",
        "{\"manifests\":[],\"manifests\":[]}",
        "{\"manifests\":[{\"digest\":\"" ONE "\"}]}",
        "{\"manifests\":[{\"digest\":\"sha256:../../x\",\"annotations\":"
        "{\"org.opencontainers.image.ref.name\":\"a\"}}]}",
        "{\"manifests\":[{\"digest\":\"" ONE "\",\"annotations\":"
        "{\"org.opencontainers.image.ref.name\":\"../a\"}}]}",
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autoindex_ struct tc_image_index index = {0};
        if (!tc_image_index_parse(rows[i], strlen(rows[i]), &index))
            fail_msg("%s was taken", rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_move),
        cmocka_unit_test(text_and_back),
        cmocka_unit_test(bad_texts),
    };
    return cmocka_run_group_tests_name("image/index", tests, NULL, NULL);
}
