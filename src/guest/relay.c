/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "guest/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
/* after sys/socket.h, which it requires */
#include <linux/vm_sockets.h>

#include "base/clock.h"
#include "base/fd.h"
#include "egress/egress.h"
#include "linux/meant.h"
#include "mux/endpoints.h"
#include "plan/guest.h"

enum {
    BURST = 32,           /* connections, or datagrams, of one socket per iteration */
    SILENT_US = 60000000, /* idle time after which a pair of addresses is removed */
    SPARE = 32,           /* streams that datagrams leave free for connections */
    LOOK_MS = 1000,
};

struct listener {
    int fd;
    int32_t role;
};

/* A pair of addresses of datagrams: the sender, and the destination. */
struct pair {
    size_t listener;
    union tc_inet from, meant;
    int64_t used_us;
};

static struct relay {
    struct tc_mux_endpoints lines;
    struct tc_egress_stats *said;
    struct listener *listeners;
    size_t listener_count, asked; /* number of polled listeners in this iteration */
    struct pair pairs[TC_MUX_STREAMS_MAX];
    uint32_t authority; /* the stream that carries the proxy's CA */
    bool ready;         /* the CA is complete */
} relay;

static _Noreturn void give_up(void)
{
    _exit(1);
}

static void send_message(enum tc_egress_kind kind)
{
    const struct tc_egress_message m = {.kind = kind};
    if (tc_send(TC_EGRESS_CONTROL, &m, sizeof(m), NULL, 0) < 0)
        give_up();
}

/* ---- addresses ---- */

/* IPv4-mapped addresses of a dual-stack socket are sent as IPv4. */
static struct tc_mux_to leads(enum tc_mux_what what, const union tc_inet *at)
{
    struct tc_mux_to to = {.what = (uint8_t)what};
    bool v6 = at->any.sa_family == AF_INET6;
    bool mapped = v6 && IN6_IS_ADDR_V4MAPPED(&at->v6.sin6_addr);
    memcpy(to.port, v6 ? &at->v6.sin6_port : &at->v4.sin_port, sizeof(to.port));
    to.ipv6 = v6 && !mapped;
    if (to.ipv6)
        memcpy(to.address, &at->v6.sin6_addr, 16);
    else if (mapped)
        memcpy(to.address, at->v6.sin6_addr.s6_addr + 12, 4);
    else
        memcpy(to.address, &at->v4.sin_addr, 4);
    return to;
}

/* ---- connections ---- */

static bool is_packets(const struct listener *l)
{
    return l->role == TC_EGRESS_DNS_UDP || l->role == TC_EGRESS_DATAGRAMS;
}

static bool has_room(void)
{
    const struct tc_mux *m = &relay.lines.mux;
    return m->used < m->count && m->out.len - m->sent < TC_MUX_AHEAD;
}

static bool take_connection(const struct listener *l)
{
    union tc_inet at;
    uint32_t id;
    if (!has_room())
        return false;
    _autofd_ int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    if (!tc_meant_connection(fd, l->role == TC_EGRESS_REDIRECTED, &at))
        return true;
    const struct tc_mux_to to = leads(TC_MUX_STREAM, &at);
    if (tc_mux_open(&relay.lines.mux, &to, &id))
        tc_mux_endpoints_attach(&relay.lines, id, TAKE_FD(fd), false);
    return true;
}

/* ---- datagrams ---- */

static bool is_pair(uint32_t id)
{
    const struct tc_mux_stream *s = &relay.lines.mux.streams[id];
    return s->used && !s->closed && s->to.what == TC_MUX_DATAGRAMS;
}

/* A client that uses a new port for each query leaves many pairs behind: removes the one idle for
 * longest. */
static void make_room(void)
{
    const struct tc_mux *m = &relay.lines.mux;
    uint32_t last = TC_MUX_STREAMS_MAX;
    if (m->used + SPARE < m->count)
        return;
    for (uint32_t i = 0; i < m->count; i++)
        if (is_pair(i) &&
            (last == TC_MUX_STREAMS_MAX || relay.pairs[i].used_us < relay.pairs[last].used_us))
            last = i;
    if (last < TC_MUX_STREAMS_MAX)
        tc_mux_endpoints_close(&relay.lines, last, false);
}

static bool find_pair(const struct pair *wanted, uint32_t *ret)
{
    for (uint32_t i = 0; i < relay.lines.mux.count; i++) {
        const struct pair *p = &relay.pairs[i];
        if (is_pair(i) && p->listener == wanted->listener &&
            memcmp(&p->from, &wanted->from, sizeof(p->from)) == 0 &&
            memcmp(&p->meant, &wanted->meant, sizeof(p->meant)) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool open_pair(const struct pair *wanted, uint32_t *ret)
{
    const struct tc_mux_to to = leads(TC_MUX_DATAGRAMS, &wanted->meant);
    make_room();
    if (!tc_mux_open(&relay.lines.mux, &to, ret))
        return false;
    tc_mux_endpoints_attach(&relay.lines, *ret, -1, false);
    relay.pairs[*ret] = *wanted;
    return true;
}

static bool take_datagram(size_t number)
{
    char bytes[TC_MUX_PIECE];
    union tc_meant_control control;
    struct pair pair = {.listener = number};
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr m = {.msg_name = &pair.from,
                       .msg_namelen = sizeof(pair.from),
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    int fd = relay.listeners[number].fd;
    uint32_t id;
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
    if (n < 0)
        return false;
    if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || !tc_meant_datagram(fd, &m, &pair.meant) ||
        (!find_pair(&pair, &id) && !open_pair(&pair, &id)))
        return true;
    relay.pairs[id].used_us = tc_now_us();
    tc_mux_endpoints_datagram(&relay.lines, id, bytes, (size_t)n);
    return true;
}

static void send_datagram(struct tc_mux_endpoints *l, uint32_t id, const char *bytes, size_t len)
{
    struct pair *p = &relay.pairs[id];
    union tc_meant_control control;
    struct iovec part = {(char *)(uintptr_t)bytes, len};
    struct msghdr m = {.msg_name = &p->from,
                       .msg_namelen = tc_inet_size(&p->from),
                       .msg_iov = &part,
                       .msg_iovlen = 1};
    (void)l;
    tc_meant_answer(&m, &control, &p->meant);
    p->used_us = tc_now_us();
    (void)sendmsg(relay.listeners[p->listener].fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void end_silent(void)
{
    int64_t now = tc_now_us();
    for (uint32_t i = 0; i < relay.lines.mux.count; i++)
        if (is_pair(i) && now - relay.pairs[i].used_us > SILENT_US)
            tc_mux_endpoints_close(&relay.lines, i, false);
}

/* ---- the proxy's CA ---- */

/* The CA's certificate from the proxy on the host; empty if the proxy inspects no TLS. */
static void take_authority(struct tc_mux_endpoints *l, uint32_t id)
{
    struct tc_egress_stats *said = relay.said;
    size_t len;
    const char *bytes = tc_mux_heard(&l->mux, id, &len);
    uint32_t at = atomic_load(&said->authority_size);
    if (relay.ready || id != relay.authority || at + len > TC_EGRESS_AUTHORITY_MAX)
        give_up();
    memcpy(said->authority + at, bytes, len);
    tc_mux_taken(&l->mux, id, len);
    atomic_store(&said->authority_size, at + (uint32_t)len);
    if (!l->mux.streams[id].heard_end)
        return;
    tc_mux_endpoints_close(l, id, false);
    relay.ready = true;
    atomic_store(&said->ready, 1);
    send_message(TC_EGRESS_READY);
}

static void ask_authority(void)
{
    const struct tc_mux_to to = {.what = TC_MUX_AUTHORITY};
    if (!tc_mux_open(&relay.lines.mux, &to, &relay.authority))
        give_up();
    tc_mux_endpoints_attach(&relay.lines, relay.authority, -1, false);
    tc_mux_endpoints_push(&relay.lines);
}

/* ---- from the supervisor ---- */

static void listen_at(int fd, int32_t role)
{
    struct listener *l = TC_PUSH(relay.listeners, relay.listener_count);
    int flags = fcntl(fd, F_GETFL);
    if (!l || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        give_up();
    *l = (struct listener){.fd = fd, .role = role};
    if (is_packets(l) && !tc_meant_watch(fd))
        give_up();
}

/* Accepts connections that are already waiting. */
static void finish_relay(void)
{
    for (size_t i = 0; i < relay.listener_count; i++) {
        while (!is_packets(&relay.listeners[i]) && take_connection(&relay.listeners[i]))
            ;
        (void)close(relay.listeners[i].fd);
    }
    relay.listener_count = 0;
    relay.lines.leaving = true;
    tc_mux_endpoints_push(&relay.lines);
}

/* Reads the proxy's config and drops it: the proxy on the host has its own copy. */
static void drop_config(void)
{
    struct tc_egress_config config = {.values_file = -1, .exchanges = -1, .sockets = -1};
    if (!tc_task_receive(TC_EGRESS_CONTROL, &tc_egress_config_fields, &config))
        give_up();
    if (config.values_file >= 0)
        (void)close(config.values_file);
    if (config.exchanges >= 0)
        (void)close(config.exchanges);
    tc_fields_done(&tc_egress_config_fields, &config);
}

static void hear_supervisor(void)
{
    struct tc_egress_message m;
    int fds[TC_EGRESS_LISTENERS_MAX];
    size_t count = 0;
    ssize_t n = tc_recv(TC_EGRESS_CONTROL, &m, sizeof(m), fds, TC_EGRESS_LISTENERS_MAX, &count,
                        NULL, NULL, false);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n != (ssize_t)sizeof(m))
        give_up();
    if (m.kind == TC_EGRESS_LISTEN)
        for (size_t i = 0; i < count; i++)
            listen_at(fds[i], m.role[i]);
    else
        tc_close_all(fds, count);
    if (m.kind == TC_EGRESS_FINISH)
        finish_relay();
}

/* ---- the loop ---- */

enum { CONTROL, FIXED };

static size_t poll_relay(struct pollfd *p)
{
    size_t count = FIXED;
    p[CONTROL] = (struct pollfd){.fd = TC_EGRESS_CONTROL, .events = POLLIN};
    relay.asked = relay.listener_count;
    for (size_t i = 0; i < relay.asked; i++) {
        bool takes = is_packets(&relay.listeners[i]) || has_room();
        p[count++] = (struct pollfd){.fd = takes ? relay.listeners[i].fd : -1, .events = POLLIN};
    }
    return count + tc_mux_endpoints_ask(&relay.lines, p + count);
}

static void answer_listener(size_t number)
{
    bool packets = is_packets(&relay.listeners[number]);
    bool more = true;
    for (int i = 0; i < BURST && more; i++)
        more = packets ? take_datagram(number) : take_connection(&relay.listeners[number]);
}

static void turn(struct pollfd *p)
{
    size_t count = poll_relay(p);
    if (poll(p, count, LOOK_MS) < 0)
        return;
    for (size_t i = 0; i < relay.asked; i++)
        if (p[FIXED + i].revents)
            answer_listener(i);
    size_t before = FIXED + relay.asked;
    if (tc_mux_endpoints_answer(&relay.lines, p + before, count - before) || relay.lines.ended)
        give_up();
    if (p[CONTROL].revents)
        hear_supervisor();
    end_silent();
}

/* Raises the limit of open files: each connection and each granted port needs an fd. */
static void open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        give_up();
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* The second serial port, or without serial ports a vsock connection to the host. */
static int open_port(void)
{
    int port = open(TC_GUEST_NET_PORT, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (port >= 0 || errno != ENOENT)
        return port;
    _autofd_ int fd = tc_guest_call(TC_GUEST_NET_CALLS);
    return fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? TAKE_FD(fd) : -1;
}

static void open_relay(void)
{
    open_files();
    void *at =
        mmap(NULL, sizeof(*relay.said), PROT_READ | PROT_WRITE, MAP_SHARED, TC_EGRESS_SHARED, 0);
    int port = open_port();
    if (at == MAP_FAILED || port < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        !tc_mux_endpoints_init(&relay.lines, port, true))
        give_up();
    relay.said = at;
    relay.lines.came = take_authority;
    relay.lines.datagram = send_datagram;
    ask_authority();
}

_Noreturn void tc_guest_relay(void)
{
    enum { LISTENERS_MAX = 4200 };
    static struct pollfd polls[FIXED + LISTENERS_MAX + TC_MUX_ENDPOINTS_WAITS];
    (void)signal(SIGPIPE, SIG_IGN);
    drop_config();
    open_relay();
    while (relay.listener_count <= LISTENERS_MAX) {
        turn(polls);
        if (relay.lines.leaving && !relay.lines.mux.used &&
            relay.lines.mux.out.len == relay.lines.mux.sent) {
            send_message(TC_EGRESS_DONE);
            _exit(0);
        }
    }
    give_up();
}

/* ---- VMs with vsock and without serial ports ---- */

int tc_guest_call(unsigned number)
{
    const struct sockaddr_vm host = {
        .svm_family = AF_VSOCK, .svm_port = number, .svm_cid = VMADDR_CID_HOST};
    _autofd_ int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&host, sizeof(host)) < 0)
        return -1;
    return TAKE_FD(fd);
}
