/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Workers: creation, claim, handoff of calls, end. */
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

/* A VM is more expensive to start than other workers. */
enum { IDLE_US = 30000000, MACHINE_IDLE_US = 60000000 };

/* The root for the next call of a worker that serves many calls, if the grant has no host paths: a
 * clone of the prepared root with an empty /tmp, made after a call was answered. If a call left no
 * trace in it, not even a changed time, the next call gets the same root. */
struct next_root {
    int root, tmp;            /* -1: there is none */
    uint64_t serial;          /* of the prepared root */
    struct tc_untouched rest; /* state of the new /tmp */
    bool given;               /* handed to the current call */
};
static const struct next_root no_root = {.root = -1, .tmp = -1};

struct tc_worker {
    struct tc_pool_entry entry; /* its key is the serialised plan */
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_cage cage;
    const struct tc_cage_ops *ops; /* ops of the worker's cages */
    int held;                      /* fd of its budget share; -1: none */
    int talk;                      /* the waiting program's socket; -1: there is no process */
    int64_t made_us;
    int64_t served; /* calls */
    bool answered;  /* the last call was answered; another can follow */
    bool spent;     /* serves no further call */
    bool alone;     /* its calls have no host paths */
    bool harmless;  /* its call writes no host path */
    struct next_root root;
};

static struct tc_worker *of(const struct tc_pool_entry *entry)
{
    return (struct tc_worker *)entry;
}

/* ---- the root for the next call ---- */

static void drop_root(struct next_root *r)
{
    if (r->root >= 0)
        (void)close(r->root);
    if (r->tmp >= 0)
        (void)close(r->tmp);
    *r = no_root;
}

/* If memory is short there is no root. */
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

/* Gives the root to a call. Returns a duplicate of its /tmp's fd; -1: there is no root. */
static int give_root(struct next_root *r)
{
    int fd = r->root < 0 ? -1 : fcntl(r->tmp, F_DUPFD_CLOEXEC, 0);
    r->given = fd >= 0;
    return fd;
}

/* ---- pool operations ---- */

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

/* Kills the worker, and releases its budget share at once, because a call may wait for the share.
 */
static void kill_it(struct tc_pool_entry *entry)
{
    const struct tc_cage *cage = &of(entry)->cage;
    if (of(entry)->held >= 0)
        (void)close(TAKE_FD(of(entry)->held));
    if (cage->exit_fd >= 0)
        (void)kill(TC_PRIV(cage)->child.pid, SIGKILL); /* own child, not yet reaped */
}

/* The worker's program keeps the other end open. */
static bool waits(const struct tc_pool_entry *entry)
{
    struct pollfd p = {.fd = of(entry)->talk};
    return p.fd >= 0 && poll(&p, 1, 0) == 0;
}

/* Starts without Landlock, which would deny the call's files that arrive by fd: the ruleset comes
 * with the call. Until then the worker runs only toolcage's code. */
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

/* A worker uses some megabytes, most of them shared between workers. */
static const struct tc_pool_ops workers = {.most = 4,
                                           .make = make_worker,
                                           .waits = waits,
                                           .kill = kill_it,
                                           .ended = worker_ended,
                                           .done = done};

/* For workers that serve many calls one extra, for concurrent calls and as a replacement. */
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

/* Workers are created in the event loop, so no path lookup may block. The call has just found the
 * same files. */
static bool is_near(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (tc_path_within(TC_PLACE_OWN, p->trees.items[i].path) &&
            tc_tree_remote_fs(p->trees.items[i].fd))
            return false;
    return true;
}

/* A worker with a budget share would compete with the current call for it. */
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

/* ---- using a worker ---- */

/* Moves the process and its group between cages. The id moves separately, because the call's files
 * belong to it, too. */
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

/* The cage takes over the worker's process and leases. */
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

/* Sends the call with the root made in advance, if it is the right one. */
static bool send_made(const struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct next_root *made = &p->worker->root;
    if (!made->given || made->serial != p->root)
        return false;
    tc_untouched_note(&made->rest);
    return tc_handoff_call(cage, p->worker->talk, made->root);
}

/* Sends the call. 1: the worker has it; 0: the worker does not, and a new process can be started;
 * -1: none can. */
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
        (void)tc_cage_fail(
            cage,
            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "ready", errnum,
                         "call it again; free memory on this host"),
            -1, "the prestarted cage did not accept the call, and a new one could not be created");
    return -1;
}

/* Records how long the worker had been waiting. */
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
        cage->running = p->child.ready; /* sandboxed since an earlier call */
        return 1;
    }
    tc_spare_replace(p);
    (void)close(TAKE_FD(p->worker->talk));
    drop_root(&p->worker->root);
    /* similar workers would fail, too */
    tc_pool_give_back(&TAKE(p->worker)->entry, TC_POOL_BARRED);
    return sent;
}

/* ---- the call's end ---- */

int tc_worker_talk(const struct tc_process_cage *p)
{
    return p->worker ? p->worker->talk : -1;
}

int tc_worker_fd(const struct tc_process_cage *p)
{
    bool says = p->worker && !p->worker->ops && (p->worker->plan.calls || p->worker->harmless);
    return says ? p->worker->talk : -1;
}

/* The worker waits for its next call, in its own cage record. */
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
        (void)kill(p->child.pid, SIGKILL); /* own child, not yet reaped */
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

/* ---- releasing workers ---- */

void tc_worker_forget_root(struct tc_process_cage *p)
{
    if (p->worker)
        drop_root(&p->worker->root);
}

/* Makes the root for the worker's next call. */
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
    if (p->child.pid > 0 && !p->child.reaped) /* the call was never started */
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
