/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "helper/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <toolcage/result.h>

#include "base/clock.h"
#include "base/fd.h"
#include "workspace/inline_collect.h"
#include "workspace/workspace.h"

enum { READ_SHARE = 65536, FEED_SHARE = 65536, LAST_WORDS = 1 << 20 /* a pipe holds no more */ };
enum {
    LOOK_US = 100000,        /* interval between checks for an end that cannot be watched */
    CLEAR_US = 1000000,      /* interval between kills of a process that should end */
    STUCK_US = 2000000,      /* how long the kernel may take to end a killed process */
    GATHERING_US = 120000000 /* time limit of a collection; longer than the collector's own limit */
};

/* ---- ending a job ---- */

/* Stops watching all fds of the cage, except the one of role `but` (TC_ROLES: no exception). */
static void unwatch_cage(struct tc_job_record *j, enum tc_role but)
{
    for (int role = TC_ROLE_OUT; role < TC_ROLES; role++)
        if (role != (int)but)
            (void)tc_job_watch(j, (enum tc_role)role, -1, 0);
    j->cage.look_at_us = 0;
}

static void work_release(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    (void)tc_cage_destroy(&j->cage, TC_BLOCK_YES);
}

static void on_done(struct tc_task *task)
{
    tc_job_step(task->owner, TC_ON_DONE);
}

static void finish_clearing(struct tc_job_record *j)
{
    (void)tc_cage_destroy(&j->cage, TC_BLOCK_NO);
    tc_job_cleared(j);
}

static void kill_again(struct tc_job_record *j)
{
    j->cage.executor->signal(&j->cage, true);
}

/* Waits for the end of the cage's remaining processes, without blocking. If the end cannot be
 * watched, checks for it every LOOK_US. */
static void await_end(struct tc_job_record *j)
{
    bool watched = tc_job_watch(j, TC_ROLE_EXIT, j->cage.exit_fd, EPOLLIN);
    j->due_us = tc_now_us() + (watched ? CLEAR_US : LOOK_US);
}

void tc_job_clear(struct tc_job_record *j)
{
    unwatch_cage(j, TC_ROLE_EXIT);
    if (j->cage.exit_fd >= 0) {
        if (!j->cage.over)
            kill_again(j);
        tc_job_step(j, TC_ON_ALIVE);
        return;
    }
    bool gone = tc_cage_destroy(&j->cage, TC_BLOCK_NO);
    j->task = (struct tc_task){.work = work_release, .done = on_done, .owner = j};
    if (!gone && tc_workers_give(j->workers, &j->task) == 0) {
        tc_job_step(j, TC_ON_LARGE);
        return;
    }
    while (!gone) /* no thread can be created: blocks the event loop */
        gone = tc_cage_destroy(&j->cage, TC_BLOCK_YES);
    tc_job_step(j, TC_ON_CLEARED);
}

/* Sends the outcome before the cage is released, so that the library does not wait for that. */
void tc_job_answer(struct tc_job_record *j)
{
    struct tc_stream *streams[] = {&j->outcome.out, &j->outcome.err};
    j->end_at_us = j->due_us = 0;
    if (j->probed && tc_job_next_probe(j))
        return;
    if (tc_again_wanted(j)) {
        j->cage.outcome = &j->late_outcome;
        tc_job_clear(j);
        return;
    }
    for (size_t i = 0; i < TC_COUNT(streams); i++) {
        tc_output_finish(&j->flows[i].read, 0, streams[i]);
        tc_output_done(&j->flows[i].read);
    }
    tc_reserve_open();
    tc_deliver(j);
    (void)tc_reserve_close();
    j->cage.outcome = &j->late_outcome; /* later results are discarded */
    if (j->state == TC_IS_ENDED)
        tc_job_clear(j);
}

/* A cage that cannot be watched must not run, because the helper would not notice its end. */
int tc_job_not_watched(struct tc_job_record *j)
{
    return tc_cage_fail(&j->cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "supervise", "epoll", errno,
                                     "raise fs.epoll.max_user_watches, or free memory"),
                        -1, "the helper cannot watch the cage");
}

static void read_output(struct tc_job_record *j, int stream, int share)
{
    char bytes[READ_SHARE];
    int fd = stream == 0 ? j->cage.out_fd : j->cage.err_held ? -1 : j->cage.err_fd;
    while (share > 0 && fd >= 0) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EIO) /* the end of a terminal */
            return;
        if (n <= 0) {
            (void)tc_job_watch(j, TC_ROLE_OUT + stream, -1, 0);
            return;
        }
        tc_output_add(&j->flows[stream].read, bytes, (size_t)n);
        share -= (int)n;
    }
}

/* Cancels the collection. If a commit has begun, the call is answered when it is complete. */
static void end_gathering(struct tc_job_record *j)
{
    if (!tc_workspace_cancel(&j->cage))
        return;
    if (j->reason >= TC_FOR_CANCEL && !j->outcome.failure.code)
        j->outcome.status = TOOLCAGE_STATUS_CANCELLED;
    j->outcome.omitted_changes++;
    tc_job_step(j, TC_ON_OUTCOME);
}

static void gather_no_longer(struct tc_job_record *j)
{
    (void)tc_cage_fail(
        &j->cage,
        TC_WHY(TOOLCAGE_EBACKEND, "collect", "changes", "check the writable directories yourself"),
        -1, "the changes of this call could not be collected in time");
    end_gathering(j);
}

static void ask_to_end(struct tc_job_record *j)
{
    j->cage.executor->signal(&j->cage, false);
    j->due_us = tc_now_us() + tc_us_of_ms(j->plan.limits.grace_ms);
}

static void kill_it(struct tc_job_record *j)
{
    kill_again(j);
    j->due_us = tc_now_us() + STUCK_US;
}

/* The call has failed: kills the cage, and waits only for its end. */
static void give_up(struct tc_job_record *j)
{
    unwatch_cage(j, TC_ROLE_EXIT);
    kill_it(j);
}

static void give_up_killed(struct tc_job_record *j)
{
    unwatch_cage(j, TC_ROLE_EXIT);
    kill_again(j);
}

static void kill_rest(struct tc_job_record *j)
{
    kill_again(j);
    await_end(j);
}

/* The kernel does not end a killed process while the process waits for an unresponsive file system.
 * Answers the call in time; the cage is released when the kernel has ended it. */
static void leave_to_the_kernel(struct tc_job_record *j)
{
    struct tc_outcome *o = &j->outcome;
    for (int stream = 0; stream < 2; stream++)
        read_output(j, stream, LAST_WORDS);
    o->exit_code = -1;
    o->signal = SIGKILL;
    o->wall_us = tc_now_us() - j->step_us;
    o->note = strdup("it was killed but has not ended yet: it waits in the kernel for a file "
                     "system or device that does not respond");
    o->omitted_changes++;
    tc_job_judge(j, j->cage.executor->usage(&j->cage));
    unwatch_cage(j, TC_ROLE_EXIT);
    tc_job_answer(j);
    await_end(j);
}

static void end_for(struct tc_job_record *j, enum tc_reason reason)
{
    j->reason = reason > j->reason ? reason : j->reason;
}

static void limit_to(struct tc_job_record *j, const char *limit)
{
    j->limit = j->limit ? j->limit : limit;
    end_for(j, TC_FOR_LIMIT);
}

static void stop_for(struct tc_job_record *j, const char *limit)
{
    limit_to(j, limit);
    tc_job_step(j, TC_ON_KILL);
}

static void gather(struct tc_job_record *j);

static void work_gather(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    tc_inline_collect_work(&j->cage);
}

/* The collection has ended. If it was too large for a thread (not `whole`), a process repeats it.
 */
static void on_gathered(struct tc_job_record *j, bool whole)
{
    tc_job_step(j, TC_ON_DONE);
    if (j->state == TC_IS_FREE && whole)
        tc_job_step(j, TC_ON_OUTCOME);
    else if (j->state == TC_IS_FREE)
        gather(j);
}

static void on_gathered_briefly(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    on_gathered(j, tc_inline_collect_end(&j->cage));
}

static void await_changes(struct tc_job_record *j)
{
    j->due_us = tc_now_us() + GATHERING_US;
    j->report_us = tc_now_us() + TC_REPORT_US;
}

/* Collects few changes on an idle worker thread; creating a thread would cost more than that. */
static bool gather_briefly(struct tc_job_record *j)
{
    if (!tc_workers_free(j->workers) || !tc_inline_collect_begin(&j->cage))
        return false;
    j->task = (struct tc_task){.work = work_gather, .done = on_gathered_briefly, .owner = j};
    (void)tc_workers_give(j->workers, &j->task); /* a thread is idle */
    tc_job_step(j, TC_ON_GATHER);
    return true;
}

/* Collects the changes. If there are none to collect, the outcome is final. */
static void gather(struct tc_job_record *j)
{
    bool commit = j->plan.commit == TC_COMMIT_ALWAYS ||
                  (j->plan.commit == TC_COMMIT_SUCCESS && j->outcome.status == TOOLCAGE_STATUS_OK);
    bool wanted = j->cage.running && j->reason < TC_FOR_HOST;
    if (wanted && gather_briefly(j))
        return;
    int wait = wanted ? tc_workspace_collect(&j->cage, commit) : -1;
    if (wait >= 0 && tc_job_watch(j, TC_ROLE_COLLECT, wait, EPOLLIN)) {
        tc_job_step(j, TC_ON_GATHER);
        return;
    }
    if (wait >= 0) /* the fd cannot be watched: blocks the event loop */
        (void)tc_workspace_collect(&j->cage, commit);
    tc_job_step(j, TC_ON_OUTCOME);
}

/* The tool's error names only the file, not the cause. */
static void explain(struct tc_job_record *j)
{
    for (int stream = 0; stream < 2 && j->cage.running && !j->outcome.note; stream++) {
        const struct tc_output *out = &j->flows[stream].read;
        tc_outcome_note(&j->outcome, tc_workspace_explain(&j->cage, out->head, out->head_len));
    }
}

/* No process of the tool is left: computes the outcome. */
static void sum_up(struct tc_job_record *j)
{
    int64_t now = tc_now_us();
    j->outcome.wall_us = now - j->step_us;
    /* the cage ends itself at its deadline if the helper is blocked */
    if (j->end_at_us && now >= j->end_at_us && j->outcome.signal && j->reason == TC_FOR_NOTHING)
        j->reason = TC_FOR_TIME;
    for (int stream = 0; stream < 2; stream++) /* else all writers have ended */
        read_output(j, stream, j->cage.lingers ? LAST_WORDS : INT32_MAX);
    unwatch_cage(j, TC_ROLES);
    j->end_at_us = j->due_us = 0;
    if (j->plan.limits.output_kill &&
        (tc_output_over(&j->flows[0].read) || tc_output_over(&j->flows[1].read)))
        limit_to(j, "output");
    tc_reserve_open();
    tc_job_judge(j, j->cage.executor->usage(&j->cage));
    explain(j);
}

static void conclude(struct tc_job_record *j)
{
    sum_up(j);
    gather(j);
    (void)tc_reserve_close();
}

static void reap_cage(struct tc_job_record *j)
{
    j->cage.executor->reap(&j->cage);
    conclude(j);
}

/* A cage that was killed before its sandbox was complete did not fail: removes the failure. */
static void reap_killed(struct tc_job_record *j)
{
    bool ours = !j->cage.running && !j->outcome.failure.code;
    j->cage.executor->reap(&j->cage);
    if (ours) {
        tc_failure_clear(&j->outcome.failure);
        j->outcome.exit_code = -1;
        j->outcome.signal = SIGKILL;
    }
    conclude(j);
}

static void reap_given_up(struct tc_job_record *j)
{
    j->cage.executor->reap(&j->cage);
    sum_up(j);
    tc_job_step(j, TC_ON_OUTCOME);
    (void)tc_reserve_close();
}

static void reap_rest(struct tc_job_record *j)
{
    j->cage.executor->reap(&j->cage);
    tc_job_clear(j);
}

static void stand(struct tc_job_record *j)
{
    tc_again_drop(j);
    tc_deliver_ready(j);
    tc_job_mark(j, "walls", j->step_us);
    j->step_us = tc_now_us();
}

/* ---- state table ----
 *
 * A job's state and an event select a row {action, next state}. tc_job_step() sets the next state,
 * then calls the action, which may report a further event.
 * A call's way, without the parts in [ ] that it does not need:
 *   FREE [GIVEN -> PREPARING, DONE -> FREE]      a worker thread prepares the cage
 *   STARTED -> STARTING, UP -> RUNNING           the tool runs when the sandbox is complete
 *   EXIT or OVER -> FREE                         the tool has ended
 *   [GATHER -> GATHERING, DONE -> FREE]          its changes are collected
 *   OUTCOME -> ENDED, CLEARED -> GONE            the outcome is sent, then the cage is released
 * A call that is ended:
 *   RUNNING: CANCEL -> ENDING, DUE -> KILLED     SIGTERM, and SIGKILL after the grace period
 *   STARTING, RUNNING: KILL or HOST -> KILLED    at once; a CANCEL in STARTING, too
 *   KILLED: EXIT -> FREE; DUE -> DYING           DYING: answered, but the kernel has not ended it
 *   STARTING to KILLED: OUTCOME -> GIVEN_UP      failed: killed, and no changes are collected
 *   PREPARING, GATHERING: OUTCOME -> ABANDONED   answered while a thread or collector works;
 *   ABANDONED: DONE -> ENDED                     released when it has finished
 * A release that takes long:
 *   ENDED: ALIVE -> DYING, EXIT -> ENDED         the cage's processes must end first
 *   ENDED: LARGE -> CLEARING, DONE -> GONE       a worker thread frees the cage's storage
 * PROBE: the doctor's next probe starts in FREE. never() fails a job whose event cannot happen. */

static void nothing(struct tc_job_record *j)
{
    (void)j;
}

/* An event that cannot happen in this state has happened: fails the job and kills its cage. */
static void never(struct tc_job_record *j)
{
    /* a worker thread may be using the cage's outcome */
    struct tc_cage said = {.outcome = &j->outcome};
    if (!tc_job_answered(j))
        (void)tc_cage_fail(&said, &(struct tc_why){.code = TOOLCAGE_EHELPER, .stage = "supervise"},
                           -1, "the helper lost track of the call");
    tc_job_step(j, TC_ON_OUTCOME);
}

/* OF_FREE, OF_ENDED: an event of that state only. The first row of each list is that of FREE. */
/* clang-format off */
#define NEVER {never, TC_IS_SAME}
#define STAY(act) {act, TC_IS_SAME}
#define FROM(first, last) [TC_IS_##first ... TC_IS_##last]
#define OF_FREE(act, next) {{act, next}, FROM(PREPARING, GONE) = NEVER}
#define OF_ENDED(act, next) {FROM(FREE, GATHERING) = NEVER, {act, next}, FROM(ABANDONED, GONE) = NEVER}

const struct tc_job_row tc_job_rows[TC_ON_EVENTS][TC_IS_STATES] = {
    [TC_ON_GIVEN] = OF_FREE(nothing, TC_IS_PREPARING),
    [TC_ON_STARTED] = OF_FREE(nothing, TC_IS_STARTING),
    [TC_ON_UP] = {
        FROM(FREE, PREPARING) = NEVER, [TC_IS_STARTING] = {stand, TC_IS_RUNNING},
        FROM(RUNNING, ENDING) = NEVER, [TC_IS_KILLED] = STAY(stand), FROM(GIVEN_UP, GONE) = NEVER},
    [TC_ON_CANCEL] = {
        NEVER, [TC_IS_PREPARING] = STAY(tc_job_abandon), [TC_IS_STARTING] = {kill_it, TC_IS_KILLED},
        [TC_IS_RUNNING] = {ask_to_end, TC_IS_ENDING}, [TC_IS_ENDING] = STAY(nothing),
        FROM(KILLED, GIVEN_UP) = STAY(kill_again), [TC_IS_GATHERING] = STAY(end_gathering),
        FROM(ENDED, GONE) = STAY(nothing)},
    [TC_ON_HOST] = {
        NEVER, [TC_IS_PREPARING] = STAY(tc_job_abandon),
        FROM(STARTING, ENDING) = {kill_it, TC_IS_KILLED},
        FROM(KILLED, GIVEN_UP) = STAY(kill_again), [TC_IS_GATHERING] = STAY(end_gathering),
        FROM(ENDED, GONE) = STAY(tc_job_hang_up)},
    [TC_ON_DUE] = {
        NEVER, [TC_IS_PREPARING] = STAY(tc_job_refuse), FROM(STARTING, RUNNING) = NEVER,
        [TC_IS_ENDING] = {kill_it, TC_IS_KILLED},
        FROM(KILLED, GIVEN_UP) = {leave_to_the_kernel, TC_IS_DYING},
        [TC_IS_GATHERING] = STAY(gather_no_longer), FROM(ENDED, ABANDONED) = NEVER,
        [TC_IS_DYING] = STAY(kill_rest), FROM(CLEARING, GONE) = NEVER},
    [TC_ON_KILL] = {
        FROM(FREE, PREPARING) = NEVER, FROM(STARTING, ENDING) = {kill_it, TC_IS_KILLED},
        [TC_IS_KILLED] = STAY(kill_again), FROM(GIVEN_UP, GONE) = NEVER},
    [TC_ON_EXIT] = {
        FROM(FREE, PREPARING) = NEVER, FROM(STARTING, ENDING) = {reap_cage, TC_IS_FREE},
        [TC_IS_KILLED] = {reap_killed, TC_IS_FREE}, [TC_IS_GIVEN_UP] = {reap_given_up, TC_IS_FREE},
        FROM(GATHERING, ABANDONED) = NEVER, [TC_IS_DYING] = {reap_rest, TC_IS_ENDED},
        FROM(CLEARING, GONE) = NEVER},
    [TC_ON_OVER] = {
        FROM(FREE, PREPARING) = NEVER, FROM(STARTING, KILLED) = {conclude, TC_IS_FREE},
        FROM(GIVEN_UP, GONE) = NEVER},
    [TC_ON_GATHER] = OF_FREE(await_changes, TC_IS_GATHERING),
    [TC_ON_OUTCOME] = {
        {tc_job_answer, TC_IS_ENDED}, [TC_IS_PREPARING] = {tc_job_leave, TC_IS_ABANDONED},
        FROM(STARTING, ENDING) = {give_up, TC_IS_GIVEN_UP},
        FROM(KILLED, GIVEN_UP) = {give_up_killed, TC_IS_GIVEN_UP},
        [TC_IS_GATHERING] = {tc_job_answer, TC_IS_ABANDONED}, FROM(ENDED, GONE) = STAY(nothing)},
    [TC_ON_DONE] = {
        NEVER, [TC_IS_PREPARING] = {tc_job_take_over, TC_IS_FREE}, FROM(STARTING, GIVEN_UP) = NEVER,
        [TC_IS_GATHERING] = {nothing, TC_IS_FREE}, [TC_IS_ENDED] = NEVER,
        [TC_IS_ABANDONED] = {tc_job_clear, TC_IS_ENDED}, [TC_IS_DYING] = NEVER,
        [TC_IS_CLEARING] = {finish_clearing, TC_IS_GONE}, [TC_IS_GONE] = NEVER},
    [TC_ON_ALIVE] = OF_ENDED(await_end, TC_IS_DYING),
    [TC_ON_LARGE] = OF_ENDED(nothing, TC_IS_CLEARING),
    [TC_ON_CLEARED] = OF_ENDED(tc_job_cleared, TC_IS_GONE),
    [TC_ON_NEXT] = {
        STAY(nothing), FROM(PREPARING, CLEARING) = NEVER, [TC_IS_GONE] = {nothing, TC_IS_FREE}},
};
/* clang-format on */

void tc_job_step(struct tc_job_record *j, enum tc_job_event event)
{
    static const struct tc_job_row unknown = NEVER;
    const struct tc_job_row *row = &tc_job_rows[event][j->state];
    row = row->act ? row : &unknown;
    if (row->next != TC_IS_SAME)
        j->state = row->next;
    row->act(j);
}

static void on_exit_ready(struct tc_source *s)
{
    (void)tc_job_watch(s->owner, TC_ROLE_EXIT, -1, 0);
    tc_job_step(s->owner, TC_ON_EXIT);
}

static void on_collected(struct tc_source *s)
{
    struct tc_job_record *j = s->owner;
    (void)tc_job_watch(j, TC_ROLE_COLLECT, -1, 0);
    (void)tc_workspace_collect(&j->cage, false);
    on_gathered(j, true);
}

/* ---- running ---- */

/* Stops reading a stream that is delivered completely, until the library has accepted all of it. */
static void hold_back(struct tc_job_record *j)
{
    for (int stream = 0; stream < 2 && j->flows[stream].read.all; stream++) {
        int fd = stream == 0 ? j->cage.out_fd : j->cage.err_fd;
        bool wait = j->flows[stream].read.head_len > 0;
        if (wait == j->flows[stream].held_back)
            continue;
        j->flows[stream].held_back = wait;
        if (tc_job_watch(j, TC_ROLE_OUT + stream, wait ? -1 : fd, EPOLLIN))
            continue;
        (void)tc_job_not_watched(j);
        tc_job_step(j, TC_ON_KILL);
    }
}

/* Fails the call: the library would take a part of the requested output for the whole. */
static void give_up_output(struct tc_job_record *j)
{
    (void)tc_cage_fail(&j->cage, TC_WHY(TOOLCAGE_EMEMORY, "supervise", "output", "free memory"), -1,
                       "the helper has no memory for the output");
    tc_job_step(j, TC_ON_KILL);
}

static void on_output(struct tc_source *s)
{
    struct tc_job_record *j = s->owner;
    int stream = (int)(s - &j->sources[TC_ROLE_OUT]);
    read_output(j, stream, 1);
    if (j->plan.limits.output_kill && tc_output_over(&j->flows[stream].read))
        stop_for(j, "output");
    if (j->plan.stream)
        tc_deliver_stream(j);
    if (j->flows[stream].read.all && j->flows[stream].read.failed)
        give_up_output(j);
    else
        hold_back(j);
}

static void hear_host(struct tc_job_record *j)
{
    bool was = j->cage.running, held = j->cage.err_held;
    int rc = tc_cage_event(&j->cage);
    if (j->cage.running && !was)
        tc_job_step(j, TC_ON_UP);
    if (rc < 0) {
        tc_job_step(j, TC_ON_OUTCOME);
        return;
    }
    if (j->cage.over && !j->probed) { /* a probe waits for its cage's complete end, because the next
                                         one needs the record */
        tc_job_step(j, TC_ON_OVER);
        return;
    }
    bool heard = !held || j->cage.err_held || tc_job_watch(j, TC_ROLE_ERR, j->cage.err_fd, EPOLLIN);
    heard = heard && tc_terminal_attach(j);
    if (!heard)
        (void)tc_job_not_watched(j);
    if (j->outcome.failure.code)
        tc_job_step(j, TC_ON_KILL);
    else if (j->cage.limit && !j->limit)
        stop_for(j, j->cage.limit);
    else if (j->cage.finished && j->state == TC_IS_RUNNING)
        tc_job_step(j, TC_ON_CANCEL); /* without a reason: a success */
}

static void on_event(struct tc_source *s)
{
    hear_host(s->owner);
}

static void close_feed(struct tc_job_record *j)
{
    (void)tc_job_watch(j, TC_ROLE_FEED, -1, 0);
    (void)close(TAKE_FD(j->feed.to));
}

/* Ends the call: the tool would take a truncated input for the complete one. */
static void fail_feed(struct tc_job_record *j)
{
    (void)tc_cage_fail(&j->cage,
                       TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "supervise", "standard input", errno,
                                    "free memory on this host"),
                       -1, "the helper cannot read the call's input");
    tc_job_step(j, TC_ON_KILL);
}

/* The tool's input accepts more bytes: from the memory file or for the terminal. */
static void on_feed(struct tc_source *s)
{
    struct tc_job_record *j = s->owner;
    char bytes[FEED_SHARE];
    if (j->plan.terminal) {
        tc_terminal_feed(j);
        return;
    }
    ssize_t n = pread(j->feed.from, bytes, sizeof(bytes), j->feed.fed);
    if (n < 0 && errno != EINTR) {
        fail_feed(j);
        close_feed(j);
        return;
    }
    ssize_t wrote = n > 0 ? write(j->feed.to, bytes, (size_t)n) : 0;
    if (wrote > 0)
        j->feed.fed += wrote;
    else if (n == 0 || (wrote < 0 && errno != EAGAIN && errno != EINTR))
        close_feed(j); /* all is written, or the tool has closed its standard input */
}

static void on_socket(struct tc_source *s)
{
    struct tc_job_record *j = s->owner;
    struct tc_message m = {0};
    size_t count;
    if (s->ready_for & EPOLLOUT) {
        tc_deliver_more(j);
        if (j->state < TC_IS_GIVEN_UP)
            hold_back(j);
    }
    if (j->socket < 0 || !(s->ready_for & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t n = tc_recv(j->socket, &m, sizeof(m), NULL, 0, &count, NULL, NULL, false);
    if (n < 0 && (errno == EAGAIN || errno == EMSGSIZE))
        return;
    if (n <= 0) {
        (void)tc_job_watch(j, TC_ROLE_SOCKET, -1, 0);
        end_for(j, TC_FOR_HOST);
        tc_job_step(j, TC_ON_HOST);
    } else if (m.kind == TC_MESSAGE_END && j->state == TC_IS_RUNNING) {
        tc_job_step(j, TC_ON_CANCEL);
    } else if (m.kind == TC_MESSAGE_CANCEL || m.kind == TC_MESSAGE_END) {
        end_for(j, TC_FOR_CANCEL);
        tc_job_step(j, TC_ON_CANCEL);
    } else if (m.kind == TC_MESSAGE_RESIZE && !tc_job_answered(j)) {
        tc_terminal_resize(j, m.rows, m.columns);
    } else if (m.kind == TC_MESSAGE_SIGNAL && !tc_job_answered(j)) {
        tc_cage_pass_signal(&j->cage, m.signal);
    }
}

static void (*const handlers[TC_ROLES])(struct tc_source *) = {
    [TC_ROLE_SOCKET] = on_socket,     [TC_ROLE_OUT] = on_output,
    [TC_ROLE_ERR] = on_output,        [TC_ROLE_EVENT] = on_event,
    [TC_ROLE_EXIT] = on_exit_ready,   [TC_ROLE_FEED] = on_feed,
    [TC_ROLE_COLLECT] = on_collected, [TC_ROLE_TYPED] = tc_terminal_typed,
};

void tc_job_attach(struct tc_job_record *j)
{
    for (int role = 0; role < TC_ROLES; role++)
        j->sources[role] = (struct tc_source){.ready = handlers[role], .owner = j, .fd = -1};
}

int64_t tc_job_next(const struct tc_job_record *j)
{
    const int64_t times[] = {j->end_at_us, j->due_us, j->report_us, j->cage.look_at_us};
    int64_t next = 0;
    for (size_t i = 0; i < TC_COUNT(times); i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    return next;
}

void tc_job_tick(struct tc_job_record *j, int64_t now)
{
    if (j->end_at_us && now >= j->end_at_us) {
        j->end_at_us = 0;
        end_for(j, TC_FOR_TIME);
        tc_job_step(j, TC_ON_CANCEL);
    }
    if (j->due_us && now >= j->due_us) {
        j->due_us = 0;
        tc_job_step(j, TC_ON_DUE);
    }
    if (j->report_us && now >= j->report_us)
        tc_deliver_collected(j, now);
    if (j->cage.look_at_us && now >= j->cage.look_at_us)
        hear_host(j);
}

void tc_job_end(struct tc_job_record *j)
{
    end_for(j, TC_FOR_HOST);
    tc_job_step(j, TC_ON_HOST);
    if (j->state == TC_IS_DYING)
        tc_job_step(j, TC_ON_DUE);
}

void tc_job_hang_up(struct tc_job_record *j)
{
    int *fds[] = {&j->socket, &j->feed.from, &j->feed.to};
    (void)tc_job_watch(j, TC_ROLE_SOCKET, -1, 0);
    (void)tc_job_watch(j, TC_ROLE_FEED, -1, 0);
    (void)tc_job_watch(j, TC_ROLE_TYPED, -1, 0);
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (*fds[i] >= 0)
            (void)close(TAKE_FD(*fds[i]));
}

void tc_job_free(struct tc_job_record *j)
{
    unwatch_cage(j, TC_ROLES);
    tc_job_hang_up(j);
    (void)tc_cage_destroy(&j->cage, TC_BLOCK_NO);
    for (size_t i = 0; i < TC_COUNT(j->flows); i++)
        tc_output_done(&j->flows[i].read);
    tc_plan_done(&j->plan);
    tc_outcome_done(&j->outcome);
    tc_outcome_done(&j->late_outcome);
    free(j);
}
