/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/show/base64.h"

static void known_texts_decode(void **state)
{
    static const char *const known[][2] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {"//+/", "\xff\xff\xbf"},
    };
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        size_t length = 99;
        _autofree_ char *bytes = tc_base64_decode(known[i][0], strlen(known[i][0]), &length);
        assert_non_null(bytes);
        assert_int_equal(length, strlen(known[i][1]));
        assert_string_equal(bytes, known[i][1]);
    }
}

static void other_texts_fail(void **state)
{
    static const char *const wrong[] = {"Z",    "Zg",   "Zg=",  "=",        "====",
                                        "Z===", "Zg=v", "Zh==", "Zm9=",     "Zm9\n",
                                        "Zm9-", "Zm9_", " Zg=", "Zg==Zg==", "Zm9vZ"};
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        size_t length = 99;
        errno = 0;
        if (tc_base64_decode(wrong[i], strlen(wrong[i]), &length))
            fail_msg("%s was decoded", wrong[i]);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(length, 99);
    }
    size_t length;
    assert_null(tc_base64_decode("Zm9\0", 4, &length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_decode),
        cmocka_unit_test(other_texts_fail),
    };
    return cmocka_run_group_tests_name("cli base64", tests, NULL, NULL);
}
