/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Workers: made, claimed, told of their call, given up. */
#include "cage/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/spare.h"
#include "linux/mounts.h"
#include "policy/settings.h"
#include "state/untouched.h"

/* A machine is dearer to make than another worker. */
enum { IDLE_US = 30000000, MACHINE_IDLE_US = 60000000 };

/* For the next call of a worker that serves many, where a grant shows nothing of the host: a copy
 * of the prepared root with an empty /tmp in it, made when a call has its answer. One in which a
 * call left nothing, not even a time, is the next call's, too. */
struct next_root {
    int root, tmp;            /* -1: there is none */
    uint64_t serial;          /* of the prepared root */
    struct tc_untouched rest; /* /tmp, when it was made */
    bool given;               /* to the call that is served */
};
static const struct next_root no_root = {.root = -1, .tmp = -1};

struct tc_worker {
    struct tc_pool_entry entry; /* its key is its plan as bytes */
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_cage cage;
    const struct tc_cage_ops *ops; /* of the cages that it is for */
    int held;                      /* what it takes of what all share; -1: nothing */
    int talk;                      /* where its program waits for a call; -1: there is no process */
    int64_t made_us;
    int64_t served; /* calls */
    bool answered;  /* by it, to the one that it served last: it can serve another */
    bool spent;     /* it serves no other */
    bool alone;     /* its call sees nothing of the host, and so will the next */
    bool harmless;  /* its call writes nothing of the host's */
    struct next_root root;
};

static struct tc_worker *of(const struct tc_pool_entry *entry)
{
    return (struct tc_worker *)entry;
}

/* ---- the root for its next call ---- */

static void drop_root(struct next_root *r)
{
    if (r->root >= 0)
        (void)close(r->root);
    if (r->tmp >= 0)
        (void)close(r->tmp);
    *r = no_root;
}

/* Without memory there is none. */
static void replace_root(struct next_root *r, uint64_t serial, const struct tc_limits *limits)
{
    struct next_root made = {.serial = serial};
    drop_root(r);
    _autofd_ int tmp = tc_tree_tmp(limits), root = tmp < 0 ? -1 : tc_root_copy(serial);
    if (root < 0 || tc_move_mount(tmp, root, "tmp") < 0 || tc_untouched_take(&made.rest, tmp) < 0)
        return;
    made.root = TAKE_FD(root);
    made.tmp = TAKE_FD(tmp);
    *r = made;
}

/* Another descriptor of its /tmp, for a call; -1: none. */
static int give_root(struct next_root *r)
{
    int fd = r->root < 0 ? -1 : fcntl(r->tmp, F_DUPFD_CLOEXEC, 0);
    r->given = fd >= 0;
    return fd;
}

/* ---- in the pool ---- */

static void done(struct tc_pool_entry *entry)
{
    struct tc_worker *w = of(entry);
    if (w->talk >= 0)
        (void)close(w->talk);
    if (w->held >= 0)
        (void)close(w->held);
    drop_root(&w->root);
    while (!w->cage.executor->destroy(&w->cage, TC_BLOCK_YES))
        ;
    tc_plan_done(&w->plan);
    tc_outcome_done(&w->outcome);
    free(w);
}

static bool worker_ended(struct tc_pool_entry *entry, bool patiently)
{
    struct tc_cage *cage = &of(entry)->cage;
    struct pollfd p = {.fd = cage->exit_fd, .events = POLLIN};
    if (cage->exit_fd >= 0 && poll(&p, 1, patiently ? -1 : 0) <= 0)
        return false;
    if (cage->exit_fd >= 0)
        tc_process_reap(cage);
    return true;
}

/* What it held is given back at once: a call may wait for it. */
static void kill_it(struct tc_pool_entry *entry)
{
    const struct tc_cage *cage = &of(entry)->cage;
    if (of(entry)->held >= 0)
        (void)close(TAKE_FD(of(entry)->held));
    if (cage->exit_fd >= 0)
        (void)kill(TC_PRIV(cage)->child.pid, SIGKILL); /* our child, not yet reaped */
}

/* Its program has the other end while it lives. */
static bool waits(const struct tc_pool_entry *entry)
{
    struct pollfd p = {.fd = of(entry)->talk};
    return p.fd >= 0 && poll(&p, 1, 0) == 0;
}

/* Its second wall would keep it from files of the call, which come by a descriptor: it is put under
 * one with the call. Until then it runs nothing but our own code. */
static bool bring_up(struct tc_worker *w)
{
    w->made_us = tc_now_us();
    if (w->ops && w->ops->hold && (w->held = w->ops->hold(&w->cage)) < 0)
        return false;
    if (tc_local_lease(&w->cage, w->ops, NULL) < 0 || tc_process_prepare(&w->cage) < 0 ||
        tc_process_complete(&w->cage) < 0)
        return false;
    struct tc_process_cage *p = TC_PRIV(&w->cage);
    p->init.landlock_abi = 0;
    bool started = p->spare && tc_process_start(&w->cage) == 0 && tc_spare_serves(p);
    w->talk = TAKE_FD(p->talk);
    return started;
}

static struct tc_pool_entry *describe_worker(const struct tc_executor *executor,
                                             const struct tc_cage_ops *ops,
                                             const struct tc_buf *key);

static bool make_worker(struct tc_pool_entry *entry)
{
    struct tc_worker *w = of(entry);
    size_t count;
    if (!bring_up(w))
        return false;
    (void)tc_pool_find(entry->ops, &entry->key, &count);
    if (!w->plan.calls && count + 1 < entry->wanted)
        tc_pool_want(describe_worker(w->cage.executor, w->ops, &entry->key), false);
    return true;
}

/* A worker holds some megabytes, most of them shared with the others. */
static const struct tc_pool_ops workers = {.most = 4,
                                           .make = make_worker,
                                           .waits = waits,
                                           .kill = kill_it,
                                           .ended = worker_ended,
                                           .done = done};

/* Of one that serves call after call one more, for a call beside that and for its loss. */
static size_t how_many(const struct tc_plan *plan)
{
    const char *said = tc_setting(&plan->settings, "ready");
    return plan->calls ? 2 : said ? strtoul(said, NULL, 10) : 1;
}

static struct tc_pool_entry *describe_worker(const struct tc_executor *executor,
                                             const struct tc_cage_ops *ops,
                                             const struct tc_buf *key)
{
    struct tc_worker *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->entry = (struct tc_pool_entry){.ops = &workers, .key = TC_BUF_INIT};
    tc_buf_add(&w->entry.key, key->data, key->len);
    w->talk = w->held = -1;
    w->ops = ops;
    w->root = no_root;
    w->outcome.failure.clause = -1;
    w->cage = tc_cage_empty(&w->plan, &w->outcome);
    w->cage.executor = executor;
    struct tc_wire wire = TC_WIRE_GET_INIT(key->data, key->len);
    tc_plan_visit(&wire, &w->plan);
    if (wire.failed || w->entry.key.failed) {
        tc_pool_drop(&w->entry);
        return NULL;
    }
    w->entry.wanted = how_many(&w->plan);
    w->entry.idle_us = ops ? MACHINE_IDLE_US : IDLE_US;
    return &w->entry;
}

/* It is made here and now, so nothing that it takes may lie where looking it up could wait. The
 * call has just found the same files. */
static bool is_near(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (tc_path_within(TC_PLACE_OWN, p->trees.items[i].path) &&
            tc_tree_remote_fs(p->trees.items[i].fd))
            return false;
    return true;
}

/* What holds something that all share would be in the way of the very call. */
bool tc_worker_next(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    size_t count;
    if (!is_near(p) || !tc_worker_key(cage->plan, &key))
        return false;
    const struct tc_pool_entry *known = tc_pool_find(&workers, &key, &count);
    if (known && (known->state == TC_POOL_BARRED || cage->plan->calls || count >= known->wanted))
        return known->state == TC_POOL_IDLE;
    struct tc_pool_entry *like = describe_worker(cage->executor, p->ops, &key);
    if (p->ops && p->ops->hold)
        p->next = like;
    else
        tc_pool_want(like, true);
    return like;
}

/* ---- using one ---- */

/* A process and what it stands in go from one cage to another; but for the id, which names what
 * there is of a call, too. */
static void move(struct tc_process_cage *to, struct tc_process_cage *from)
{
    to->spare = TAKE(from->spare);
    to->group = TAKE(from->group);
    to->child = from->child;
    from->child = (struct tc_child){.report = -1, .theirs = -1, .pidfd = -1};
}

static void move_id(struct tc_process_cage *to, struct tc_process_cage *from)
{
    to->trees.id = from->trees.id;
    from->trees.id = (uid_t)-1;
}

static bool shows_nothing(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (!tc_worker_mount(&plan->mounts[i]))
            return false;
    return true;
}

static bool writes_nothing(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == TC_MOUNT_WRITE)
            return false;
    return true;
}

/* What it has is the cage's now. */
static void take_over(struct tc_cage *cage, struct tc_worker *w)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->worker = w;
    w->harmless = writes_nothing(cage->plan);
    w->alone = w->plan.calls && shows_nothing(cage->plan);
    p->trees.storage = w->alone ? tc_tree_keep(&p->trees, give_root(&w->root)) : -1;
    p->trees.standing = TC_PLACE_OWN;
    w->answered = false;
    move(p, TC_PRIV(&w->cage));
    move_id(p, TC_PRIV(&w->cage));
    w->cage.exit_fd = w->cage.event_fd = TC_PRIV(&w->cage)->looks.oom_fd = -1;
}

bool tc_worker_claim(struct tc_cage *cage)
{
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    struct tc_pool_entry *found =
        tc_worker_key(cage->plan, &key) ? tc_pool_claim(&workers, &key) : NULL;
    if (found)
        take_over(cage, of(found));
    return found;
}

int tc_worker_held(struct tc_process_cage *p)
{
    return p->worker ? TAKE_FD(p->worker->held) : -1;
}

static bool worker_holds(const struct tc_pool_entry *entry)
{
    return of(entry)->held >= 0;
}

bool tc_worker_yield(void)
{
    return tc_pool_drop_idle(&workers, worker_holds);
}

/* In the root that is there already, where it is the same one. */
static bool send_made(const struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct next_root *made = &p->worker->root;
    if (!made->given || made->serial != p->root)
        return false;
    tc_untouched_note(&made->rest);
    return tc_handoff_call(cage, p->worker->talk, made->root);
}

/* 1: it has the call; 0: it has not, and another can be started for it; -1: none can. */
static int send_call(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (send_made(cage))
        return 1;
    bool made = p->worker->root.given;
    _autofd_ int root = !made && tc_handoff_can(p) ? tc_root_copy(p->root) : -1;
    size_t count = made ? p->trees.mount_count : root >= 0 ? tc_handoff_assemble(p, root) : 0;
    if (root >= 0 && count == p->trees.mount_count && tc_handoff_call(cage, p->worker->talk, root))
        return 1;
    if (tc_handoff_take_back(cage, count))
        return 0;
    int errnum = errno;
    if (!cage->outcome->failure.code)
        (void)tc_cage_fail(cage,
                           TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "ready", errnum,
                                        "call it again; free memory on this machine"),
                           -1,
                           "the cage that stood ready did not take the call, and none can be "
                           "made in its place");
    return -1;
}

/* That it was one, and for how long it had been waiting. */
static void tell_age(struct tc_cage *cage)
{
    struct tc_outcome *o = cage->outcome;
    struct tc_timing *t = TC_PUSH(o->timings, o->timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup("ready"),
                                .us = tc_now_us() - TC_PRIV(cage)->worker->made_us};
}

int tc_worker_go(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->worker)
        return 0;
    if (p->worker->served && cage->plan->limits.cpu_time_ms)
        p->earlier_cpu_us = tc_limits_cpu_us(cage);
    p->seen_cpu_us = 0;
    int sent = send_call(cage);
    if (sent > 0) {
        tc_spare_until(p, p->init.last_us);
        tell_age(cage);
        p->worker->served++;
        cage->running = p->child.ready; /* its walls stand since an earlier call */
        return 1;
    }
    tc_spare_replace(p);
    (void)close(TAKE_FD(p->worker->talk));
    drop_root(&p->worker->root);
    tc_pool_give_back(&TAKE(p->worker)->entry, TC_POOL_BARRED); /* nor would its like do */
    return sent;
}

/* ---- its answer ---- */

int tc_worker_talk(const struct tc_process_cage *p)
{
    return p->worker ? p->worker->talk : -1;
}

int tc_worker_fd(const struct tc_process_cage *p)
{
    bool says = p->worker && !p->worker->ops && (p->worker->plan.calls || p->worker->harmless);
    return says ? p->worker->talk : -1;
}

/* It waits for the next call, and is its own again. */
static void take_back_worker(struct tc_cage *cage, const struct tc_task_end *end)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_worker *w = p->worker;
    w->answered = true;
    tc_spare_until(p, 0);
    move(TC_PRIV(&w->cage), p);
    p->child.reaped = true;
    cage->exit_fd = cage->event_fd = p->looks.oom_fd = -1;
    if (end->last || w->served >= w->plan.calls)
        w->spent = true;
}

void tc_worker_event(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_task_end end;
    int fd = cage->over ? -1 : tc_worker_fd(p);
    if (fd < 0 || !p->child.ready || recv(fd, &end, sizeof(end), MSG_DONTWAIT) != sizeof(end))
        return;
    tc_task_bound(&end);
    cage->over = true;
    cage->outcome->exit_code = end.code;
    if (p->worker->plan.calls)
        take_back_worker(cage, &end);
    else
        (void)kill(p->child.pid, SIGKILL); /* our child, not yet reaped */
    p->child.cpu_us = end.cpu_us + p->earlier_cpu_us;
    p->child.max_rss = end.bytes;
    cage->look_at_us = 0;
    tc_pool_answered();
}

void tc_worker_ends(struct tc_process_cage *p)
{
    if (p->worker)
        p->worker->spent = true;
}

/* ---- giving them up ---- */

void tc_worker_forget_root(struct tc_process_cage *p)
{
    if (p->worker)
        drop_root(&p->worker->root);
}

/* For its next call. */
static void make_root(struct tc_worker *w, uint64_t serial)
{
    bool good =
        w->root.given && w->root.serial == serial && tc_untouched_still(&w->root.rest, w->root.tmp);
    w->root.given = false;
    if (w->alone && !good)
        replace_root(&w->root, serial, &w->plan.limits);
}

void tc_worker_leave(struct tc_process_cage *p)
{
    struct tc_worker *w = TAKE(p->worker);
    if (!w)
        return;
    if (p->child.pid > 0 && !p->child.reaped) /* its call was never started */
        tc_spare_replace(p);
    if (w->answered) {
        struct tc_process_cage *own = TC_PRIV(&w->cage);
        move_id(own, p);
        w->cage.exit_fd = own->child.pidfd;
    }
    if (!w->answered || w->spent || !waits(&w->entry)) {
        tc_pool_drop(&w->entry);
        return;
    }
    make_root(w, p->root);
    tc_pool_give_back(&w->entry, TC_POOL_IDLE);
}
