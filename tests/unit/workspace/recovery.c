/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A commit whose process is killed, before each of its system calls in turn: every file of the host
 * is the old or the new version, nothing temporary stays, and the report says which changes were
 * applied. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "linux/mounts.h"
#include "scene.h"
#include "workspace/journal.h"

/* ---- linked in libc's place: the process ends before the n-th of these calls ---- */

static int steps, last_step; /* 0: it lives */

static void step(void)
{
    if (++steps == last_step)
        (void)raise(SIGKILL);
}

#define STEP(type, name, arguments, ...)   \
    type __real_##name arguments;          \
    type __wrap_##name arguments;          \
    type __wrap_##name arguments           \
    {                                      \
        step();                            \
        return __real_##name(__VA_ARGS__); \
    }

STEP(ssize_t, write, (int fd, const void *bytes, size_t len), fd, bytes, len)
STEP(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), a, from, b,
     to, flags)
STEP(int, unlinkat, (int dir, const char *name, int flags), dir, name, flags)
STEP(int, mkdirat, (int dir, const char *name, mode_t mode), dir, name, mode)
STEP(int, symlinkat, (const char *target, int dir, const char *name), target, dir, name)
STEP(int, fchmod, (int fd, mode_t mode), fd, mode)
STEP(int, utimensat, (int dir, const char *name, const struct timespec *times, int flags), dir,
     name, times, flags)

/* ---- one commit ---- */

static const char before[] = "echo -n 1 >host/a; echo -n 1 >host/b; ln -s a host/l";
static const char tool[] = "echo -n two >copy/a; rm copy/b; ln -sfn b copy/l; "
                           "mkdir copy/d; echo -n new >copy/d/f";

/* How many of the five changes the host has; fails on a version that is neither old nor new. */
static int count_applied(void)
{
    static const char *const versions[][2] = {
        {" a=1 ", " a=two "}, {" b=1 ", ""}, {" l->a ", " l->b "}, {"", " d/ "}, {"", " d/f=new "}};
    char tree[256];
    size_t seen = 2;
    int applied = 0;
    (void)snprintf(tree, sizeof(tree), " %s ", scene_tree("host"));
    for (size_t i = 0; i < TC_COUNT(versions); i++) {
        const char *was = versions[i][0], *now = versions[i][1];
        bool old = was[0] ? strstr(tree, was) != NULL : !strstr(tree, now);
        bool new = now[0] ? strstr(tree, now) != NULL : !strstr(tree, was);
        if (old == new)
            fail_msg("step %d: neither \"%s\" nor \"%s\" in%s", last_step, was, now, tree);
        applied += new;
        seen += strlen(new ? now : was);
        seen -= (new ? now : was)[0] ? 1 : 0;
    }
    if (seen != strlen(tree) + 1)
        fail_msg("step %d: something else is in%s", last_step, tree);
    return applied;
}

/* Was it killed? */
static bool commit_until(int n)
{
    struct scene s;
    int status;
    scene_new();
    scene_sh(before);
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ALWAYS);
    assert_int_equal(scene_begin(&s), 0);
    scene_sh(tool);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        steps = 0;
        last_step = n;
        scene_end(&s, true);
        _exit(s.outcome.failure.code ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    scene_done(&s);
    if (!WIFSIGNALED(status))
        assert_int_equal(status, 0);
    return WIFSIGNALED(status);
}

/* "... before X has been applied (N names), X itself may have been, and nothing after it" */
static void check_report(int applied)
{
    _autofree_ char *text = tc_journal_cuts();
    const char *names = text ? strchr(text, '(') : NULL;
    int told = names ? atoi(names + 1) : 0;
    if (!text && applied)
        fail_msg("step %d: %d changes that no report tells", last_step, applied);
    if (text && (!names || applied < told || applied > told + 1))
        fail_msg("step %d: %d changes are applied, not as in %s", last_step, applied, text);
    if (text) {
        assert_non_null(strstr(text, "/host by tool tool was interrupted"));
        assert_int_equal(strchr(text, '\n') - text, strlen(text) - 1);
    }
}

static void killed_commit_leaves_whole_files_and_a_report(void **state)
{
    int cut = 0, n = 1;
    (void)state;
    for (; commit_until(n); n++) {
        last_step = n;
        (void)tc_journal_sweep();
        int applied = count_applied();
        check_report(applied);
        cut += applied > 0 && applied < 5;
        _autofree_ char *first = tc_journal_notice(), *again = tc_journal_notice();
        assert_true(applied == 0 || (first && strstr(first, "1 earlier commit to the host was")));
        assert_null(again);
        assert_int_equal(tc_journal_sweep(), 0);
        check_report(applied); /* until somebody forgets it */
        assert_int_equal(tc_journal_forget(), first ? 1 : 0);
        scene_expect("forgotten", "journals", scene_tree("state/commits"), "");
        last_step = 0;
    }
    assert_true(n > 15 && cut > 5);
    assert_int_equal(count_applied(), 5);
    assert_null(tc_journal_cuts());
}

/* ---- what a sweep makes of single journals ---- */

/* A process that began to write `relative` and was killed; its temporary file's name. */
static void leave_journal(struct tc_journal *j, const char *relative)
{
    _autofd_ int dir = tc_journal_open(NULL);
    const struct tc_item item = {.fd = open("host", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    assert_int_equal(tc_journal_begin(j, dir, "tool", false), 0);
    assert_int_equal(tc_journal_write(j, &item, relative), 0);
    (void)close(item.fd);
    (void)close(j->fd); /* the lock goes with its process */
}

static void put_temporary(const struct tc_journal *j, const char *directory)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, j->temporary);
    assert_int_equal(tc_put_file(AT_FDCWD, path, "half", 4, 0600), 0);
}

static void sweep_removes_no_temporary_through_a_link(void **state)
{
    struct tc_journal j;
    (void)state;
    scene_new();
    scene_sh("mkdir host/d out");
    leave_journal(&j, "d/f");
    put_temporary(&j, "host/d");
    put_temporary(&j, "out");
    scene_sh("mv host/d host/e; ln -s ../out host/d");
    assert_int_equal(tc_journal_sweep(), 1);
    assert_int_equal(strlen(scene_tree("out")), strlen(j.temporary) + strlen("=half"));
    scene_sh("rm host/d; mv host/e host/d; mv state/commits/*.cut state/commits/0123456789abcdef");
    assert_int_equal(tc_journal_sweep(), 1);
    scene_expect("in place", "host", scene_tree("host"), "d/");
    scene_sh("rm out/.*-*");
    leave_journal(&j, "f");
    put_temporary(&j, "out");
    scene_sh("mv host old; ln -s out host");
    assert_int_equal(tc_journal_sweep(), 1);
    assert_int_equal(strlen(scene_tree("out")), strlen(j.temporary) + strlen("=half"));
    assert_int_equal(tc_journal_forget(), 2);
}

static void sweep_leaves_a_living_commit_alone(void **state)
{
    struct tc_journal j;
    (void)state;
    scene_new();
    _autofd_ int dir = tc_journal_open(NULL);
    _autofd_ int host = open("host", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct tc_item below = {.fd = host};
    assert_int_equal(tc_journal_begin(&j, dir, "tool", false), 0);
    assert_int_equal(tc_journal_write(&j, &below, "a"), 0);
    put_temporary(&j, "host");
    assert_int_equal(tc_journal_sweep(), 0);
    assert_int_equal(strlen(scene_tree("host")), strlen(j.temporary) + strlen("=half"));
    assert_null(tc_journal_cuts());
    tc_journal_end(&j);
    scene_expect("ended", "journals", scene_tree("state/commits"), "");
}

/* What is not a journal, or says nothing, does no harm; a report is one line of plain text. */
static void odd_journals_are_harmless(void **state)
{
    static const struct {
        const char *make, *report; /* NULL: none */
        unsigned found;
        const char *left;
    } rows[] = {
        {"touch state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'Tx\\0I0123456789abcdef\\0' >state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'R/etc\\0Wx' >state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'Wx\\0' >state/commits/0123456789abcdeg", NULL, 0, "0123456789abcdeg=Wx"},
        {"ln -s /etc/passwd state/commits/0123456789abcdef", NULL, 0,
         "0123456789abcdef->/etc/passwd"},
        {"mkdir state/commits/0123456789abcdef", NULL, 0, "0123456789abcdef/"},
        {"mkfifo state/commits/0123456789abcdef", NULL, 0, "0123456789abcdef!"},
        {"printf 'R/no/such\\0Wa\\n\\33[2J\\0' >state/commits/0123456789abcdef",
         "a commit to /no/such was interrupted: what it listed before a??[2J has been applied (0 "
         "names), a??[2J itself may have been, and nothing after it\n",
         1, NULL},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        scene_new();
        _autofd_ int dir = tc_journal_open(NULL);
        assert_true(dir >= 0);
        scene_sh(rows[i].make);
        assert_int_equal(tc_journal_sweep(), rows[i].found);
        _autofree_ char *text = tc_journal_cuts();
        assert_true(!text == !rows[i].report);
        if (text)
            assert_string_equal(text, rows[i].report);
        if (rows[i].left)
            scene_expect(rows[i].make, "journals", scene_tree("state/commits"), rows[i].left);
        free(tc_journal_notice());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_commit_leaves_whole_files_and_a_report),
        cmocka_unit_test(sweep_removes_no_temporary_through_a_link),
        cmocka_unit_test(sweep_leaves_a_living_commit_alone),
        cmocka_unit_test(odd_journals_are_harmless),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}
