/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "progress/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/display.h"
#include "base/strv.h"
#include "text/utf8.h"

enum { FIRST_S = 1, EACH_US = 200000, SECOND_US = 1000000, WIDTH_UNKNOWN = 80 };

#define ERASE "\r\x1b[K"

/* The job. The signal handlers read it, so it changes only while the timer is off. */
static struct {
    char what[256];
    const char *unit;
    int64_t began_us;
} job;
static volatile int64_t steps_done, steps_total;
static volatile sig_atomic_t written; /* the line is on the terminal */
static bool quiet, running;

/* Signals that end the program. Without a handler the line would stay on the terminal. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* ---- in the signal handlers: system calls only ---- */

struct line {
    char bytes[512];
    size_t length;
};
static struct line last; /* what is on the terminal, if it was written */

static void add(struct line *line, const char *text, size_t length)
{
    size_t room = sizeof(line->bytes) - line->length;
    length = length < room ? length : room;
    memcpy(line->bytes + line->length, text, length);
    line->length += length;
}

static void add_text(struct line *line, const char *text)
{
    add(line, text, strlen(text));
}

static void add_number(struct line *line, int64_t number)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = number > 0 ? (uint64_t)number : 0;
    do
        digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10));
    add(line, digits + at, sizeof(digits) - at);
}

/* ": 12 of 40 MiB, 3 s" */
static void add_state(struct line *line)
{
    int64_t done = steps_done, total = steps_total;
    add_text(line, ": ");
    if (job.unit && (done || total)) {
        add_number(line, done);
        if (total) {
            add_text(line, " of ");
            add_number(line, total);
        }
        add_text(line, " ");
        add_text(line, job.unit);
        add_text(line, ", ");
    }
    add_number(line, (tc_now_us() - job.began_us) / SECOND_US);
    add_text(line, " s");
}

/* The length of the text's first `columns` columns. */
static size_t cut(const char *text, size_t columns)
{
    size_t at = 0;
    while (text[at] && (tc_utf8_inside(text[at]) || columns--))
        at++;
    return at;
}

static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col ? WIDTH_UNKNOWN
                                                                       : size.ws_col;
}

/* A job of the shell in the background must not write over the shell's prompt. */
static bool in_background(void)
{
    pid_t owner = tcgetpgrp(STDERR_FILENO);
    return owner >= 0 && owner != getpgrp();
}

/* The line never wraps, and the cursor returns to its start, so that the message of another program
 * overwrites it. */
static void draw(void)
{
    static const char name[] = "toolcage: ";
    struct line line = {.length = 0}, state = {.length = 0};
    size_t width = terminal_width() - 1;
    add_state(&state);
    size_t used = sizeof(name) - 1 + state.length;
    if (in_background() || width < used)
        return;
    add_text(&line, "\r\x1b[1mtoolcage:\x1b[0m ");
    add(&line, job.what, cut(job.what, width - used));
    add(&line, state.bytes, state.length);
    add_text(&line, "\x1b[K\r");
    if (written && line.length == last.length && !memcmp(line.bytes, last.bytes, line.length))
        return;
    last = line;
    written = write(STDERR_FILENO, line.bytes, line.length) > 0;
}

static void erase(void)
{
    if (written)
        (void)!write(STDERR_FILENO, ERASE, sizeof(ERASE) - 1);
    written = 0;
}

static void on_timer(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    draw();
    errno = saved;
}

static void on_end(int signal_number)
{
    erase();
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number); /* delivered when this handler returns */
}

/* ---- the job ---- */

static void set_timer(int first_s)
{
    const struct itimerval each = {.it_interval.tv_usec = first_s ? EACH_US : 0,
                                   .it_value.tv_sec = first_s};
    (void)setitimer(ITIMER_REAL, &each, NULL);
}

/* The action of `handler`, which no other signal interrupts: one that ends the program during a
 * write of the line would leave the line there. */
static struct sigaction action_of(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigfillset(&action.sa_mask);
    return action;
}

/* Replaces `from` by `to`; a handler of the program stays. */
static void replace_handlers(void (*from)(int), void (*to)(int))
{
    const struct sigaction action = action_of(to);
    for (size_t i = 0; i < TC_COUNT(ends); i++) {
        struct sigaction now;
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == from)
            (void)sigaction(ends[i], &action, NULL);
    }
}

static bool draws(void)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return !quiet && !(no_color && *no_color) && isatty(STDERR_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

void tc_progress_quiet(void)
{
    quiet = true;
}

void tc_progress_start(const char *what, const char *unit)
{
    const struct sigaction timer = action_of(on_timer);
    tc_progress_end();
    if (!draws())
        return;
    _autofree_ char *shown = tc_display(what);
    tc_strcopy(job.what, sizeof(job.what), shown ? shown : "");
    job.unit = unit;
    job.began_us = tc_now_us();
    steps_done = steps_total = 0;
    running = sigaction(SIGALRM, &timer, NULL) == 0;
    replace_handlers(SIG_DFL, on_end);
    set_timer(FIRST_S);
}

void tc_progress_step(int64_t done, int64_t total)
{
    steps_done = done;
    steps_total = total;
}

void tc_progress_end(void)
{
    int saved = errno;
    if (!running)
        return;
    set_timer(0);
    erase();
    replace_handlers(on_end, SIG_DFL);
    running = false;
    errno = saved;
}
