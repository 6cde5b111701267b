/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The transport over two fds: reads and writes messages, and dispatches the calls. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/lines.h"
#include "mcp/resources.h"
#include "mcp/server.h"

enum {
    OUT_MAX = 1 << 20, /* unread output; beyond this limit no input is read */
    FINISH_MS = 2000,  /* for running calls, and then for the client, once the input has ended */
};

/* The only client of this transport. */
struct pipe {
    struct tc_mcp_session session; /* must be first: a session is cast to its pipe */
    struct tc_mcp server;
    int in_fd, out_fd;
    int64_t until_ms; /* after the input's end: for the calls, then for the client; 0: none */
    struct tc_lines in;
    struct tc_outbox out;
};

struct watched {
    struct pollfd *fds; /* in, out, engine, then one per call */
    size_t size;
};

static bool send_line(struct tc_mcp_session *session, void *asker, int code, const char *text,
                      size_t length)
{
    (void)asker;
    (void)code;
    return tc_outbox_add(&((struct pipe *)session)->out, text, length);
}

/* Never dropped: the call waits for the answer. */
static enum tc_mcp_told request(struct tc_mcp_session *session, void *asker, const char *text,
                                size_t length)
{
    return send_line(session, asker, 0, text, length) ? TC_MCP_TOLD : TC_MCP_LOST;
}

static enum tc_mcp_told notify(struct tc_mcp_session *session, void *asker, const char *text,
                               size_t length)
{
    struct tc_outbox *out = &((struct pipe *)session)->out;
    (void)asker;
    if (tc_outbox_pending(out) > TC_MCP_UNREAD_MAX)
        return TC_MCP_UNREAD;
    return tc_outbox_add(out, text, length) ? TC_MCP_TOLD : TC_MCP_LOST;
}

static bool watch_pipe(struct watched *w, const struct pipe *pipe, bool open)
{
    const struct tc_mcp *server = &pipe->server;
    size_t count = 3 + server->call_count;
    if (count > w->size) {
        struct pollfd *grown = realloc(w->fds, count * sizeof(*grown));
        if (!grown)
            return false;
        w->fds = grown;
        w->size = count;
    }
    size_t pending = tc_outbox_pending(&pipe->out);
    w->fds[0] =
        (struct pollfd){.fd = open && pending < OUT_MAX ? pipe->in_fd : -1, .events = POLLIN};
    /* after the input's end, a client that has gone is noticed */
    w->fds[1] = (struct pollfd){.fd = pending || !open ? pipe->out_fd : -1,
                                .events = pending ? POLLOUT : 0};
    w->fds[2] = (struct pollfd){.fd = server->engine ? toolcage_engine_fd(server->engine) : -1,
                                .events = POLLIN};
    for (size_t i = 0; i < server->call_count; i++)
        w->fds[3 + i] = (struct pollfd){.fd = tc_mcp_fd(&server->calls[i]), .events = POLLIN};
    return true;
}

/* 1; 0 at the end of the input; -1 on failure. */
static int take_input(struct pipe *pipe)
{
    const char *line = NULL;
    size_t length = 0;
    enum tc_line kind;
    int rc = tc_lines_read(&pipe->in, pipe->in_fd);
    if (rc <= 0)
        return rc;
    while ((kind = tc_lines_next(&pipe->in, &line, &length)) != TC_LINE_NONE) {
        if (kind == TC_LINE_WHOLE)
            (void)tc_session_take(&pipe->session, NULL, line, length);
        else if (kind == TC_LINE_SKIPPED)
            tc_session_refuse_unread(&pipe->session, NULL, &pipe->in.rescue,
                                     "a message has at most 8 MiB");
    }
    return 1;
}

/* After the input's end: cancels the calls that run for too long, and gives up responses that the
 * client does not read. False: the server ends now. *ret_ms: the timeout of poll(). */
static bool finish_calls(struct pipe *pipe, int *ret_ms)
{
    *ret_ms = -1;
    if (!pipe->until_ms)
        return true;
    int64_t left = pipe->until_ms - tc_mcp_now_ms();
    if (left > 0) {
        *ret_ms = (int)left;
        return true;
    }
    if (!pipe->server.call_count)
        return false;
    pipe->until_ms = 0;
    *ret_ms = 0; /* a call that had not started has ended by now */
    tc_mcp_stop(&pipe->server);
    return true;
}

/* The time for the client starts when the last call has ended, and again when it has read. */
static void give_time(struct pipe *pipe, size_t calls_before, bool wrote)
{
    if (!pipe->server.call_count && (calls_before || wrote))
        pipe->until_ms = tc_mcp_now_ms() + FINISH_MS;
}

/* 1; 0 if the client has gone; -1 on failure. */
static int send_output(struct pipe *pipe, const struct pollfd *out)
{
    if (!out->revents)
        return 1;
    if (!out->events)
        return 0;
    return tc_outbox_write(&pipe->out, pipe->out_fd) < 0 ? -1 : 1;
}

static void dispatch_calls(struct tc_mcp *server, const struct watched *w, size_t calls)
{
    for (size_t i = calls; i-- > 0;) /* backwards, because ended calls leave the list */
        if (w->fds[3 + i].revents)
            tc_mcp_dispatch(server, i);
    if (w->fds[2].revents)
        tc_mcp_lost(server);
}

/* -1: never */
static int sooner(int a_ms, int b_ms)
{
    return b_ms < 0 || (a_ms >= 0 && a_ms < b_ms) ? a_ms : b_ms;
}

static int loop(struct pipe *pipe, struct watched *w)
{
    struct tc_mcp *server = &pipe->server;
    bool open = true;
    int ms;
    while (open || server->call_count || tc_outbox_pending(&pipe->out)) {
        if (tc_mcp_is_broken(server) || !watch_pipe(w, pipe, open))
            return TOOLCAGE_EMEMORY;
        size_t calls = server->call_count; /* the calls in the poll set */
        if (!finish_calls(pipe, &ms))
            break;
        ms = sooner(sooner(ms, tc_mcp_queue_ms(server)), tc_mcp_progress_ms(server));
        ms = open ? sooner(ms, tc_mcp_reload_ms(server)) : ms;
        if (poll(w->fds, 3 + calls, ms) < 0) {
            if (errno == EINTR)
                continue;
            return TOOLCAGE_ESYSTEM;
        }
        int sent = send_output(pipe, &w->fds[1]);
        if (sent <= 0)
            return sent < 0 ? TOOLCAGE_ESYSTEM : 0;
        dispatch_calls(server, w, calls);
        tc_mcp_look(server);
        tc_mcp_progress(server);
        if (open) {
            tc_mcp_refresh(server, true);
            tc_session_tell_news(&pipe->session);
        }
        if (!open)
            give_time(pipe, calls, w->fds[1].revents);
        int more = w->fds[0].revents ? take_input(pipe) : 1;
        if (more < 0)
            return errno == ENOMEM ? TOOLCAGE_EMEMORY : TOOLCAGE_ESYSTEM;
        if (!more) {
            open = false;
            tc_mcp_end_resumes(server);
            tc_session_end_subscriptions(&pipe->session);
            pipe->until_ms = tc_mcp_now_ms() + FINISH_MS;
        }
    }
    return tc_mcp_is_broken(server) ? TOOLCAGE_EMEMORY : 0;
}

int tc_mcp_serve(const struct tc_mcp_tools *what, int in, int out, struct toolcage_error **err)
{
    struct pipe pipe = {
        .session = {.send = send_line, .request = request, .notify = notify, .keeps = true},
        .in_fd = in,
        .out_fd = out};
    struct watched w = {0};
    pipe.session.server = &pipe.server;
    int rc = tc_mcp_open(&pipe.server, what, err);
    if (rc == 0)
        rc = loop(&pipe, &w);
    int saved = errno;
    tc_session_unlisten(&pipe.session, NULL);
    tc_mcp_resources_done(&pipe.session);
    tc_mcp_close(&pipe.server);
    free(w.fds);
    tc_lines_done(&pipe.in);
    tc_outbox_done(&pipe.out);
    errno = saved;
    return rc;
}
