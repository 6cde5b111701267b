/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The life of a wrapped server: starts it in its cage, forwards messages, and ends it with its
 * client. A side that does not read blocks the other side, so no messages pile up here. */
#include "mcp/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/fresh.h"
#include "mcp/memory.h"
#include "mcp/pin.h"

enum {
    WAITING_MAX = 1 << 20, /* unsent bytes for one side; beyond this limit nothing is read for it */
    LEAVE_MS = 2000,       /* for a server to exit after its input has ended */
    FLUSH_MS = 2000,       /* for the client to read the last responses */
    SILENT_MS = 10000,
    TOLD_MS = 10000, /* the interval ... */
    TOLD_MAX = 65536 /* ... in which at most this much of the server's standard error is printed */
};

enum { IN, OUT, SINK, CALL, FRESH, FDS = FRESH + TC_FRESH_FDS };

/* The state of the connection. */
struct life {
    bool client_open; /* the client may still send */
    bool hung_up;     /* the client closed its end; its last messages are not read yet */
    bool client_gone; /* the client does not read either */
    int broken;       /* errno of a failed client pipe; 0 for a normal close */
    bool done;
    int64_t leave_at_ms, flush_at_ms; /* 0: not yet */
};

/* ---- output for the operator ---- */

static void tell_operator(struct tc_wrap *wrap, enum tc_wrap_message kind, const char *text,
                          size_t length)
{
    wrap->options->tell(wrap->options->userdata, kind, text, length);
}

/* Limits the rate, so that a server cannot fill the log. */
static void tell_some(struct tc_wrap *wrap, enum tc_wrap_message kind, const char *text,
                      size_t length)
{
    static const char cut[] = "some lines were left out: they came too fast";
    int64_t now = tc_mcp_now_ms();
    if (now - wrap->told_since_ms > TOLD_MS) {
        wrap->told_since_ms = now;
        wrap->told = 0;
        if (wrap->left_out)
            tell_operator(wrap, TC_WRAP_NOTE, cut, strlen(cut));
        wrap->left_out = false;
    }
    wrap->told += length + 1;
    if (wrap->told > TOLD_MAX)
        wrap->left_out = true;
    else
        tell_operator(wrap, kind, text, length);
}

void tc_wrap_note(struct tc_wrap *wrap, const char *text)
{
    tell_some(wrap, TC_WRAP_NOTE, text, strlen(text));
}

void tc_wrap_errors(struct tc_wrap *wrap, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool full = wrap->errors_length == sizeof(wrap->errors);
        if (bytes[i] == '\n' || full) {
            tell_some(wrap, TC_WRAP_SERVER, wrap->errors, wrap->errors_length);
            wrap->errors_length = 0;
        }
        if (bytes[i] != '\n')
            wrap->errors[wrap->errors_length++] = bytes[i];
    }
}

/* ---- input ---- */

static void take_lines(struct tc_wrap *wrap, struct tc_lines *lines, bool client)
{
    static const char too_long[] = "an answer of the server was over 8 MiB and was dropped; if it "
                                   "was to this request, ask for less";
    const char *line = NULL;
    size_t length = 0;
    enum tc_line kind;
    while (!wrap->failed && (kind = tc_lines_next(lines, &line, &length)) != TC_LINE_NONE) {
        if (kind == TC_LINE_WHOLE)
            (client ? tc_pass_client : tc_pass_server)(wrap, line, length);
        else if (client && kind == TC_LINE_SKIPPED)
            tc_pass_skipped(wrap, &lines->rescue);
        else if (!client && kind == TC_LINE_TOO_LONG)
            tc_pass_lost(wrap, too_long);
    }
}

static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct tc_wrap *wrap = userdata;
    if (stream == STDERR_FILENO) {
        tc_wrap_errors(wrap, bytes, length);
        return;
    }
    if (wrap->deaf)
        return;
    if (!tc_lines_add(&wrap->from_server, bytes, length))
        wrap->failed = true;
    else
        take_lines(wrap, &wrap->from_server, false);
}

static void close_sink(struct tc_wrap *wrap)
{
    if (wrap->sink >= 0)
        (void)close(wrap->sink);
    wrap->sink = -1;
    tc_outbox_done(&wrap->to_server);
}

static void leave_soon(struct life *life)
{
    if (!life->leave_at_ms)
        life->leave_at_ms = tc_mcp_now_ms() + LEAVE_MS;
}

static void hang_up(struct life *life)
{
    life->hung_up = true;
    leave_soon(life);
}

static void take_input(struct tc_wrap *wrap, struct life *life)
{
    int rc = tc_lines_read(&wrap->from_client, wrap->options->in);
    if (rc < 0 && errno == ENOMEM)
        wrap->failed = true;
    if (rc > 0) {
        take_lines(wrap, &wrap->from_client, true);
        return;
    }
    if (rc < 0)
        life->broken = errno;
    life->client_open = false;
    leave_soon(life);
}

/* The client does not read any longer: stops the server. */
static void lose_client(struct tc_wrap *wrap, struct life *life)
{
    life->client_gone = wrap->deaf = true;
    life->client_open = false;
    close_sink(wrap);
    (void)toolcage_call_cancel(wrap->call);
}

/* ---- the loop ---- */

static void watch_streams(const struct tc_wrap *wrap, const struct life *life,
                          struct pollfd fds[FDS])
{
    size_t to_client = tc_outbox_pending(&wrap->to_client);
    size_t to_server = tc_outbox_pending(&wrap->to_server);
    bool room = to_client < WAITING_MAX || wrap->deaf;
    bool open = life->client_open && !life->done;
    bool take = open && room && to_server < WAITING_MAX;
    /* a client that closes its end must be noticed even while nothing is read from it */
    fds[IN] = (struct pollfd){.fd = take || (open && !life->hung_up) ? wrap->options->in : -1,
                              .events = take ? POLLIN : 0};
    fds[OUT] = (struct pollfd){.fd = life->client_gone ? -1 : wrap->options->out,
                               .events = to_client ? POLLOUT : 0};
    fds[SINK] = (struct pollfd){.fd = wrap->sink, .events = to_server ? POLLOUT : 0};
    fds[CALL] = (struct pollfd){.fd = room && !life->done ? toolcage_call_fd(wrap->call) : -1,
                                .events = POLLIN};
    tc_fresh_watch(wrap, room, &fds[FRESH]);
}

static int wait_ms(const struct tc_wrap *wrap, const struct life *life)
{
    int64_t silent =
        wrap->heard || !wrap->unheard_since_ms ? 0 : wrap->unheard_since_ms + SILENT_MS;
    int64_t next = silent, now = tc_mcp_now_ms();
    const int64_t times[] = {life->leave_at_ms, life->flush_at_ms, tc_pin_look_at(wrap),
                             tc_fresh_due(wrap)};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    for (size_t i = 0; i < wrap->asked_count; i++)
        if (wrap->asked[i].end_at_ms && (!next || wrap->asked[i].end_at_ms < next))
            next = wrap->asked[i].end_at_ms;
    return !next ? -1 : next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

static void tick(struct tc_wrap *wrap, struct life *life)
{
    int64_t now = tc_mcp_now_ms();
    tc_pass_tick(wrap, now);
    if (life->leave_at_ms && now >= life->leave_at_ms) {
        life->leave_at_ms = 0;
        tc_pass_lost(wrap, "cancelled: the client ended its input, and the server did not answer "
                           "within two seconds");
        wrap->deaf = true; /* discards the server's further output; its end is still reported */
        (void)toolcage_call_cancel(wrap->call);
    }
    if (!wrap->heard && wrap->unheard_since_ms && now >= wrap->unheard_since_ms + SILENT_MS) {
        wrap->heard = true; /* reported once */
        tell_operator(wrap, TC_WRAP_SILENT, "", 0);
    }
}

static void pass_on(struct tc_wrap *wrap, struct life *life, const struct pollfd fds[FDS])
{
    if (fds[OUT].revents & POLLOUT && tc_outbox_write(&wrap->to_client, fds[OUT].fd) < 0) {
        life->broken = errno == EPIPE ? 0 : errno;
        lose_client(wrap, life);
    } else if (fds[OUT].revents && !(fds[OUT].revents & POLLOUT)) {
        lose_client(wrap, life);
    }
    if (wrap->sink >= 0 && fds[SINK].revents &&
        (!(fds[SINK].revents & POLLOUT) || tc_outbox_write(&wrap->to_server, wrap->sink) < 0)) {
        close_sink(wrap); /* the server closed its input */
        leave_soon(life);
    }
}

/* Discards output that a side cannot receive; closes the server's input after the client's last
 * message, and once the server has answered. */
static void settle_wrap(struct tc_wrap *wrap, struct life *life)
{
    if (!life->client_open && !tc_outbox_pending(&wrap->to_server) && wrap->sink >= 0 &&
        (!wrap->asked_count || !life->leave_at_ms)) {
        close_sink(wrap);
        if (life->leave_at_ms)
            life->leave_at_ms = tc_mcp_now_ms() + LEAVE_MS;
    }
    if (wrap->sink < 0)
        tc_outbox_done(&wrap->to_server);
    if (life->client_gone)
        tc_outbox_done(&wrap->to_client);
}

/* Dispatches the call. When it has ended, fails the open requests. */
static int hear_call(struct tc_wrap *wrap, struct life *life, struct toolcage_error **err)
{
    int rc = toolcage_call_dispatch(wrap->call, err);
    if (rc <= 0)
        return rc;
    if (wrap->errors_length)
        tell_some(wrap, TC_WRAP_SERVER, wrap->errors, wrap->errors_length);
    tc_pass_lost(wrap, "the server has ended");
    close_sink(wrap);
    life->done = true;
    life->leave_at_ms = 0;
    life->flush_at_ms = tc_mcp_now_ms() + FLUSH_MS;
    return 0;
}

static bool is_over(const struct tc_wrap *wrap, const struct life *life)
{
    return life->done && !wrap->fresh_count &&
           (life->client_gone || !tc_outbox_pending(&wrap->to_client) ||
            tc_mcp_now_ms() >= life->flush_at_ms);
}

static int loop(struct tc_wrap *wrap, struct life *life, struct toolcage_error **err)
{
    struct pollfd fds[FDS] = {0};
    int rc = hear_call(wrap, life, err); /* a refused call has already ended */
    while (rc == 0 && !is_over(wrap, life)) {
        if (wrap->failed || tc_mcp_starved())
            return TOOLCAGE_EMEMORY;
        watch_streams(wrap, life, fds);
        if (poll(fds, FDS, wait_ms(wrap, life)) < 0) {
            if (errno == EINTR)
                continue;
            return TOOLCAGE_ESYSTEM;
        }
        tick(wrap, life);
        pass_on(wrap, life, fds);
        if (fds[IN].revents && fds[IN].events && life->client_open)
            take_input(wrap, life);
        else if (fds[IN].revents)
            hang_up(life);
        if (fds[CALL].revents && !life->done)
            rc = hear_call(wrap, life, err);
        if (rc == 0)
            rc = tc_fresh_step(wrap, &fds[FRESH], err);
        settle_wrap(wrap, life);
    }
    if (rc == 0 && life->broken) {
        errno = life->broken;
        rc = TOOLCAGE_ESYSTEM;
    }
    return wrap->failed || tc_mcp_starved() ? TOOLCAGE_EMEMORY : rc;
}

int tc_wrap_start(struct tc_wrap *wrap, struct toolcage_call **ret, int *ret_sink,
                  toolcage_output_fn take, void *userdata, struct toolcage_error **err)
{
    const struct tc_wrap_options *options = wrap->options;
    char *place = NULL;
    if (asprintf(&place, "server.%s", options->server) < 0)
        return TOOLCAGE_EMEMORY;
    int rc = toolcage_call_new(wrap->engine, options->policy, place, ret, err);
    free(place);
    if (rc == 0 && options->narrow)
        rc = options->narrow(options->userdata, *ret, err);
    if (rc == 0 && options->command_count)
        rc = toolcage_call_set_command(*ret, options->command_count, options->command, err);
    if (rc == 0)
        rc = toolcage_call_open_stdin(*ret, ret_sink, err);
    if (rc == 0 && fcntl(*ret_sink, F_SETFL, O_NONBLOCK) < 0)
        rc = TOOLCAGE_ESYSTEM;
    if (rc == 0)
        rc = toolcage_call_set_output_callback(*ret, take, userdata, err);
    return rc == 0 ? toolcage_call_start(*ret, err) : rc;
}

static void done(struct tc_wrap *wrap)
{
    tc_fresh_done(wrap);
    (void)toolcage_call_unref(wrap->call);
    close_sink(wrap);
    while (wrap->asked_count)
        tc_asked_remove(wrap, &wrap->asked[0]);
    tc_tasks_done(wrap);
    tc_pin_free(wrap->pin);
    tc_rules_done(wrap);
    tc_lines_done(&wrap->from_client);
    tc_lines_done(&wrap->from_server);
    tc_outbox_done(&wrap->to_client);
    (void)toolcage_engine_unref(wrap->engine);
    free(wrap);
}

int tc_mcp_wrap(const struct tc_wrap_options *options, struct toolcage_error **err)
{
    struct life life = {.client_open = true};
    struct tc_wrap *wrap = calloc(1, sizeof(*wrap));
    if (!wrap)
        return TOOLCAGE_EMEMORY;
    wrap->options = options;
    wrap->sink = -1;
    tc_mcp_memory_watch();
    int rc = toolcage_engine_new(&wrap->engine, err);
    if (rc == 0)
        rc = tc_rules_load(wrap, err);
    if (rc == 0 && options->pins)
        rc = tc_pin_new(wrap, options->pins);
    if (rc == 0)
        rc = tc_wrap_start(wrap, &wrap->call, &wrap->sink, on_output, wrap, err);
    if (rc == 0)
        rc = loop(wrap, &life, err);
    if (rc == 0)
        options->ended(options->userdata, toolcage_call_result(wrap->call), !life.client_open);
    int saved = errno;
    done(wrap);
    errno = saved;
    return rc;
}
