/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Policy files that are none, and the caller's surroundings. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call/host/facts.h"
#include "test.h"

static char dir[] = "/tmp/toolcage-load-XXXXXX";

static int make_files(void **state)
{
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("directory", 0755), 0);
    assert_int_equal(mkfifo("pipe", 0644), 0);
    int fd = open("large.toml", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, (4 << 20) + 1), 0);
    close(fd);
    fd = open("good.toml", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "[tool.a]\n", 9), 9);
    close(fd);
    fd = open("bad.toml", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "[tool.a]\nnonsense = 1\n", 22), 22);
    close(fd);
    return 0;
}

static int remove_files(void **state)
{
    static const char *const files[] = {"pipe", "large.toml", "good.toml", "bad.toml"};
    for (size_t i = 0; i < TC_COUNT(files); i++)
        (void)unlink(files[i]);
    (void)rmdir("directory");
    return chdir("/") < 0 ? -1 : rmdir(dir);
}

static void unreadable_policies_are_errors(void **state)
{
    static const struct {
        const char *path, *words;
        int code;
    } rows[] = {
        {"missing.toml", "missing.toml: No such file", TOOLCAGE_ENOT_FOUND},
        {"good.toml/below", "Not a directory", TOOLCAGE_ENOT_FOUND},
        {"directory", "is a directory", TOOLCAGE_EPOLICY},
        {"pipe", "is not a regular file", TOOLCAGE_EPOLICY},
        {"large.toml", "larger than 4 MiB", TOOLCAGE_EPOLICY},
        /* the read itself fails: nothing is at its beginning */
        {"/proc/self/mem", "cannot read the policy file", TOOLCAGE_ESYSTEM},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_policy *policy = NULL;
        struct toolcage_error *err = NULL;
        assert_int_equal(tc_policy_load_file(rows[i].path, &policy, &err), rows[i].code);
        assert_null(policy);
        assert_string_equal(tc_error_subject(err), rows[i].path);
        assert_non_null(strstr(tc_error_message(err), rows[i].words));
        assert_string_not_equal(tc_error_hint(err), "");
        tc_error_free(err);
    }
}

static void findings_name_the_file(void **state)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    const char *file;
    uint32_t line;
    assert_int_equal(tc_policy_load_file("bad.toml", &policy, &err), TOOLCAGE_EPOLICY);
    tc_error_location(err, &file, &line, NULL);
    assert_string_equal(file, "bad.toml");
    assert_int_equal(line, 2);
    tc_error_free(err);
    assert_int_equal(tc_policy_load_file("good.toml", &policy, NULL), 0);
    assert_true(tc_policy_has_tool(policy, "a"));
    assert_string_equal(tc_policy_name(policy), "good.toml");
    tc_policy_unref(policy);
}

static void surroundings_are_absolute(void **state)
{
    struct tc_surroundings s = {0};
    assert_int_equal(setenv("HOME", "relative", 1), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(tc_surroundings_gather(&s, NULL), 0);
    assert_string_equal(s.cwd, dir);
    assert_null(s.home);
    assert_null(s.state);
    tc_surroundings_done(&s);
    assert_int_equal(setenv("HOME", "/home/./someone/", 1), 0);
    assert_int_equal(tc_surroundings_gather(&s, NULL), 0);
    assert_string_equal(s.facts.home, "/home/someone");
    assert_string_equal(s.facts.state, "/home/someone/.local/state/toolcage");
    tc_surroundings_done(&s);
}

/* What is at a name may change until it is looked at. */
static void homes_are_those_of_the_moment(void **state)
{
    struct tc_surroundings s = {0};
    _autofree_ char *home = tc_format("%s/home", dir), *real = tc_format("%s/directory", dir);
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(symlink("elsewhere", "home"), 0);
    assert_int_equal(tc_surroundings_begin(&s, NULL), 0);
    assert_null(s.facts.homes);
    assert_int_equal(unlink("home"), 0);
    assert_int_equal(symlink("directory", "home"), 0);
    assert_true(tc_facts_look(&s.facts));
    assert_string_equal(s.facts.real.home, real);
    assert_true(tc_strv_has(s.facts.homes, home) && tc_strv_has(s.facts.homes, real));
    size_t count = s.facts.homes->count;
    assert_true(tc_facts_look(&s.facts));
    assert_int_equal(s.facts.homes->count, count);
    tc_surroundings_done(&s);
    assert_int_equal(unlink("home"), 0);
}

static void vanished_directory_is_an_error(void **state)
{
    struct tc_surroundings s = {0};
    struct toolcage_error *err = NULL;
    assert_int_equal(mkdir("gone", 0755), 0);
    assert_int_equal(chdir("gone"), 0);
    assert_int_equal(rmdir("../gone"), 0);
    assert_int_equal(tc_surroundings_gather(&s, &err), TOOLCAGE_EPATH);
    assert_string_not_equal(tc_error_hint(err), "");
    tc_error_free(err);
    tc_surroundings_done(&s);
    assert_int_equal(chdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unreadable_policies_are_errors),
        cmocka_unit_test(findings_name_the_file),
        cmocka_unit_test(surroundings_are_absolute),
        cmocka_unit_test(homes_are_those_of_the_moment),
        cmocka_unit_test(vanished_directory_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
