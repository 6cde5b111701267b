/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The loop: messages in, messages out, and the calls in between. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/memory.h"
#include "mcp/server.h"

enum { OUT_MAX = 1 << 20 }; /* waiting to be read: then nothing more is taken in */

struct watched {
    struct pollfd *fds; /* in, out, engine, then one a call */
    size_t size;
};

static bool watch(struct watched *w, const struct tc_mcp *server, bool open)
{
    size_t count = 3 + server->call_count;
    if (count > w->size) {
        struct pollfd *grown = realloc(w->fds, count * sizeof(*grown));
        if (!grown)
            return false;
        w->fds = grown;
        w->size = count;
    }
    size_t pending = tc_outbox_pending(&server->out);
    w->fds[0] = (struct pollfd){.fd = open && pending < OUT_MAX ? server->options->in : -1,
                                .events = POLLIN};
    w->fds[1] = (struct pollfd){.fd = pending ? server->options->out : -1, .events = POLLOUT};
    w->fds[2] = (struct pollfd){.fd = server->engine ? toolcage_engine_fd(server->engine) : -1,
                                .events = POLLIN};
    for (size_t i = 0; i < server->call_count; i++)
        w->fds[3 + i] =
            (struct pollfd){.fd = toolcage_call_fd(server->calls[i].call), .events = POLLIN};
    return true;
}

/* 1; 0 at the end of the input; -1: it failed. */
static int take_input(struct tc_mcp *server)
{
    const char *line = NULL;
    size_t length = 0;
    enum tc_line kind;
    int rc = tc_lines_read(&server->in, server->options->in);
    if (rc <= 0)
        return rc;
    while ((kind = tc_lines_next(&server->in, &line, &length)) != TC_LINE_NONE) {
        if (kind == TC_LINE_WHOLE)
            tc_mcp_line(server, line, length);
        else
            tc_mcp_too_long(server);
    }
    return 1;
}

static int loop(struct tc_mcp *server, struct watched *w)
{
    bool open = true;
    while (open || server->call_count || tc_outbox_pending(&server->out)) {
        if (server->failed || tc_mcp_starved() || !watch(w, server, open))
            return TOOLCAGE_EMEMORY;
        size_t calls = server->call_count; /* those that were watched */
        if (poll(w->fds, 3 + calls, -1) < 0) {
            if (errno == EINTR)
                continue;
            return TOOLCAGE_ESYSTEM;
        }
        if (w->fds[1].revents && tc_outbox_write(&server->out, server->options->out) < 0)
            return TOOLCAGE_ESYSTEM;
        for (size_t i = calls; i-- > 0;) /* from the end: answered ones leave the list */
            if (w->fds[3 + i].revents)
                tc_mcp_dispatch(server, i);
        if (w->fds[2].revents)
            tc_mcp_lost(server);
        int more = w->fds[0].revents ? take_input(server) : 1;
        if (more < 0)
            return errno == ENOMEM ? TOOLCAGE_EMEMORY : TOOLCAGE_ESYSTEM;
        if (!more) {
            open = false;
            tc_mcp_cancel(server, NULL);
        }
    }
    return server->failed || tc_mcp_starved() ? TOOLCAGE_EMEMORY : 0;
}

static int load_tools(struct tc_mcp *server, struct toolcage_error **err)
{
    char *text = NULL;
    int rc = toolcage_policy_tools_json(server->options->policy, "mcp", &text, err);
    if (rc < 0)
        return rc;
    server->tools = json_loads(text, JSON_ALLOW_NUL, NULL);
    toolcage_free(text);
    return server->tools ? 0 : TOOLCAGE_EMEMORY;
}

int tc_mcp_serve(const struct tc_mcp_options *options, struct toolcage_error **err)
{
    struct tc_mcp server = {.options = options};
    struct watched w = {0};
    tc_mcp_memory_watch();
    int rc = toolcage_engine_new(&server.engine, err);
    if (rc == 0)
        rc = load_tools(&server, err);
    if (rc == 0)
        rc = loop(&server, &w);
    int saved = errno;
    for (size_t i = 0; i < server.call_count; i++) {
        tc_mcp_drop(&server.calls[i].request);
        (void)toolcage_call_unref(server.calls[i].call);
    }
    free(server.calls);
    free(w.fds);
    json_decref(server.tools);
    tc_lines_done(&server.in);
    tc_outbox_done(&server.out);
    (void)toolcage_engine_unref(server.engine);
    errno = saved;
    return rc;
}
