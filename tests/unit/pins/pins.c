/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>

#include "base/cleanup.h"
#include "pins/pins.h"
#include "state/store.h"

static char root[] = "/tmp/toolcage-pins-XXXXXX";
static struct tc_fault fault;
static const struct tc_pins_key key = {"/home/me/servers.toml", "files", "[\"server\"]"};

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(root) && setenv("XDG_STATE_HOME", root, 1) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, root);
}

/* ---- definitions ---- */

static char *canonical(const char *text)
{
    const char *why;
    return tc_pins_canonical(text, strlen(text), &why);
}

static void check_canonical(const char *text, const char *expected)
{
    _autofree_ char *found = canonical(text);
    assert_non_null(found);
    assert_string_equal(found, expected);
}

static void canonical_form_ignores_order_and_blanks(void **state)
{
    (void)state;
    check_canonical(" {\"b\" : [ 1 , {\"d\":2,\"c\":true} ] ,\"a\":null}",
                    "{\"a\":null,\"b\":[1,{\"c\":true,\"d\":2}]}");
    check_canonical("{\"a\":\"\\u0041\\/\\u00e9\"}", "{\"a\":\"A/\xc3\xa9\"}");
    check_canonical("{\"a\":1.0e2}", "{\"a\":100}");
}

static void canonical_form_keeps_differences(void **state)
{
    static const char *const pairs[][2] = {
        {"{\"a\":\"e\"}", "{\"a\":\"\\u0435\"}"},        /* a Cyrillic letter */
        {"{\"a\":\"\\u00e9\"}", "{\"a\":\"e\\u0301\"}"}, /* composed, and decomposed */
        {"{\"a\":\"x\"}", "{\"a\":\"x\\u0000\"}"},       /* after a NUL */
        {"{\"a\":\"x\"}", "{\"a\":\"x\\u200b\"}"},       /* an invisible character */
        {"{\"a\":[1,2]}", "{\"a\":[2,1]}"},              /* an array has an order */
        {"{\"a\":1}", "{\"a\":\"1\"}"},                  /* another type */
        {"{\"a\":{}}", "{\"a\":[]}"},
        {"{\"a\":null}", "{}"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        _autofree_ char *a = canonical(pairs[i][0]), *b = canonical(pairs[i][1]);
        assert_non_null(a);
        assert_non_null(b);
        assert_string_not_equal(a, b);
    }
}

static void ambiguous_definition_has_no_form(void **state)
{
    static const char *const bad[] = {"{\"a\":1,\"a\":1}", "{\"a\":{\"b\":1,\"\\u0062\":2}}",
                                      "{\"a\":1e999}", "{", ""};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        assert_null(canonical(bad[i]));
}

static void large_definition_has_no_form(void **state)
{
    char *text = malloc(TC_PINS_DEFINITION_MAX + 3);
    const char *why;
    (void)state;
    assert_non_null(text);
    memset(text, 'x', TC_PINS_DEFINITION_MAX + 2);
    text[0] = text[TC_PINS_DEFINITION_MAX + 1] = '"';
    assert_null(tc_pins_canonical(text, TC_PINS_DEFINITION_MAX + 2, &why));
    assert_string_equal(why, "it is larger than 256 KiB");
    free(text);
}

static void lines_name_each_value(void **state)
{
    (void)state;
    _autofree_ char *lines =
        tc_pins_lines("{\"a\":{\"b.c\":[true,\"x\"],\"d\":{}},\"e\":\"1\\n2\"}", true);
    assert_string_equal(lines, "a.\"b.c\"[0]: true\n"
                               "a.\"b.c\"[1]: \"x\"\n"
                               "a.d: {}\n"
                               "e: \"1\\n\"\n"
                               "e: \"2\"\n");
}

static void lines_escape_beyond_ascii(void **state)
{
    (void)state;
    _autofree_ char *ascii = tc_pins_lines("{\"\xd0\xb0\":\"\xe2\x80\xae\"}", true);
    assert_string_equal(ascii, "\"\\u0430\": \"\\u202E\"\n");
    _autofree_ char *plain = tc_pins_lines("{\"a\":\"\xe3\x83\x95\"}", false);
    assert_string_equal(plain, "a: \"\xe3\x83\x95\"\n");
}

/* ---- the store ---- */

static struct tc_pins load(void)
{
    struct tc_pins pins;
    assert_int_equal(tc_pins_load(&key, &pins, &fault), 0);
    return pins;
}

static void offer(const char *name, const char *definition)
{
    const struct tc_pinned row = {.name = (char *)(uintptr_t)name,
                                  .offered = (char *)(uintptr_t)definition};
    assert_int_equal(tc_pins_offer(&key, &row, 1, &fault), 0);
}

static void accepted_offer_is_approved(void **state)
{
    char *names[] = {(char *)(uintptr_t) "read"};
    (void)state;
    offer("read", "{\"a\":1}");
    offer("write", "{\"b\":1}");
    struct tc_pins pins = load();
    assert_int_equal(tc_pins_accept(&pins, names, 1, &fault), 0);
    assert_true(tc_pins_stale(&pins));
    tc_pins_done(&pins);
    pins = load();
    assert_false(tc_pins_stale(&pins));
    assert_string_equal(tc_pins_tool(&pins, "read")->approved, "{\"a\":1}");
    assert_null(tc_pins_tool(&pins, "read")->offered);
    assert_null(tc_pins_tool(&pins, "write")->approved);
    assert_int_equal(tc_pins_remove(&pins, &fault), 0);
    tc_pins_done(&pins);
}

static void changed_offer_is_not_approved(void **state)
{
    char *names[] = {(char *)(uintptr_t) "read"};
    (void)state;
    offer("read", "{\"a\":1}");
    struct tc_pins pins = load();
    offer("read", "{\"a\":2}");
    assert_int_equal(tc_pins_accept(&pins, names, 1, &fault), TOOLCAGE_EDENIED);
    assert_int_equal(tc_pins_remove(&pins, &fault), 0);
    assert_int_equal(tc_pins_accept(&pins, names, 1, &fault), TOOLCAGE_ENOT_FOUND);
    tc_pins_done(&pins);
}

static void digest_covers_each_definition(void **state)
{
    char *names[] = {(char *)(uintptr_t) "read"};
    char one[TC_PINS_DIGEST_SIZE], other[TC_PINS_DIGEST_SIZE];
    (void)state;
    offer("read", "{\"a\":1}");
    struct tc_pins pins = load();
    assert_true(tc_pins_digest(&pins, names, 1, one));
    tc_pins_done(&pins);
    offer("read", "{\"a\":2}");
    pins = load();
    assert_true(tc_pins_digest(&pins, names, 1, other));
    assert_string_not_equal(one, other);
    assert_int_equal(tc_pins_remove(&pins, &fault), 0);
    tc_pins_done(&pins);
}

static void unsafe_directory_is_refused(void **state)
{
    char path[128];
    struct tc_pins pins;
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/toolcage/pins", root);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(tc_pins_load(&key, &pins, &fault), TOOLCAGE_ESYSTEM);
    assert_non_null(strstr(fault.text, "another user owns it or can write it"));
    assert_int_equal(chmod(path, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_form_ignores_order_and_blanks),
        cmocka_unit_test(canonical_form_keeps_differences),
        cmocka_unit_test(ambiguous_definition_has_no_form),
        cmocka_unit_test(large_definition_has_no_form),
        cmocka_unit_test(lines_name_each_value),
        cmocka_unit_test(lines_escape_beyond_ascii),
        cmocka_unit_test(accepted_offer_is_approved),
        cmocka_unit_test(changed_offer_is_not_approved),
        cmocka_unit_test(digest_covers_each_definition),
        cmocka_unit_test(unsafe_directory_is_refused),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
