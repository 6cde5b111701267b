/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Starts the process that collects changes and may commit them, waits for it, and copies its result
 * to the outcome. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "workspace/layer.h"
#include "workspace/session.h"
#include "workspace/workspace.h"

/* Must the collector finish although its call is over? Yes while it commits: a late commit is
 * better than half of one, or than one without the session's state. */
static bool goes_on(const struct tc_cage *cage, bool commit)
{
    return tc_workspace_commits(cage, commit) || cage->workspace->session;
}

void tc_workspace_gather(struct tc_cage *cage, bool commit)
{
    tc_workspace_check_masks(cage);
    tc_workspace_gather_into(cage, commit && !cage->outcome->failure.code, cage->outcome);
}

/* Runs in the collector. It dies with the helper, because no process is left to read the result;
 * but with a commit it continues, because half a commit would be worse. */
static _Noreturn void run_collector(struct tc_cage *cage, bool commit, int memory)
{
    struct tc_outcome found = {0};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    if (!goes_on(cage, commit))
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* closes the fds of other cages: a write end would keep their input open, a listener would
     * appear to be served. The fds of this cage are all that is needed */
    tc_close_but(cage->trees->fds, cage->trees->fd_count);
    (void)umask(0); /* the tool chose the modes */
    cage->outcome = &found;
    tc_workspace_gather(cage, commit);
    tc_outcome_visit(&w, &found);
    _exit(!w.failed && tc_write_all(memory, w.out.data, w.out.len) == 0 ? 0 : 1);
}

static void move_denials(struct tc_outcome *to, struct tc_outcome *from)
{
    for (size_t i = 0; i < from->denial_count; i++) {
        struct tc_denial *d = TC_PUSH(to->denials, to->denial_count);
        if (!d)
            return;
        *d = from->denials[i];
        from->denials[i] = (struct tc_denial){0};
    }
}

void tc_workspace_merge(struct tc_outcome *to, struct tc_outcome *from)
{
    move_denials(to, from);
    to->changes = TAKE(from->changes);
    to->change_count = from->change_count;
    to->files = TAKE(from->files);
    to->file_count = from->file_count;
    to->omitted_changes += from->omitted_changes;
    to->omitted_files += from->omitted_files;
    from->change_count = from->file_count = 0;
    to->sessions = TAKE(from->sessions);
    to->session_count = from->session_count;
    from->session_count = 0;
    if (!to->note)
        to->note = TAKE(from->note);
    if (from->failure.code && !to->failure.code) {
        to->failure = from->failure;
        from->failure = (struct tc_outcome_failure){0};
        to->status = from->status;
    }
}

/* A page that the collector's process shares with the helper. Without it nothing is counted. */
static _Atomic int64_t *make_counter(void)
{
    void *page =
        mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

static void drop_counter(struct tc_workspace *w)
{
    if (w->collected)
        (void)munmap((void *)TAKE(w->collected), sizeof(int64_t));
}

/* Takes the collector's result; waits for its exit if it has not exited yet. */
static void take_over(struct tc_cage *cage)
{
    struct tc_workspace *w = cage->workspace;
    struct tc_outcome found = {0};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    int status = 0;
    while (waitpid(w->collector, &status, 0) < 0 && errno == EINTR)
        ;
    w->collector = 0;
    drop_counter(w);
    tc_session_let_go(w);
    bool read = lseek(w->changes_fd, 0, SEEK_SET) == 0 && tc_read_all(w->changes_fd, &text) == 0;
    struct tc_wire wire = TC_WIRE_GET_INIT(text.data, text.len);
    if (read && status == 0)
        tc_outcome_visit(&wire, &found);
    errno = 0;
    if (!read || status != 0 || wire.failed)
        (void)tc_not_gathered(w, cage->outcome);
    else
        tc_workspace_merge(cage->outcome, &found);
    tc_outcome_done(&found);
}

int64_t tc_workspace_collected(const struct tc_cage *cage)
{
    const struct tc_workspace *w = cage->workspace;
    return w && w->collected ? atomic_load_explicit(w->collected, memory_order_relaxed) : -1;
}

static int begin_collect(struct tc_cage *cage, bool commit)
{
    struct tc_trees *t = cage->trees;
    struct tc_workspace *w = cage->workspace;
    size_t writable = 0, copies = 0;
    for (size_t i = 0; i < t->item_count; i++) {
        writable += t->items[i].writable && !tc_layer_untouched(&t->items[i]);
        copies += t->items[i].copy >= 0;
    }
    if (!writable && !t->masked_count && !w->session)
        return -1;
    commit = commit && copies && !cage->outcome->failure.code;
    w->changes_fd = tc_tree_keep(t, memfd_create("changes", MFD_CLOEXEC));
    w->collected = make_counter();
    /* with fork(), after which the child's allocator is consistent whatever other threads did */
    w->collector = w->changes_fd < 0 ? -1 : fork();
    if (w->collector == 0)
        run_collector(cage, commit, w->changes_fd);
    if (w->collector < 0) {
        w->collector = 0;
        drop_counter(w);
        return tc_not_gathered(w, cage->outcome);
    }
    w->committing = goes_on(cage, commit);
    w->collector_fd = tc_tree_keep(t, tc_pidfd_open(w->collector));
    if (w->collector_fd < 0) /* without a pidfd: wait now */
        take_over(cage);
    return w->collector_fd;
}

int tc_workspace_collect(struct tc_cage *cage, bool commit)
{
    if (!cage->workspace || cage->changes_lost)
        return -1;
    if (!cage->workspace->collector)
        return begin_collect(cage, commit);
    take_over(cage);
    return -1;
}

bool tc_workspace_cancel(const struct tc_cage *cage)
{
    const struct tc_workspace *w = cage->workspace;
    if (!w || w->committing)
        return false;
    return w->inline_collect || (w->collector > 0 && kill(w->collector, SIGKILL) == 0);
}
