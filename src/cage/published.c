/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/published.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/path.h"
#include "cage/cage.h"
#include "egress/egress.h"
#include "live/inside/order.h"

static int fail_port(struct tc_cage *cage, const char *text, const char *hint, const char *why)
{
    const char *address = strchr(text, ':') + 1;
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "publish", address, errno, hint), -1,
                        "port %.*s cannot be published: %s %s", (int)(address - 1 - text), text,
                        address, why);
}

/* A path at which a tool could replace the socket. */
static bool tool_writes(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == TC_MOUNT_WRITE && tc_path_within(plan->mounts[i].from, path))
            return true;
    return tc_path_within_any(&plan->tool_writable, path);
}

static int open_port(struct tc_cage *cage, struct tc_publisher *p, const char *text)
{
    struct tc_publish publish;
    struct tc_complaint c;
    struct tc_published port;
    const char *why = "is invalid";
    errno = 0;
    if (!tc_publish_read(text, &publish, &c))
        return tc_cage_fail_memory(cage, "publish");
    if (publish.path && tool_writes(cage->plan, publish.path))
        return fail_port(cage, text, "name a directory that no tool may write",
                         "is in a directory that a tool may write");
    if (!tc_publish_listen(&publish, &port, &why))
        return fail_port(cage, text,
                         publish.path ? "name a path in a directory that only you can write, as in "
                                        "unix:/run/user/1000/dev.sock"
                                      : "publish at another port, or at port 0 for any free one",
                         why);
    struct tc_published *to = TC_PUSH(p->ports, p->count);
    if (to && tc_strv_add(&p->texts, port.text)) {
        *to = port;
        return 0;
    }
    p->count -= to != NULL;
    tc_published_done(&port);
    return tc_cage_fail_memory(cage, "publish");
}

int tc_publisher_open(struct tc_cage *cage, struct tc_publisher *p)
{
    const struct tc_strv *list = &cage->plan->publish;
    int pair[2], rc = 0;
    for (size_t i = 0; rc == 0 && i < list->count; i++)
        rc = open_port(cage, p, list->items[i]);
    if (rc < 0 || !list->count)
        return rc;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_cage_fail(cage,
                            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "publish", "socket", errno,
                                         "raise this process's limits (ulimit -n)"),
                            -1, "cannot create the socket of the published ports");
    p->for_proxy = pair[0];
    p->for_session = pair[1];
    return 0;
}

int tc_publisher_record(const struct tc_publisher *p, int report)
{
    const uint32_t count = (uint32_t)p->count;
    const off_t at = offsetof(struct tc_egress_stats, published);
    for (size_t i = 0; i < p->count; i++) {
        struct tc_egress_destination row = {0};
        tc_strcopy(row.target, sizeof(row.target), p->texts.items[i]);
        if (pwrite(report, &row, sizeof(row), at + (off_t)(i * sizeof(row))) != sizeof(row))
            return -1;
    }
    return pwrite(report, &count, sizeof(count),
                  offsetof(struct tc_egress_stats, published_count)) == sizeof(count)
               ? 0
               : -1;
}

int tc_publisher_listen(struct tc_publisher *p, int control)
{
    struct tc_egress_message m = {.kind = TC_EGRESS_LISTEN, .count = (int32_t)p->count};
    int fds[TC_PUBLISH_MAX];
    for (size_t i = 0; i < p->count; i++) {
        m.role[i] = TC_EGRESS_PUBLISHED;
        fds[i] = p->ports[i].fd;
    }
    if (p->count && tc_send(control, &m, sizeof(m), fds, p->count) < 0)
        return -1;
    for (size_t i = 0; i < p->count; i++) /* they end with the proxy */
        (void)close(TAKE_FD(p->ports[i].fd));
    return 0;
}

int tc_publisher_lend(struct tc_publisher *p, int talk)
{
    const int32_t word = TC_LIVE_SOCKETS;
    if (p->for_session < 0)
        return 0;
    _autofd_ int fd = TAKE_FD(p->for_session);
    return tc_send_now(talk, &word, sizeof(word), &fd, 1);
}

void tc_publisher_done(struct tc_publisher *p)
{
    for (size_t i = 0; i < p->count; i++)
        tc_published_done(&p->ports[i]);
    free(p->ports);
    tc_strv_done(&p->texts);
    if (p->for_proxy >= 0)
        (void)close(p->for_proxy);
    if (p->for_session >= 0)
        (void)close(p->for_session);
    *p = TC_PUBLISHER_EMPTY;
}
