/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What changed in the writable paths. A child of the helper walks them, so that a large tree delays
 * nobody else's deadline. Binds are compared by time: what changed since the start is listed,
 * whoever changed it. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "backend/process/process.h"
#include "backend/process/steering.h"
#include "backend/process/workspace.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "linux/walk.h"

enum { LISTED_MAX = 10000, ENTRIES_MAX = 2000000, SECONDS_MAX = 60 };
static const int64_t hashed_max = (int64_t)1 << 30; /* bytes a call */

struct gathering {
    struct tc_cage *cage;
    const struct tc_item *item;
    struct tc_outcome *found;
    bool commit; /* copies come back */
    int64_t hashed;
};

/* Hex digest of a regular file as it is now, or NULL when it is none, or too much. */
static char *hash(struct gathering *g, const struct tc_walk_entry *e)
{
    if (!S_ISREG(e->st->stx_mode) || g->hashed + (int64_t)e->st->stx_size > hashed_max)
        return NULL;
    /* a single granted file is named through /proc, which is a link */
    int follow = e->relative[0] ? O_NOFOLLOW : 0;
    _autofd_ int fd = openat(e->dirfd, e->name, O_RDONLY | follow | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    unsigned char block[65536];
    ssize_t n;
    while ((n = read(fd, block, sizeof(block))) > 0) {
        SHA256Update(&ctx, block, (size_t)n);
        g->hashed += n;
        if (g->hashed > hashed_max)
            return NULL;
    }
    char digest[TC_DIGEST_SIZE];
    tc_digest_finish(&ctx, digest);
    return n < 0 ? NULL : strdup(digest + strlen("sha256:"));
}

static bool since(const struct tc_process_cage *p, const struct statx_timestamp *t)
{
    return t->tv_sec != p->started.tv_sec ? t->tv_sec > p->started.tv_sec
                                          : (long)t->tv_nsec >= p->started.tv_nsec;
}

static bool collected(const struct tc_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->collect.count; i++)
        if (fnmatch(plan->collect.items[i], name, 0) == 0)
            return true;
    return false;
}

static bool copy_change(struct tc_change *to, const struct tc_change *from)
{
    *to = *from;
    to->path = strdup(from->path);
    to->kind = strdup(from->kind);
    to->sha256 = from->sha256 ? strdup(from->sha256) : NULL;
    to->attribution = from->attribution ? strdup(from->attribution) : NULL;
    return to->path && to->kind;
}

/* A repository without a work tree may have been laid out just now: then its pieces steer the host.
 */
static bool steers(const struct tc_walk_entry *e)
{
    static const char *const pieces[] = {"HEAD", "config", "commondir"};
    if (tc_steers_host(e->relative))
        return true;
    for (size_t i = 0; i < TC_COUNT(pieces); i++)
        if (strcmp(e->name, pieces[i]) == 0 && tc_steers_bare(e->dirfd))
            return true;
    _autofree_ char *parent = e->relative[0] ? tc_path_parent(e->relative) : NULL;
    if (!parent || strcmp(tc_path_base(parent), "hooks") != 0)
        return false;
    _autofd_ int above = openat(e->dirfd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return above >= 0 && tc_steers_bare(above);
}

static void note(struct gathering *g, const struct tc_walk_entry *e, const char *kind, bool exact)
{
    struct tc_outcome *o = g->found;
    const char *path = e->relative[0] ? e->relative : NULL;
    struct tc_change *c =
        o->change_count < LISTED_MAX ? TC_PUSH(o->changes, o->change_count) : NULL;
    if (!c) {
        o->omitted_changes++;
        return;
    }
    *c = (struct tc_change){
        .path = path ? tc_path_join(g->item->path, path) : strdup(g->item->path),
        .kind = strdup(kind),
        .bytes = (int64_t)e->st->stx_size,
        .sha256 = hash(g, e),
        .attribution = exact ? NULL : strdup("time"),
        .links = e->st->stx_nlink > 1 && S_ISREG(e->st->stx_mode) ? (int64_t)e->st->stx_nlink : 0};
    c->steers_host = steers(e);
    if (c->path && S_ISREG(e->st->stx_mode) && collected(g->cage->plan, tc_path_base(c->path))) {
        struct tc_change *f = TC_PUSH(o->files, o->file_count);
        if (!f || !copy_change(f, c))
            o->omitted_files++;
    }
}

/* A directory whose time moved only says that something in it changed; it is listed when new. */
static int visit(void *userdata, const struct tc_walk_entry *e)
{
    struct gathering *g = userdata;
    const struct tc_process_cage *p = TC_PRIV(g->cage);
    bool added = (e->st->stx_mask & STATX_BTIME) && since(p, &e->st->stx_btime);
    if (added || (since(p, &e->st->stx_ctime) && !S_ISDIR(e->st->stx_mode)))
        note(g, e, added ? "added" : "modified", false);
    return 0;
}

/* An entry of a copied workspace: compared with what the tool was given. */
static int visit_copy(void *userdata, const struct tc_walk_entry *e)
{
    struct gathering *g = userdata;
    const char *kind = tc_commit_kind(TC_PRIV(g->cage), g->item, e);
    if (!kind)
        return 0;
    const char *problem = g->commit ? tc_commit_entry(g->cage, g->item, e) : "not committed";
    note(g, e, problem ? problem : kind, true);
    return 0;
}

/* What the copy has no more, from the leaves up. */
static void gather_removals(struct gathering *g)
{
    struct tc_process_cage *p = TC_PRIV(g->cage);
    struct tc_outcome *o = g->found;
    for (size_t i = p->copied_count; i-- > 0;) {
        const struct tc_copied *entry = &p->copied[i];
        enum tc_commit_fate fate = entry->item == g->item ? tc_commit_fate(entry) : TC_COMMIT_STAYS;
        if (fate == TC_COMMIT_STAYS)
            continue;
        const char *problem = g->commit ? tc_commit_removal(entry) : "not committed";
        if (fate == TC_COMMIT_REPLACED)
            continue; /* what took its place is listed */
        struct tc_change *c =
            o->change_count < LISTED_MAX ? TC_PUSH(o->changes, o->change_count) : NULL;
        if (!c) {
            o->omitted_changes++;
            continue;
        }
        *c = (struct tc_change){.path = tc_path_join(g->item->path, entry->relative),
                                .kind = strdup(problem ? problem : "deleted"),
                                .steers_host = tc_steers_host(entry->relative)};
    }
}

static void gather_file(struct gathering *g)
{
    char path[64];
    struct statx st;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", g->item->fd);
    if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &st) < 0 ||
        !since(TC_PRIV(g->cage), &st.stx_ctime))
        return;
    struct tc_walk_entry e = {.dirfd = AT_FDCWD, .name = path, .relative = "", .st = &st};
    note(g, &e, "modified", false);
}

/* A workspace that may not have come back is no success. */
static int not_gathered(struct tc_cage *cage)
{
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                         .stage = "collect",
                                         .subject = "changes",
                                         .errnum = errno,
                                         .hint = "look at the writable directories by hand"},
                        -1, "the changes of this call could not be gathered");
}

static void gather(struct tc_cage *cage, bool commit, struct tc_outcome *found)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct gathering g = {.cage = cage, .found = found, .commit = commit};
    tc_commit_begin(p);
    for (size_t i = 0; i < p->item_count; i++) {
        g.item = &p->items[i];
        if (!g.item->writable)
            continue;
        if (!g.item->directory) {
            gather_file(&g);
            continue;
        }
        bool copied = g.item->copy >= 0;
        if (copied)
            gather_removals(&g);
        /* a copy is bounded by `disk`, and half a commit is none */
        struct tc_walk walk = {.visit = copied ? visit_copy : visit,
                               .userdata = &g,
                               .entries_max = ENTRIES_MAX,
                               .deadline_us =
                                   copied ? 0 : tc_now_us() + (int64_t)SECONDS_MAX * 1000000};
        if (tc_walk(&walk, copied ? g.item->copy : g.item->fd) < 0)
            walk.skipped++;
        found->omitted_changes += walk.skipped;
        if (copied && commit && walk.skipped)
            (void)not_gathered(&(struct tc_cage){.outcome = found});
    }
}

static bool is_object(const struct stat *st, const struct tc_masked *m)
{
    return st->st_dev == m->id.dev && st->st_ino == m->id.ino;
}

/* The mask hangs on the name in its directory, which may have been moved; then it went along, and
 * nothing else may stand at the denied path. */
static bool stands(const struct tc_masked *m)
{
    struct stat st;
    if (fstatat(m->parent, tc_path_base(m->name), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !is_object(&st, m))
        return false;
    _autofd_ int fd = tc_resolve_beneath(m->tree, m->name);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    return fstat(fd, &st) == 0 && is_object(&st, m);
}

/* A mask vanishes when a host program replaces the name under it; then the tool may have seen what
 * the policy denies, and the call must say so. */
static void check_masks(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    for (size_t i = 0; i < p->masked_count; i++) {
        const struct tc_masked *m = &p->masked[i];
        if (stands(m) || cage->outcome->failure.code)
            continue;
        (void)tc_cage_fail(
            cage,
            &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                             .stage = "collect",
                             .subject = m->deny->path,
                             .hint = "do not edit denied files while a tool runs, or move "
                                     "them out of the writable directory"},
            TC_CLAUSE_FS_DENIED,
            "%s was replaced on the host during the call, which took its mask away", m->deny->path);
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes what belongs to other cages: the write end of an input that would not end, a listener that
 * would seem to be served. What this cage keeps is all that is needed here. */
static void close_others(struct tc_process_cage *p)
{
    unsigned next = 0;
    qsort(p->fds, p->fd_count, sizeof(*p->fds), by_number);
    for (size_t i = 0; i < p->fd_count; i++) {
        unsigned fd = (unsigned)p->fds[i];
        if (fd > next)
            (void)tc_close_range(next, fd - 1, 0);
        next = fd + 1;
    }
    (void)tc_close_range(next, ~0U, 0);
}

/* A commit that has begun goes on when the helper dies: half of it would be worse. Without one
 * nobody is left to read what is found. */
static _Noreturn void run_collector(struct tc_cage *cage, bool commit, int memory)
{
    struct tc_outcome found = {0};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    if (!commit)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    close_others(TC_PRIV(cage));
    gather(cage, commit, &found);
    tc_outcome_visit(&w, &found);
    _exit(!w.failed && tc_write_all(memory, w.out.data, w.out.len) == 0 ? 0 : 1);
}

int tc_process_collect(struct tc_cage *cage, bool commit)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    size_t writable = 0;
    check_masks(cage);
    for (size_t i = 0; i < p->item_count; i++)
        writable += p->items[i].writable;
    if (!writable)
        return -1;
    commit = commit && !cage->outcome->failure.code;
    p->changes_fd = tc_process_keep(p, memfd_create("changes", MFD_CLOEXEC));
    int pidfd = -1;
    struct clone_args args = {
        .flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
    p->collector = p->changes_fd < 0 ? -1 : tc_clone3(&args);
    if (p->collector == 0)
        run_collector(cage, commit, p->changes_fd);
    if (p->collector < 0) {
        p->collector = 0;
        return not_gathered(cage);
    }
    p->collector_fd = tc_process_keep(p, pidfd);
    if (p->collector_fd < 0) /* no memory to wait later */
        tc_process_collected(cage);
    return p->collector_fd;
}

static void merge(struct tc_outcome *to, struct tc_outcome *from)
{
    to->changes = TAKE(from->changes);
    to->change_count = from->change_count;
    to->files = TAKE(from->files);
    to->file_count = from->file_count;
    to->omitted_changes += from->omitted_changes;
    to->omitted_files += from->omitted_files;
    from->change_count = from->file_count = 0;
    if (from->failure.code && !to->failure.code) {
        to->failure = from->failure;
        from->failure = (struct tc_failure){0};
        to->status = from->status;
    }
}

void tc_process_collected(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_outcome found = {0};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    int status = 0;
    if (!p->collector)
        return;
    while (waitpid(p->collector, &status, 0) < 0 && errno == EINTR)
        ;
    p->collector = 0;
    bool read = lseek(p->changes_fd, 0, SEEK_SET) == 0 && tc_read_all(p->changes_fd, &text) == 0;
    struct tc_wire w = TC_WIRE_GET_INIT(text.data, text.len);
    if (read && status == 0)
        tc_outcome_visit(&w, &found);
    errno = 0;
    if (!read || status != 0 || w.failed)
        (void)not_gathered(cage);
    else
        merge(cage->outcome, &found);
    tc_outcome_done(&found);
}
