/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Spares: made, used, given up. */
#include "cage/spare.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/spread.h"
#include "base/sys.h"
#include "cage/idle.h"

/* The shared memory has room for common boxes; pages are there once they are written to. */
enum { SPARES_MAX = 4, ROOM = 256 << 10 };
enum { IDLE_US = 10000000 };

struct tc_spare {
    struct tc_idle idle;
    const struct tc_spare_kind *kind; /* NULL: of a process cage */
    void *own;                        /* of that kind */
    size_t wanted;                    /* how many like it there may be */
    struct tc_process_host *host;
    char *tool;    /* whose call it waits for; NULL: anybody's */
    uint64_t root; /* 0: it has none yet */
    struct tc_cgroup_limits limits;
    struct tc_cgroup *group;
    uid_t id;
    pid_t pid;
    int pidfd, report;
    /* shared with it, at one address, and with nobody else; MAP_FAILED: it gets its call otherwise
     */
    struct tc_box *box;
    bool lent; /* id and group are a cage's that goes on without it */
};

static struct tc_idle_books books;
/* The one of before the first call, listed or claimed, until it has a root. */
static struct tc_spare *rootless;

static struct tc_spare *of(struct tc_idle *idle)
{
    return (struct tc_spare *)idle;
}

static void drop(struct tc_spare *s)
{
    tc_idle_drop(&books, s ? &s->idle : NULL);
}

/* What it has goes back only now that it is gone. */
static void let_go(struct tc_idle *idle)
{
    struct tc_spare *s = of(idle);
    int fds[] = {s->pidfd, s->report};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    if (s->group)
        (void)tc_cgroup_give(s->group);
    if (s->id != (uid_t)-1)
        tc_ids_give(&s->host->ids, s->id);
    if (s->box != MAP_FAILED)
        (void)munmap(s->box, ROOM);
    if (s->kind)
        s->kind->done(s->own);
    free(s->tool);
    free(s);
}

static enum tc_idle_end look(struct tc_idle *idle, bool patiently)
{
    struct tc_spare *s = of(idle);
    pid_t pid = 0;
    while (s->pid > 0 && (pid = waitpid(s->pid, NULL, patiently ? 0 : WNOHANG)) < 0 &&
           errno == EINTR)
        ;
    if (pid != 0)
        s->pid = -1;
    if (s->pid > 0)
        return TC_IDLE_LIVES;
    return s->lent ? TC_IDLE_LENT : TC_IDLE_GONE;
}

static void kill_it(struct tc_idle *idle)
{
    struct tc_spare *s = of(idle);
    if (s == rootless)
        rootless = NULL;
    if (s->pid > 0)
        (void)kill(s->pid, SIGKILL); /* our child, not yet reaped */
}

/* ---- making one ---- */

static struct tc_spare *describe(struct tc_process_host *host, const char *tool, uint64_t root,
                                 const struct tc_cgroup_limits *limits)
{
    struct tc_spare *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    *s = (struct tc_spare){.host = host,
                           .root = root,
                           .limits = *limits,
                           .wanted = 1,
                           .id = (uid_t)-1,
                           .pid = -1,
                           .pidfd = -1,
                           .report = -1,
                           .box = MAP_FAILED};
    s->tool = tool ? strdup(tool) : NULL;
    if (!tool || s->tool)
        return s;
    drop(s);
    return NULL;
}

static bool take_leases(struct tc_spare *s)
{
    struct toolcage_error *err = NULL;
    if (s->host->tree->privileged && (s->id = tc_ids_take(&s->host->ids)) == (uid_t)-1)
        return false;
    if (!tc_cgroup_limits_any(&s->limits) ||
        tc_cgroup_take(s->host->cgroups, &s->limits, &s->group, &err) == 0)
        return true;
    tc_error_free(err);
    return false;
}

static bool give_birth(struct tc_spare *s, int child_report)
{
    *s->box =
        (struct tc_box){.report = child_report, .helper = s->report, .parks = true, .root = -1};
    tc_process_set_ids(s->host, s->id, s->box);
    s->pid = tc_process_clone(s->group, s->box, &s->pidfd);
    /* no later child may see, or write, what this one will run with */
    return s->pid > 0 && madvise(s->box, ROOM, MADV_DONTFORK) == 0 &&
           tc_process_map_ids(s->pid, s->box, s->report) == 0;
}

/* Of a kind that becomes another program: what it needs before its call stands in its box at the
 * clone. */
static bool give_birth_of_kind(struct tc_spare *s, int child_report)
{
    _autofd_ int root = tc_root_copy(s->root);
    struct tc_box box = {.report = child_report, .helper = s->report, .root = root, .image = -1};
    if (root < 0 || !s->kind->fill(s->own, s->host, s->id, &box))
        return false;
    s->pid = tc_process_clone(s->group, &box, &s->pidfd);
    s->kind->born(s->own);
    return s->pid > 0 && tc_process_map_ids(s->pid, &box, s->report) == 0 &&
           tc_process_announce(s->host, s->report) == 0;
}

static bool share_box(struct tc_spare *s)
{
    s->box =
        mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return s->box != MAP_FAILED;
}

static bool bring_up(struct tc_spare *s)
{
    int pair[2];
    if ((!s->kind && !share_box(s)) || !take_leases(s) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    s->report = pair[0];
    bool born = s->kind ? give_birth_of_kind(s, pair[1]) : give_birth(s, pair[1]);
    (void)close(pair[1]);
    return born;
}

/* All of this kind but the newest. */
static void drop_oldest(const struct tc_spare_kind *kind, size_t keep)
{
    for (struct tc_idle **at = &books.waiting; *at;) {
        bool same = of(*at)->kind == kind;
        if (same && !keep) {
            tc_idle_drop(&books, tc_idle_take(at));
            continue;
        }
        keep -= same;
        at = &(*at)->next;
    }
}

static bool alike(const struct tc_spare *a, const struct tc_spare *b)
{
    return a->kind == b->kind && a->root == b->root && tc_streq(a->tool, b->tool) &&
           memcmp(&a->limits, &b->limits, sizeof(a->limits)) == 0 &&
           (!a->kind || a->kind->alike(a->own, b->own));
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

static void list(struct tc_spare *s)
{
    tc_idle_list(&books, &s->idle, s->kind ? s->kind->idle_us : IDLE_US);
}

static void make(struct tc_idle *idle)
{
    struct tc_spare *like = of(idle);
    size_t there = 0;
    for (struct tc_idle *i = books.waiting; i; i = i->next)
        there += alike(of(i), like);
    if (there >= like->wanted) {
        drop(like);
        return;
    }
    drop_oldest(like->kind, (like->kind ? like->kind->most : SPARES_MAX) - 1);
    if (bring_up(like) && (like->kind || send_root(like, like->root) == 0))
        list(like);
    else /* then the next call says what is wrong */
        drop(like);
}

void tc_spare_first(struct tc_process_host *host)
{
    struct tc_spare *s = describe(host, NULL, 0, &(struct tc_cgroup_limits){0});
    if (s && bring_up(s)) {
        tc_spread(s->pid); /* its first call waits for both of us */
        rootless = s;
        list(s);
        return;
    }
    drop(s);
}

void tc_spare_root(uint64_t root)
{
    if (rootless)
        (void)send_root(rootless, root); /* if not, it gets one with its call, or goes */
}

void tc_spare_no_first(void)
{
    for (struct tc_idle **at = &books.waiting; *at; at = &(*at)->next)
        if (of(*at) == rootless) {
            tc_idle_drop(&books, tc_idle_take(at));
            return;
        }
}

void tc_spare_next(const struct tc_process_cage *p, const char *tool)
{
    struct tc_cgroup_limits limits = p->group ? p->group_limits : (struct tc_cgroup_limits){0};
    struct tc_spare *like = describe(p->host, tool, p->root, &limits);
    tc_idle_next(&books, like ? &like->idle : NULL);
}

void tc_spare_answered(void)
{
    tc_idle_answered(&books);
}

struct tc_spare *tc_spare_like(const struct tc_process_cage *p, const char *tool, void *own,
                               size_t wanted)
{
    struct tc_cgroup_limits limits = p->group ? p->group_limits : (struct tc_cgroup_limits){0};
    struct tc_spare *like = describe(p->host, tool, p->root, &limits);
    if (!like) {
        p->form->ready->done(own);
        return NULL;
    }
    like->kind = p->form->ready;
    like->own = own;
    like->wanted = wanted;
    return like;
}

void tc_spare_soon(struct tc_spare *like)
{
    tc_idle_soon(&books, like ? &like->idle : NULL);
}

/* ---- using one ---- */

/* Until its call comes it says nothing unless a stage failed, and its socket is open while it
 * lives. */
static bool waits(const struct tc_spare *s)
{
    struct tc_report r;
    return recv(s->report, &r, sizeof(r), MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static bool suits(const struct tc_spare *s, const struct tc_process_cage *p, const char *tool)
{
    return s->kind == (p->form ? p->form->ready : NULL) && (!s->tool || tc_streq(s->tool, tool)) &&
           memcmp(&s->limits, &p->group_limits, sizeof(s->limits)) == 0 &&
           (!s->kind || s->kind->suits(s->own, p));
}

/* The newest; of a kind that takes its time the oldest, which has come furthest. */
static struct tc_idle **find(const struct tc_process_cage *p, const char *tool)
{
    struct tc_idle **found = NULL;
    for (struct tc_idle **at = &books.waiting; *at; at = &(*at)->next) {
        if (!suits(of(*at), p, tool))
            continue;
        found = at;
        if (!of(*at)->kind)
            break;
    }
    return found;
}

static void lend(struct tc_spare *s, struct tc_process_cage *p)
{
    p->spare = s;
    p->trees.id = s->id;
    p->group = s->group;
    s->id = (uid_t)-1;
    s->group = NULL;
}

bool tc_spare_new(struct tc_process_cage *p)
{
    struct tc_spare *s = describe(p->host, NULL, 0, &p->group_limits);
    if (s && bring_up(s)) {
        lend(s, p);
        return true;
    }
    drop(s);
    return false;
}

bool tc_spare_claim(struct tc_process_cage *p, const char *tool)
{
    for (struct tc_idle **at; (at = find(p, tool));) {
        struct tc_spare *s = of(tc_idle_take(at));
        if (waits(s)) {
            lend(s, p);
            return true;
        }
        drop(s);
    }
    return false;
}

/* Memory that the spare sees too. Once full it gives nothing more. */
struct room {
    char *at, *end;
    bool full;
};

static void *place(struct room *r, const void *from, size_t size)
{
    size_t whole = (size + 15) & ~(size_t)15;
    r->full = r->full || whole < size || (size_t)(r->end - r->at) < whole;
    if (r->full)
        return NULL;
    void *to = r->at;
    r->at += whole;
    memcpy(to, from, size);
    return to;
}

static char **place_list(struct room *r, const char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    char **to = place(r, list, (count + 1) * sizeof(*to));
    for (size_t i = 0; to && i < count; i++)
        to[i] = place(r, list[i], strlen(list[i]) + 1);
    return to;
}

struct handed {
    int fds[TC_FDS_MAX];
    size_t count;
};

/* The number that it will have there. */
static int hand(struct handed *h, int fd)
{
    if (h->count < TC_FDS_MAX)
        h->fds[h->count] = fd;
    return TC_BOX_HANDED + (int)h->count++;
}

static struct tc_box_mount *place_mounts(struct room *r, const struct tc_box *box, struct handed *h)
{
    struct tc_box_mount *mounts =
        place(r, box->mounts, box->mount_count * sizeof(struct tc_box_mount));
    for (size_t i = 0; mounts && i < box->mount_count; i++) {
        struct tc_box_mount *m = &mounts[i];
        m->fd = m->fd < 0 ? -1 : hand(h, m->fd);
        m->layers = m->layered ? hand(h, m->layers) : -1;
        m->path = place(r, m->path, strlen(m->path) + 1);
        m->hide = m->hide ? (const char *const *)place_list(r, m->hide) : NULL;
    }
    return mounts;
}

static const struct sock_fprog *place_filter(struct room *r, const struct sock_fprog *changed)
{
    struct sock_fprog program = {
        .len = changed->len,
        .filter = place(r, changed->filter, changed->len * sizeof(*changed->filter))};
    return place(r, &program, sizeof(program));
}

static const struct tc_box_network *place_network(struct room *r, const struct tc_box_network *from)
{
    struct tc_box_network network = *from;
    for (size_t i = 0; i < TC_DOOR_REQUESTS; i++)
        network.requests[i].at = place(r, from->requests[i].at, from->requests[i].len);
    network.listeners = place(r, from->listeners, from->listener_count * sizeof(*from->listeners));
    return place(r, &network, sizeof(network));
}

/* What is static in the program (the filter, where the policy changes nothing in it) is at the same
 * place in the spare. */
static bool fill(struct tc_spare *s, const struct tc_box *box, struct handed *h)
{
    struct room r = {.at = (char *)(s->box + 1), .end = (char *)s->box + ROOM};
    struct tc_box b = *box;
    r.at += -(uintptr_t)r.at & 15;
    /* it may still be on its way to the place where it waits: what it reads until then stays */
    b.report = s->box->report;
    b.helper = s->box->helper;
    b.parks = true;
    if (!b.terminal) {
        b.in = hand(h, b.in);
        b.out = hand(h, b.out);
        b.err = hand(h, b.err);
    }
    b.talk = b.talks ? hand(h, b.talk) : -1;
    b.mounts = place_mounts(&r, box, h);
    b.limits = place(&r, b.limits, b.limit_count * sizeof(*b.limits));
    b.directories = (const char *const *)place_list(&r, b.directories);
    b.programs = (const char *const *)place_list(&r, b.programs);
    b.argv = place_list(&r, (const char *const *)b.argv);
    b.envp = place_list(&r, (const char *const *)b.envp);
    b.network = b.network ? place_network(&r, b.network) : NULL;
    if (b.changed)
        b.filter = b.changed = place_filter(&r, b.changed);
    b.handed = h->count;
    *s->box = b;
    return !r.full && h->count <= TC_FDS_MAX;
}

static bool serve(struct tc_spare *s, struct tc_process_cage *p)
{
    struct handed h = {.count = 0};
    if (s->kind)
        return s->root == p->root && waits(s) && s->kind->serves(s->own, p, s->report);
    if (!s->root)
        (void)send_root(s, p->root);
    return s->root == p->root && fill(s, &p->box, &h) &&
           tc_send(s->report, "", 1, h.fds, h.count) == 0;
}

bool tc_spare_go(struct tc_process_cage *p)
{
    struct tc_spare *s = p->spare;
    if (!s || s->pid <= 0 || s->lent)
        return false;
    if (!serve(s, p)) {
        s->lent = true;
        tc_idle_end(&books, &s->idle);
        return false;
    }
    p->child.pid = s->pid;
    p->child.pidfd = TAKE_FD(s->pidfd);
    p->child.report = TAKE_FD(s->report);
    s->pid = -1;
    return true;
}

void tc_spare_until(const struct tc_process_cage *p, int64_t last_us)
{
    p->spare->box->last_us = last_us;
}

/* ---- giving them up ---- */

void tc_spare_replace(struct tc_process_cage *p)
{
    struct tc_spare *s = p->spare;
    s->pid = p->child.pid;
    s->pidfd = TAKE_FD(p->child.pidfd);
    s->report = TAKE_FD(p->child.report);
    p->child.pid = 0;
    s->lent = true;
    tc_idle_end(&books, &s->idle);
}

void tc_spare_leave(struct tc_process_cage *p)
{
    struct tc_spare *s = TAKE(p->spare);
    if (!s)
        return;
    s->id = p->trees.id;
    s->group = TAKE(p->group);
    p->trees.id = (uid_t)-1;
    if (!s->lent)
        tc_idle_end(&books, &s->idle);
    s->lent = false;
    (void)tc_idle_clear(&books, tc_now_us());
}

static const struct tc_idle_ways ways = {
    .make = make, .kill = kill_it, .look = look, .let_go = let_go};
static struct tc_idle_books books = {.ways = &ways};

int64_t tc_spare_tick(int64_t now)
{
    return tc_idle_tick(&books, now);
}

void tc_spare_close(void)
{
    tc_idle_close(&books);
}
