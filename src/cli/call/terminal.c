/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Connects a call's terminal to the user's, which is in raw mode meanwhile and restored afterwards.
 * There is one loop, and signals are delivered only in ppoll(). The terminal is reopened if that is
 * allowed, so that O_NONBLOCK is not set on a shared fd and a blocked terminal delays no key and no
 * signal. */
#include "cli/call/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

#include "cli/call/consent.h"
#include "cli/show/say.h"
#include "cli/show/screen.h"

enum {
    TYPED_SIZE = 1 << 16,
    SHARE = 256,     /* bytes that a writable terminal takes without blocking */
    KEY = 0x1d,      /* ^] */
    KEY_TIMES = 3,   /* within a second: the user requests the end */
    ANSWER_MS = 500, /* maximum wait for the terminal's replies */
    LATER_MS = 50,   /* until the size is sent again */
};

struct tc_user_terminal {
    const struct tc_terminal_peer *peer;
    void *context;
    sigset_t outside; /* the signal mask that ppoll() restores */
    int in, out;      /* the user's terminal */
    bool ours;        /* `out` was opened here */
    int sink;         /* keyboard input of the cage; -1: closed */
    char *typed;
    size_t from, to;
    char *shown;
    size_t shown_from, shown_to, shown_size;
    bool gone, no_memory;
    int lost; /* errno of the failure */
    int keys;
    int64_t key_at_ms;
    bool resize;
    struct tc_screen screen;
};

static struct termios before;
static volatile sig_atomic_t ends_seen, last_signal, size_seen;

static void on_end(int number)
{
    ends_seen = ends_seen + 1;
    last_signal = number;
}

static void on_size(int number)
{
    size_seen = 1;
}

/* A stopped process would leave the terminal raw, so SIGTSTP and SIGTTOU are ignored. */
static void catch_signals(struct tc_user_terminal *t)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction end = {.sa_handler = on_end}, size = {.sa_handler = on_size};
    sigset_t block;
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGWINCH);
    for (size_t i = 0; i < TC_COUNT(ends); i++)
        (void)sigaddset(&block, ends[i]);
    (void)sigprocmask(SIG_BLOCK, &block, &t->outside);
    (void)sigdelset(&t->outside, SIGWINCH);
    (void)sigaction(SIGWINCH, &size, NULL);
    for (size_t i = 0; i < TC_COUNT(ends); i++) {
        (void)sigdelset(&t->outside, ends[i]);
        (void)sigaction(ends[i], &end, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTSTP, SIG_IGN);
    (void)signal(SIGTTOU, SIG_IGN);
}

bool tc_terminal_is_one(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* ---- the user's terminal ---- */

static void open_own(struct tc_user_terminal *t)
{
    t->in = STDIN_FILENO;
    t->out = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    t->ours = t->out >= 0;
    if (!t->ours)
        t->out = STDOUT_FILENO;
}

static int make_raw(struct tc_failure *failure)
{
    struct termios raw;
    if (tcgetattr(STDIN_FILENO, &before) == 0) {
        raw = before;
        cfmakeraw(&raw);
        if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0)
            return 0;
    }
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "run commands with toolcage exec",
                          "cannot take over the terminal: %s", strerror(errno));
}

static void write_all(const struct tc_user_terminal *t, const char *text, size_t length)
{
    int64_t until = tc_cli_now_ms() + ANSWER_MS;
    while (length && tc_cli_now_ms() < until) {
        struct pollfd ready = {.fd = t->out, .events = POLLOUT};
        if (poll(&ready, 1, ANSWER_MS) < 0 && errno != EINTR)
            return;
        ssize_t n =
            ready.revents & POLLOUT ? write(t->out, text, length < SHARE ? length : SHARE) : 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return;
        text += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
}

/* Terminals reply in order: after the reply to this query, all replies to the tool's queries have
 * arrived and are discarded. Otherwise the user's shell would read them as input. */
static void await_answers(const struct tc_user_terminal *t)
{
    static const char question[] = "\033[5n", answer[] = "\033[0n";
    int64_t until = tc_cli_now_ms() + ANSWER_MS;
    size_t matched = 0;
    write_all(t, question, strlen(question));
    for (int64_t left; matched < strlen(answer) && (left = until - tc_cli_now_ms()) > 0;) {
        struct pollfd ready = {.fd = t->in, .events = POLLIN};
        char c;
        if (poll(&ready, 1, (int)left) <= 0 || read(t->in, &c, 1) != 1)
            return;
        matched = c == answer[matched] ? matched + 1 : c == answer[0];
    }
}

/* Restores the terminal from any state. TCSAFLUSH discards unread input. It is tried twice, because
 * without it the user's input would be invisible. */
static void restore(const struct tc_user_terminal *t)
{
    const char *reset = tc_screen_reset(&t->screen);
    if (!t->gone) {
        write_all(t, reset, strlen(reset));
        if (t->screen.asked)
            await_answers(t);
        if (t->screen.in_line)
            write_all(t, "\r\n", 2);
    }
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) < 0)
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static void say_size(struct tc_user_terminal *t)
{
    struct winsize size;
    t->resize = false;
    if (ioctl(t->in, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        return;
    t->resize = t->peer->resize(t->context, size.ws_row, size.ws_col) < 0;
}

/* ---- both directions ---- */

static void close_sink(struct tc_user_terminal *t)
{
    if (t->sink >= 0)
        (void)close(t->sink);
    t->sink = -1;
    t->from = t->to = 0;
}

/* The first signal cancels the call. The second exits, and the helper ends the cage. */
static void heed_signals(struct tc_user_terminal *t)
{
    if (ends_seen > 1) {
        restore(t);
        _exit(TC_EXIT_SIGNAL + last_signal);
    }
    if (ends_seen || t->gone || t->keys >= KEY_TIMES)
        t->peer->cancel(t->context);
    if (size_seen || t->resize) {
        size_seen = 0;
        say_size(t);
    }
}

/* Called from dispatch, which is not called again before all output is written. */
void tc_terminal_show(struct tc_user_terminal *t, const void *bytes, size_t length)
{
    size_t need = t->shown_to + TC_SCREEN_ROOM(length);
    if (t->gone)
        return;
    if (need > t->shown_size) {
        char *more = realloc(t->shown, 2 * need);
        t->gone = t->no_memory = !more;
        if (!more)
            return;
        t->shown = more;
        t->shown_size = 2 * need;
    }
    t->shown_to += tc_screen_filter(&t->screen, bytes, length, t->shown + t->shown_to);
}

static void lose(struct tc_user_terminal *t, int errnum)
{
    t->gone = true;
    t->lost = errnum;
}

static void show_output(struct tc_user_terminal *t)
{
    size_t length = t->shown_to - t->shown_from;
    if (!t->ours && length > SHARE)
        length = SHARE;
    ssize_t n = write(t->out, t->shown + t->shown_from, length);
    if (n > 0)
        t->shown_from += (size_t)n;
    else if (n < 0 && errno != EINTR && errno != EAGAIN)
        lose(t, errno);
    if (t->gone || t->shown_from == t->shown_to)
        t->shown_from = t->shown_to = 0;
}

/* Counts a key that works regardless of the cage. */
static void count_keys(struct tc_user_terminal *t, const char *bytes, size_t length)
{
    int64_t now = tc_cli_now_ms();
    for (size_t i = 0; i < length && t->keys < KEY_TIMES; i++) {
        if (bytes[i] != KEY || now - t->key_at_ms > 1000)
            t->keys = 0;
        if (bytes[i] != KEY)
            continue;
        t->key_at_ms = t->keys ? t->key_at_ms : now;
        t->keys++;
    }
}

/* Input that the cage has no room for is lost, as at any terminal. */
static void read_keys(struct tc_user_terminal *t)
{
    char bytes[4096];
    ssize_t n = read(t->in, bytes, sizeof(bytes));
    if (n <= 0) {
        if (n == 0)
            t->gone = true;
        else if (errno != EINTR && errno != EAGAIN)
            lose(t, errno);
        return;
    }
    count_keys(t, bytes, (size_t)n);
    if (t->from == t->to)
        t->from = t->to = 0;
    size_t room = TYPED_SIZE - t->to;
    size_t kept = t->sink < 0 ? 0 : room < (size_t)n ? room : (size_t)n;
    memcpy(t->typed + t->to, bytes, kept);
    t->to += kept;
}

static void type(struct tc_user_terminal *t)
{
    ssize_t n = write(t->sink, t->typed + t->from, t->to - t->from);
    if (n > 0)
        t->from += (size_t)n;
    else if (n < 0 && errno != EINTR && errno != EAGAIN)
        close_sink(t); /* the call has ended */
}

/* Output is written before more is read from the call. */
static void wait_for_more(struct tc_user_terminal *t, bool done)
{
    const struct timespec later = {.tv_nsec = LATER_MS * 1000000L};
    bool full = t->shown_to > 0, left = t->sink >= 0 && t->from < t->to;
    struct pollfd fds[] = {
        {.fd = full ? -1 : t->peer->fd(t->context), .events = POLLIN},
        {.fd = t->gone || done ? -1 : t->in, .events = POLLIN},
        {.fd = left ? t->sink : -1, .events = POLLOUT},
        {.fd = full ? t->out : -1, .events = POLLOUT},
    };
    if (ppoll(fds, TC_COUNT(fds), t->resize ? &later : NULL, &t->outside) <= 0)
        return;
    if (fds[1].revents)
        read_keys(t);
    if (fds[2].revents)
        type(t);
    if (fds[3].revents)
        show_output(t);
}

/* Runs until the result exists and all output is written. */
static int loop(struct tc_user_terminal *t, struct tc_failure *failure)
{
    int done = 0;
    for (;;) {
        if (!done && t->shown_to == 0)
            done = t->peer->dispatch(t->context, failure);
        if (done < 0)
            return -1;
        if (done && (t->shown_to == 0 || ends_seen))
            return 0;
        wait_for_more(t, done);
        heed_signals(t);
    }
}

int tc_terminal_take_input(struct tc_user_terminal *t, int fd)
{
    close_sink(t);
    t->sink = fd;
    /* this end of the pipe is not shared, so its flags may be changed */
    return fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int prepare_terminal(struct tc_user_terminal *t, struct tc_failure *failure)
{
    struct winsize size = {0};
    (void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    t->typed = malloc(TYPED_SIZE);
    if (!t->typed)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return t->peer->prepare(t->context, t, size.ws_row ? size.ws_row : 24,
                            size.ws_col ? size.ws_col : 80, failure);
}

static int run_terminal(struct tc_user_terminal *t, struct tc_failure *failure)
{
    catch_signals(t);
    open_own(t);
    int rc = make_raw(failure);
    if (rc)
        return rc;
    rc = t->peer->start(t->context, failure) ? -1 : loop(t, failure);
    restore(t);
    if (t->ours)
        (void)close(t->out);
    if (rc == 0 && t->no_memory)
        rc = tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (rc == 0 && t->lost && !ends_seen)
        rc = tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                            "start it again; toolcage exec runs a command without a terminal",
                            "the terminal can no longer be used: %s", strerror(t->lost));
    return rc;
}

int tc_terminal_connect(const struct tc_terminal_peer *peer, void *context, int *ret_signal,
                        struct tc_failure *failure)
{
    struct tc_user_terminal t = {.peer = peer, .context = context, .sink = -1};
    int rc = prepare_terminal(&t, failure) ? -1 : run_terminal(&t, failure);
    close_sink(&t);
    free(t.typed);
    free(t.shown);
    *ret_signal = ends_seen ? last_signal : 0;
    return rc;
}

/* ---- a call ---- */

static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    if (stream == STDOUT_FILENO)
        tc_terminal_show(userdata, bytes, length);
}

static int prepare_call(void *context, struct tc_user_terminal *t, int rows, int columns,
                        struct tc_failure *failure)
{
    struct toolcage_error **err = tc_failure_error(failure);
    int sink = -1;
    if (toolcage_call_set_terminal(context, rows, columns, err) ||
        toolcage_call_open_stdin(context, &sink, err) ||
        toolcage_call_set_output_callback(context, on_output, t, err))
        return -1;
    if (tc_terminal_take_input(t, sink))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "try again",
                              "cannot prepare keyboard input: %s", strerror(errno));
    return tc_consent_ask(context, NULL, failure);
}

static int start_call(void *context, struct tc_failure *failure)
{
    return toolcage_call_start(context, tc_failure_error(failure)) ? -1 : 0;
}

static int fd_of_call(void *context)
{
    return toolcage_call_fd(context);
}

static int dispatch_call(void *context, struct tc_failure *failure)
{
    return toolcage_call_dispatch(context, tc_failure_error(failure));
}

static int resize_call(void *context, int rows, int columns)
{
    struct toolcage_error *late = NULL;
    int rc = toolcage_call_resize(context, rows, columns, &late);
    toolcage_error_free(late);
    return rc < 0 ? -1 : 0;
}

static void cancel_call(void *context)
{
    (void)toolcage_call_cancel(context);
}

int tc_terminal_run(struct toolcage_call *call, int *ret_signal, struct tc_failure *failure)
{
    static const struct tc_terminal_peer peer = {prepare_call,  start_call,  fd_of_call,
                                                 dispatch_call, resize_call, cancel_call};
    return tc_terminal_connect(&peer, call, ret_signal, failure);
}
