/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 *  * Lists the destination of a connect that cannot succeed, because the cage has no network or no
 * process in it listens there. The destination is read from the tool's memory, and is only a hint.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/sys.h"
#include "egress/gateway/gateway.h"
#include "observe/observe.h"
#include "observe/watch.h"

enum {
    TABLE_MAX = 128 * 1024, /* of socket tables, as text */
    LOOKS_MAX = 100,        /* reads of socket tables for one cage */
};

/* Tables that a tool has enlarged are not read: reading them would delay every other cage. */
static bool find_listener(pid_t pid, unsigned port)
{
    static const char *const tables[] = {"tcp", "tcp6"};
    for (size_t i = 0; i < TC_COUNT(tables); i++) {
        char path[64];
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        text.max = TABLE_MAX;
        (void)snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
        if (tc_read_file(AT_FDCWD, path, &text) < 0) {
            if (errno == EFBIG)
                return true;
            continue;
        }
        for (char *line = strchr(text.data, '\n'); line; line = strchr(line + 1, '\n')) {
            unsigned local, state;
            if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local, &state) == 2 &&
                state == 0x0a && local == port)
                return true;
        }
    }
    return false;
}

/* Does a process in the cage listen on this port? Then a loopback connection stays inside. The
 * kernel walks the whole host's table for this, which costs milliseconds: a found port is
 * remembered, and after LOOKS_MAX reads nothing more is listed. */
static bool listens(struct tc_cage *cage, pid_t pid, unsigned port)
{
    struct tc_observer *o = cage->observer;
    unsigned known = o->port_count < TC_PORTS_MAX ? o->port_count : TC_PORTS_MAX;
    for (unsigned i = 0; i < known; i++)
        if (o->ports[i] == port)
            return true;
    if (o->port_looks == LOOKS_MAX)
        return true;
    o->port_looks++;
    if (!find_listener(pid, port))
        return false;
    o->ports[o->port_count++ % TC_PORTS_MAX] = (uint16_t)port;
    tc_seen_opened(cage, port); /* the tool waited for its own server */
    return true;
}

static void format_target(char *to, size_t size, const char *host, unsigned port, bool v6)
{
    (void)snprintf(to, size, v6 ? "[%s]:%u" : "%s:%u", host, port);
}

bool tc_reach_read(pid_t pid, uint64_t at, size_t len, union tc_inet *ret)
{
    enum { LEAST = sizeof(struct sockaddr_in) - 8 }; /* without the padding */
    memset(ret, 0, sizeof(*ret));
    len = len < sizeof(*ret) ? len : sizeof(*ret);
    if (tc_notify_bytes(pid, at, ret, len) < LEAST)
        return false;
    struct sockaddr_in6 v6 = ret->v6;
    if (ret->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        *ret = (union tc_inet){.v4 = {.sin_family = AF_INET, .sin_port = v6.sin6_port}};
        memcpy(&ret->v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof(ret->v4.sin_addr));
    }
    return ret->any.sa_family == AF_INET ? ret->v4.sin_port != 0
                                         : ret->any.sa_family == AF_INET6 && v6.sin6_port;
}

bool tc_reach_is_local(const union tc_inet *to)
{
    return to->any.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&to->v6.sin6_addr)
                                         : ntohl(to->v4.sin_addr.s_addr) >> 24 == 127;
}

/* The destination of a connect; false when it is not notable. */
static bool connect_target(struct tc_cage *cage, pid_t pid, const uint64_t *args, char *to,
                           size_t size, enum tc_denial_kind *ret_kind)
{
    union tc_inet a;
    const struct tc_plan *plan = cage->plan;
    char host[TC_EGRESS_TARGET_MAX];
    if (!tc_reach_read(pid, args[1], (size_t)args[2], &a))
        return false;
    unsigned port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
    bool local = tc_reach_is_local(&a);
    /* the C library sorts addresses by connecting datagram sockets, also to the unspecified one
     * that a server binds */
    bool none = a.any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&a.v6.sin6_addr)
                                            : !a.v4.sin_addr.s_addr;
    if (none || (local && listens(cage, pid, port)))
        return false;
    if (tc_gateway_leads(plan->net, plan->net_count, &a.any, host, sizeof(host)))
        return false;
    format_target(to, size, host, port, strchr(host, ':'));
    *ret_kind = plan->net_count ? TC_DENIAL_CONNECT : TC_DENIAL_NOWHERE;
    if (local)
        *ret_kind = port == 53 && !plan->net_count ? TC_DENIAL_UNRESOLVED : TC_DENIAL_LOOPBACK;
    return true;
}

void tc_notify_connect(struct tc_cage *cage, const struct seccomp_notif *n)
{
    const struct tc_observer *o = cage->observer;
    char target[TC_EGRESS_TARGET_MAX + 16];
    enum tc_denial_kind kind = TC_DENIAL_CONNECT;
    if (!o->running || n->pid == 0)
        return;
    if (connect_target(cage, (pid_t)n->pid, (const uint64_t *)n->data.args, target, sizeof(target),
                       &kind) &&
        tc_notify_waits(o->listener, n))
        tc_notify_note(cage, &(struct tc_listed){kind, target, NULL, false, false});
}
