/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Spare processes: creation, use, end. */
#include "cage/spare.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/sys.h"

/* An agent pauses longer between calls than a program; a container costs some megabytes. */
enum { IDLE_US = 10000000, CONTAINER_IDLE_US = 60000000 };

struct tc_spare {
    struct tc_pool_entry entry;
    const struct tc_spare_kind *kind; /* NULL: a process cage */
    void *own;                        /* data of the kind */
    struct tc_process_host *host;
    uint64_t root;                  /* 0: none yet */
    struct tc_cgroup_limits limits; /* a container's are final; a cage's are set with its call */
    bool grouped;
    struct tc_cgroup *group; /* stays the spare's while a cage uses it */
    uid_t id;                /* so does the id */
    pid_t pid;
    int pidfd, report;
    /* shared only with the spare's process, at the same address; MAP_FAILED: the init config is
     * sent as a message */
    struct tc_init_config *init;
};

/* The spare started before the first call, idle or claimed, until it has a root. */
static struct tc_spare *rootless;

static struct tc_spare *of(const struct tc_pool_entry *entry)
{
    return (struct tc_spare *)entry;
}

/* ---- the process ---- */

/* Releases the leases, now that the process has ended. */
static void done(struct tc_pool_entry *entry)
{
    struct tc_spare *s = of(entry);
    int fds[] = {s->pidfd, s->report};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    if (s->group)
        (void)tc_cgroup_give(s->group);
    if (s->id != (uid_t)-1)
        tc_ids_give(&s->host->ids, s->id);
    if (s->init != MAP_FAILED)
        (void)munmap(s->init, TC_SPARE_ROOM);
    if (s->kind)
        s->kind->done(s->own);
    free(s);
}

static bool spare_ended(struct tc_pool_entry *entry, bool patiently)
{
    struct tc_spare *s = of(entry);
    pid_t pid = 0;
    while (s->pid > 0 && (pid = waitpid(s->pid, NULL, patiently ? 0 : WNOHANG)) < 0 &&
           errno == EINTR)
        ;
    if (pid != 0)
        s->pid = -1;
    return s->pid <= 0;
}

static void kill_it(struct tc_pool_entry *entry)
{
    struct tc_spare *s = of(entry);
    if (s == rootless)
        rootless = NULL;
    if (s->pid > 0)
        (void)kill(s->pid, SIGKILL); /* own child, not yet reaped */
}

/* A waiting spare sends a message only if a stage failed, and its socket stays open while it
 * lives. */
static bool waits(const struct tc_pool_entry *entry)
{
    struct tc_report r;
    return recv(of(entry)->report, &r, sizeof(r), MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static bool take_leases(struct tc_spare *s)
{
    struct toolcage_error *err = NULL;
    if (s->host->tree->privileged && (s->id = tc_ids_take(&s->host->ids)) == (uid_t)-1)
        return false;
    if (!s->grouped || tc_cgroup_take(s->host->cgroups, &s->limits, &s->group, &err) == 0)
        return true;
    tc_error_free(err);
    return false;
}

static bool clone_child(struct tc_spare *s, int child_report)
{
    *s->init = (struct tc_init_config){
        .report = child_report, .helper = s->report, .parks = true, .root = -1};
    tc_process_set_ids(s->host, s->id, s->init);
    s->pid = tc_process_clone(s->group, s->init, &s->pidfd);
    /* later children may not read or write this child's config */
    return s->pid > 0 && madvise(s->init, TC_SPARE_ROOM, MADV_DONTFORK) == 0 &&
           tc_process_map_ids(s->pid, s->init, s->report) == 0;
}

/* For a kind that executes another program: the init config already has everything needed before
 * the call. */
static bool clone_kind(struct tc_spare *s, int child_report)
{
    _autofd_ int root = tc_root_copy(s->root);
    struct tc_init_config init = {
        .report = child_report, .helper = s->report, .root = root, .image = -1};
    if (root < 0 || !s->kind->fill(s->own, s->host, s->id, &init))
        return false;
    s->pid = tc_process_clone(s->group, &init, &s->pidfd);
    s->kind->cloned(s->own);
    return s->pid > 0 && tc_process_map_ids(s->pid, &init, s->report) == 0 &&
           tc_process_announce(s->host, s->report) == 0;
}

static bool share_init(struct tc_spare *s)
{
    s->init = mmap(NULL, TC_SPARE_ROOM, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return s->init != MAP_FAILED;
}

static bool bring_up(struct tc_spare *s)
{
    int pair[2];
    if ((!s->kind && !share_init(s)) || !take_leases(s) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    s->report = pair[0];
    bool cloned = s->kind ? clone_kind(s, pair[1]) : clone_child(s, pair[1]);
    (void)close(pair[1]);
    return cloned;
}

static int send_root(struct tc_spare *s, uint64_t root)
{
    _autofd_ int copy = tc_root_copy(root);
    if (s == rootless)
        rootless = NULL;
    if (copy < 0 || tc_send(s->report, "", 1, &copy, 1) < 0)
        return -1;
    s->root = root;
    return 0;
}

/* ---- pool operations ---- */

static bool make_spare(struct tc_pool_entry *entry)
{
    struct tc_spare *s = of(entry);
    return bring_up(s) && (s->kind || send_root(s, s->root) == 0);
}

static bool alike(const struct tc_pool_entry *a, const struct tc_pool_entry *b)
{
    const struct tc_spare_kind *kind = of(a)->kind;
    return of(a)->root == of(b)->root && (!kind || kind->alike(of(a)->own, of(b)->own));
}

#define OPS                                                                                    \
    .alike = alike, .make = make_spare, .waits = waits, .kill = kill_it, .ended = spare_ended, \
    .done = done
static const struct tc_pool_ops cages = {.most = 4, OPS};
static const struct tc_pool_ops containers = {.most = 8, .oldest_first = true, OPS};

/* Key of the calls that the spare serves; without a tool it serves any. */
static bool write_key(const struct tc_spare_kind *kind, const struct tc_process_cage *p,
                      const char *tool, const struct tc_cgroup_limits *limits, struct tc_buf *ret)
{
    tc_buf_addc(ret, tc_cgroup_limits_any(limits) ? 'g' : '-');
    if (kind)
        tc_buf_add(ret, limits, sizeof(*limits));
    tc_buf_addc(ret, tool ? '+' : '-');
    if (tool)
        tc_buf_add(ret, tool, strlen(tool) + 1);
    if (kind)
        kind->write_key(p, ret);
    return !ret->failed;
}

static struct tc_spare *describe_spare(struct tc_process_host *host, uint64_t root,
                                       const struct tc_cgroup_limits *limits)
{
    struct tc_spare *s = calloc(1, sizeof(*s));
    if (s)
        *s = (struct tc_spare){
            .entry = {.ops = &cages, .key = TC_BUF_INIT, .wanted = 1, .idle_us = IDLE_US},
            .host = host,
            .root = root,
            .limits = *limits,
            .grouped = tc_cgroup_limits_any(limits),
            .id = (uid_t)-1,
            .pid = -1,
            .pidfd = -1,
            .report = -1,
            .init = MAP_FAILED};
    return s;
}

static void drop_spare(struct tc_spare *s)
{
    tc_pool_drop(s ? &s->entry : NULL);
}

static struct tc_spare *describe_like(const struct tc_process_cage *p,
                                      const struct tc_spare_kind *kind, const char *tool)
{
    struct tc_cgroup_limits limits = p->group ? p->group_limits : (struct tc_cgroup_limits){0};
    struct tc_spare *like = describe_spare(p->host, p->root, &limits);
    if (like && write_key(kind, p, tool, &limits, &like->entry.key))
        return like;
    drop_spare(like);
    return NULL;
}

void tc_spare_first(struct tc_process_host *host)
{
    const struct tc_cgroup_limits none = {0}, some = {.pids = 1};
    bool grouped = tc_cgroups_has(host->cgroups, TC_CGROUP_MEMORY) ||
                   tc_cgroups_has(host->cgroups, TC_CGROUP_PIDS);
    struct tc_spare *s = describe_spare(host, 0, &none);
    if (s)
        s->grouped = grouped;
    if (s && write_key(NULL, NULL, NULL, grouped ? &some : &none, &s->entry.key) && bring_up(s)) {
        tc_spread(s->pid); /* the first call needs helper and spare at the same time, so they get
                              different CPUs */
        rootless = s;
        tc_pool_give_back(&s->entry, TC_POOL_IDLE);
        return;
    }
    drop_spare(s);
}

void tc_spare_root(uint64_t root)
{
    if (rootless)
        (void)send_root(rootless, root); /* on failure the first call sends a root */
}

void tc_spare_next(const struct tc_process_cage *p, const char *tool)
{
    struct tc_spare *like = describe_like(p, NULL, tool);
    tc_pool_want(like ? &like->entry : NULL, true);
}

struct tc_pool_entry *tc_spare_like(const struct tc_process_cage *p, const char *tool, void *own,
                                    size_t wanted)
{
    const struct tc_spare_kind *kind = p->ops->ready;
    struct tc_spare *like = describe_like(p, kind, tool);
    if (!like) {
        kind->done(own);
        return NULL;
    }
    like->kind = kind;
    like->own = own;
    like->entry.ops = &containers;
    like->entry.wanted = wanted;
    like->entry.idle_us = CONTAINER_IDLE_US;
    return &like->entry;
}

/* ---- using a spare ---- */

static bool lease(struct tc_spare *s, struct tc_process_cage *p)
{
    p->spare = s;
    p->trees.id = s->id;
    p->group = s->group;
    return true;
}

bool tc_spare_new(struct tc_process_cage *p)
{
    struct tc_spare *s = describe_spare(p->host, 0, &p->group_limits);
    if (s && bring_up(s))
        return lease(s, p);
    drop_spare(s);
    return false;
}

static struct tc_pool_entry *claim(const struct tc_process_cage *p, const char *tool)
{
    const struct tc_spare_kind *kind = p->ops ? p->ops->ready : NULL;
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    return write_key(kind, p, tool, &p->group_limits, &key)
               ? tc_pool_claim(kind ? &containers : &cages, &key)
               : NULL;
}

bool tc_spare_claim(struct tc_process_cage *p, const char *tool)
{
    struct tc_pool_entry *found = claim(p, tool);
    if (!found && tool && !(p->ops && p->ops->ready))
        found = claim(p, NULL);
    struct tc_spare *s = found ? of(found) : NULL;
    if (s && s->group && tc_cgroup_limit(s->group, &p->group_limits) < 0) {
        drop_spare(s);
        return false;
    }
    return s && lease(s, p);
}

static bool serve_call(struct tc_spare *s, struct tc_process_cage *p)
{
    if (s->kind)
        return s->root == p->root && waits(&s->entry) && s->kind->serves(s->own, p, s->report);
    if (!s->root)
        (void)send_root(s, p->root);
    return s->root == p->root && tc_init_hand(s->init, TC_SPARE_ROOM, &p->init, s->report) == 0;
}

bool tc_spare_go(struct tc_process_cage *p)
{
    struct tc_spare *s = p->spare;
    if (!s || s->pid <= 0 || s->entry.state != TC_POOL_CLAIMED)
        return false;
    if (!serve_call(s, p)) {
        tc_pool_end(&s->entry);
        return false;
    }
    p->child.pid = s->pid;
    p->child.pidfd = TAKE_FD(s->pidfd);
    p->child.report = TAKE_FD(s->report);
    s->pid = -1;
    return true;
}

bool tc_spare_serves(const struct tc_process_cage *p)
{
    return p->spare && p->spare->entry.state == TC_POOL_CLAIMED;
}

void tc_spare_until(const struct tc_process_cage *p, int64_t last_us)
{
    p->spare->init->last_us = last_us;
}

void tc_spare_replace(struct tc_process_cage *p)
{
    struct tc_spare *s = p->spare;
    s->pid = p->child.pid;
    s->pidfd = TAKE_FD(p->child.pidfd);
    s->report = TAKE_FD(p->child.report);
    p->child.pid = 0;
    tc_pool_end(&s->entry);
}

void tc_spare_leave(struct tc_process_cage *p)
{
    struct tc_spare *s = TAKE(p->spare);
    if (!s)
        return;
    p->trees.id = (uid_t)-1;
    p->group = NULL;
    drop_spare(s);
}
