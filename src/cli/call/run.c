/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a call in the foreground: copies its streams from and to this process's, and cancels it on a
 * signal. ppoll() is the only place that waits, and the only place where signals are delivered, so
 * no signal is lost between a check and a wait. Fds 0, 1 and 2 are shared with other processes, so
 * their O_NONBLOCK flag is not changed: they are polled, then read or written in pieces that do not
 * block. */
#include "cli/call/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cli/call/consent.h"
#include "cli/call/last.h"
#include "cli/call/notify.h"
#include "cli/call/outdir.h"
#include "cli/show/clean.h"
#include "cli/show/report.h"
#include "cli/show/say.h"
#include "progress/progress.h"

enum { INPUT_SIZE = 1 << 16 };

struct run {
    struct toolcage_call *call;
    sigset_t outside; /* the signal mask that ppoll() restores */
    int sink;         /* the call's standard input, or -1 */
    bool source_open, terminal;
    char *input;
    size_t from, to;      /* the range of `input` that is not written yet */
    int write_errno;      /* the errno of standard output, or 0 */
    bool closed[3];       /* streams whose reader is gone */
    bool shown[3];        /* streams that go to a terminal */
    bool unfinished;      /* the last line on the terminal is incomplete */
    bool aside;           /* the tool's output goes to standard error */
    const char *queue;    /* --queue: the verb's name; NULL: not given */
    const char *job;      /* of the progress line while the tool runs; NULL: no line */
    const char *progress; /* of the progress line that was begun; NULL: none */
    struct tc_clean_held held[3];
    struct tc_origin_prefix mark;
};

static volatile sig_atomic_t signals_seen, last_signal;

static void on_signal(int signal_number)
{
    signals_seen = signals_seen + 1;
    last_signal = signal_number;
}

/* SIGCONT only has to interrupt ppoll(). A shell's `fg` and `bg` send it to a stopped job, which
 * may then read the terminal, or no longer. */
static void on_continue(int signal_number)
{
}

/* A signal that was ignored at start (nohup, a background job of a shell) stays ignored. */
static void catch_signals(struct run *run)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, wake = {.sa_handler = on_continue}, before;
    sigset_t block;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&block);
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        (void)sigaddset(&block, caught[i]);
    (void)sigaddset(&block, SIGCONT);
    (void)sigprocmask(SIG_BLOCK, &block, &run->outside);
    (void)sigdelset(&run->outside, SIGCONT);
    (void)sigaction(SIGCONT, &wake, NULL);
    for (size_t i = 0; i < TC_COUNT(caught); i++) {
        (void)sigdelset(&run->outside, caught[i]);
        if (!sigaction(caught[i], NULL, &before) && before.sa_handler != SIG_IGN)
            (void)sigaction(caught[i], &action, NULL);
    }
}

/* The first signal cancels the call. The second exits at once; the helper notices and kills the
 * cage. */
static void heed_signals(struct run *run)
{
    if (signals_seen > 1)
        _exit(TC_EXIT_SIGNAL + last_signal);
    if (signals_seen)
        (void)toolcage_call_cancel(run->call);
}

/* A stream of this process cannot be written any longer: drops its output and cancels the call,
 * unless standard error was closed. */
static void give_up(struct run *run, int stream, int errnum)
{
    run->closed[stream] = true;
    if (stream == STDERR_FILENO && errnum == EPIPE)
        return;
    if (!run->write_errno)
        run->write_errno = errnum;
    (void)toolcage_call_cancel(run->call);
}

static void pass_on(struct run *run, int stream, const char *at, size_t length)
{
    while (length && !run->closed[stream]) {
        struct pollfd ready = {.fd = stream, .events = POLLOUT};
        int rc = ppoll(&ready, 1, NULL, &run->outside);
        heed_signals(run);
        if (rc < 0)
            continue;
        /* a pipe that is ready takes PIPE_BUF bytes without blocking */
        ssize_t n = write(stream, at, length < PIPE_BUF ? length : PIPE_BUF);
        if (n >= 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno != EINTR && errno != EAGAIN) {
            give_up(run, stream, errno);
        }
    }
}

/* Begins, changes or ends the progress line. */
static void set_progress(struct run *run, const char *what)
{
    if (what && what != run->progress)
        tc_progress_start(what, "so far");
    else if (!what && run->progress)
        tc_progress_end();
    run->progress = what;
}

/* While the tool is silent (if a job is named), and while its changes are collected. Not after the
 * tool's unfinished line, which would be overwritten. */
static void show_progress(struct run *run)
{
    int64_t collected = toolcage_call_collected(run->call);
    set_progress(run, run->unfinished ? NULL : collected >= 0 ? "collecting changes" : run->job);
    tc_progress_step(collected < 0 ? 0 : collected, 0);
}

/* Passes the tool's output on. For a terminal it is escaped; every other reader gets the exact
 * bytes. */
static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct run *run = userdata;
    stream = run->aside ? STDERR_FILENO : stream;
    set_progress(run, NULL);
    if (!run->shown[stream]) {
        pass_on(run, stream, bytes, length);
        return;
    }
    size_t shown = 0;
    _autofree_ char *clean = tc_clean_piece(&run->held[stream], bytes, length, &shown);
    _autofree_ char *marked =
        clean ? tc_origin_prefix_lines(&run->mark, clean, shown, &shown) : NULL;
    if (!marked)
        give_up(run, stream, ENOMEM);
    else
        pass_on(run, stream, marked, shown);
    if (marked && shown)
        run->unfinished = marked[shown - 1] != '\n';
}

/* The output has ended: writes the bytes of an incomplete last character. */
static void end_output(struct run *run)
{
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++) {
        const struct tc_clean_held *held = &run->held[stream];
        size_t shown = 0;
        _autofree_ char *clean = tc_clean(TC_CLEAN_OUTPUT, held->bytes, held->count, &shown);
        if (clean && shown) {
            pass_on(run, stream, clean, shown);
            run->unfinished = true;
        }
    }
    if (run->unfinished)
        tc_cli_unfinished();
}

static void close_sink(struct run *run)
{
    if (run->sink >= 0)
        (void)close(run->sink);
    run->sink = -1;
}

static void read_source(struct run *run)
{
    ssize_t n = read(STDIN_FILENO, run->input, INPUT_SIZE);
    if (n > 0) {
        run->from = 0;
        run->to = (size_t)n;
    } else if (!n || (errno != EINTR && errno != EAGAIN)) {
        run->source_open = false;
    }
}

static void write_sink(struct run *run)
{
    ssize_t n = write(run->sink, run->input + run->from, run->to - run->from);
    if (n > 0)
        run->from += (size_t)n;
    else if (errno != EINTR && errno != EAGAIN)
        close_sink(run); /* the tool closed its input */
}

static void pump(struct run *run, const struct pollfd *source, const struct pollfd *sink)
{
    if (run->sink < 0)
        return;
    if (source->fd >= 0 && source->revents)
        read_source(run);
    if (run->from < run->to && (sink->revents || source->revents))
        write_sink(run);
    else if (sink->revents & (POLLERR | POLLHUP))
        close_sink(run);
    if (run->from == run->to && !run->source_open)
        close_sink(run);
}

/* Is this process a background job of the terminal? Then it must not read the terminal, because
 * that would stop it, although the tool may not need input. */
static bool in_background(const struct run *run)
{
    pid_t owner = run->terminal ? tcgetpgrp(STDIN_FILENO) : -1;
    return owner >= 0 && owner != getpgrp(); /* a terminal that is not our controlling terminal has
                                                no foreground group for us */
}

/* Runs until the result exists: 0, or negative with the failure. */
static int loop(struct run *run, struct tc_failure *failure)
{
    for (;;) {
        int rc = toolcage_call_dispatch(run->call, tc_failure_error(failure));
        if (rc)
            return rc < 0 ? rc : 0;
        show_progress(run);
        bool wants = run->sink >= 0 && run->source_open && run->from == run->to;
        bool waits = wants && in_background(run);
        struct pollfd fds[] = {
            {.fd = toolcage_call_fd(run->call), .events = POLLIN},
            {.fd = wants && !waits ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = run->sink, .events = run->from < run->to ? POLLOUT : 0},
        };
        /* a running job gets no signal when it becomes the foreground job */
        const struct timespec look_again = {.tv_nsec = 200 * 1000 * 1000};
        rc = ppoll(fds, TC_COUNT(fds), waits ? &look_again : NULL, &run->outside);
        heed_signals(run);
        if (rc > 0)
            pump(run, &fds[1], &fds[2]);
    }
}

/* The null device is always 1:3; a closed standard input was replaced by it. */
static bool is_null(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int tc_input_choose(const struct tc_args *args, bool *ret)
{
    const char *how = tc_args_value(args, "stdin");
    bool pass = how && strcmp(how, "pass") == 0, none = how && strcmp(how, "none") == 0;
    if (how && !pass && !none && strcmp(how, "auto") != 0) {
        tc_cli_say("--stdin is auto, pass or none, not %s", how);
        tc_cli_hint("to read a file: toolcage %s CMD < FILE", args->verb->name);
        return TC_EXIT_FAILURE;
    }
    *ret = pass || (!none && !isatty(STDIN_FILENO) && !is_null(STDIN_FILENO));
    return 0;
}

static int open_input(struct run *run, struct tc_failure *failure)
{
    run->input = malloc(INPUT_SIZE);
    if (!run->input)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (toolcage_call_open_stdin(run->call, &run->sink, tc_failure_error(failure)))
        return -1;
    /* this end of the pipe is not shared, so its flags may be changed */
    if (fcntl(run->sink, F_SETFL, O_NONBLOCK))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "try again, or without input: < /dev/null",
                              "cannot prepare standard input: %s", strerror(errno));
    run->source_open = true;
    run->terminal = isatty(STDIN_FILENO);
    return 0;
}

static int run_call(struct run *run, bool input, bool json, struct tc_failure *failure)
{
    if (input && open_input(run, failure))
        return -1;
    struct toolcage_error **err = tc_failure_error(failure);
    if (!json && toolcage_call_set_output_callback(run->call, on_output, run, err))
        return -1;
    if (tc_consent_ask(run->call, run->queue, failure))
        return -1;
    catch_signals(run);
    if (toolcage_call_start(run->call, err))
        return -1;
    int rc = loop(run, failure);
    set_progress(run, NULL);
    end_output(run);
    return rc;
}

/* From now on a signal ends the process: the changes then stay staged. */
static void let_signals_end(const struct run *run)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        if (!sigaction(caught[i], NULL, &now) && now.sa_handler == on_signal)
            (void)signal(caught[i], SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &run->outside, NULL);
}

static int finish_run(const struct run *run, const struct tc_setup *setup,
                      const struct tc_args *args, const char *tool, const struct tc_outdir *dir)
{
    const struct toolcage_result *result = toolcage_call_result(run->call);
    int code = toolcage_result_shell_code(result);
    /* before the JSON, so that a reader of the JSON finds the files */
    int unwritten = tc_outdir_write(dir, result), rc = 0;
    if (tc_args_has(args, "json"))
        rc = tc_report_json(result);
    else if (!run->write_errno)
        tc_report(result, args, &setup->found);
    tc_report_notice(result);
    tc_last_keep(setup, tool, result);
    if (!rc && !tc_args_has(args, "json")) {
        let_signals_end(run);
        rc = tc_changes_ask(setup->engine, result, signals_seen ? NULL : run->queue);
    }
    if (tc_args_has(args, "timings"))
        tc_report_timings(result, setup);
    if (run->write_errno && run->write_errno != EPIPE) {
        tc_cli_say("cannot write the tool's output to standard output: %s",
                   tc_cli_unwritable(run->write_errno));
        tc_cli_hint(TC_CLI_OTHER_OUTPUT);
        return TC_EXIT_FAILURE;
    }
    if (unwritten)
        return unwritten;
    if (run->write_errno)
        return TC_EXIT_SIGNAL + SIGPIPE;
    if (signals_seen && toolcage_result_status(result) == TOOLCAGE_STATUS_CANCELLED)
        return TC_EXIT_SIGNAL + last_signal;
    return rc ? rc : code;
}

int tc_run_silent(struct toolcage_call *call, struct tc_failure *failure)
{
    struct run run = {.call = call, .sink = -1};
    return run_call(&run, false, true, failure);
}

int tc_run(struct tc_setup *setup, const struct tc_args *args, const char *tool, bool input)
{
    struct run run = {.call = setup->call,
                      .sink = -1,
                      .aside = setup->aside,
                      .queue = tc_args_has(args, "queue") ? args->verb->name : NULL,
                      .job = setup->job};
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++)
        run.shown[stream] = isatty(stream);
    run.mark.plain = !tc_cli_draws(run.shown[STDERR_FILENO] ? STDERR_FILENO : STDOUT_FILENO);
    struct tc_failure failure = {0};
    _autooutdir_ struct tc_outdir dir = {.fd = -1};
    const struct tc_writers writers = {.policy = setup->found.policy,
                                       .workspace = tc_args_value(args, "workspace")};
    int code = tc_notify_use(tc_args_value(args, "notify"), run.queue, writers, &failure) ||
                       tc_outdir_open(args, setup, &dir, &failure) ||
                       run_call(&run, input, tc_args_has(args, "json"), &failure)
                   ? tc_failure_tell(&failure, args, tool)
                   : finish_run(&run, setup, args, tool, &dir);
    close_sink(&run);
    free(run.input);
    tc_failure_done(&failure);
    return code;
}
