/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a review tells in a line: objects of git by their whole name, new, and verified by the
 * library; caches as the library says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/show/review.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OBJECT \
    "ab/"      \
    "0123456789abcdef0123456789abcdef012345"
#define ROW(path, kind, type, mode, more)                                                          \
    "{\"path\":\"/workspace/" path "\",\"kind\":\"" kind "\",\"type\":\"" type "\",\"mode\":" mode \
    ",\"held\":\"pending approval\"" more "}"
#define VERIFIED ",\"verified\":true"
#define FILE_ROW(path) ROW(path, "added", "file", "\"0444\"", VERIFIED)

/* What is shown of the rows, to be freed. */
static char *shown(const char *rows, bool all)
{
    struct tc_review review;
    char *json = NULL, *text = NULL;
    size_t size = 0;
    assert_true(asprintf(&json, "{\"changes\":[%s]}", rows) > 0);
    assert_int_equal(tc_review_make(&review, tc_json_of(json)), 0);
    review.all = all;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tc_review_put(out, &review);
    assert_int_equal(fclose(out), 0);
    tc_review_done(&review);
    free(json);
    return text;
}

static void check(const char *rows, const char *wanted)
{
    _autofree_ char *text = shown(rows, false);
    assert_string_equal(text, wanted);
}

static void verified_objects_are_summarized(void **state)
{
    check(FILE_ROW(".git/objects/" OBJECT), "git objects: 1 file in 1 directory\n");
    check(FILE_ROW("a/.git/objects/" OBJECT), "git objects: 1 file in 1 directory\n");
    check(ROW(".git/objects/ab", "added", "directory", "\"0755\"", "") "," FILE_ROW(
              ".git/objects/" OBJECT) "," FILE_ROW(".git/objects/pack/"
                                                   "pack-0123456789abcdef0123456789abcdef01234567."
                                                   "idx"),
          "git objects: 2 files in 2 directories\n");
    check(FILE_ROW(".git/objects/ab/"
                   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd"),
          "git objects: 1 file in 1 directory\n");
}

static void other_names_are_not_objects(void **state)
{
    static const char *const names[] = {".git/objects/ab/evil",
                                        ".git/objects/info/alternates",
                                        ".git/objects/" OBJECT "6",
                                        ".git/objects/" OBJECT "/x",
                                        ".git/objects/ab/.envrc",
                                        ".git/objects/pack/pack-x.pack",
                                        ".git/objects/pack/pack-" SHA ".sh",
                                        ".git/objects/abc/"
                                        "0123456789abcdef0123456789abcdef012345",
                                        "objects/" OBJECT,
                                        ".git/hooks/" OBJECT};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        _autofree_ char *row = NULL, *wanted = NULL;
        assert_true(asprintf(&row,
                             "{\"path\":\"/workspace/%s\",\"kind\":\"added\",\"type\":\"file\","
                             "\"mode\":\"0444\",\"held\":\"pending approval\"" VERIFIED "}",
                             names[i]) > 0);
        assert_true(asprintf(&wanted, "added     %s  (pending approval)\n", names[i]) > 0);
        check(row, wanted);
    }
}

/* The name of an object alone hides nothing. */
static void unverified_objects_are_listed(void **state)
{
    static const char *const rows[] = {
        ROW(".git/objects/" OBJECT, "modified", "file", "\"0444\"", VERIFIED),
        ROW(".git/objects/" OBJECT, "deleted", "file", "null", VERIFIED),
        ROW(".git/objects/" OBJECT, "added", "file", "\"0555\"", VERIFIED),
        ROW(".git/objects/" OBJECT, "added", "file", "\"0446\"", VERIFIED),
        ROW(".git/objects/" OBJECT, "added", "file", "\"4444\"", VERIFIED),
        ROW(".git/objects/" OBJECT, "added", "link", "\"0777\"",
            VERIFIED ",\"target\":\"/etc/passwd\""),
        ROW(".git/objects/" OBJECT, "added", "file", "null", VERIFIED),
        ROW(".git/objects/ab", "added", "directory", "\"0777\"", ""),
        "{\"path\":\"/workspace/.git/objects/" OBJECT "\",\"kind\":\"added\",\"type\":\"file\","
        "\"mode\":\"0444\",\"held\":\"conflict\"" VERIFIED "}",
        "{\"path\":\"/workspace/.git/objects/" OBJECT "\",\"kind\":\"added\",\"type\":\"file\","
        "\"mode\":\"0444\",\"held\":\"steers the host\"}",
        ROW(".git/objects/" OBJECT, "added", "file", "\"0444\"", ""),
        ROW(".git/objects/" OBJECT, "added", "file", "\"0444\"", ",\"verified\":false"),
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *text = shown(rows[i], false);
        assert_non_null(strstr(text, "  .git/objects/ab"));
        assert_null(strstr(text, "git objects:"));
    }
}

static void caches_are_summarized(void **state)
{
    static const char rows[] = ROW("a.py", "added", "file", "\"0644\"", "") "," ROW(
        "__pycache__", "added", "directory", "\"0755\"",
        ",\"cache\":true") "," ROW("__pycache__/a.pyc", "added", "file", "\"0644\"",
                                   ",\"cache\":true") "," ROW("b/__pycache__/b.pyc", "added",
                                                              "file", "\"0644\"",
                                                              ",\"cache\":true") "," ROW("b/"
                                                                                         "__"
                                                                                         "pycache__"
                                                                                         "/run",
                                                                                         "added",
                                                                                         "file",
                                                                                         "\"0755\"",
                                                                                         "");
    check(rows, "added     a.py  (pending approval)\n"
                "added     b/__pycache__/run  mode 0755  (pending approval)\n"
                "caches: 2 files in 2 directories, not applied; --all applies them\n");
    _autofree_ char *all = shown(rows, true);
    assert_non_null(strstr(all, "added     __pycache__/a.pyc"));
    assert_null(strstr(all, "caches:"));
    check(ROW("__pycache__", "added", "directory", "\"0755\"", ",\"cache\":true"),
          "caches: 1 directory, not applied; --all applies them\n");
    check("{\"path\":\"/workspace/x.pyc\",\"kind\":\"added\",\"cache\":true}",
          "caches: 1 file in 1 directory\n");
    check(
        "{\"path\":\"/workspace/x.pyc\",\"kind\":\"added\",\"cache\":true,\"held\":\"discarded\"}",
        "caches: 1 file in 1 directory, not applied (discarded)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verified_objects_are_summarized),
        cmocka_unit_test(other_names_are_not_objects),
        cmocka_unit_test(unverified_objects_are_listed),
        cmocka_unit_test(caches_are_summarized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
