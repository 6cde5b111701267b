/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/result/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define BYTES(text) text, sizeof(text) - 1
#define UNKNOWN "application/octet-stream"

static void name_and_bytes_have_to_agree(void **state)
{
    static const struct {
        const char *path, *content;
        size_t len;
        const char *type;
    } rows[] = {
        {"/w/a.csv", BYTES("a,b\n"), "text/csv"},
        {"/w/a.csv", BYTES("a,\xff\n"), UNKNOWN},
        {"/w/a.png", BYTES("\x89PNG\r\n\x1a\n...."), "image/png"},
        {"/w/a.png", BYTES("<script>"), UNKNOWN},
        {"/w/a.png", BYTES(""), UNKNOWN},
        {"/w/a.webp", BYTES("RIFF\0\0\0\0WEBPVP8 "), "image/webp"},
        {"/w/a.webp", BYTES("RIFF\0\0\0\0WAVE"), UNKNOWN},
        {"/w/a.webp", BYTES("RIFF\0\0\0\0WEB"), UNKNOWN},
        {"/w/plot", BYTES("\x89PNG\r\n\x1a\n"), "image/png"},
        {"/w/README", BYTES("words\n"), "text/plain"},
        {"/w/core",
         BYTES("\x7f"
               "ELF\x02\xff"),
         UNKNOWN},
        {"/w/a.json", NULL, 0, "application/json"},
        {"/w/core", NULL, 0, UNKNOWN},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        assert_string_equal(tc_mime_of(rows[i].path, rows[i].content, rows[i].len), rows[i].type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(name_and_bytes_have_to_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
