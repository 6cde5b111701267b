/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The host's end of the guest's connections. The cage around toolcage-vm has the gateway of any
 * cage with an allowlist and no other network: its addresses lead to the call's egress proxy. So
 * for each destination that the guest reports, toolcage-vm connects to the same address, and the
 * proxy decides as for any tool. A guest can therefore reach only what a tool could. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "vm/vm.h"

static bool address_of(const struct tc_mux_to *to, struct sockaddr_in6 *ret, socklen_t *ret_len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    memset(ret, 0, sizeof(*ret));
    if (to->ipv6 > 1 || (to->what != TC_MUX_STREAM && to->what != TC_MUX_DATAGRAMS))
        return false;
    ret->sin6_family = AF_INET6;
    memcpy(&ret->sin6_port, to->port, sizeof(to->port));
    memcpy(&ret->sin6_addr, to->address, sizeof(to->address));
    *ret_len = sizeof(*ret);
    if (to->ipv6)
        return true;
    memcpy(&v4.sin_port, to->port, sizeof(to->port));
    memcpy(&v4.sin_addr, to->address, sizeof(v4.sin_addr));
    memcpy(ret, &v4, sizeof(v4));
    *ret_len = sizeof(v4);
    return true;
}

static int connect_to(const struct tc_mux_to *to, bool *ret_waits)
{
    struct sockaddr_in6 at;
    socklen_t len = 0;
    if (!address_of(to, &at, &len))
        return -1;
    int type = to->what == TC_MUX_STREAM ? SOCK_STREAM : SOCK_DGRAM;
    _autofd_ int fd = socket(to->ipv6 ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&at, len);
    *ret_waits = rc < 0 && errno == EINPROGRESS;
    return rc == 0 || (fd >= 0 && *ret_waits) ? TAKE_FD(fd) : -1;
}

/* The last certificate in the cage's bundle, after the system's: the proxy's CA. */
static int open_authority(const char *path)
{
    static const char head[] = "-----BEGIN CERTIFICATE-----";
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const char *last = "", *next;
    if (path && tc_read_file(AT_FDCWD, path, &text) < 0)
        return -1;
    for (next = path ? text.data : ""; (next = strstr(next, head)); next++)
        last = next;
    _autofd_ int fd = tc_memfd("authority", last, strlen(last));
    return fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? TAKE_FD(fd) : -1;
}

static void opened(struct tc_mux_endpoints *lines, uint32_t id, const struct tc_mux_to *to)
{
    const struct tc_vm_net *net = (const struct tc_vm_net *)(const void *)lines;
    bool waits = false;
    int fd = to->what == TC_MUX_AUTHORITY ? open_authority(net->authority) : connect_to(to, &waits);
    if (fd >= 0)
        tc_mux_endpoints_attach(lines, id, fd, waits);
    else
        tc_mux_endpoints_close(lines, id, true);
}

struct tc_vm_net *tc_vm_net_open(const struct tc_vm_options *o, int port)
{
    struct tc_vm_net *net = o->net ? calloc(1, sizeof(*net)) : NULL;
    if (!net || !tc_mux_endpoints_init(&net->lines, port, false)) {
        free(net);
        return NULL;
    }
    net->authority = o->authority;
    net->lines.opened = opened;
    return net;
}

void tc_vm_net_close(struct tc_vm_net *net)
{
    if (net)
        tc_mux_endpoints_done(&net->lines);
    free(net);
}
