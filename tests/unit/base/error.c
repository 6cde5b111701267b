/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

static void carries_every_part(void **state)
{
    _autoerror_ struct toolcage_error *err = NULL;
    int code = tc_fail(&err,
                       &(struct tc_why){.code = TOOLCAGE_EPATH,
                                        .stage = "resolve",
                                        .subject = "/data",
                                        .errnum = ENOENT,
                                        .hint = "create it",
                                        .file = "toolcage.toml",
                                        .line = 7,
                                        .column = 3},
                       "cannot open %s", "/data");
    assert_int_equal(code, TOOLCAGE_EPATH);
    assert_int_equal(tc_error_code(err), TOOLCAGE_EPATH);
    assert_int_equal(tc_error_errno(err), ENOENT);
    assert_string_equal(tc_error_message(err), "cannot open /data: No such file or directory");
    assert_string_equal(tc_error_hint(err), "create it");
    assert_string_equal(tc_error_stage(err), "resolve");
    assert_string_equal(tc_error_subject(err), "/data");
    assert_string_equal(tc_error_report(err),
                        "toolcage.toml:7:3: cannot open /data: No such file or directory\n"
                        "hint: create it\n");
    const char *file;
    uint32_t line, column;
    tc_error_location(err, &file, &line, &column);
    assert_string_equal(file, "toolcage.toml");
    assert_int_equal(line, 7);
    assert_int_equal(column, 3);
    tc_error_location(err, NULL, NULL, NULL);
}

static void json_is_exact(void **state)
{
    _autoerror_ struct toolcage_error *err = NULL;
    (void)tc_fail(&err, &(struct tc_why){.code = TOOLCAGE_EDENIED, .subject = "a\"b\n"}, "no");
    assert_string_equal(tc_error_json(err),
                        "{\"code\":\"denied\",\"stage\":\"\",\"subject\":\"a\\\"b\\n\",\"errno\":0,"
                        "\"message\":\"no\",\"hint\":\"\",\"location\":null}");
    _autoerror_ struct toolcage_error *placed = NULL;
    (void)tc_fail(&placed,
                  &(struct tc_why){.code = TOOLCAGE_EPOLICY, .file = "p", .line = 2, .column = 9},
                  "m");
    assert_string_equal(
        tc_error_json(placed),
        "{\"code\":\"policy\",\"stage\":\"\",\"subject\":\"\",\"errno\":0,\"message\":\"m\","
        "\"hint\":\"\",\"location\":{\"file\":\"p\",\"line\":2,\"column\":9}}");
}

static void absent_parts_are_empty(void **state)
{
    _autoerror_ struct toolcage_error *err = NULL;
    (void)tc_fail(&err, &(struct tc_why){.code = TOOLCAGE_ESYSTEM}, "m");
    const char *parts[] = {tc_error_hint(err), tc_error_stage(err), tc_error_subject(err)};
    for (size_t i = 0; i < TC_COUNT(parts); i++)
        assert_string_equal(parts[i], "");
    const char *file = NULL;
    tc_error_location(err, &file, NULL, NULL);
    assert_string_equal(file, "");
    assert_string_equal(tc_error_report(err), "m\n");
}

static void no_error_reads_as_ok(void **state)
{
    assert_int_equal(tc_error_code(NULL), TOOLCAGE_OK);
    assert_int_equal(tc_error_errno(NULL), 0);
    assert_string_equal(tc_error_message(NULL), "");
    assert_string_equal(tc_error_json(NULL), "null");
    tc_error_free(NULL);
}

static void nobody_listening_is_fine(void **state)
{
    assert_int_equal(tc_fail(NULL, &(struct tc_why){.code = TOOLCAGE_EUSAGE}, "unheard"),
                     TOOLCAGE_EUSAGE);
    assert_int_equal(tc_fail_memory(NULL), TOOLCAGE_EMEMORY);
}

static void out_of_memory_is_static(void **state)
{
    struct toolcage_error *a = NULL, *b = NULL;
    assert_int_equal(tc_fail_memory(&a), TOOLCAGE_EMEMORY);
    assert_int_equal(tc_fail_memory(&b), TOOLCAGE_EMEMORY);
    assert_ptr_equal(a, b);
    tc_error_free(a);
    tc_error_free(a);
    assert_string_equal(tc_error_message(b), "out of memory");
    assert_non_null(strstr(tc_error_json(b), "\"code\":\"memory\""));
}

static void a_report_of_its_own_replaces(void **state)
{
    _autoerror_ struct toolcage_error *err = NULL;
    (void)tc_fail(&err, &(struct tc_why){.code = TOOLCAGE_EPOLICY, .report = "two findings\n"},
                  "first");
    assert_string_equal(tc_error_report(err), "two findings\n");
    assert_string_equal(tc_error_message(err), "first");
}

/* The list is closed: every code has a word of its own, and the neighbours of the list have none.
 */
static void words_are_closed(void **state)
{
    static const int codes[] = {
#define CODE(name, value, word, text) -(value),
        TOOLCAGE_ERROR_MAP(CODE)
#undef CODE
    };
    assert_string_equal(tc_error_word(0), "ok");
    assert_string_equal(tc_error_word(1), "unknown");
    assert_string_equal(tc_error_word(-(int)TC_COUNT(codes) - 1), "unknown");
    for (size_t i = 0; i < TC_COUNT(codes); i++) {
        assert_int_equal(codes[i], -(int)i - 1);
        assert_string_not_equal(tc_error_word(codes[i]), "unknown");
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(tc_error_word(codes[i]), tc_error_word(codes[j]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_every_part),           cmocka_unit_test(json_is_exact),
        cmocka_unit_test(absent_parts_are_empty),       cmocka_unit_test(no_error_reads_as_ok),
        cmocka_unit_test(nobody_listening_is_fine),     cmocka_unit_test(out_of_memory_is_static),
        cmocka_unit_test(a_report_of_its_own_replaces), cmocka_unit_test(words_are_closed),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
