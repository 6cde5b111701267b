/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Seccomp notifications: they list refusals, and decide nothing that the filter or another
 * isolation layer does not decide. Data from the tool's memory is only a hint for people and
 * models. Connects of a cage with unix sockets are the exception: the broker makes them. And
 * sysinfo() is answered with the memory limit. */
#include <errno.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/path.h"
#include "base/sys.h"
#include "linux/seccomp_filter.h"
#include "observe/broker.h"
#include "observe/observe.h"
#include "observe/watch.h"

enum {
    SHARE = 32, /* notifications served in one round of the helper's loop */
    REFUSED_MAX =
        1000, /* of one cage; then its listener is closed, and refused calls return ENOSYS */
};

/* Is the program's path within a path that the cage shows? (An image's content is not known.) */
static bool is_shown(const struct tc_plan *plan, const char *program)
{
    if (tc_path_within("/tmp", program) || tc_path_within("/proc", program) ||
        tc_path_within("/dev", program))
        return true;
    for (size_t i = 0; i < plan->mount_count; i++)
        if (tc_path_within(plan->mounts[i].path, program))
            return true;
    return false;
}

/* Lists an exec of a program that the cage does not show. If the tool then finds a program of that
 * name in a directory of the cage (a search along PATH), the listed exec becomes a probe. */
static void note_exec(struct tc_cage *cage, const struct seccomp_notif *n)
{
    char target[PATH_MAX];
    pid_t pid = (pid_t)n->pid;
    if (cage->plan->image || !tc_notify_text(pid, n->data.args[0], target, sizeof(target)) ||
        target[0] != '/' || !tc_notify_waits(cage->observer->listener, n))
        return;
    if (is_shown(cage->plan, target)) {
        tc_search_found(cage, TC_DENIAL_UNSHOWN, target, pid);
        return;
    }
    tc_notify_note(cage, &(struct tc_listed){TC_DENIAL_UNSHOWN, target, NULL, false, false});
    tc_search_missed(cage, TC_DENIAL_UNSHOWN, target, target, pid);
}

static void observe(struct tc_cage *cage, const struct seccomp_notif *n, const char *name)
{
    const struct tc_observer *o = cage->observer;
    if (!o->running || n->pid == 0)
        return; /* the helper's own first exec */
    if (strcmp(name, "connect") == 0) {
        tc_notify_connect(cage, n);
    } else if (o->seen && strcmp(name, "execve") == 0) {
        tc_watch_exec(cage, n);
    } else if (o->seen) {
        tc_watch_call(cage, n);
    } else if (strcmp(name, "execve") == 0) {
        note_exec(cage, n);
    }
}

/* Does the policy deny this system call, whatever the profile's verdict is? */
static bool is_denied(const struct tc_cage *cage, const struct seccomp_notif *n)
{
    const struct tc_seccomp_changes *changes = cage->observer->of.changes;
    return changes && tc_seccomp_denied(changes, n->data.nr);
}

static bool answer_notification(struct tc_cage *cage, int fd, const struct seccomp_notif *n)
{
    const char *name = "?";
    bool probe = false, denied = is_denied(cage, n);
    int refusal = tc_seccomp_answer(cage->observer->of.unix_sockets, n->data.nr,
                                    (const uint64_t *)n->data.args, &name, &probe);
    if (denied) {
        cage->observer->refused++;
        tc_notify_note(cage, &(struct tc_listed){TC_DENIAL_TAKEN, name, NULL, false, false});
        return tc_notify_send(fd, n->id, EPERM, 0);
    }
    if (refusal == 0 && n->data.nr == SYS_sysinfo && tc_notify_memory(cage, fd, n))
        return tc_notify_send(fd, n->id, 0, 0);
    if (refusal == 0) {
        if (n->data.nr == SYS_connect && tc_notify_closed(cage, n))
            return tc_notify_send(fd, n->id, ECONNREFUSED, 0);
        observe(cage, n, name);
        return tc_notify_send(fd, n->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    }
    bool unix_socket = strcmp(name, "socket") == 0 && n->data.args[0] == AF_UNIX;
    if (unix_socket && probe)
        probe = tc_notify_by_libc(cage->observer, (pid_t)n->pid);
    tc_notify_note(cage,
                   &(struct tc_listed){unix_socket ? TC_DENIAL_UNIX : TC_DENIAL_SYSCALL,
                                       unix_socket ? "socket(AF_UNIX)" : name, NULL, probe, false});
    cage->observer->refused++;
    return tc_notify_send(fd, n->id, refusal, 0);
}

bool tc_notify_serve(struct tc_cage *cage, int listener)
{
    struct seccomp_notif n = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
        return errno == ENOENT || errno == EINTR;
    bool brokered = cage->observer->of.unix_sockets && n.data.nr == SYS_connect;
    if (!brokered || is_denied(cage, &n))
        return answer_notification(cage, listener, &n);
    tc_broker_take(cage, listener, &n);
    return true;
}

bool tc_notify_share(struct tc_cage *cage)
{
    const struct tc_observer *o = cage->observer;
    for (int i = 0; i < SHARE && o->here; i++) {
        struct pollfd ready = {.fd = o->listener, .events = POLLIN};
        if (poll(&ready, 1, 0) <= 0)
            return true;
        if ((ready.revents & POLLHUP) || o->refused >= REFUSED_MAX)
            return false;
        if (tc_notify_serve(cage, o->listener))
            continue;
        tc_notify_lost(cage, errno, "the helper could not answer a system call of the tool");
        return false;
    }
    return true;
}
