/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Every example of docs/policy.md compiles. */
#include "test.h"

#include <fcntl.h>

#include "base/fd.h"

static void examples_compile(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    size_t count = 0;
    assert_int_equal(tc_read_file(AT_FDCWD, TEST_DOCS "/policy.md", &text), 0);
    for (char *at = strstr(text.data, "```toml\n"); at; at = strstr(at, "```toml\n")) {
        char *start = at + strlen("```toml\n"), *end = strstr(start, "```");
        assert_non_null(end);
        _autofree_ char *example = strndup(start, (size_t)(end - start));
        _autopolicy_ struct toolcage_policy *policy = compile(example);
        count++;
        at = end + 3;
    }
    assert_true(count >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_compile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
