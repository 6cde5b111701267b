/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "backend/local/broker.h"
#include "backend/local/local.h"
#include "backend/local/watch.h"
#include "base/fd.h"
#include "base/sys.h"

enum { SEEN_MAX = 4096, TEXT_MAX = 1 << 20, SLOTS = 2 * SEEN_MAX, LEFT_MAX = 64 };

struct seen {
    const char *operation, *hint; /* static: the process is a copy of the helper */
    uint32_t text;
    bool probe, allowed;
    _Atomic uint32_t count;
};

/* Written by the watcher, read by the helper: what stands below `count` is whole. */
struct tc_watcher {
    _Atomic bool broken; /* it ended before the cage */
    _Atomic uint32_t count;
    _Atomic uint32_t refused_more, allowed_more; /* for which there was no room */
    uint32_t text_used;
    uint32_t slots[SLOTS]; /* index + 1 by hash */
    struct seen seen[SEEN_MAX];
    char text[TEXT_MAX];
};

/* Told to end, and not reaped yet. */
static pid_t left[LEFT_MAX];
static size_t left_count;

static uint32_t hash_of(const struct tc_listed *what)
{
    uint32_t h = 2166136261u;
    for (const char *c = what->operation; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    for (const char *c = what->target; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return h;
}

static bool is_same(const struct tc_watcher *w, const struct seen *s, const struct tc_listed *what)
{
    return s->allowed == what->allowed && strcmp(s->operation, what->operation) == 0 &&
           strcmp(w->text + s->text, what->target) == 0;
}

void tc_watcher_list(struct tc_watcher *w, const struct tc_listed *what)
{
    size_t size = strlen(what->target) + 1;
    uint32_t at = hash_of(what) % SLOTS, count = atomic_load(&w->count);
    for (; w->slots[at]; at = (at + 1) % SLOTS) {
        struct seen *s = &w->seen[w->slots[at] - 1];
        if (is_same(w, s, what)) {
            (void)atomic_fetch_add(&s->count, 1);
            return;
        }
    }
    if (count == SEEN_MAX || size > TEXT_MAX - w->text_used) {
        (void)atomic_fetch_add(what->allowed ? &w->allowed_more : &w->refused_more, 1);
        return;
    }
    struct seen *s = &w->seen[count];
    memcpy(w->text + w->text_used, what->target, size);
    s->operation = what->operation;
    s->hint = what->hint;
    s->text = w->text_used;
    s->probe = what->probe;
    s->allowed = what->allowed;
    atomic_store(&s->count, 1);
    w->text_used += (uint32_t)size;
    w->slots[at] = count + 1;
    atomic_store(&w->count, count + 1);
}

/* ---- the process
 * -------------------------------------------------------------------------------- */

/* Everything of this and of other cages, but for the one descriptor. */
static void close_all_but(int fd)
{
    if (fd > 0)
        (void)tc_close_range(0, (unsigned)fd - 1, 0);
    (void)tc_close_range((unsigned)fd + 1, ~0U, 0);
}

enum { SERVED, NOBODY, BROKEN };

/* Waits for what comes next. */
static int serve(struct tc_cage *cage, int listener)
{
    struct pollfd ready[1 + TC_BROKER_MAX] = {{.fd = listener, .events = POLLIN}};
    int ms;
    size_t more = tc_broker_waits(ready + 1, &ms);
    if (poll(ready, 1 + more, ms) < 0)
        return errno == EINTR ? SERVED : BROKEN;
    if (more)
        tc_broker_look(cage, listener);
    if (ready[0].revents & POLLHUP)
        return NOBODY;
    return !ready[0].revents || tc_notify_serve(cage, listener) ? SERVED : BROKEN;
}

/* Said before our descriptors are closed: then the tool goes on, and may end before we have. */
void tc_watcher_break(struct tc_cage *cage)
{
    atomic_store(&TC_PRIV(cage)->watcher->broken, true);
    _exit(1);
}

static _Noreturn void observe(struct tc_cage *cage, pid_t helper)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (p->box.unix_sockets && !tc_broker_open(cage))
        tc_watcher_break(cage);
    close_all_but(p->listener);
    int rc = SERVED;
    while (getppid() == helper && rc == SERVED)
        rc = serve(cage, p->listener);
    if (rc == BROKEN)
        tc_watcher_break(cage);
    _exit(0);
}

int tc_watcher_start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    void *memory = mmap(NULL, sizeof(struct tc_watcher), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t helper = getpid();
    if (memory == MAP_FAILED)
        return -1;
    p->watcher = memory;
    /* by fork(), which leaves the child an allocator that no worker was in the middle of */
    p->watcher_pid = fork();
    if (p->watcher_pid == 0)
        observe(cage, helper);
    if (p->watcher_pid < 0) {
        p->watcher_pid = 0;
        return -1;
    }
    /* ours would keep the tool waiting when the watcher dies */
    (void)close(p->listener);
    p->listener = -1;
    return 0;
}

static void add_access(struct tc_outcome *o, const struct tc_watcher *w, const struct seen *s)
{
    struct tc_access_seen *a = TC_PUSH(o->accesses, o->access_count);
    if (!a) {
        o->omitted_accesses++;
        return;
    }
    *a = (struct tc_access_seen){.operation = strdup(s->operation),
                                 .target = strdup(w->text + s->text),
                                 .count = atomic_load(&s->count)};
}

/* It ends by itself with the last process of the cage; one that was killed before has let go of its
 * listener, and with it of the tool, a moment before it can be waited for. */
static void check_end(struct tc_cage *cage)
{
    enum { LOOKS = 100, PAUSE_US = 100 };
    struct tc_process_cage *p = TC_PRIV(cage);
    int status = 0;
    for (int i = 0; p->watcher_pid && i < LOOKS; i++) {
        if (waitpid(p->watcher_pid, &status, WNOHANG) == p->watcher_pid)
            p->watcher_pid = 0;
        else
            (void)usleep(PAUSE_US);
    }
    if ((status == 0 && !atomic_load(&p->watcher->broken)) || cage->outcome->failure.code)
        return;
    tc_notify_lost(cage, 0,
                   p->box.watch >= TC_WATCH_PATHS
                       ? "the process that observed the tool's paths ended, and from then on no "
                         "path could be opened"
                       : "the process that connected in the tool's place ended, and from then on "
                         "no connection could be made");
}

void tc_watcher_finish(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_watcher *w = p->watcher;
    if (!w)
        return;
    check_end(cage);
    uint32_t count = atomic_load(&w->count);
    for (uint32_t i = 0; i < count; i++) {
        struct seen *s = &w->seen[i];
        struct tc_listed what = {.operation = s->operation,
                                 .target = w->text + s->text,
                                 .hint = s->hint,
                                 .probe = s->probe};
        if (s->allowed)
            add_access(cage->outcome, w, s);
        else
            tc_notify_list(cage, &what, atomic_load(&s->count));
    }
    cage->outcome->omitted_denials += atomic_load(&w->refused_more);
    cage->outcome->omitted_accesses += atomic_load(&w->allowed_more);
    tc_watcher_end(cage);
}

void tc_watcher_reap(void)
{
    for (size_t i = left_count; i-- > 0;)
        if (waitpid(left[i], NULL, WNOHANG) != 0)
            left[i] = left[--left_count];
}

void tc_watcher_end(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (p->watcher)
        (void)munmap(p->watcher, sizeof(struct tc_watcher));
    p->watcher = NULL;
    tc_watcher_reap();
    if (!p->watcher_pid)
        return;
    (void)kill(p->watcher_pid, SIGKILL);
    /* without room for one more, at the cost of waiting here */
    if (waitpid(p->watcher_pid, NULL, left_count < LEFT_MAX ? WNOHANG : 0) == 0)
        left[left_count++] = p->watcher_pid;
    p->watcher_pid = 0;
}
