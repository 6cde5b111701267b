/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * PID 1 of a live session, run here as an ordinary process: an order arrives as it was made,
 * another file is none; commands have their own streams and reports, and end as the helper says. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "live/inside/inside.h"
#include "live/inside/order.h"
#include "live/inside/shell_state.h"

static const char *const paths[] = {"/bin/sh", NULL}, *const dirs[] = {"/no/such", "/tmp", NULL},
                         *const vars[] = {"A=1", "EMPTY=", NULL};

static int make_order_with(const char *script, struct tc_live_extras extras)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    return tc_live_order_make(&(struct tc_live_lists){words, vars, paths, dirs, extras});
}

static int make_order(const char *script)
{
    return make_order_with(script, (struct tc_live_extras){0});
}

/* ---- orders ---- */

static void orders_arrive_as_made(void **state)
{
    struct tc_live_lists got;
    void *map;
    size_t size;
    _autofd_ int fd = make_order("");
    assert_true(tc_live_order_open(fd, &got, &map, &size));
    assert_string_equal(got.argv[1], "-c");
    assert_string_equal(got.argv[2], "");
    assert_null(got.argv[3]);
    assert_string_equal(got.envp[1], "EMPTY=");
    assert_null(got.envp[2]);
    assert_string_equal(got.programs[0], "/bin/sh");
    assert_string_equal(got.directories[1], "/tmp");
    assert_null(got.directories[2]);
    assert_int_equal(munmap(map, size), 0);
}

/* A file with these bytes of an order, or with one byte changed. */
static bool opens(const char *bytes, size_t size, size_t at, char flip)
{
    struct tc_live_lists got;
    void *map;
    size_t mapped;
    char copy[4096];
    assert_true(size <= sizeof(copy));
    memcpy(copy, bytes, size);
    if (at < size)
        copy[at] = (char)(copy[at] ^ flip);
    _autofd_ int fd = tc_memfd("test", copy, size);
    if (!tc_live_order_open(fd, &got, &map, &mapped))
        return false;
    assert_int_equal(munmap(map, mapped), 0);
    return true;
}

static void other_files_are_no_orders(void **state)
{
    char bytes[4096];
    _autofd_ int fd = make_order("true");
    ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
    assert_true(size > 0);
    assert_true(opens(bytes, (size_t)size, SIZE_MAX, 0));
    for (size_t cut = 0; cut < (size_t)size; cut++)
        assert_false(opens(bytes, cut, SIZE_MAX, 0));
    for (size_t at = 0; at < 16; at++)
        assert_false(opens(bytes, (size_t)size, at, (char)0x81));
}

static void orders_are_bounded(void **state)
{
    char *large = malloc(TC_LIVE_ORDER_MAX + 1);
    assert_non_null(large);
    memset(large, 'x', TC_LIVE_ORDER_MAX);
    large[TC_LIVE_ORDER_MAX] = '\0';
    assert_int_equal(make_order(large), -1);
    assert_int_equal(errno, E2BIG);
    free(large);
}

/* ---- a session ---- */

struct session {
    pid_t pid;
    int talk, report;
};

static int64_t tick(void *context)
{
    (void)context;
    return 1000000;
}

/* It reaps the orphans of its commands, as PID 1 does. */
static struct session start_session(void)
{
    int talk[2], report[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(talk[0]);
        (void)close(report[0]);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* of the runner of tests */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        const struct rlimit files = {20, 20}; /* fewer than PID 1 waits for */
        tc_live_serve(&(struct tc_live_place){
            .talk = talk[1], .report = report[1], .tick = tick, .files = &files});
        _exit(0);
    }
    (void)close(talk[1]);
    (void)close(report[1]);
    return (struct session){pid, talk[0], report[0]};
}

static void end_session(const struct session *s)
{
    const int32_t word = TC_LIVE_END;
    int status = -1;
    assert_int_equal(tc_send(s->talk, &word, sizeof(word), NULL, 0), 0);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_int_equal(status, 0);
    (void)close(s->talk);
    (void)close(s->report);
}

struct running {
    int reply, life, out;
};

/* `count`: fds that are sent. */
static struct running run_order(const struct session *s, int32_t word, int order, size_t count)
{
    int reply[2], life[2], out[2], fds[TC_LIVE_IN];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reply), 0);
    assert_int_equal(pipe2(life, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    fds[TC_LIVE_ORDER] = order;
    fds[TC_LIVE_REPLY] = reply[1];
    fds[TC_LIVE_LIFE] = life[1];
    fds[TC_LIVE_OUT] = fds[TC_LIVE_ERR] = out[1];
    assert_int_equal(tc_send(s->talk, &word, sizeof(word), fds, count), 0);
    (void)close(fds[TC_LIVE_ORDER]);
    (void)close(reply[1]);
    (void)close(life[1]);
    (void)close(out[1]);
    return (struct running){reply[0], life[0], out[0]};
}

static struct running run_with(const struct session *s, const char *script,
                               struct tc_live_extras extras, size_t count)
{
    return run_order(s, TC_LIVE_RUN, make_order_with(script, extras), count);
}

static struct running run(const struct session *s, const char *script)
{
    return run_order(s, TC_LIVE_RUN, make_order(script), TC_LIVE_IN);
}

static struct tc_live_report next_report(const struct running *r)
{
    struct tc_live_report report = {0};
    assert_int_equal(recv(r->reply, &report, sizeof(report), 0), sizeof(report));
    return report;
}

/* Reads to the end of the output, and waits for the end of its life. */
static void finish(struct running *r, char *out, size_t size)
{
    char byte;
    size_t length = 0;
    for (ssize_t n; out && (n = read(r->out, out + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    if (out)
        out[length] = '\0';
    assert_int_equal(read(r->life, &byte, 1), 0);
    (void)close(r->reply);
    (void)close(r->life);
    (void)close(r->out);
}

static void commands_report_start_and_end(void **state)
{
    char out[256];
    struct session s = start_session();
    struct running r =
        run(&s, "echo $A; pwd; read x && echo input; ls /proc/self/fd; ulimit -Hn; exit 5");
    assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
    struct tc_live_report end = next_report(&r);
    assert_int_equal(end.kind, TC_LIVE_EXITED);
    assert_int_equal(WEXITSTATUS(end.status), 5);
    finish(&r, out, sizeof(out));
    assert_string_equal(out, "1\n/tmp\n0\n1\n2\n3\n20\n"); /* 3 is the directory that ls reads */
    end_session(&s);
}

static void file_actions_run_without_a_program(void **state)
{
    (void)state;
    static const char *const words[] = {"stat", "/tmp", NULL}, *const none[] = {"stat", "/no",
                                                                                NULL};
    const struct {
        const char *const *words;
        int code;
        const char *out;
    } cases[] = {{words, 0, "\"type\":\"directory\""}, {none, 1, "/no: cannot be used"}};
    struct session s = start_session();
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        char out[256];
        struct running r = run_order(
            &s, TC_LIVE_FILE,
            tc_live_order_make(&(struct tc_live_lists){cases[i].words, vars, paths, dirs}),
            TC_LIVE_IN);
        assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
        struct tc_live_report end = next_report(&r);
        assert_int_equal(end.kind, TC_LIVE_EXITED);
        assert_int_equal(WEXITSTATUS(end.status), cases[i].code);
        finish(&r, out, sizeof(out));
        assert_non_null(strstr(out, cases[i].out));
    }
    end_session(&s);
}

static void kill_ends_descendants(void **state)
{
    char out[256];
    struct session s = start_session();
    struct running r = run(&s, "setsid sleep 1000 & (sleep 1000 & wait) & wait");
    assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
    (void)usleep(200000);
    assert_int_equal(send(r.reply, (char[]){TC_LIVE_SIGNAL_KILL}, 1, 0), 1);
    assert_int_equal(WTERMSIG(next_report(&r).status), SIGKILL);
    finish(&r, out, sizeof(out)); /* the output ends: no process is left */
    end_session(&s);
}

static void closed_socket_kills_the_command(void **state)
{
    struct session s = start_session();
    struct running r = run(&s, "sleep 1000");
    assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
    (void)close(r.reply);
    r.reply = -1;
    finish(&r, NULL, 0);
    end_session(&s);
}

static void session_serves_many_commands(void **state)
{
    struct session s = start_session();
    struct running all[TC_LIVE_COMMANDS_MAX + 1];
    for (size_t i = 0; i < TC_LIVE_COMMANDS_MAX; i++) {
        all[i] = run(&s, "sleep 1000");
        assert_int_equal(next_report(&all[i]).kind, TC_LIVE_READY);
    }
    all[TC_LIVE_COMMANDS_MAX] = run(&s, "true");
    struct tc_live_report refused = next_report(&all[TC_LIVE_COMMANDS_MAX]);
    assert_int_equal(refused.kind, TC_LIVE_FAILED);
    assert_int_equal(refused.errnum, EBUSY);
    finish(&all[TC_LIVE_COMMANDS_MAX], NULL, 0);
    for (size_t i = 0; i < TC_LIVE_COMMANDS_MAX; i++) {
        (void)close(all[i].reply);
        all[i].reply = -1;
        finish(&all[i], NULL, 0);
    }
    struct running again = run(&s, "true");
    assert_int_equal(next_report(&again).kind, TC_LIVE_READY);
    assert_int_equal(next_report(&again).status, 0);
    finish(&again, NULL, 0);
    end_session(&s);
}

static void numbered_signals_reach_the_command(void **state)
{
    char out[256];
    struct session s = start_session();
    struct running r = run(&s, "exec 2>/dev/null; trap 'echo usr1; exit 6' USR1; echo set; while "
                               ":; do sleep 0.05; done");
    assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
    assert_int_equal(read(r.out, out, 4), 4);
    assert_int_equal(send(r.reply, (char[]){SIGUSR1}, 1, 0), 1);
    assert_int_equal(WEXITSTATUS(next_report(&r).status), 6);
    finish(&r, out, sizeof(out));
    assert_string_equal(out, "usr1\n");
    end_session(&s);
}

static void shell_state_reaches_the_next_command(void **state)
{
    static const struct tc_live_extras shell = {.shell = 1};
    static const char *const texts[][2] = {
        /* what a command writes, and what the next one finds */
        {"printf 'first\\n#end\\n' >&9", "first\n#end\n"},
        {"printf 'cut\\n' >&9", "first\n#end\n"},
        {"cat <&9 >/dev/null; printf 'second\\n#end\\n' >&9; kill -9 $$", "second\n#end\n"},
        {"head -c 5000000 /dev/zero >&9; printf '\\n#end\\n' >&9", "second\n#end\n"},
        {": >/proc/self/fd/9", "second\n#end\n"},
        {"true", "second\n#end\n"},
    };
    char out[256];
    struct session s = start_session();
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        struct running r = run_with(&s, texts[i][0], shell, TC_LIVE_IN);
        finish(&r, NULL, 0);
        r = run_with(&s, "cat <&9", shell, TC_LIVE_IN);
        finish(&r, out, sizeof(out));
        assert_string_equal(out, texts[i][1]);
    }
    struct running r = run(&s, "cat <&9");
    finish(&r, out, sizeof(out));
    assert_null(strstr(out, "#end")); /* other commands do not get it */
    end_session(&s);
}

static void terminal_is_sent_before_the_start(void **state)
{
    static const struct tc_live_extras terminal = {.rows = 7, .columns = 91};
    struct tc_live_report report = {0};
    char out[256];
    int other = -1;
    size_t count = 0, length = 0;
    if (access("/dev/pts/ptmx", R_OK | W_OK) < 0)
        skip();
    struct session s = start_session();
    struct running r = run_with(&s, "stty size; tty", terminal, TC_LIVE_OUT);
    assert_int_equal(tc_recv(r.reply, &report, sizeof(report), &other, 1, &count, NULL, NULL, true),
                     sizeof(report));
    assert_int_equal(report.kind, TC_LIVE_TERMINAL);
    assert_int_equal(count, 1);
    assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
    assert_int_equal(WEXITSTATUS(next_report(&r).status), 0);
    for (ssize_t n; (n = read(other, out + length, sizeof(out) - 1 - length)) > 0;)
        length += (size_t)n;
    out[length] = '\0';
    assert_ptr_equal(strstr(out, "7 91\r\n/dev/pts/"), out);
    (void)close(other);
    finish(&r, NULL, 0);
    struct running with_pipes = run_with(&s, "true", terminal, TC_LIVE_IN);
    assert_int_equal(next_report(&with_pipes).kind, TC_LIVE_FAILED);
    finish(&with_pipes, NULL, 0);
    struct running without = run_with(&s, "true", (struct tc_live_extras){0}, TC_LIVE_OUT);
    assert_int_equal(next_report(&without).kind, TC_LIVE_FAILED);
    finish(&without, NULL, 0);
    end_session(&s);
}

static void malformed_words_run_nothing(void **state)
{
    struct session s = start_session();
    const int32_t word = TC_LIVE_RUN;
    int some[] = {STDERR_FILENO, STDERR_FILENO};
    assert_int_equal(tc_send(s.talk, &word, sizeof(word), some, 2), 0);
    assert_int_equal(tc_send(s.talk, &word, 1, NULL, 0), 0);
    assert_int_equal(tc_send(s.talk, "a longer word", 13, NULL, 0), 0);
    struct running r = run(&s, "true");
    assert_int_equal(next_report(&r).kind, TC_LIVE_READY);
    finish(&r, NULL, 0);
    end_session(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_arrive_as_made),
        cmocka_unit_test(other_files_are_no_orders),
        cmocka_unit_test(orders_are_bounded),
        cmocka_unit_test(commands_report_start_and_end),
        cmocka_unit_test(file_actions_run_without_a_program),
        cmocka_unit_test(kill_ends_descendants),
        cmocka_unit_test(closed_socket_kills_the_command),
        cmocka_unit_test(session_serves_many_commands),
        cmocka_unit_test(numbered_signals_reach_the_command),
        cmocka_unit_test(shell_state_reaches_the_next_command),
        cmocka_unit_test(terminal_is_sent_before_the_start),
        cmocka_unit_test(malformed_words_run_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
