/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From touched paths to a policy: what is merged, what is left alone, what is said of it. */
#include "policy/learn/learn.h"

#include <string.h>

#include "base/buf.h"
#include "policy/policy.h"
#include "test.h"

#define READS(p)                                                 \
    {                                                            \
        .path = (char *)(p), .how = TC_TOUCH_READ, .there = true \
    }
#define LISTS(p)                                                                    \
    {                                                                               \
        .path = (char *)(p), .how = TC_TOUCH_READ, .there = true, .directory = true \
    }
#define WRITES(p)                                                 \
    {                                                             \
        .path = (char *)(p), .how = TC_TOUCH_WRITE, .there = true \
    }
#define MAKES(p)                                                                \
    {                                                                           \
        .path = (char *)(p), .how = TC_TOUCH_WRITE, .there = true, .made = true \
    }
#define MAKES_DIR(p)                                                                 \
    {                                                                                \
        .path = (char *)(p), .how = TC_TOUCH_WRITE, .there = true, .directory = true \
    }
#define WROTE(p)                                   \
    {                                              \
        .path = (char *)(p), .how = TC_TOUCH_WRITE \
    }
#define REFUSED(p)                                                                \
    {                                                                             \
        .path = (char *)(p), .how = TC_TOUCH_READ, .refused = true, .there = true \
    }

static const struct tc_strv none;

static struct tc_lesson lesson(struct tc_touched *touched, size_t count)
{
    static char *words[] = {(char *)"make", (char *)"x\"\n\x7f", NULL};
    static const struct tc_strv argv = {words, 2};
    return (struct tc_lesson){.name = "t",
                              .argv = &argv,
                              .env = &none,
                              .passed = &none,
                              .programs = &none,
                              .cwd = "/w/project",
                              .home = "/home/u",
                              .ending = "",
                              .touched = touched,
                              .count = count,
                              .reached = &none,
                              .endpoints = &none};
}

static void expect(const struct tc_strv *got, const char *want)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    for (size_t i = 0; i < got->count; i++)
        tc_buf_addf(&text, "%s%s", i ? " " : "", got->items[i]);
    assert_string_equal(text.data ? text.data : "", want);
}

#define PATHS(readable, writable, ...) PATHS_IN("/w/project", readable, writable, __VA_ARGS__)
#define PATHS_IN(directory, readable, writable, ...)             \
    do {                                                         \
        struct tc_touched touched[] = {__VA_ARGS__};             \
        struct tc_lesson l = lesson(touched, TC_COUNT(touched)); \
        l.cwd = (directory);                                     \
        _autostrv_ struct tc_strv reads = {0}, writes = {0};     \
        assert_true(tc_learn_paths(&l, &reads, &writes));        \
        expect(&reads, readable);                                \
        expect(&writes, writable);                               \
    } while (0)

static void paths_of_every_cage_need_no_grant(void **state)
{
    PATHS("", "", READS("/usr/lib/x.so"), READS("/etc/passwd"), READS("/proc/self/maps"),
          WRITES("/tmp/x"), WRITES("/dev/null"), LISTS("/"), READS("/dev/shm/x"));
    PATHS("/etc/app.conf", "", READS("/etc/app.conf"));
    PATHS_IN("/tmp/p", "/tmp/p/in", "/tmp/p/out", READS("/tmp/p/in"), WRITES("/tmp/p/out"),
             READS("/tmp/q"), WRITES("/tmp/x"));
    PATHS_IN("/tmp", "", "", READS("/tmp/p/in"), WRITES("/tmp/x"));
}

static void single_files_stay_files(void **state)
{
    PATHS("/d/a /d/b", "/w/project/out", READS("/d/a"), READS("/d/b"), WRITES("/w/project/out"));
    PATHS("", "/w/project/out", WRITES("/w/project/out"), READS("/w/project/out"));
}

static void a_created_file_needs_its_directory(void **state)
{
    PATHS("", "/w/project", MAKES("/w/project/out"));
    PATHS("", "/w/project/a /w/project/out", WRITES("/w/project/a"), MAKES("/w/project/out/b"));
    PATHS("", "/home/u/out", MAKES("/home/u/out"));
    struct tc_touched touched[] = {MAKES("/w/project/out/a"), MAKES("/home/u/b"), WRITES("/w/d/c")};
    struct tc_lesson l = lesson(touched, TC_COUNT(touched));
    _autofree_ char *text = tc_learn_write(&l);
    assert_non_null(text);
    const char *const said[] = {
        "because the tool creates files in it: /w/project/out\n",
        "the file must exist before each call: /home/u/b\n",
    };
    for (size_t i = 0; i < TC_COUNT(said); i++)
        assert_non_null(strstr(text, said[i]));
    assert_null(strstr(text, "creates files in it: /w/d"));
}

/* exec without --tool reads the working directory; a tool without files inherits none. */
static void the_default_grant_is_kept_for_exec(void **state)
{
    struct tc_lesson l = lesson(NULL, 0);
    _autofree_ char *text = tc_learn_write(&l);
    assert_non_null(text);
    tc_policy_unref(compile(text));
    assert_non_null(strstr(text, "\nfilesystem = \"none\"\n"));
    assert_non_null(strstr(text, "\n[defaults]\nfilesystem.readable = [\"/workspace\"]\n"));
}

static void many_stand_as_their_directory(void **state)
{
    PATHS("/d", "", READS("/d/a"), READS("/d/b"), READS("/d/c"));
    PATHS("/d/x", "", READS("/d/x/1/a"), READS("/d/x/1/b"), READS("/d/x/1/c"), READS("/d/x/2/a"),
          READS("/d/x/2/b"), READS("/d/x/2/c"), READS("/d/x/3"));
    PATHS("/d", "", READS("/d/a"), LISTS("/d"));
    PATHS("/v/lib/site-packages", "", READS("/v/lib/site-packages/p/q.py"),
          READS("/v/lib/site-packages/r.py"));
    PATHS("/w/node_modules", "", READS("/w/node_modules/a/node_modules/b/i.js"));
}

static void nothing_wide_stands_for_a_few(void **state)
{
    PATHS("/etc/a /etc/b /etc/c", "", READS("/etc/a"), READS("/etc/b"), READS("/etc/c"));
    PATHS("/home/u/a /home/u/b /home/u/c", "", READS("/home/u/a"), READS("/home/u/b"),
          READS("/home/u/c"));
    PATHS("/a /b /c", "", READS("/a"), READS("/b"), READS("/c"));
    PATHS("", "/home/u/x /home/u/y", WRITES("/home/u/x"), WRITES("/home/u/y"));
}

static void writing_needs_the_directory_where_names_come_and_go(void **state)
{
    PATHS("", "/w/project", WRITES("/w/project/a"), WROTE("/w/project/a.tmp"));
    PATHS("", "/w/project", MAKES_DIR("/w/project/dir"), WRITES("/w/project/dir/x"));
    PATHS("/w/other", "/w/project", WROTE("/w/project/lock"), READS("/w/project/a"),
          READS("/w/other"));
    PATHS("", "", REFUSED("/secret"),
          {.path = (char *)"/x", .how = TC_TOUCH_LOOK, .there = true, .directory = true});
}

static void the_text_is_a_policy(void **state)
{
    struct tc_touched touched[] = {
        WRITES("/w/project/a"),
        WROTE("/w/project/b"),
        READS("/d/id_rsa"),
        REFUSED("/secret\n[tool.evil]"),
        {.path = (char *)"/searched", .how = TC_TOUCH_EXEC, .refused = true},
        {.path = (char *)"/w/project/run", .how = TC_TOUCH_EXEC, .there = true}};
    struct tc_lesson l = lesson(touched, TC_COUNT(touched));
    l.timeout = "90s";
    l.memory = "2048MiB";
    _autofree_ char *text = tc_learn_write(&l);
    assert_non_null(text);
    struct toolcage_policy *policy = compile(text);
    assert_true(tc_policy_has_tool(policy, "t"));
    assert_false(tc_policy_has_tool(policy, "evil"));
    tc_policy_unref(policy);
    const char *const said[] = {
        "danger: may contain a secret, which the tool can then read: /d/id_rsa",
        "danger: it runs programs from a directory that it may write: /w/project",
        "#   read /secret\\x0a[tool.evil]",
        "timeout = \"90s\"",
        "memory = { max = \"2048MiB\"",
        "x\\\"\\n\\u007F"};
    for (size_t i = 0; i < TC_COUNT(said); i++)
        assert_non_null(strstr(text, said[i]));
    assert_null(strstr(text, "/searched"));
}

/* What it was given; and a command that would be read as another one is left out. */
static void the_environment_is_kept(void **state)
{
    static char *pairs[] = {(char *)"A=first",
                            (char *)"A=x \"y\"",
                            (char *)"OWN=mine",
                            (char *)"API_KEY=tweet-31",
                            (char *)"LD_X=1",
                            (char *)"H={a}",
                            NULL};
    static char *own[] = {(char *)"OWN=mine", NULL};
    static char *words[] = {(char *)"awk", (char *)"{print}", NULL};
    static const struct tc_strv env = {pairs, 6}, passed = {own, 1}, argv = {words, 2};
    struct tc_lesson l = lesson(NULL, 0);
    l.env = &env;
    l.passed = &passed;
    l.argv = &argv;
    _autofree_ char *text = tc_learn_write(&l);
    assert_non_null(text);
    struct toolcage_policy *policy = compile(text);
    tc_policy_unref(policy);
    assert_non_null(strstr(text, "env.set = { A = \"x \\\"y\\\"\", LD_X = \"1\" }"));
    assert_non_null(strstr(text, "env.pass = [\"OWN\", \"API_KEY\", \"H\"]"));
    assert_null(strstr(text, "tweet-31"));
    assert_null(strstr(text, "command ="));
}

static void no_link_is_granted_by_itself(void **state)
{
    PATHS("", "/w/project",
          {.path = (char *)"/w/project/out", .how = TC_TOUCH_WRITE, .there = true, .link = true});
    PATHS("", "", {.path = (char *)"/srv/out", .how = TC_TOUCH_WRITE, .there = true, .link = true});
    PATHS("/d/a", "", READS("/d/a"),
          {.path = (char *)"/d/to", .how = TC_TOUCH_READ, .there = true, .link = true},
          {.path = (char *)"/d/up", .how = TC_TOUCH_LOOK, .there = true, .link = true});
    struct tc_touched touched[] = {
        {.path = (char *)"/d/to", .how = TC_TOUCH_READ, .there = true, .link = true}};
    struct tc_lesson l = lesson(touched, TC_COUNT(touched));
    _autofree_ char *text = tc_learn_write(&l);
    assert_non_null(text);
    assert_non_null(strstr(text, "# Symbolic links, which are not granted"));
    assert_non_null(strstr(text, "\n#   /d/to\n"));
}

static void wide_grants_are_noted(void **state)
{
    struct tc_touched touched[] = {
        LISTS("/var"),
        LISTS("/home/other"),
        {.path = (char *)"/d/x",
         .how = TC_TOUCH_READ,
         .there = true,
         .directory = true,
         .above = true},
        {.path = (char *)"/d/y/written", .how = TC_TOUCH_WRITE, .above = true},
        LISTS("/d/z"),
    };
    struct tc_lesson l = lesson(touched, TC_COUNT(touched));
    _autofree_ char *text = tc_learn_write(&l);
    assert_non_null(text);
    const char *const said[] = {
        "danger: contains far more than one project: /var\n",
        "danger: contains far more than one project: /home/other\n",
        "note: the whole directory, for a name in it that a policy cannot express: /d/x\n",
        "note: the whole directory, for a name in it that a policy cannot express: /d/y\n",
    };
    for (size_t i = 0; i < TC_COUNT(said); i++)
        assert_non_null(strstr(text, said[i]));
    assert_null(strstr(text, "a policy cannot say: /d/z"));
    assert_null(strstr(text, "more than one project: /d"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_every_cage_need_no_grant),
        cmocka_unit_test(single_files_stay_files),
        cmocka_unit_test(a_created_file_needs_its_directory),
        cmocka_unit_test(the_default_grant_is_kept_for_exec),
        cmocka_unit_test(many_stand_as_their_directory),
        cmocka_unit_test(nothing_wide_stands_for_a_few),
        cmocka_unit_test(writing_needs_the_directory_where_names_come_and_go),
        cmocka_unit_test(the_text_is_a_policy),
        cmocka_unit_test(the_environment_is_kept),
        cmocka_unit_test(no_link_is_granted_by_itself),
        cmocka_unit_test(wide_grants_are_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
