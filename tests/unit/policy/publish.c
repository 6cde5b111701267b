/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/publish.h"

#include "test.h"

static void is(const char *text, const char *canonical)
{
    struct tc_publish publish;
    struct tc_complaint c;
    assert_true(tc_publish_read(text, &publish, &c));
    char *written = tc_publish_write(&publish, NULL);
    assert_string_equal(written, canonical);
    free(written);
}

static void ports_have_one_text(void **state)
{
    is("3000", "3000:127.0.0.1:0");
    is("3000:127.0.0.1:0", "3000:127.0.0.1:0");
    is("65535:127.1.2.3:8080", "65535:127.1.2.3:8080");
    is("1:[::1]:0", "1:[::1]:0");
    is("80:[0:0:0:0:0:0:0:1]:65535", "80:[::1]:65535");
    is("3000:unix:/run/user/1000/a:b.sock", "3000:unix:/run/user/1000/a:b.sock");
}

static void other_addresses_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        "0",
        "65536",
        "-1",
        "3000:",
        "3000x",
        "3000:0",
        "3000:127.0.0.1",
        "3000:127.0.0.1:",
        "3000:127.0.0.1:65536",
        "3000:127.0.0.1:1x",
        "3000:127.0.0.1:-1",
        "3000:0.0.0.0:0",
        "3000:128.0.0.1:0",
        "3000:10.0.0.1:0",
        "3000::::0",
        "3000:[::]:0",
        "3000:[::1:0",
        "3000:[]:0",
        "3000:[::ffff:127.0.0.1]:0",
        "3000:[fe80::1]:0",
        "3000:localhost:0",
        "3000:2130706433:0",
        "3000:127.1:0",
        "3000: 127.0.0.1:0",
        "3000:unix:",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct tc_publish publish;
        struct tc_complaint c = {0};
        if (tc_publish_read(bad[i], &publish, &c))
            fail_msg("\"%s\" is accepted", bad[i]);
        assert_true(c.what[0] && c.hint[0]);
    }
}

static void long_paths_are_refused(void **state)
{
    char text[TC_PUBLISH_PATH_MAX + 32] = "3000:unix:";
    struct tc_publish publish;
    struct tc_complaint c;
    size_t head = strlen(text);
    memset(text + head, 'a', TC_PUBLISH_PATH_MAX);
    assert_true(tc_publish_read(text, &publish, &c));
    text[head + TC_PUBLISH_PATH_MAX] = 'a';
    assert_false(tc_publish_read(text, &publish, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_have_one_text),
        cmocka_unit_test(other_addresses_are_refused),
        cmocka_unit_test(long_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
