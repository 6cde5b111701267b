/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Connections and their deadlines. libmicrohttpd only has an idle timeout, so a client that sends a
 * byte now and then could stay connected forever. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/http/web.h"

/* libmicrohttpd notices the shutdown and reports the connection as closed. */
static void hang_up(struct tc_mcp_http_wire *wire)
{
    wire->deadline_ms = 0;
    (void)shutdown(wire->fd, SHUT_RDWR);
}

/* Closes the oldest connection that is not admitted, so that unadmitted connections cannot block
 * others. */
static void make_room(struct tc_web *web)
{
    struct tc_mcp_http_wire *oldest = NULL;
    for (struct tc_mcp_http_wire *wire = web->wires; wire; wire = wire->next)
        if (!wire->admitted && wire->deadline_ms && (!oldest || wire->since_ms < oldest->since_ms))
            oldest = wire;
    if (oldest)
        hang_up(oldest);
}

/* Is it a process of this user, or of root? */
static bool is_own_peer(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void begin_wire(struct tc_web *web, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    bool ours = info && (!web->config.local || is_own_peer(info->connect_fd));
    struct tc_mcp_http_wire *wire = ours ? calloc(1, sizeof(*wire)) : NULL;
    if (!wire) {
        if (info)
            (void)shutdown(info->connect_fd, SHUT_RDWR);
        return; /* no request is admitted without a wire */
    }
    if (web->wire_count >= TC_WEB_WIRES_MAX)
        make_room(web);
    wire->web = web;
    wire->fd = info->connect_fd;
    wire->since_ms = tc_mcp_now_ms();
    wire->deadline_ms = wire->since_ms + TC_WEB_HEAD_MS;
    wire->next = web->wires;
    wire->at = &web->wires;
    if (wire->next)
        wire->next->at = &wire->next;
    web->wires = wire;
    web->wire_count++;
    *context = wire;
}

static void end_wire(struct tc_mcp_http_wire *wire)
{
    *wire->at = wire->next;
    if (wire->next)
        wire->next->at = wire->at;
    wire->web->wire_count--;
    free(wire);
}

void tc_wire_notify(void *web, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        begin_wire(web, connection, context);
    else if (*context)
        end_wire(*context);
}

void tc_wires_tick(struct tc_web *web, int64_t now_ms)
{
    for (struct tc_mcp_http_wire *wire = web->wires; wire; wire = wire->next)
        if (wire->deadline_ms && now_ms >= wire->deadline_ms)
            hang_up(wire);
}
