/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Seccomp notifications: they list what was refused, and decide nothing that the filter or another
 * wall does not decide. What is read from the tool's memory is a hint for people and models only.
 * Connects of a cage with unix sockets are the exception: those are done by the broker. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "backend/local/broker.h"
#include "backend/local/local.h"
#include "backend/local/watch.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "egress/door.h"
#include "linux/seccomp_filter.h"

enum {
    SHARE = 32, /* notifications served in one go */
    REFUSED_MAX =
        1000, /* then the listener is closed: every refused call is ENOSYS from there on */
    DENIALS_MAX = 100,
    TABLE_MAX = 128 * 1024, /* of sockets, as text */
    LOOKS_MAX = 100,        /* into these of one cage */
};

void tc_notify_list(struct tc_cage *cage, const struct tc_listed *what, int64_t count)
{
    struct tc_outcome *o = cage->outcome;
    for (size_t i = 0; i < o->denial_count; i++) {
        struct tc_denial *d = &o->denials[i];
        if (tc_streq(d->operation, what->operation) && tc_streq(d->target, what->target)) {
            d->count += count;
            d->probe = d->probe && what->probe;
            return;
        }
    }
    struct tc_denial *d =
        o->denial_count < DENIALS_MAX ? TC_PUSH(o->denials, o->denial_count) : NULL;
    if (!d) {
        o->omitted_denials++;
        return;
    }
    bool net = strcmp(what->operation, "connect") == 0;
    const char *word = strncmp(what->target, "unix:", 5) == 0 ? "unix_sockets" : "network";
    const char *tool = cage->plan->tool;
    *d = (struct tc_denial){.operation = strdup(what->operation),
                            .target = strdup(what->target),
                            .count = count,
                            .hint = what->hint ? strdup(what->hint) : NULL,
                            .probe = what->probe};
    if (net)
        d->key = tool ? tc_format("tool.%s.%s", tool, word) : strdup(word);
}

static void list(struct tc_cage *cage, const struct tc_listed *what)
{
    if (TC_PRIV(cage)->watcher)
        tc_watcher_list(TC_PRIV(cage)->watcher, what);
    else
        tc_notify_list(cage, what, 1);
}

size_t tc_notify_bytes(pid_t pid, uint64_t at, void *to, size_t size)
{
    struct iovec local = {.iov_base = to, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)at, .iov_len = size};
    ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return n < 0 ? 0 : (size_t)n;
}

/* A text that may end before the page does. */
bool tc_notify_text(pid_t pid, uint64_t at, char *to, size_t size)
{
    size_t done = 0;
    while (done < size - 1) {
        size_t page = 4096 - (size_t)((at + done) & 4095);
        size_t want = page < size - 1 - done ? page : size - 1 - done;
        size_t n = tc_notify_bytes(pid, at + done, to + done, want);
        if (memchr(to + done, '\0', n))
            return true;
        done += n;
        if (n < want)
            return false;
    }
    to[done] = '\0';
    return true;
}

/* Of tables that a tool has blown up nothing is read: they would hold up every other cage. */
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

/* Does something in the cage listen on this port? Then a loopback connection is its own affair. The
 * kernel walks the whole machine's table to tell, some milliseconds of everybody's time: a port is
 * looked for until it is found, and of a tool that goes on asking no more is listed. */
static bool listens(struct tc_process_cage *p, pid_t pid, unsigned port)
{
    unsigned known = p->port_count < TC_PORTS_MAX ? p->port_count : TC_PORTS_MAX;
    for (unsigned i = 0; i < known; i++)
        if (p->ports[i] == port)
            return true;
    if (p->port_looks == LOOKS_MAX)
        return true;
    p->port_looks++;
    if (!find_listener(pid, port))
        return false;
    p->ports[p->port_count++ % TC_PORTS_MAX] = (uint16_t)port;
    return true;
}

static void format_target(char *to, size_t size, const char *host, unsigned port, bool v6)
{
    (void)snprintf(to, size, v6 ? "[%s]:%u" : "%s:%u", host, port);
}

/* Where a connect goes; false when it is not worth listing. */
static bool connect_target(const struct tc_cage *cage, pid_t pid, const uint64_t *args, char *to,
                           size_t size, const char **hint)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {0};
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    char host[TC_EGRESS_TARGET_MAX];
    size_t len = args[2] < sizeof(a) ? (size_t)args[2] : sizeof(a);
    if (tc_notify_bytes(pid, args[1], &a, len) < sizeof(struct sockaddr_in) - 8)
        return false;
    bool v6 = a.any.sa_family == AF_INET6;
    if (!v6 && a.any.sa_family != AF_INET)
        return false;
    unsigned port = ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port);
    bool local =
        v6 ? IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr) : ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
    if (port == 0 || (local && listens(p, pid, port)))
        return false;
    if (tc_door_leads(plan->net, plan->net_count, &a.any, host, sizeof(host)))
        return false;
    format_target(to, size, host, port, strchr(host, ':'));
    *hint = plan->net_count ? NULL : "the tool has no network";
    if (local)
        *hint = port == 53 && !plan->net_count
                    ? "the tool has no network, so no host name can be resolved"
                    : "this is the cage's own loopback; the host's is not reachable";
    return true;
}

/* A program outside of everything that the cage shows. */
static bool exec_target(const struct tc_plan *plan, pid_t pid, uint64_t at, char *to, size_t size)
{
    if (!tc_notify_text(pid, at, to, size) || to[0] != '/')
        return false;
    if (tc_path_within("/tmp", to) || tc_path_within("/proc", to) || tc_path_within("/dev", to))
        return false;
    for (size_t i = 0; i < plan->mount_count; i++)
        if (tc_path_within(plan->mounts[i].path, to))
            return false;
    return true;
}

/* What was read of a process that does not wait may be the memory of one outside. */
bool tc_notify_waits(int listener, const struct seccomp_notif *n)
{
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) == 0;
}

static void observe(struct tc_cage *cage, const struct seccomp_notif *n, const char *name)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    pid_t pid = (pid_t)n->pid;
    char target[PATH_MAX];
    const char *hint = NULL;
    if (!p->ready || pid == 0)
        return; /* our own first exec */
    if (strcmp(name, "connect") == 0) {
        if (connect_target(cage, pid, (const uint64_t *)n->data.args, target, sizeof(target),
                           &hint) &&
            tc_notify_waits(p->listener, n))
            list(cage, &(struct tc_listed){"connect", target, hint, false, false});
    } else if (p->watcher && strcmp(name, "execve") == 0) {
        tc_watch_exec(cage, n);
    } else if (p->watcher) {
        tc_watch_call(cage, n);
    } else if (strcmp(name, "execve") == 0) {
        if (exec_target(cage->plan, pid, n->data.args[0], target, sizeof(target)) &&
            tc_notify_waits(p->listener, n))
            list(cage, &(struct tc_listed){"exec", target, "the cage does not show this path",
                                           false, false});
    }
}

void tc_notify_connect(struct tc_cage *cage, const struct seccomp_notif *n)
{
    observe(cage, n, "connect");
}

bool tc_notify_send(int listener, uint64_t id, int errnum, uint32_t flags)
{
    struct seccomp_notif_resp resp = {.id = id, .error = -errnum, .flags = flags};
    int rc;
    do
        rc = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
    while (rc < 0 && errno == EINTR);
    /* it was killed meanwhile; or has its answer, and has not yet run to take it */
    return rc == 0 || errno == ENOENT || errno == EINPROGRESS;
}

/* By the policy, whatever the profile says. */
static bool is_denied(const struct tc_cage *cage, const struct seccomp_notif *n)
{
    const struct tc_seccomp_changes *changes = TC_PRIV(cage)->changes;
    return changes && tc_seccomp_denied(changes, n->data.nr);
}

static bool answer(struct tc_cage *cage, int fd, const struct seccomp_notif *n)
{
    const char *name = "?";
    bool probe = false, denied = is_denied(cage, n);
    int refusal = tc_seccomp_answer(TC_PRIV(cage)->box.unix_sockets, n->data.nr,
                                    (const uint64_t *)n->data.args, &name, &probe);
    if (denied) {
        TC_PRIV(cage)->refused++;
        list(cage, &(struct tc_listed){"syscall", name, "syscalls.deny of the policy takes it away",
                                       false, false});
        return tc_notify_send(fd, n->id, EPERM, 0);
    }
    if (refusal == 0) {
        observe(cage, n, name);
        return tc_notify_send(fd, n->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    }
    bool unix_socket = strcmp(name, "socket") == 0 && n->data.args[0] == AF_UNIX;
    list(cage,
         &(struct tc_listed){"syscall", unix_socket ? "socket(AF_UNIX)" : name,
                             unix_socket ? "unix sockets are not granted; unix_sockets = \"own\" "
                                           "grants the tool's own"
                                         : NULL,
                             probe, false});
    TC_PRIV(cage)->refused++;
    return tc_notify_send(fd, n->id, refusal, 0);
}

bool tc_notify_serve(struct tc_cage *cage, int listener)
{
    struct seccomp_notif n = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
        return errno == ENOENT || errno == EINTR;
    bool brokered = TC_PRIV(cage)->box.unix_sockets && n.data.nr == SYS_connect;
    if (!brokered || is_denied(cage, &n))
        return answer(cage, listener, &n);
    tc_broker_take(cage, listener, &n);
    return true;
}

void tc_notify_lost(struct tc_cage *cage, int errnum, const char *what)
{
    (void)tc_cage_fail(cage,
                       &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                        .stage = "supervise",
                                        .subject = "observer",
                                        .hint = "the machine may be out of memory: try again",
                                        .errnum = errnum},
                       -1, "%s", what);
}

void tc_process_notify(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    /* exec of the tool itself comes right after READY: take that first */
    if (!p->ready)
        (void)tc_process_event(cage);
    for (int i = 0; i < SHARE && p->listener >= 0; i++) {
        struct pollfd ready = {.fd = p->listener, .events = POLLIN};
        if (poll(&ready, 1, 0) <= 0)
            return;
        bool ended = (ready.revents & POLLHUP) || p->refused >= REFUSED_MAX;
        if (!ended && tc_notify_serve(cage, p->listener))
            continue;
        if (!ended)
            tc_notify_lost(cage, errno, "the helper could not answer a system call of the tool");
        (void)close(p->listener); /* whoever waits gets ENOSYS, so nobody hangs */
        cage->notify_fd = p->listener = -1;
    }
}
