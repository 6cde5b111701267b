/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cages that stand ready: made, claimed, told of their call, given up. */
#include "cage/ready.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "cage/hand.h"
#include "cage/handed.h"
#include "cage/idle.h"
#include "cage/limiter.h"
#include "cage/ready_root.h"
#include "cage/slots.h"
#include "cage/spare.h"
#include "policy/settings.h"

/* A worker holds some megabytes, most of them shared with the others. */
enum { READY_MAX = 4 };
enum { IDLE_US = 30000000, IDLE_LONG_US = 60000000 };

struct tc_ready {
    struct tc_idle idle;
    struct tc_buf key; /* its plan as bytes: what is alike has the same */
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_cage cage;
    const struct tc_local_form *form; /* of the cages that it is for */
    size_t wanted;                    /* how many like it may wait */
    int held;                         /* what it takes of what all share; -1: nothing */
    int talk; /* where its program waits for a call; -1: there is no process */
    int64_t made_us;
    int64_t served; /* calls */
    bool answered;  /* by it, to the one that it served last: it can serve another */
    bool spent;     /* it serves no other */
    bool alone;     /* its call sees nothing of the host, and so will the next */
    bool harmless;  /* its call writes nothing of the host's */
    struct tc_ready_root root;
};

/* One that waits without a process says that its like did not come to serve its call, and keeps
 * another from being made for a while. */
static struct tc_idle_books books;

static struct tc_ready *of(struct tc_idle *idle)
{
    return (struct tc_ready *)idle;
}

static void drop(struct tc_ready *r)
{
    tc_idle_drop(&books, &r->idle);
}

static void let_go(struct tc_ready *r)
{
    if (!r)
        return;
    if (r->talk >= 0)
        (void)close(r->talk);
    if (r->held >= 0)
        (void)close(r->held);
    tc_ready_root_drop(&r->root);
    while (!tc_local_destroy(&r->cage, TC_PACE_LONG))
        ;
    tc_buf_done(&r->key);
    tc_plan_done(&r->plan);
    tc_outcome_done(&r->outcome);
    free(r);
}

static void let_go_idle(struct tc_idle *idle)
{
    let_go(of(idle));
}

static enum tc_idle_end look_for_end(struct tc_idle *idle, bool patiently)
{
    struct tc_cage *cage = &of(idle)->cage;
    struct pollfd p = {.fd = cage->exit_fd, .events = POLLIN};
    if (cage->exit_fd < 0)
        return TC_IDLE_GONE;
    if (poll(&p, 1, patiently ? -1 : 0) <= 0)
        return TC_IDLE_LIVES;
    tc_process_reap(cage);
    return TC_IDLE_GONE;
}

/* What it held is given back at once: a call may wait for it. */
static void kill_it(struct tc_idle *idle)
{
    const struct tc_cage *cage = &of(idle)->cage;
    if (of(idle)->held >= 0)
        (void)close(TAKE_FD(of(idle)->held));
    if (cage->exit_fd >= 0)
        (void)kill(TC_PRIV(cage)->child.pid, SIGKILL); /* our child, not yet reaped */
}

static void drop_oldest(size_t keep)
{
    struct tc_idle **at = &books.waiting;
    while (*at && keep--)
        at = &(*at)->next;
    while (*at)
        tc_idle_drop(&books, tc_idle_take(at));
}

/* ---- which call it is for ---- */

/* What a call may bring that a process cannot be given once it runs; and files whose names are
 * watched are named as its own cage would see them. */
static bool can_wait(const struct tc_plan *plan)
{
    bool watched = plan->denials != TC_DENIALS_OFF && plan->denials != TC_DENIALS_CALLS;
    return plan->ahead > 0 && !plan->uid && (size_t)plan->ahead < plan->argv.count && !watched &&
           !plan->net_count && !plan->asks_network && !plan->unix_sockets && !plan->terminal &&
           !plan->session && !plan->image && !plan->secret_count && !plan->syscalls_allow.count &&
           !plan->syscalls_deny.count && plan->workspace == TC_WORKSPACE_BIND;
}

/* What says which call it is comes with that. */
static bool is_own(const struct tc_mount *m)
{
    bool path = m->kind == TC_MOUNT_READ || m->kind == TC_MOUNT_WRITE || m->kind == TC_MOUNT_SOCKET;
    return path ? tc_path_within(TC_PLACE_OWN, m->path) : !tc_streq(m->path, TC_PLACE_CALL);
}

static size_t own_mounts(const struct tc_plan *of, struct tc_mount *to)
{
    size_t count = 0;
    for (size_t i = 0; i < of->mount_count; i++)
        if (is_own(&of->mounts[i]))
            to[count++] = of->mounts[i];
    return count;
}

/* The plan without the call: its bounds in time are the helper's to watch. */
static bool write_key(const struct tc_plan *of, struct tc_buf *ret)
{
    static char *root[] = {(char *)"/"};
    size_t words = (size_t)of->ahead;
    _autofree_ char **argv = calloc(words + 1, sizeof(char *));
    _autofree_ struct tc_mount *mounts = calloc(of->mount_count + 1, sizeof(*mounts));
    if (!argv || !mounts)
        return false;
    memcpy(argv, of->argv.items, words * sizeof(*argv));
    argv[words] = (char *)TC_WORD_AHEAD;
    struct tc_plan plan = {.tool = of->tool,
                           .backend = of->backend,
                           .clauses = of->clauses,
                           .argv = {.items = argv, .count = words + 1},
                           .ahead = of->ahead + 1,
                           .cwd = {.items = root, .count = 1},
                           .mounts = mounts,
                           .mount_count = own_mounts(of, mounts),
                           .limits = of->limits,
                           .settings = of->settings,
                           .calls = of->calls,
                           .bounds = of->calls ? of->bounds : NULL,
                           /* nobody listens for all calls of one: what is refused is not listed */
                           .denials = of->calls ? (int64_t)TC_DENIALS_OFF : of->denials};
    plan.limits.timeout_ms = plan.limits.cpu_time_ms = 0;
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_plan_visit(&w, &plan);
    *ret = w.out;
    return !w.failed && !w.out.failed;
}

static bool same(const struct tc_buf *a, const struct tc_buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static size_t count_waiting(const struct tc_buf *key)
{
    size_t count = 0;
    for (struct tc_idle *at = books.waiting; at; at = at->next)
        count += same(&of(at)->key, key);
    return count;
}

static struct tc_idle **find(const struct tc_buf *key)
{
    for (struct tc_idle **at = &books.waiting; *at; at = &(*at)->next)
        if (same(&of(*at)->key, key))
            return at;
    return NULL;
}

/* ---- making one ---- */

/* Of one that serves call after call one more, for a call beside that and for its loss. */
static size_t how_many(const struct tc_plan *plan)
{
    const char *said = tc_setting(&plan->settings, "ready");
    return plan->calls ? 2 : said ? strtoul(said, NULL, 10) : 1;
}

/* Takes the key, if it succeeds. */
static struct tc_ready *describe(const struct tc_works *works, const struct tc_local_form *form,
                                 struct tc_buf *key)
{
    struct tc_ready *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->talk = r->held = -1;
    r->form = form;
    r->root = TC_READY_ROOT_NONE;
    r->outcome.failure.clause = -1;
    r->cage = tc_cage_empty(&r->plan, &r->outcome);
    r->cage.works = works;
    struct tc_wire w = TC_WIRE_GET_INIT(key->data, key->len);
    tc_plan_visit(&w, &r->plan);
    if (w.failed) {
        let_go(r);
        return NULL;
    }
    r->wanted = how_many(&r->plan);
    r->key = *key;
    *key = (struct tc_buf)TC_BUF_INIT;
    return r;
}

/* Its second wall would keep it from files of the call, which come by a descriptor: it is put under
 * one with the call. Until then it runs nothing but our own code. */
static bool bring_up(struct tc_ready *r)
{
    int pair[2];
    if (r->form && r->form->hold && (r->held = r->form->hold(&r->cage)) < 0)
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    r->talk = pair[0];
    r->cage.stdin_fd = pair[1];
    if (tc_local_lease(&r->cage, r->form) < 0 || tc_process_prepare(&r->cage) < 0 ||
        tc_process_complete(&r->cage) < 0)
        return false;
    TC_PRIV(&r->cage)->box.landlock_abi = 0;
    return TC_PRIV(&r->cage)->spare && tc_process_start(&r->cage) == 0;
}

static void list(struct tc_ready *r)
{
    drop_oldest(READY_MAX - 1);
    tc_idle_list(&books, &r->idle, r->form ? IDLE_LONG_US : IDLE_US);
}

/* Are there as many as are to wait? A call that came meanwhile may have had it made. */
static bool is_enough(const struct tc_ready *like)
{
    for (struct tc_idle *at = books.waiting; at; at = at->next)
        if (of(at)->talk < 0 && same(&of(at)->key, &like->key))
            return true;
    return count_waiting(&like->key) >= like->wanted;
}

static void wish_another(const struct tc_ready *like)
{
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    tc_buf_add(&key, like->key.data, like->key.len);
    struct tc_ready *next = key.failed ? NULL : describe(like->cage.works, like->form, &key);
    if (next)
        tc_idle_soon(&books, &next->idle);
}

static void make(struct tc_idle *idle)
{
    struct tc_ready *like = of(idle);
    if (is_enough(like)) {
        let_go(like);
        return;
    }
    like->made_us = tc_now_us();
    if (!bring_up(like)) { /* then the next call says what is wrong */
        drop(like);
        return;
    }
    list(like);
    if (!like->plan.calls && !is_enough(like))
        wish_another(like);
}

/* It is made here and now, so nothing that it takes may lie where looking it up could wait. The
 * call has just found the same files. */
static bool is_near(const struct tc_process_cage *p)
{
    for (size_t i = 0; i < p->trees.item_count; i++)
        if (tc_path_within(TC_PLACE_OWN, p->trees.items[i].path) &&
            tc_process_remote_fs(p->trees.items[i].fd))
            return false;
    return true;
}

/* What holds something that all share would be in the way of the very call. */
bool tc_ready_next(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    if (!can_wait(cage->plan) || !is_near(p) || !write_key(cage->plan, &key))
        return false;
    struct tc_idle **known = find(&key);
    if (known &&
        (of(*known)->talk < 0 || cage->plan->calls || count_waiting(&key) >= of(*known)->wanted))
        return of(*known)->talk >= 0;
    struct tc_ready *like = describe(cage->works, p->form, &key);
    if (!like)
        return false;
    if (p->form && p->form->hold)
        p->next = like;
    else
        tc_idle_next(&books, &like->idle);
    return true;
}

void tc_ready_over(struct tc_process_cage *p)
{
    struct tc_ready *next = TAKE(p->next);
    tc_idle_soon(&books, next ? &next->idle : NULL);
}

void tc_ready_answered(void)
{
    tc_idle_answered(&books);
}

/* ---- using one ---- */

/* Its program has the other end while it lives. */
static bool lives(const struct tc_ready *r)
{
    struct pollfd p = {.fd = r->talk};
    return r->talk >= 0 && poll(&p, 1, 0) == 0;
}

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
        if (!is_own(&plan->mounts[i]))
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
static void take_over(struct tc_cage *cage, struct tc_ready *r)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->ready = r;
    r->harmless = writes_nothing(cage->plan);
    r->alone = r->plan.calls && shows_nothing(cage->plan);
    p->trees.storage = r->alone ? tc_process_keep(&p->trees, tc_ready_root_give(&r->root)) : -1;
    p->trees.standing = TC_PLACE_OWN;
    r->answered = false;
    move(p, TC_PRIV(&r->cage));
    move_id(p, TC_PRIV(&r->cage));
    r->cage.exit_fd = r->cage.event_fd = TC_PRIV(&r->cage)->looks.oom_fd = -1;
}

bool tc_ready_claim(struct tc_cage *cage)
{
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    struct tc_idle **at;
    if (!can_wait(cage->plan) || !write_key(cage->plan, &key))
        return false;
    while ((at = find(&key)) && of(*at)->talk >= 0) {
        struct tc_ready *r = of(tc_idle_take(at));
        if (lives(r)) {
            take_over(cage, r);
            return true;
        }
        drop(r);
    }
    return false;
}

int tc_ready_held(struct tc_process_cage *p)
{
    return p->ready ? TAKE_FD(p->ready->held) : -1;
}

bool tc_ready_yield(void)
{
    bool any = false;
    for (struct tc_idle **at = &books.waiting; *at;) {
        if (of(*at)->held < 0) {
            at = &(*at)->next;
            continue;
        }
        tc_idle_drop(&books, tc_idle_take(at));
        any = true;
    }
    return any;
}

/* In the root that is there already, where it is the same one. */
static bool send_made(const struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_ready_root *made = &p->ready->root;
    if (!made->given || made->serial != p->root)
        return false;
    tc_untouched_note(&made->rest);
    return tc_hand_call(cage, p->ready->talk, made->root);
}

/* 1: it has the call; 0: it has not, and another can be started for it; -1: none can. */
static int send_call(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (send_made(cage))
        return 1;
    bool made = p->ready->root.given;
    _autofd_ int root = !made && tc_hand_can(p) ? tc_root_copy(p->root) : -1;
    size_t count = made ? p->trees.mount_count : root >= 0 ? tc_hand_put_together(p, root) : 0;
    if (root >= 0 && count == p->trees.mount_count && tc_hand_call(cage, p->ready->talk, root))
        return 1;
    if (tc_hand_take_back(cage, count))
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
                                .us = tc_now_us() - TC_PRIV(cage)->ready->made_us};
}

int tc_ready_go(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->ready)
        return 0;
    if (p->ready->served && cage->plan->limits.cpu_time_ms)
        p->earlier_cpu_us = tc_limits_cpu_us(cage);
    p->seen_cpu_us = 0;
    int sent = send_call(cage);
    if (sent > 0) {
        tc_spare_until(p, p->box.last_us);
        tell_age(cage);
        p->ready->served++;
        cage->running = p->child.ready; /* its walls stand since an earlier call */
        return 1;
    }
    tc_spare_replace(p);
    (void)close(TAKE_FD(p->ready->talk));
    tc_ready_root_drop(&p->ready->root);
    list(TAKE(p->ready)); /* its like would not do either */
    return sent;
}

/* ---- its answer ---- */

int tc_ready_fd(const struct tc_process_cage *p)
{
    return p->ready && (p->ready->plan.calls || p->ready->harmless) ? p->ready->talk : -1;
}

/* It waits for the next call, and is its own again. */
static void take_back_worker(struct tc_cage *cage, const struct tc_handed_end *end)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_ready *r = p->ready;
    r->answered = true;
    tc_spare_until(p, 0);
    move(TC_PRIV(&r->cage), p);
    p->child.reaped = true;
    cage->exit_fd = cage->event_fd = p->looks.oom_fd = -1;
    if (end->last || r->served >= r->plan.calls)
        r->spent = true;
}

void tc_ready_event(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_handed_end end;
    int fd = cage->over ? -1 : tc_ready_fd(p);
    if (fd < 0 || !p->child.ready || recv(fd, &end, sizeof(end), MSG_DONTWAIT) != sizeof(end))
        return;
    tc_handed_bound(&end);
    cage->over = true;
    cage->outcome->exit_code = end.code;
    if (p->ready->plan.calls)
        take_back_worker(cage, &end);
    else
        (void)kill(p->child.pid, SIGKILL); /* our child, not yet reaped */
    p->child.cpu_us = end.cpu_us + p->earlier_cpu_us;
    p->child.max_rss = end.bytes;
    cage->look_at_us = 0;
    tc_ready_answered();
}

void tc_ready_ends(struct tc_process_cage *p)
{
    if (p->ready)
        p->ready->spent = true;
}

/* ---- giving them up ---- */

void tc_ready_forget_root(struct tc_process_cage *p)
{
    if (p->ready)
        tc_ready_root_drop(&p->ready->root);
}

/* For its next call. */
static void make_root(struct tc_ready *r, uint64_t serial)
{
    bool good =
        r->root.given && r->root.serial == serial && tc_untouched_still(&r->root.rest, r->root.tmp);
    r->root.given = false;
    if (r->alone && !good)
        tc_ready_root_make(&r->root, serial, &r->plan.limits);
}

void tc_ready_leave(struct tc_process_cage *p)
{
    struct tc_ready *r = TAKE(p->ready);
    let_go(TAKE(p->next));
    if (!r || !r->answered) {
        let_go(r);
        return;
    }
    struct tc_process_cage *own = TC_PRIV(&r->cage);
    move_id(own, p);
    r->cage.exit_fd = own->child.pidfd;
    if (r->spent || !lives(r)) {
        drop(r);
        return;
    }
    make_root(r, p->root);
    list(r);
}

static const struct tc_idle_ways ways = {
    .make = make, .kill = kill_it, .look = look_for_end, .let_go = let_go_idle};
static struct tc_idle_books books = {.ways = &ways};

int64_t tc_ready_tick(int64_t now)
{
    return tc_idle_tick(&books, now);
}

void tc_ready_close(void)
{
    tc_idle_close(&books);
}
