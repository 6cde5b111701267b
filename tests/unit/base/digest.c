/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The vectors are FIPS 180-4's own. */
#include "test.h"

#include "base/digest.h"

#include <string.h>

static void known_answers(void **state)
{
    static const struct {
        const char *text, *sum;
    } rows[] = {
        {"", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char sum[TC_DIGEST_SIZE];
        tc_digest(rows[i].text, strlen(rows[i].text), sum);
        assert_string_equal(sum, rows[i].sum);
    }
}

static void pieces_equal_the_whole(void **state)
{
    char whole[TC_DIGEST_SIZE], pieces[TC_DIGEST_SIZE], text[1000];
    memset(text, 'a', sizeof(text));
    tc_digest(text, sizeof(text), whole);
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    for (size_t at = 0, step = 1; at < sizeof(text); at += step) {
        step = step * 2 % 97 + 1;
        if (step > sizeof(text) - at)
            step = sizeof(text) - at;
        SHA256Update(&ctx, (const uint8_t *)text + at, step);
    }
    tc_digest_finish(&ctx, pieces);
    assert_string_equal(whole, pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(pieces_equal_the_whole),
    };
    return cmocka_run_group_tests_name("base/digest", tests, NULL, NULL);
}
