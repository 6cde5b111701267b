/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a cage's first process reports over its socket, and what the call's outcome says of it. The
 * process is untrusted once its tool runs: whatever it writes is read within bounds. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "cage/cage.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))
#define W_EXIT(code) ((code) << 8)

/* A cage whose first process is the test, at the other end of `socket`. */
static struct {
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_process_cage priv;
    struct tc_cage cage;
    int socket;
} the;

static char *argv[] = {TEXT("prog"), NULL}, *cwd[] = {TEXT("/srv"), TEXT("/srv/ws"), NULL};
/* Two, and what lies behind them in memory. */
static const struct tc_init_mount mounts[] = {{.path = "etc"}, {.path = "/srv/ws"}, {.path = "no"}};
enum { MOUNTS = 2 };

static int set_up(void **state)
{
    int pair[2];
    (void)state;
    memset(&the, 0, sizeof(the));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    the.socket = pair[1];
    the.plan.argv = (struct tc_strv){.items = argv, .count = 1};
    the.plan.cwd = (struct tc_strv){.items = cwd, .count = 2};
    the.priv.trees = TC_TREES_NEW;
    the.priv.observer = TC_OBSERVER_NEW;
    the.priv.child = (struct tc_child){.report = pair[0], .theirs = -1, .pidfd = -1};
    the.priv.looks.oom_fd = -1;
    the.priv.talk = -1;
    the.priv.init.mounts = mounts;
    the.priv.init.mount_count = MOUNTS;
    the.cage = tc_cage_empty(&the.plan, &the.outcome);
    the.cage.priv = &the.priv;
    the.cage.trees = &the.priv.trees;
    the.cage.observer = &the.priv.observer;
    return tc_events_open(&the.cage);
}

static int tear_down(void **state)
{
    (void)state;
    if (the.cage.out_fd >= 0)
        (void)close(the.cage.out_fd);
    (void)close(the.socket);
    (void)close(the.priv.child.report);
    tc_trees_done(&the.priv.trees);
    tc_outcome_done(&the.outcome);
    return 0;
}

static void anew(void)
{
    assert_int_equal(tear_down(NULL), 0);
    assert_int_equal(set_up(NULL), 0);
}

static void say(const struct tc_report *report)
{
    assert_int_equal(tc_send(the.socket, report, sizeof(*report), NULL, 0), 0);
}

static void say_kind(enum tc_report_kind kind)
{
    say(&(struct tc_report){.kind = kind});
}

static int stage_named(const char *name)
{
    const struct tc_stage *stage;
    for (int n = 0; (stage = tc_init_stage(&the.priv.init, n))->run; n++)
        if (strcmp(stage->name, name) == 0)
            return n;
    fail_msg("there is no stage %s", name);
    return -1;
}

static void failed_stages_name_cause_and_next_step(void **state)
{
    static const struct {
        const char *stage;
        int errnum, mount;
        int code;
        const char *subject, *message, *hint;
    } rows[] = {
        {"namespaces", EPERM, -1, TOOLCAGE_EUNENFORCEABLE, "unshare", "the cage's namespaces", ""},
        {"trees", ENOENT, 0, TOOLCAGE_EPATH, "/etc", "/etc was replaced while", "call it again"},
        {"trees", ESTALE, 1, TOOLCAGE_EPATH, "/srv/ws", "/srv/ws was replaced", "call it again"},
        {"trees", ELOOP, 1, TOOLCAGE_EPATH, "/srv/ws", "/srv/ws was replaced", "copy a path"},
        {"trees", EACCES, 1, TOOLCAGE_EPATH, "/srv/ws", "/srv/ws cannot be mounted", "from ="},
        {"trees", EINVAL, 1, TOOLCAGE_EUNENFORCEABLE, "trees", "stage \"trees\" failed", "doctor"},
        {"trees", ENOENT, 2, TOOLCAGE_EUNENFORCEABLE, "trees", "stage \"trees\" failed", "doctor"},
        {"trees", ENOENT, -1, TOOLCAGE_EUNENFORCEABLE, "trees", "stage \"trees\" failed", ""},
        {"trees", ENOENT, INT32_MIN, TOOLCAGE_EUNENFORCEABLE, "trees", "stage \"trees\"", ""},
        {"cwd", ENOENT, -1, TOOLCAGE_EPATH, "/srv/ws", "working directory /srv/ws does not exist",
         "--cwd"},
        {"seccomp", EINVAL, -1, TOOLCAGE_EUNENFORCEABLE, "seccomp", "stage \"seccomp\" failed", ""},
        {"network", ENOENT, -1, TOOLCAGE_EUNENFORCEABLE, "network", "stage \"network\"", "doctor"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct tc_outcome_failure *f = &the.outcome.failure;
        const int stage = stage_named(rows[i].stage);
        say(&(struct tc_report){.kind = TC_REPORT_FAILED,
                                .stage = stage,
                                .errnum = rows[i].errnum,
                                .status = rows[i].mount});
        assert_int_equal(tc_process_event(&the.cage), -1);
        if (f->code != rows[i].code || strcmp(f->subject, rows[i].subject) != 0 ||
            !strstr(f->message, rows[i].message) || !strstr(f->hint, rows[i].hint))
            fail_msg("row %zu: %d %s: %s; %s", i, (int)f->code, f->subject, f->message, f->hint);
        assert_string_equal(f->stage, rows[i].stage);
        assert_int_equal(f->errnum, rows[i].errnum);
        assert_true(strlen(f->hint) > 20);
        assert_false(the.cage.running);
        anew();
    }
    (void)state;
}

/* A stage that nobody knows is still the failure of one. */
static void unknown_stage_fails_the_call(void **state)
{
    static const int32_t numbers[] = {-1, 1000, INT32_MAX, INT32_MIN};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        say(&(struct tc_report){.kind = TC_REPORT_FAILED, .stage = numbers[i], .errnum = EPERM});
        assert_int_equal(tc_process_event(&the.cage), -1);
        assert_int_equal(the.outcome.failure.code, TOOLCAGE_EUNENFORCEABLE);
        assert_int_equal(the.outcome.status, TOOLCAGE_STATUS_DENIED);
        anew();
    }
}

static void failed_exec_names_the_remedy(void **state)
{
    static const struct {
        int errnum, code;
        const char *message, *hint;
    } rows[] = {
        {ENOENT, TOOLCAGE_ECOMMAND_NOT_FOUND, "command not found in the cage: prog", "programs"},
        {ENOTDIR, TOOLCAGE_ECOMMAND_NOT_FOUND, "command not found in the cage: prog", "grant"},
        {ENOEXEC, TOOLCAGE_ENOT_EXECUTABLE, "cannot execute prog", "wrong format"},
        {EACCES, TOOLCAGE_ENOT_EXECUTABLE, "cannot execute prog", "mode"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        say_kind(TC_REPORT_READY);
        say(&(struct tc_report){.kind = TC_REPORT_EXEC_FAILED, .errnum = rows[i].errnum});
        assert_int_equal(tc_process_event(&the.cage), -1);
        assert_int_equal(the.outcome.failure.code, rows[i].code);
        assert_string_equal(the.outcome.failure.stage, "exec");
        assert_string_equal(the.outcome.failure.subject, "prog");
        assert_non_null(strstr(the.outcome.failure.message, rows[i].message));
        assert_non_null(strstr(the.outcome.failure.hint, rows[i].hint));
        anew();
    }
}

static void exit_is_the_tools_own_once_it_runs(void **state)
{
    static const struct {
        int status;
        int64_t code, signal;
    } rows[] = {{W_EXIT(0), 0, 0}, {W_EXIT(7), 7, 0}, {SIGSEGV, -1, SIGSEGV}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct tc_report end = {
            .kind = TC_REPORT_EXITED, .status = rows[i].status, .cpu_us = 5000, .max_rss = 4096};
        say(&end); /* nothing ran yet: an end of nothing */
        assert_int_equal(tc_process_event(&the.cage), 0);
        assert_false(the.cage.over || the.cage.running);
        say_kind(TC_REPORT_READY);
        say(&end);
        assert_int_equal(tc_process_event(&the.cage), 0);
        assert_true(the.cage.running && the.cage.over);
        assert_int_equal(the.outcome.exit_code, rows[i].code);
        assert_int_equal(the.outcome.signal, rows[i].signal);
        assert_int_equal(the.priv.child.cpu_us, 5000);
        assert_int_equal(the.priv.child.max_rss, 4096);
        anew();
    }
}

/* They change nothing, and what they carry is closed. */
static void odd_messages_are_dropped(void **state)
{
    static const int32_t kinds[] = {0, -1, 1000, TC_REPORT_EXITED};
    struct tc_report report = {0};
    const int fds[] = {the.socket, the.socket, the.socket};
    (void)state;
    int lowest = dup(0);
    (void)close(lowest);
    for (size_t i = 0; i < TC_COUNT(kinds); i++) {
        report.kind = kinds[i];
        assert_int_equal(tc_send(the.socket, &report, sizeof(report), fds, 3), 0);
        assert_int_equal(tc_process_event(&the.cage), 0);
    }
    report.kind = TC_REPORT_READY;
    assert_int_equal(tc_send(the.socket, &report, sizeof(report) - 1, NULL, 0), 0);
    assert_int_equal(tc_process_event(&the.cage), 0);
    assert_int_equal(tc_send(the.socket, "", 1, NULL, 0), 0);
    assert_int_equal(tc_process_event(&the.cage), 0);
    assert_false(the.cage.running || the.cage.over);
    assert_int_equal(the.outcome.failure.code, 0);
    int after = dup(0);
    assert_int_equal(after, lowest);
    (void)close(after);
}

/* One terminal, where the plan has one; the first is kept. */
static void terminal_is_taken_once(void **state)
{
    const struct tc_report report = {.kind = TC_REPORT_TERMINAL};
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)state;
    the.plan.terminal = true;
    assert_int_equal(tc_send(the.socket, &report, sizeof(report), &fd, 1), 0);
    assert_int_equal(tc_process_event(&the.cage), 0);
    int first = the.cage.out_fd;
    assert_true(first >= 0 && (fcntl(first, F_GETFL) & O_NONBLOCK));
    assert_int_equal(tc_send(the.socket, &report, sizeof(report), &fd, 1), 0);
    assert_int_equal(tc_process_event(&the.cage), -1);
    assert_int_equal(the.cage.out_fd, first);
    anew();
    assert_int_equal(tc_send(the.socket, &report, sizeof(report), &fd, 1), 0);
    assert_int_equal(tc_process_event(&the.cage), -1);
    assert_int_equal(the.cage.out_fd, -1);
    assert_string_equal(the.outcome.failure.subject, "terminal");
    (void)close(fd);
}

static void first_failure_says_why(void **state)
{
    (void)state;
    say(&(struct tc_report){
        .kind = TC_REPORT_FAILED, .stage = stage_named("cwd"), .errnum = ENOENT, .status = -1});
    say(&(struct tc_report){
        .kind = TC_REPORT_FAILED, .stage = stage_named("seccomp"), .errnum = EPERM});
    assert_int_equal(tc_process_event(&the.cage), -1);
    assert_int_equal(tc_process_event(&the.cage), -1);
    assert_string_equal(the.outcome.failure.stage, "cwd");
}

/* ---- the end of the first process ---- */

static pid_t child_that(int code, int signal)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (signal)
            (void)raise(signal);
        _exit(code);
    }
    return pid;
}

static void lost_first_process_is_an_error_or_a_kill(void **state)
{
    static const struct {
        bool ready;
        int code, signal; /* how it ends */
        int failure;
        const char *stage;
        int64_t killed_by;
    } rows[] = {
        {false, 1, 0, TOOLCAGE_EBACKEND, "start", 0},
        {false, 0, SIGKILL, TOOLCAGE_EBACKEND, "start", 0},
        {true, 0, SIGKILL, 0, NULL, SIGKILL},
        {true, 1, 0, 0, NULL, SIGKILL},
        {true, TC_INIT_MUTE, 0, TOOLCAGE_EBACKEND, "supervise", 0},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (rows[i].ready)
            say_kind(TC_REPORT_READY);
        the.priv.child.pid = child_that(rows[i].code, rows[i].signal);
        tc_process_reap(&the.cage);
        assert_true(the.priv.child.reaped);
        if (the.outcome.failure.code != rows[i].failure)
            fail_msg("row %zu: %d", i, (int)the.outcome.failure.code);
        if (rows[i].stage)
            assert_string_equal(the.outcome.failure.stage, rows[i].stage);
        assert_int_equal(the.outcome.signal, rows[i].killed_by);
        anew();
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(failed_stages_name_cause_and_next_step),
        CASE(unknown_stage_fails_the_call),
        CASE(failed_exec_names_the_remedy),
        CASE(exit_is_the_tools_own_once_it_runs),
        CASE(odd_messages_are_dropped),
        CASE(terminal_is_taken_once),
        CASE(first_failure_says_why),
        CASE(lost_first_process_is_an_error_or_a_kill),
    };
    return cmocka_run_group_tests_name("cage report", tests, NULL, NULL);
}
