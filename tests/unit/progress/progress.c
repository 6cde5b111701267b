/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The progress line on a real pty: when it appears, what it shows, how it disappears, and where it
 * is never drawn. Standard error is the pty while the line may be drawn. */
#include "progress/progress.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

enum { SECOND_US = 1000000, SOON_US = 700000, LATER_US = 1400000, LONG_US = 10000000 };

struct terminal {
    int ours, stderr_before;
    char seen[4096];
    size_t length;
};

/* Replaces standard error by `fd`. */
static void put_stderr(struct terminal *t, int fd)
{
    t->stderr_before = dup(STDERR_FILENO);
    assert_true(t->stderr_before >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    (void)close(fd);
}

static void open_terminal(struct terminal *t, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    int theirs;
    *t = (struct terminal){.ours = -1};
    assert_int_equal(openpty(&t->ours, &theirs, NULL, NULL, &size), 0);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    put_stderr(t, theirs);
}

static void close_terminal(struct terminal *t)
{
    tc_progress_end();
    (void)dup2(t->stderr_before, STDERR_FILENO);
    (void)close(t->stderr_before);
    (void)close(t->ours);
}

/* Reads for so long, or until the output contains `text` (NULL: all the time). */
static bool read_until(struct terminal *t, const char *text, int64_t for_us)
{
    int64_t end = tc_now_us() + for_us, left;
    while (!(text && strstr(t->seen, text)) && (left = end - tc_now_us()) > 0) {
        struct pollfd ready = {.fd = t->ours, .events = POLLIN};
        size_t room = sizeof(t->seen) - 1 - t->length;
        if (poll(&ready, 1, (int)(left / 1000) + 1) <= 0)
            continue; /* the timer of the line interrupts this, too */
        ssize_t n = read(t->ours, t->seen + t->length, room);
        t->length += n > 0 ? (size_t)n : 0;
    }
    return text && strstr(t->seen, text);
}

/* Forgets what was read. */
static void forget(struct terminal *t)
{
    memset(t->seen, 0, sizeof(t->seen));
    t->length = 0;
}

static void a_short_job_shows_nothing(void **state)
{
    struct terminal t;
    open_terminal(&t, 80);
    tc_progress_start("short", NULL);
    (void)read_until(&t, NULL, SOON_US);
    tc_progress_end();
    (void)read_until(&t, NULL, LATER_US);
    assert_string_equal(t.seen, "");
    close_terminal(&t);
}

static void a_long_job_has_a_line_that_is_erased(void **state)
{
    struct terminal t;
    open_terminal(&t, 80);
    int64_t began = tc_now_us();
    tc_progress_start("layer \x1b[2J\n\xe2\x80\xae", "MiB");
    tc_progress_step(12, 40);
    assert_true(read_until(
        &t, "\x1b[1mtoolcage:\x1b[0m layer \\x1b[2J\\x0a\\u{202e}: 12 of 40 MiB, 1 s\x1b[K\r",
        LONG_US));
    assert_true(tc_now_us() - began >= SECOND_US);
    tc_progress_step(13, 0);
    assert_true(read_until(&t, ": 13 MiB, ", LONG_US));
    assert_null(strchr(t.seen, '\n'));
    forget(&t);
    errno = EDOM;
    tc_progress_end();
    assert_int_equal(errno, EDOM);
    (void)read_until(&t, NULL, SOON_US);
    const char *erased = strstr(t.seen, "\r\x1b[K"); /* a last draw may come before it */
    assert_non_null(erased);
    assert_string_equal(erased, "\r\x1b[K");
    close_terminal(&t);
}

static void a_line_never_wraps(void **state)
{
    struct terminal t;
    open_terminal(&t, 30);
    tc_progress_start(
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
        "files");
    tc_progress_step(1234, 0);
    /* 10 columns of the program's name, 2 of the job and 17 of the state */
    assert_true(read_until(&t, "\x1b[0m \xc3\xa4\xc3\xa4: 1234 files, 1 s\x1b[K\r", LONG_US));
    close_terminal(&t);
}

/* Where the state does not fit, there is no line. */
static void a_tiny_terminal_has_none(void **state)
{
    struct terminal t;
    open_terminal(&t, 8);
    tc_progress_start("a job", NULL);
    (void)read_until(&t, NULL, LATER_US);
    assert_string_equal(t.seen, "");
    close_terminal(&t);
}

static void a_new_job_replaces_the_line(void **state)
{
    struct terminal t;
    open_terminal(&t, 80);
    tc_progress_start("first", NULL);
    assert_true(read_until(&t, "first: 1 s", LONG_US));
    forget(&t);
    tc_progress_start("second", NULL);
    (void)read_until(&t, NULL, SOON_US);
    assert_non_null(strstr(t.seen, "\r\x1b[K"));
    assert_null(strstr(t.seen, "second"));
    assert_true(read_until(&t, "second: 1 s", LONG_US));
    close_terminal(&t);
}

/* The program ends by the signal all the same. */
static void a_signal_erases_the_line(void **state)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct terminal t;
        int status = 0;
        open_terminal(&t, 80);
        pid_t child = fork();
        if (child == 0) {
            tc_progress_start("a job", NULL);
            for (;;)
                (void)pause();
        }
        assert_true(child > 0 && read_until(&t, "a job: 1 s\x1b[K\r", LONG_US));
        forget(&t);
        assert_int_equal(kill(child, ends[i]), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == ends[i]);
        assert_true(read_until(&t, "\r\x1b[K", LONG_US));
        close_terminal(&t);
    }
}

static void on_own(int signal_number)
{
    (void)signal_number;
}

static void a_handler_of_the_program_stays(void **state)
{
    struct terminal t;
    struct sigaction now;
    open_terminal(&t, 80);
    (void)signal(SIGINT, on_own);
    tc_progress_start("a job", NULL);
    assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, on_own);
    tc_progress_end();
    assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, on_own);
    (void)signal(SIGINT, SIG_DFL);
    close_terminal(&t);
}

static void expect_nothing(struct terminal *t)
{
    tc_progress_start("a job", NULL);
    tc_progress_step(1, 2);
    (void)read_until(t, NULL, LATER_US);
    close_terminal(t);
    assert_string_equal(t->seen, "");
}

static void a_pipe_gets_none(void **state)
{
    struct terminal t = {.ours = -1};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    t.ours = ends[0];
    put_stderr(&t, ends[1]);
    expect_nothing(&t);
}

static void a_terminal_without_escape_sequences_gets_none(void **state)
{
    static const char *const terms[] = {"dumb", "", NULL};
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        struct terminal t;
        open_terminal(&t, 80);
        assert_int_equal(terms[i] ? setenv("TERM", terms[i], 1) : unsetenv("TERM"), 0);
        expect_nothing(&t);
    }
}

static void no_color_means_none(void **state)
{
    struct terminal t;
    open_terminal(&t, 80);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    expect_nothing(&t);
}

/* The last test, because it cannot be undone. */
static void a_quiet_program_has_none(void **state)
{
    struct terminal t;
    open_terminal(&t, 80);
    tc_progress_quiet();
    expect_nothing(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_job_shows_nothing),
        cmocka_unit_test(a_long_job_has_a_line_that_is_erased),
        cmocka_unit_test(a_line_never_wraps),
        cmocka_unit_test(a_tiny_terminal_has_none),
        cmocka_unit_test(a_new_job_replaces_the_line),
        cmocka_unit_test(a_signal_erases_the_line),
        cmocka_unit_test(a_handler_of_the_program_stays),
        cmocka_unit_test(a_pipe_gets_none),
        cmocka_unit_test(a_terminal_without_escape_sequences_gets_none),
        cmocka_unit_test(no_color_means_none),
        cmocka_unit_test(a_quiet_program_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
