/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The broker: makes the connects of a cage whose tool has unix sockets. Each connect is made by a
 * child process, which has the cage's ids. */
#include "observe/broker.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/sys.h"
#include "linux/seccomp_filter.h"
#include "observe/observe.h"
#include "observe/watch.h"

/* LOOK_MS: the interval of checks whether the tool still waits for a connect. NICE: the broker's
 * niceness above that of tools. */
enum { LOOK_MS = 100, NICE = 10 };

/* A connect under way. */
struct going {
    pid_t pid; /* 0: a free slot */
    int pidfd;
    struct seccomp_notif asked;
};

static struct going going[TC_BROKER_MAX];
static size_t going_count;
/* The children's reports, in memory shared with them: one entry for each slot. */
static struct tc_connect_report *said;
static struct tc_connect_rules rules;

/* ---- what can be connected to ---- */

static bool add_device(int fd)
{
    struct stat st;
    if (fd < 0)
        return true;
    if (fstat(fd, &st) < 0)
        return false;
    dev_t *dev = TC_PUSH(rules.devices, rules.device_count);
    if (dev)
        *dev = st.st_dev;
    return dev != NULL;
}

static bool add_overlay(const struct tc_item *item)
{
    const char **path = TC_PUSH(rules.overlays, rules.overlay_count);
    if (path)
        *path = item->path;
    return path != NULL;
}

/* Adds the file systems that only this cage can write (private tmpfs): a socket there was made by
 * the tool. A socket in an overlay is one, too: an overlay has separate inodes, so a connect
 * through the overlay reaches only a server that was bound through it. */
static bool add_storage(const struct tc_trees *t)
{
    bool fine = add_device(t->storage);
    for (size_t i = 0; fine && i < t->item_count; i++)
        fine = t->items[i].layers < 0 ? add_device(t->items[i].copy) : add_overlay(&t->items[i]);
    return fine;
}

static bool add_granted(const struct tc_trees *t)
{
    for (size_t i = 0; i < t->item_count; i++) {
        if (t->items[i].mount->kind != TC_MOUNT_SOCKET)
            continue;
        struct tc_file_id *id = TC_PUSH(rules.sockets, rules.socket_count);
        if (!id)
            return false;
        *id = t->items[i].id;
    }
    return true;
}

bool tc_broker_open(struct tc_cage *cage)
{
    const struct tc_observer *o = cage->observer;
    void *memory = mmap(NULL, TC_BROKER_MAX * sizeof(*said), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    said = memory;
    rules.plan = o->of.loopback ? cage->plan : NULL;
    rules.uid = o->of.uid;
    rules.gid = o->of.gid;
    rules.clear_groups = o->of.clear_groups;
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    return add_storage(cage->trees) && add_granted(cage->trees);
}

/* ---- those under way ---- */

/* Replies to a notification. If that fails, this process exits, and every waiting system call of
 * the tool fails. */
static void answer_notification(struct tc_cage *cage, int listener, uint64_t id, int errnum)
{
    if (!tc_notify_send(listener, id, errnum, 0))
        tc_seen_break(cage);
}

static struct going *free_place(void)
{
    for (size_t i = 0; i < TC_BROKER_MAX; i++)
        if (!going[i].pid)
            return &going[i];
    return NULL;
}

void tc_broker_take(struct tc_cage *cage, int listener, const struct seccomp_notif *n)
{
    struct going *g = free_place();
    struct tc_connect_ask ask = {.listener = listener,
                                 .id = n->id,
                                 .tid = (pid_t)n->pid,
                                 .fd = (int)n->data.args[0],
                                 .at = n->data.args[1],
                                 .len = (int)n->data.args[2],
                                 .rules = &rules,
                                 .parent = getpid()};
    if (!g || n->pid == 0) {
        answer_notification(cage, listener, n->id, n->pid ? EAGAIN : EACCES);
        return;
    }
    ask.said = &said[g - going];
    *ask.said = (struct tc_connect_report){.errnum = 0};
    g->pid = tc_fork(&g->pidfd);
    if (g->pid == 0)
        tc_connect_do(&ask);
    if (g->pid < 0) {
        g->pid = 0;
        answer_notification(cage, listener, n->id, EAGAIN);
        return;
    }
    g->asked = *n;
    going_count++;
}

size_t tc_broker_waits(struct pollfd *set, int *ret_ms)
{
    size_t count = 0;
    *ret_ms = going_count ? LOOK_MS : -1;
    for (size_t i = 0; i < TC_BROKER_MAX; i++)
        if (going[i].pid)
            set[count++] = (struct pollfd){.fd = going[i].pidfd, .events = POLLIN};
    return count;
}

/* A child has exited: lists a refused connect, and then lets the tool continue. */
static void finish_connect(struct tc_cage *cage, int listener, struct going *g, int status)
{
    const struct tc_connect_report *s = &said[g - going];
    (void)close(g->pidfd);
    g->pid = 0;
    going_count--;
    if (WIFEXITED(status) && WEXITSTATUS(status) == TC_CONNECT_ANSWERED)
        return;
    if (s->hint && cage->observer->of.watch)
        tc_seen_list(cage->observer->seen,
                     &(struct tc_listed){TC_DENIAL_SOCKET, s->target, s->hint, false, false});
    else if (s->errnum && cage->observer->of.watch)
        tc_notify_connect(cage, &g->asked);
    answer_notification(cage, listener, g->asked.id, s->errnum ? s->errnum : EAGAIN);
}

void tc_broker_look(struct tc_cage *cage, int listener)
{
    for (size_t i = 0; i < TC_BROKER_MAX; i++) {
        struct going *g = &going[i];
        int status = 0;
        if (!g->pid)
            continue;
        if (waitpid(g->pid, &status, WNOHANG) == g->pid)
            finish_connect(cage, listener, g, status);
        else if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &g->asked.id) < 0 && errno == ENOENT)
            (void)kill(
                g->pid,
                SIGKILL); /* the tool was killed; or the process has replied, and is exiting */
    }
}

/* ---- requirements of this host ---- */

static bool no_attach(void)
{
    _autobuf_ struct tc_buf scope = TC_BUF_INIT;
    return tc_read_file(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", &scope) == 0 &&
           scope.data && scope.data[0] == '3';
}

static bool takes_descriptors(void)
{
    _autofd_ int self = tc_pidfd_open(getpid());
    _autofd_ int fd = self < 0 ? -1 : tc_pidfd_getfd(self, self);
    return fd >= 0;
}

const char *tc_broker_lacks(const char **ret_fix)
{
    *ret_fix = "set kernel.yama.ptrace_scope to 2 or less, which needs a reboot";
    if (no_attach())
        return "kernel.yama.ptrace_scope 3 forbids copying a socket of another process";
    *ret_fix = "allow pidfd_getfd in the seccomp profile of the container around this helper";
    if (!takes_descriptors())
        return "pidfd_getfd is refused here";
    *ret_fix = "use Linux 5.19 or later, or a container whose seccomp profile allows seccomp()";
    return tc_seccomp_waits() ? NULL : "this kernel lets a signal interrupt a notified call";
}
