/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a program needs to start: links, interpreters, and what of them a cage shows. */
#include "call/exec/exec_check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "test.h"

static char home[] = "/tmp/toolcage-starts-XXXXXX";

/* A path below the made home; one of a few static buffers. */
static const char *at(const char *name)
{
    static char buffers[8][256];
    static size_t next;
    char *buffer = buffers[next++ % 8];
    (void)snprintf(buffer, sizeof(buffers[0]), "%s/%s", home, name);
    return buffer;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(at(name), 0755), 0);
}

static int make_home(void **state)
{
    static const char *const directories[] = {"py", "py/v", "py/v/bin", "venv", "venv/bin", "lone"};
    char line[300];
    assert_non_null(mkdtemp(home));
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        assert_int_equal(mkdir(at(directories[i]), 0755), 0);
    put("py/v/bin/python9", "\x7f no format");
    assert_int_equal(symlink(at("py/v/bin/python9"), at("venv/bin/python9")), 0);
    assert_int_equal(symlink("python9", at("venv/bin/python")), 0);
    (void)snprintf(line, sizeof(line), "#! %s -I\n", at("venv/bin/python"));
    put("venv/bin/test", line);
    assert_int_equal(symlink("venv", at("current")), 0);
    assert_int_equal(symlink("loop", at("lone/loop")), 0);
    put("lone/nowhere", "#!/nowhere/bin/sh\n");
    put("lone/relative", "#!sh\n");
    put("lone/windows", "#!/usr/bin/env\r\n");
    put("lone/system", "#!/bin/sh\n");
    assert_int_equal(mkfifo(at("lone/fifo"), 0755), 0);
    return 0;
}

static int remove_home(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf -- '%s'", home);
    return system(command);
}

/* Looks with the granted directories (a list with blanks) of the home, each by its own name. */
static void look(struct tc_exec_check *s, const char *granted, const char *command, unsigned flags)
{
    struct tc_shown_path shown[4];
    size_t count = 0;
    _autofree_ char *copy = strdup(granted);
    char *rest = copy;
    for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(rest, " ", &rest)) {
        const char *path = at(word);
        shown[count++] = (struct tc_shown_path){path, path};
    }
    *s = (struct tc_exec_check){0};
    assert_true(tc_exec_check_look(shown, count, home, at(command), flags, s));
}

static void expect(struct tc_exec_check *s, const char *missing, const char *by, bool interpreter)
{
    if (missing)
        assert_string_equal(s->missing, missing[0] == '/' ? missing : at(missing));
    else
        assert_null(s->missing);
    if (by)
        assert_string_equal(s->by, at(by));
    else
        assert_null(s->by);
    assert_int_equal(s->interpreter, interpreter);
}

static void present_programs_add_no_grant(void **state)
{
    static const char *const commands[] = {"lone/system", "lone/relative", "lone/fifo", "lone/loop",
                                           "lone"};
    for (size_t i = 0; i < TC_COUNT(commands); i++) {
        _auto_(tc_exec_check_done) struct tc_exec_check s;
        look(&s, "lone", commands[i], 0);
        expect(&s, NULL, NULL, false);
    }
}

static void links_and_interpreters_are_hops(void **state)
{
    static const char *const hops[] = {"venv/bin/test", "venv/bin/python", "venv/bin/python9",
                                       "py/v/bin/python9"};
    _auto_(tc_exec_check_done) struct tc_exec_check s;
    look(&s, "venv py/v", "venv/bin/test", 0);
    expect(&s, NULL, NULL, false);
    assert_int_equal(s.hops.count, TC_COUNT(hops));
    for (size_t i = 0; i < TC_COUNT(hops); i++)
        assert_string_equal(s.hops.items[i], at(hops[i]));
}

static void a_missing_interpreter_is_named(void **state)
{
    _auto_(tc_exec_check_done) struct tc_exec_check s, nowhere, alone;
    look(&s, "venv", "venv/bin/test", 0);
    expect(&s, "py/v/bin/python9", "venv/bin/python9", true);
    assert_int_equal(s.grant.count, 1);
    assert_string_equal(s.grant.items[0], at("py/v"));
    look(&nowhere, "lone", "lone/nowhere", 0);
    expect(&nowhere, "/nowhere/bin/sh", "lone/nowhere", true);
    look(&alone, "venv/bin/test", "venv/bin/test", 0);
    expect(&alone, "venv/bin/python", "venv/bin/test", true);
    assert_string_equal(alone.grant.items[0], at("venv"));
}

/* The kernel takes a carriage return for a part of the name. */
static void windows_line_ends_name_another_interpreter(void **state)
{
    _auto_(tc_exec_check_done) struct tc_exec_check s;
    look(&s, "lone", "lone/windows", 0);
    expect(&s, "/usr/bin/env\r", "lone/windows", true);
    assert_int_equal(s.grant.count, 0);
    assert_int_equal(s.files.count, 1);
    assert_string_equal(s.files.items[0], at("lone/windows"));
}

/* A granted file is what it leads to, and a link on the way is one of the cage. */
static void links_are_those_of_the_cage(void **state)
{
    _auto_(tc_exec_check_done) struct tc_exec_check exact, on_the_way, outside;
    look(&exact, "venv/bin/python", "venv/bin/python", 0);
    expect(&exact, NULL, NULL, false);
    look(&on_the_way, "current venv py", "current/bin/python", 0);
    expect(&on_the_way, NULL, NULL, false);
    look(&outside, "venv", "venv/bin/python9", 0);
    expect(&outside, "py/v/bin/python9", "venv/bin/python9", false);
}

/* Of what the cage does not show nothing is told, unless that was asked for. */
static void ungranted_paths_are_not_resolved(void **state)
{
    _auto_(tc_exec_check_done) struct tc_exec_check there, not_there, beyond;
    look(&there, "lone", "venv/bin/test", 0);
    look(&not_there, "lone", "venv/bin/none", 0);
    expect(&there, "venv/bin/test", NULL, false);
    expect(&not_there, "venv/bin/none", NULL, false);
    assert_int_equal(there.hops.count + not_there.hops.count, 0);
    assert_int_equal(there.grant.count, not_there.grant.count);
    assert_string_equal(there.grant.items[0], not_there.grant.items[0]);
    look(&beyond, "lone", "venv/bin/test", TC_EXEC_CHECK_BEYOND);
    expect(&beyond, "venv/bin/test", NULL, false);
    assert_int_equal(beyond.grant.count, 2);
    assert_string_equal(beyond.grant.items[1], at("py/v"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(present_programs_add_no_grant),
        cmocka_unit_test(links_and_interpreters_are_hops),
        cmocka_unit_test(a_missing_interpreter_is_named),
        cmocka_unit_test(windows_line_ends_name_another_interpreter),
        cmocka_unit_test(links_are_those_of_the_cage),
        cmocka_unit_test(ungranted_paths_are_not_resolved),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
