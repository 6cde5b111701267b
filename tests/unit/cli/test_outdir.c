/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Results that no cage would give, written below a directory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "capture.h"
#include "cli/call/outdir.h"

/* In place of the library's. */
static const char *text;

const char *toolcage_result_json(const struct toolcage_result *result)
{
    return text;
}

int32_t toolcage_result_status(const struct toolcage_result *result)
{
    return TOOLCAGE_STATUS_OK;
}

static char root[64];
static struct tc_outdir dir;
static struct capture words;

static int set_up(void **state)
{
    (void)snprintf(root, sizeof(root), "/tmp/toolcage-outdir-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    dir = (struct tc_outdir){.name = root, .fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return dir.fd < 0 ? -1 : 0;
}

/* Removes the directory, which must be empty by now. */
static int tear_down(void **state)
{
    tc_outdir_close(&dir);
    return rmdir(root);
}

/* Writes the files of a result with this row; what was said is in `words`. */
static int write_row(const char *row)
{
    char json[1024];
    int n = snprintf(json, sizeof(json), "{\"files\":[%s],\"omitted\":{\"files\":0}}", row);
    assert_true(n > 0 && (size_t)n < sizeof(json));
    text = json;
    capture_begin(&words, STDERR_FILENO);
    int rc = tc_outdir_write(&dir, NULL);
    (void)capture_end(&words);
    return rc;
}

static void expect_file(const char *name, const char *bytes, size_t length)
{
    char held[64];
    _autofd_ int fd = openat(dir.fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, held, sizeof(held)), length);
    assert_memory_equal(held, bytes, length);
    assert_int_equal(unlinkat(dir.fd, name, 0), 0);
}

static void names_stay_below(void **state)
{
    static const char *const wrong[] = {
        "",   "/", "//a",  "/a/",    "/../x",      "/a/../x",        "/.",   "/..",
        "..", ".", "a//b", "/a/./b", "/a\\u0000b", "/a\\u0000/../b", "../x", "./x",
    };
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        char row[128];
        (void)snprintf(row, sizeof(row), "{\"path\":\"%s\",\"text\":\"x\"}", wrong[i]);
        assert_int_equal(write_row(row), TC_EXIT_FAILURE);
        assert_non_null(strstr(words.text, "Invalid argument"));
    }
    assert_int_equal(write_row("{\"path_base64\":\"Ly4uL3g=\",\"text\":\"x\"}"), TC_EXIT_FAILURE);
    char row[400] = "{\"path\":\"/", tail[] = "/x\",\"text\":\"\"}";
    size_t length = strlen(row);
    memset(row + length, 'n', 256);
    memcpy(row + length + 256, tail, sizeof(tail));
    assert_int_equal(write_row(row), TC_EXIT_FAILURE);
}

static void bytes_are_written(void **state)
{
    assert_int_equal(write_row("{\"path\":\"/...\",\"text\":\"a\\u0000b\"}"), 0);
    expect_file("...", "a\0b", 3);
    assert_int_equal(write_row("{\"path_base64\":\"L/8=\",\"base64\":\"/w==\"}"), 0);
    expect_file("\xff", "\xff", 1);
    assert_int_equal(write_row("{\"path\":\"a\",\"text\":\"\"}"), 0);
    expect_file("a", "", 0);
    assert_string_equal(words.text, "");
}

static void skipped_files_are_reported(void **state)
{
    static const struct {
        const char *row, *said;
        int code;
    } rows[] = {
        {"", "no changed file", 0},
        {"{\"path\":\"/n\",\"text\":null,\"bytes\":5,\"sha256\":null}", "could not be read", 0},
        {"{\"path\":\"/n\",\"text\":null,\"bytes\":5,\"sha256\":\"00\"}", "1 MiB together", 0},
        {"{\"path\":\"/n\",\"text\":null,\"bytes\":262145,\"sha256\":\"00\"}", "256 KiB", 0},
        {"{\"path\":\"/n\",\"base64\":\"/w=\"}", "cannot write /n", TC_EXIT_FAILURE},
        {"{\"text\":\"x\"}", "cannot write a file", TC_EXIT_FAILURE},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        assert_int_equal(write_row(rows[i].row), rows[i].code);
        assert_non_null(strstr(words.text, rows[i].said));
    }
}

static void links_are_not_followed(void **state)
{
    assert_int_equal(symlinkat("/tmp", dir.fd, "d"), 0);
    assert_int_equal(write_row("{\"path\":\"/d/toolcage-outdir\",\"text\":\"x\"}"),
                     TC_EXIT_FAILURE);
    assert_non_null(strstr(words.text, "hint: a link"));
    assert_int_equal(write_row("{\"path\":\"/d\",\"text\":\"x\"}"), 0);
    expect_file("d", "x", 1);
    assert_int_equal(mkdirat(dir.fd, "d", 0700), 0);
    assert_int_equal(write_row("{\"path\":\"/d\",\"text\":\"x\"}"), TC_EXIT_FAILURE);
    assert_int_equal(unlinkat(dir.fd, "d", AT_REMOVEDIR), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_stay_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(skipped_files_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cli outdir", tests, NULL, NULL);
}
