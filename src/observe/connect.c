/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One connect on behalf of a tool, from its socket to the reply. */
#include "observe/broker.h"

#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/sys.h"
#include "observe/watch.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* Fds of the tool's objects. None is closed: this process exits after the connect. */
struct taken {
    int socket;
    int root, cwd, user, mounts, net;
    int own; /* /proc/self/fd of this process */
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_storage room;
    } to;
};

static _Noreturn void answer_connect(const struct tc_connect_ask *ask, int errnum)
{
    bool sent = tc_notify_send(ask->listener, ask->id, errnum, 0);
    _exit(sent ? TC_CONNECT_ANSWERED : TC_CONNECT_FAILED);
}

static _Noreturn void refuse_connect(const struct tc_connect_ask *ask, const char *hint)
{
    ask->said->hint = hint;
    ask->said->errnum = EACCES;
    _exit(TC_CONNECT_TOLD);
}

/* ---- reading the tool ---- */

/* Threads of a process may have separate fd tables. Before Linux 6.9 only the first thread can
 * be opened, which is enough where this thread shares its table. */
static int open_thread(pid_t tid)
{
    int fd = (int)tc_sys(SYS_pidfd_open, tid, PIDFD_THREAD, 0, 0, 0, 0);
    if (fd >= 0 || errno != EINVAL)
        return fd;
    fd = tc_pidfd_open(tid);
    if (fd >= 0)
        return fd;
    char path[64];
    _autobuf_ struct tc_buf status = TC_BUF_INIT;
    int leader = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    const char *line =
        tc_read_file(AT_FDCWD, path, &status) == 0 ? strstr(status.data, "\nTgid:") : NULL;
    if (!line || sscanf(line, "\nTgid: %d", &leader) != 1 ||
        tc_sys(SYS_kcmp, leader, tid, KCMP_FILES, 0, 0, 0) != 0) {
        errno = EPERM;
        return -1;
    }
    return tc_pidfd_open(leader);
}

static int open_of(pid_t tid, const char *what, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, what);
    return open(path, flags | O_CLOEXEC);
}

/* Reads the address from the tool's memory, once: another thread may change the memory at any time.
 */
static void take_address(struct tc_connect_ask *ask, struct taken *t)
{
    if (ask->len < 0 || (size_t)ask->len > sizeof(t->to.room))
        answer_connect(ask, EINVAL);
    if (tc_notify_bytes(ask->tid, ask->at, &t->to, (size_t)ask->len) != (size_t)ask->len)
        answer_connect(ask, EFAULT);
}

static void take_arguments(struct tc_connect_ask *ask, struct taken *t)
{
    take_address(ask, t);
    int thread = open_thread(ask->tid);
    t->socket = thread < 0 ? -1 : tc_pidfd_getfd(thread, ask->fd);
    if (t->socket < 0 && errno == EBADF)
        answer_connect(ask, EBADF);
    t->root = open_of(ask->tid, "root", O_PATH | O_DIRECTORY);
    t->cwd = open_of(ask->tid, "cwd", O_PATH | O_DIRECTORY);
    t->user = open_of(ask->tid, "ns/user", O_RDONLY);
    t->mounts = open_of(ask->tid, "ns/mnt", O_RDONLY);
    t->net = open_of(ask->tid, "ns/net", O_RDONLY);
    t->own = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* the data belongs to the waiting thread only if it still waits */
    if (ioctl(ask->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &ask->id) < 0)
        _exit(errno == ENOENT ? TC_CONNECT_ANSWERED : TC_CONNECT_FAILED);
    if (t->socket < 0 || t->root < 0 || t->cwd < 0 || t->user < 0 || t->mounts < 0 || t->net < 0 ||
        t->own < 0)
        refuse_connect(ask, "the supervisor cannot look into this process");
}

/* Is the socket of the cage's network namespace? One that a granted server passed to the tool may
 * be of another. */
static bool is_own_net(const struct taken *t)
{
    struct stat a, b;
    int net = ioctl(t->socket, SIOCGSKNS);
    return net >= 0 && fstat(net, &a) == 0 && fstat(t->net, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int option(const struct tc_connect_ask *ask, const struct taken *t, int name)
{
    int value = 0;
    socklen_t size = sizeof(value);
    if (getsockopt(t->socket, SOL_SOCKET, name, &value, &size) < 0)
        answer_connect(ask, errno);
    return value;
}

/* ---- as the cage ---- */

static bool drop_capabilities(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && tc_clear_capabilities() == 0;
}

/* Takes the cage's ids, mounts and root, and drops all capabilities there. The cage's processes
 * do not see this one, which is not in their pid namespace. */
static bool join(const struct tc_connect_rules *rules, const struct taken *t)
{
    if (setns(t->user, CLONE_NEWUSER) < 0 || setns(t->mounts, CLONE_NEWNS) < 0 ||
        fchdir(t->root) < 0 || chroot(".") < 0)
        return false;
    if (rules->clear_groups && tc_sys(SYS_setgroups, 0, 0, 0, 0, 0, 0) < 0)
        return false;
    return tc_sys(SYS_setresgid, rules->gid, rules->gid, rules->gid, 0, 0, 0) == 0 &&
           tc_sys(SYS_setresuid, rules->uid, rules->uid, rules->uid, 0, 0, 0) == 0 &&
           drop_capabilities();
}

static void enter_cage(const struct tc_connect_ask *ask, const struct taken *t)
{
    if (!join(ask->rules, t))
        refuse_connect(ask, "the supervisor cannot enter the cage");
    /* the change of ids cleared it */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != ask->parent)
        _exit(TC_CONNECT_FAILED);
}

/* ---- unix sockets ---- */

/* The mount of an open file; 0: unknown. */
static uint64_t mount_of(int fd)
{
    struct statx st;
    bool known =
        statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == 0 && (st.stx_mask & STATX_MNT_ID);
    return known ? st.stx_mnt_id : 0;
}

/* Is the object in one of the cage's overlays? Looks at the overlay's path: the tool cannot move
 * mounts. */
static bool in_overlay(const struct tc_connect_rules *rules, const struct taken *t, int found)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    uint64_t mount = mount_of(found);
    for (size_t i = 0; mount && i < rules->overlay_count; i++) {
        _autofd_ int top = tc_openat2(t->root, rules->overlays[i], &how);
        if (top >= 0 && mount_of(top) == mount)
            return true;
    }
    return false;
}

static bool is_allowed(const struct tc_connect_rules *rules, const struct stat *st)
{
    for (size_t i = 0; i < rules->device_count; i++)
        if (rules->devices[i] == st->st_dev)
            return true;
    for (size_t i = 0; i < rules->socket_count; i++)
        if (rules->sockets[i].dev == st->st_dev && rules->sockets[i].ino == st->st_ino)
            return true;
    return false;
}

/* Connects to the checked object itself: the kernel finds it by our fd, not by a name. */
static _Noreturn void connect_found(const struct tc_connect_ask *ask, const struct taken *t,
                                    int found)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (fchdir(t->own) < 0)
        answer_connect(ask, errno);
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%d", found);
    int rc = connect(t->socket, (struct sockaddr *)&to, sizeof(to));
    answer_connect(ask, rc < 0 ? errno : 0);
}

static _Noreturn void connect_path(const struct tc_connect_ask *ask, const struct taken *t,
                                   const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    struct stat st;
    int found = tc_openat2(path[0] == '/' ? t->root : t->cwd, path, &how);
    if (found < 0 || fstat(found, &st) < 0)
        answer_connect(ask, errno);
    if (!S_ISSOCK(st.st_mode))
        answer_connect(ask, ECONNREFUSED);
    if (!is_allowed(ask->rules, &st) && !in_overlay(ask->rules, t, found))
        refuse_connect(ask, "a socket of the host has to be named in unix_sockets");
    connect_found(ask, t, found);
}

/* Non-printable bytes of an abstract name are shown as '?'. */
static void name_target(const struct tc_connect_ask *ask, const char *name, size_t len)
{
    char *to = ask->said->target;
    size_t n = (size_t)snprintf(to, sizeof(ask->said->target), "unix:");
    for (size_t i = 0; i < len && n + 1 < sizeof(ask->said->target); i++) {
        bool plain = (unsigned char)name[i] > 0x1f && (unsigned char)name[i] < 0x7f;
        to[n++] = !i && !name[i] ? '@' : plain ? name[i] : '?';
    }
    to[n] = '\0';
}

static _Noreturn void connect_unix(struct tc_connect_ask *ask, struct taken *t)
{
    char path[sizeof(t->to.un.sun_path) + 1] = "";
    size_t head = offsetof(struct sockaddr_un, sun_path);
    size_t len = (size_t)ask->len > head ? (size_t)ask->len - head : 0;
    int type = option(ask, t, SO_TYPE);
    if (t->to.any.sa_family != AF_UNIX || !len || len >= sizeof(path))
        answer_connect(ask, EINVAL);
    memcpy(path, t->to.un.sun_path, len);
    name_target(ask, path, path[0] ? strlen(path) : len);
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
        refuse_connect(ask, "datagram sockets are not granted");
    enter_cage(ask, t);
    if (path[0])
        connect_path(ask, t, path);
    int rc = connect(t->socket, &t->to.any, (socklen_t)ask->len); /* of the socket's namespace */
    answer_connect(ask, rc < 0 ? errno : 0);
}

static bool is_closed(const struct tc_connect_ask *ask)
{
    union tc_inet to;
    return tc_reach_read(ask->tid, ask->at, (size_t)ask->len, &to) &&
           tc_connect_closed(ask->rules->plan, &to) != TC_CLOSED_NOT;
}

void tc_connect_do(struct tc_connect_ask *ask)
{
    struct taken t = {.socket = -1};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != ask->parent ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        _exit(TC_CONNECT_FAILED);
    (void)snprintf(ask->said->target, sizeof(ask->said->target), "a socket");
    take_arguments(ask, &t);
    int domain = option(ask, &t, SO_DOMAIN);
    if (!is_own_net(&t))
        refuse_connect(ask, "the socket is not of the cage's network");
    if (domain == AF_UNIX)
        connect_unix(ask, &t);
    if (domain != AF_INET && domain != AF_INET6 && domain != AF_NETLINK)
        refuse_connect(ask, "sockets of this kind are not granted");
    if (ask->rules->plan && is_closed(ask))
        answer_connect(ask, ECONNREFUSED);
    enter_cage(ask,
               &t); /* some families need network privileges, which the tool must not get from us */
    int rc = connect(t.socket, &t.to.any, (socklen_t)ask->len);
    if (rc == 0 || errno == EINPROGRESS)
        answer_connect(ask, rc < 0 ? errno : 0);
    ask->said->errnum = errno; /* the network may have been refused, which is listed */
    _exit(TC_CONNECT_TOLD);
}
