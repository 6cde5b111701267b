/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/call/run.h"
#include "cli/live/place.h"
#include "cli/live/wire.h"
#include "cli/show/clean.h"
#include "cli/show/io.h"
#include "cli/show/say.h"

enum { INPUT_SIZE = 1 << 16, ANSWER_S = 2, TEXTS_MAX = 1 << 20 };

struct client {
    int sock;
    int sink;    /* the command's standard input; -1: none, or not yet */
    bool source; /* standard input is open */
    char *input;
    size_t from, to;
    int code;      /* the exit code; -1: not known yet */
    bool shown[3]; /* streams that go to a terminal */
    bool unfinished, cancelled;
    int write_error; /* errno of the command's standard output; 0: none */
    struct tc_clean_held held[3];
    struct tc_origin_prefix mark;
    sigset_t outside;
    struct tc_user_terminal *user; /* NULL: the command has no terminal */
    int rows, columns;
    char *texts; /* messages for the time after the terminal */
    size_t texts_length;
};

static volatile sig_atomic_t signals_seen, last_signal;

static void on_signal(int signal_number)
{
    signals_seen = signals_seen + 1;
    last_signal = signal_number;
}

static void catch_signals(struct client *c)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    sigset_t block;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&block);
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        (void)sigaddset(&block, caught[i]);
    (void)sigprocmask(SIG_BLOCK, &block, &c->outside);
    for (size_t i = 0; i < TC_COUNT(caught); i++) {
        (void)sigdelset(&c->outside, caught[i]);
        if (!sigaction(caught[i], NULL, &before) && before.sa_handler != SIG_IGN)
            (void)sigaction(caught[i], &action, NULL);
    }
}

/* ---- the request ---- */

static int send_text(struct client *c, char kind, const char *text)
{
    return tc_wire_send(c->sock, kind, text, strlen(text), -1, false);
}

/* An option as KEY=VALUE; a variable without a value has the caller's. */
static int send_option(struct client *c, const struct tc_given *given, struct tc_failure *failure)
{
    const char *key = given->option->key, *value = given->value;
    _autofree_ char *whole = NULL;
    if (!strcmp(key, "env") && !strchr(value, '=')) {
        const char *own = getenv(value);
        if (!own)
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "give a value: --env NAME=VALUE",
                                  "--env %s: there is no such variable in your environment", value);
        whole = tc_cli_format("%s=%s=%s", key, value, own);
    } else {
        whole = tc_cli_format("%s=%s", key, value);
    }
    errno = ENOMEM;
    return whole ? send_text(c, TC_WIRE_NARROW, whole) : -1;
}

static int fail_send(struct tc_failure *failure)
{
    if (errno == E2BIG)
        return tc_failure_set(
            failure, TOOLCAGE_EUSAGE, "write it to a file of the session (toolcage session put)",
            "an argument of the command is longer than %d KiB", TC_WIRE_MAX >> 10);
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "toolcage session list",
                          "the session's owner did not take the command: %s", strerror(errno));
}

/* The arguments, or joined by spaces as text for the session's shell. */
static int send_command(struct client *c, const struct tc_args *args, size_t first)
{
    int rc = 0;
    if (!tc_args_has(args, "shell")) {
        for (size_t i = first; !rc && i < args->operand_count; i++)
            rc = send_text(c, TC_WIRE_WORD, args->operands[i]);
        return rc;
    }
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = first; out && i < args->operand_count; i++)
        (void)fprintf(out, "%s%s", i > first ? " " : "", args->operands[i]);
    errno = ENOMEM;
    rc = !out || fclose(out) ? -1 : send_text(c, TC_WIRE_WORD, text);
    free(text);
    return rc ? rc : send_text(c, TC_WIRE_SHELL, "");
}

static int send_size(struct client *c, bool now)
{
    char text[96];
    const char *name = getenv("TERM");
    (void)snprintf(text, sizeof(text), "%d %d %.64s", c->rows, c->columns, name ? name : "");
    return tc_wire_send(c->sock, TC_WIRE_TERMINAL, text, strlen(text), -1, now);
}

static int send_request(struct client *c, const struct tc_args *args, size_t first, bool input,
                        struct tc_failure *failure)
{
    int rc = tc_args_has(args, "json") ? send_text(c, TC_WIRE_JSON, "") : 0;
    for (size_t i = 0; !rc && i < args->given_count; i++)
        if (args->given[i].option->key)
            rc = send_option(c, &args->given[i], failure);
    if (!rc)
        rc = send_command(c, args, first);
    if (!rc && c->user)
        rc = send_size(c, false);
    if (!rc && input)
        rc = send_text(c, TC_WIRE_INPUT, "");
    if (!rc && tc_args_has(args, "detach"))
        rc = send_text(c, TC_WIRE_DETACH, "");
    if (!rc)
        rc = send_text(c, TC_WIRE_RUN, "");
    return rc && !failure->message ? fail_send(failure) : rc;
}

static void cancel(struct client *c)
{
    if (!c->cancelled)
        (void)tc_wire_send(c->sock, TC_WIRE_CANCEL, NULL, 0, -1, false);
    c->cancelled = true;
}

/* ---- the answer ---- */

static void show(struct client *c, int stream, const char *bytes, size_t length)
{
    size_t size = length;
    _autofree_ char *clean =
        c->shown[stream] ? tc_clean_piece(&c->held[stream], bytes, length, &size) : NULL;
    _autofree_ char *marked = clean ? tc_origin_prefix_lines(&c->mark, clean, size, &size) : NULL;
    if (c->shown[stream] && !marked)
        return;
    if (size)
        c->unfinished = c->shown[stream] && marked[size - 1] != '\n';
    if (c->write_error || !tc_cli_write(stream, marked ? marked : bytes, size))
        return;
    c->write_error = errno;
    cancel(c);
}

static void keep_text(struct client *c, const char *text, size_t length)
{
    char *more = length <= TEXTS_MAX - c->texts_length
                     ? realloc(c->texts, c->texts_length + length + 1)
                     : NULL;
    if (!more)
        return;
    c->texts = more;
    memcpy(more + c->texts_length, text, length + 1);
    c->texts_length += length;
}

/* A packet for the user's terminal. False: it is none. */
static bool take_for_user(struct client *c, char kind, const char *bytes, size_t length, int fd)
{
    if (!c->user)
        return false;
    if (kind == TC_WIRE_PIPE && fd >= 0)
        (void)tc_terminal_take_input(c->user, fd);
    else if (kind == TC_WIRE_OUT)
        tc_terminal_show(c->user, bytes, length);
    else if (kind == TC_WIRE_TEXT)
        keep_text(c, bytes, length);
    else
        return false;
    return true;
}

static void take_packet(struct client *c, char kind, const char *bytes, size_t length, int fd)
{
    if (take_for_user(c, kind, bytes, length, fd))
        return;
    if (kind == TC_WIRE_PIPE && c->source && c->sink < 0) {
        c->sink = fd;
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        return;
    }
    if (fd >= 0)
        (void)close(fd);
    if (kind == TC_WIRE_OUT)
        show(c, STDOUT_FILENO, bytes, length);
    else if (kind == TC_WIRE_ERR)
        show(c, STDERR_FILENO, bytes, length);
    else if (kind == TC_WIRE_TEXT)
        tc_cli_stderr(bytes);
    else if (kind == TC_WIRE_EXIT && length == 1)
        c->code = (unsigned char)bytes[0];
}

/* False: the owner is gone. */
static bool read_owner(struct client *c)
{
    static char bytes[TC_WIRE_MAX + 1];
    char kind;
    int fd;
    ssize_t n = tc_wire_receive(c->sock, &kind, bytes, &fd, true);
    if (n < 0) /* a reset is reported once, before the last packets */
        return errno == EAGAIN || errno == EINTR || errno == ECONNRESET;
    bytes[n] = '\0';
    take_packet(c, kind, bytes, (size_t)n, fd);
    return true;
}

static void close_sink(struct client *c)
{
    if (c->sink >= 0)
        (void)close(c->sink);
    c->sink = -1;
    c->source = false;
}

static void pump(struct client *c, short source, short sink)
{
    if (c->sink < 0)
        return;
    if (c->from == c->to && source) {
        ssize_t n = read(STDIN_FILENO, c->input, INPUT_SIZE);
        c->from = 0;
        c->to = n > 0 ? (size_t)n : 0;
        if (!n || (n < 0 && errno != EINTR && errno != EAGAIN))
            close_sink(c);
    } else if (c->from < c->to && sink) {
        ssize_t n = write(c->sink, c->input + c->from, c->to - c->from);
        c->from += n > 0 ? (size_t)n : 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            close_sink(c);
    } else if (sink & (POLLERR | POLLHUP)) {
        close_sink(c);
    }
}

/* The first signal cancels the command, the second leaves it to the owner, which cancels it, too.
 */
static void heed_signals(struct client *c)
{
    if (signals_seen > 1)
        _exit(TC_EXIT_SIGNAL + last_signal);
    if (signals_seen)
        cancel(c);
}

static int fail_gone(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_EHELPER, "toolcage session list",
                          "the session's owner ended without an answer");
}

static int loop(struct client *c, struct tc_failure *failure)
{
    while (c->code < 0) {
        bool wants = c->sink >= 0 && c->from == c->to;
        struct pollfd fds[] = {
            {.fd = c->sock, .events = POLLIN},
            {.fd = wants ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = c->sink, .events = c->from < c->to ? POLLOUT : 0},
        };
        int rc = ppoll(fds, TC_COUNT(fds), NULL, &c->outside);
        heed_signals(c);
        if (rc <= 0)
            continue;
        pump(c, fds[1].revents, fds[2].revents);
        if (fds[0].revents && !read_owner(c))
            return fail_gone(failure);
    }
    return 0;
}

static int talk(struct client *c, const struct tc_args *args, size_t first, bool input,
                struct tc_failure *failure)
{
    catch_signals(c);
    c->input = input ? malloc(INPUT_SIZE) : NULL;
    c->source = input;
    if (input && !c->input)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (send_request(c, args, first, input, failure))
        return -1;
    return loop(c, failure);
}

/* Connects to the session's owner; -1 with the failure. */
static int open_client(struct client *c, const char *name, struct tc_failure *failure)
{
    *c = (struct client){.sink = -1, .code = -1, .sock = -1};
    if (tc_place_check(name, failure))
        return -1;
    c->sock = tc_place_connect(name, failure);
    if (c->sock < 0)
        return -1;
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++)
        c->shown[stream] = isatty(stream);
    c->mark.plain = !tc_cli_draws(c->shown[STDERR_FILENO] ? STDERR_FILENO : STDOUT_FILENO);
    return 0;
}

/* `rc`: of the conversation. Returns the exit code. */
static int close_client(struct client *c, int rc, const struct tc_args *args,
                        const struct tc_failure *failure)
{
    if (c->unfinished)
        tc_cli_unfinished();
    close_sink(c);
    free(c->input);
    if (c->sock >= 0)
        (void)close(c->sock);
    if (rc)
        return tc_failure_tell(failure, args, NULL);
    if (c->write_error && c->write_error != EPIPE) {
        tc_cli_say("cannot write the command's output: %s", tc_cli_unwritable(c->write_error));
        tc_cli_hint(TC_CLI_OTHER_OUTPUT);
        return TC_EXIT_FAILURE;
    }
    if (c->write_error)
        return TC_EXIT_SIGNAL + SIGPIPE;
    return signals_seen ? TC_EXIT_SIGNAL + last_signal : c->code;
}

/* ---- a terminal ---- */

struct at_terminal {
    struct client *client;
    const struct tc_args *args;
    size_t first;
};

static int prepare_user(void *context, struct tc_user_terminal *user, int rows, int columns,
                        struct tc_failure *failure)
{
    struct client *c = ((struct at_terminal *)context)->client;
    (void)failure;
    c->user = user;
    c->rows = rows;
    c->columns = columns;
    return 0;
}

static int start_user(void *context, struct tc_failure *failure)
{
    const struct at_terminal *t = context;
    return send_request(t->client, t->args, t->first, true, failure);
}

static int fd_of_owner(void *context)
{
    return ((struct at_terminal *)context)->client->sock;
}

static int dispatch_owner(void *context, struct tc_failure *failure)
{
    struct client *c = ((struct at_terminal *)context)->client;
    if (!read_owner(c))
        return fail_gone(failure);
    return c->code >= 0;
}

static int resize_user(void *context, int rows, int columns)
{
    struct client *c = ((struct at_terminal *)context)->client;
    c->rows = rows;
    c->columns = columns;
    return send_size(c, true);
}

static void cancel_command(void *context)
{
    cancel(((struct at_terminal *)context)->client);
}

static int run_at_terminal(struct client *c, const struct tc_args *args, size_t first)
{
    static const struct tc_terminal_peer peer = {prepare_user,   start_user,  fd_of_owner,
                                                 dispatch_owner, resize_user, cancel_command};
    _autofailure_ struct tc_failure failure = {0};
    struct at_terminal t = {c, args, first};
    int signal_number = 0;
    int rc = tc_terminal_connect(&peer, &t, &signal_number, &failure);
    if (c->texts)
        tc_cli_stderr(c->texts);
    free(c->texts);
    int code = close_client(c, rc, args, &failure);
    return signal_number && !rc ? TC_EXIT_SIGNAL + signal_number : code;
}

int tc_client_exec(const struct tc_args *args, size_t first, bool input)
{
    _autofailure_ struct tc_failure failure = {0};
    struct client c;
    int rc = open_client(&c, args->operands[0], &failure);
    if (!rc && tc_args_has(args, "tty"))
        return run_at_terminal(&c, args, first);
    if (!rc)
        rc = talk(&c, args, first, input, &failure);
    return close_client(&c, rc, args, &failure);
}

int tc_client_ask(const struct tc_args *args, const char *name, char kind, const char *text)
{
    _autofailure_ struct tc_failure failure = {0};
    struct client c;
    int rc = open_client(&c, name, &failure);
    if (!rc)
        catch_signals(&c);
    if (!rc && tc_args_has(args, "json"))
        (void)send_text(&c, TC_WIRE_JSON, "");
    if (!rc && send_text(&c, kind, text))
        rc = fail_send(&failure);
    if (!rc)
        rc = loop(&c, &failure);
    return close_client(&c, rc, args, &failure);
}

int tc_client_end(const struct tc_args *args, const char *name, bool *ret_none)
{
    _autofailure_ struct tc_failure failure = {0};
    struct client c = {.sink = -1, .code = -1};
    *ret_none = false;
    _autofd_ int sock = tc_place_check(name, &failure) ? -1 : tc_place_connect(name, &failure);
    if (sock < 0) {
        *ret_none = failure.code == TOOLCAGE_ENOT_FOUND || failure.code == TOOLCAGE_EUSAGE;
        return *ret_none ? 0 : tc_failure_tell(&failure, args, NULL);
    }
    c.sock = sock;
    catch_signals(&c);
    if (tc_args_has(args, "json"))
        (void)send_text(&c, TC_WIRE_JSON, "");
    if (send_text(&c, TC_WIRE_END, "") || loop(&c, &failure))
        return tc_failure_tell(&failure, args, NULL);
    return c.code;
}

/* Owned text; NULL after a failure. */
static char *ask(const char *name, char what, struct tc_failure *failure)
{
    const struct timeval patience = {.tv_sec = ANSWER_S};
    static char bytes[TC_WIRE_MAX + 1];
    char kind;
    _autofd_ int sock = tc_place_connect(name, failure);
    if (sock < 0)
        return NULL;
    ssize_t n = -1;
    if (!setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
        !tc_wire_send(sock, what, NULL, 0, -1, false))
        n = tc_wire_receive(sock, &kind, bytes, NULL, false);
    char *text = n > 0 && kind == TC_WIRE_OUT ? strndup(bytes, (size_t)n) : NULL;
    if (!text)
        (void)tc_failure_set(failure, TOOLCAGE_EHELPER, "toolcage session list",
                             "the owner of session %s does not answer", name);
    return text;
}

char *tc_client_info(const char *name)
{
    _autofailure_ struct tc_failure failure = {0};
    return ask(name, TC_WIRE_INFO, &failure);
}

char *tc_client_ports(const char *name, struct tc_failure *failure)
{
    return tc_place_check(name, failure) ? NULL : ask(name, TC_WIRE_PORTS, failure);
}
