/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The beginning of a job: from the library's message to the start of a cage. Steps that may wait
 * for a file system run in a worker thread. If the call's time is over meanwhile, the call is
 * answered at once. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <toolcage/result.h>

#include "base/clock.h"
#include "base/fd.h"
#include "helper/job.h"
#include "workspace/held.h"
#include "workspace/journal.h"
#include "workspace/session.h"

enum {
    BUSY_US = 5000000 /* how long a call waits for a worker thread; after that the helper assumes
                         that all threads hang */
};

/* ---- leftovers of dead helpers ---- */

/* Runs once per helper, when the first cage with leases starts, so that it does not delay that
 * call. */
static struct {
    struct tc_task task;
    bool begun, ended;
} sweeping;

static void work_sweep(struct tc_task *task)
{
    (void)task;
    (void)tc_host_ops->sweep();
}

static void on_sweep_done(struct tc_task *task)
{
    (void)task;
    sweeping.ended = true;
}

static void sweep_once(struct tc_workers *workers)
{
    if (sweeping.begun)
        return;
    sweeping.task = (struct tc_task){.work = work_sweep, .done = on_sweep_done};
    sweeping.begun = tc_workers_give(workers, &sweeping.task) == 0;
}

bool tc_job_sweeping(void)
{
    return sweeping.begun && !sweeping.ended;
}

/* ---- the cage ---- */

static bool watch_all(struct tc_job_record *j)
{
    const struct tc_cage *c = &j->cage;
    return tc_job_watch(j, TC_ROLE_OUT, c->out_fd, EPOLLIN) &&
           tc_job_watch(j, TC_ROLE_ERR, c->err_held ? -1 : c->err_fd, EPOLLIN) &&
           tc_job_watch(j, TC_ROLE_EVENT, c->event_fd, EPOLLIN) &&
           tc_job_watch(j, TC_ROLE_EXIT, c->exit_fd, EPOLLIN) &&
           tc_job_watch(j, TC_ROLE_FEED, j->feed.to, EPOLLOUT);
}

static void start_cage(struct tc_job_record *j)
{
    const struct tc_limits *l = &j->plan.limits;
    j->step_us = tc_now_us();
    if (j->cage.executor->start(&j->cage) < 0) {
        tc_job_step(j, TC_ON_OUTCOME);
        return;
    }
    tc_job_mark(j, "start", j->step_us);
    for (int stream = 0; stream < 2; stream++) {
        j->flows[stream].read.limit = (size_t)l->output;
        j->flows[stream].read.all = j->plan.stream == TC_STREAM_ALL;
    }
    bool watched = watch_all(j);
    if (!watched)
        (void)tc_job_not_watched(j);
    if (j->sources[TC_ROLE_EXIT].fd >= 0)
        tc_job_step(j, TC_ON_STARTED);
    if (!watched)
        tc_job_step(j, TC_ON_OUTCOME);
    else if (j->cage.running)
        tc_job_step(j, TC_ON_UP);
}

static void go_on(struct tc_job_record *j)
{
    bool sweep = j->cage.sweep;
    tc_job_mark(j, "prepare", j->step_us);
    if (j->prepared < 0)
        tc_job_step(j, TC_ON_OUTCOME);
    else
        start_cage(j);
    if (sweep)
        sweep_once(j->workers);
}

static void work_prepare(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    j->prepared = tc_cage_prepare(&j->cage);
}

void tc_job_take_over(struct tc_job_record *j)
{
    j->due_us = 0;
    j->cage.outcome = &j->outcome;
    j->outcome.failure = j->late_outcome.failure;
    j->outcome.status = j->late_outcome.status;
    if (j->late_outcome.note)
        tc_outcome_note(&j->outcome, j->late_outcome.note);
    free(j->late_outcome.notice);
    j->late_outcome = (struct tc_outcome){.failure.clause = -1};
}

/* A worker thread has returned the cage. False: the job was answered meanwhile, and the cage is
 * being released. */
static bool is_back(struct tc_job_record *j)
{
    tc_job_step(j, TC_ON_DONE);
    return j->state == TC_IS_FREE;
}

static void on_prepared(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    if (is_back(j))
        go_on(j);
}

/* Gives the job's cage to a worker thread. Until the thread returns the cage, results go to
 * late_outcome, because the call may be answered meanwhile. */
static int hand_over(struct tc_job_record *j, void (*work)(struct tc_task *),
                     void (*done)(struct tc_task *))
{
    j->task = (struct tc_task){.work = work, .done = done, .owner = j};
    j->late_outcome.failure.clause = -1;
    j->cage.outcome = &j->late_outcome;
    j->due_us = tc_now_us() + BUSY_US;
    if (tc_workers_give(j->workers, &j->task) == 0) {
        tc_job_step(j, TC_ON_GIVEN);
        return 0;
    }
    tc_job_take_over(j);
    return tc_cage_fail(
        &j->cage,
        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "prepare", "thread", errno,
                     "raise this user's limit of processes (ulimit -u), or free memory"),
        -1, "the helper cannot create a thread");
}

/* Are all older jobs answered? */
static bool is_alone(const struct tc_job_record *j)
{
    for (j = j->next; j; j = j->next)
        if (!tc_job_answered(j))
            return false;
    return true;
}

void tc_job_prepare(struct tc_job_record *j)
{
    int64_t timeout_ms = j->plan.limits.timeout_ms;
    j->step_us = tc_now_us();
    j->cage.begun_us = j->begun_us;
    j->end_at_us = timeout_ms ? j->begun_us + tc_us_of_ms(timeout_ms) : 0;
    tc_again_keep(j);
    j->prepared = j->cage.executor->make(&j->cage);

    /* A worker thread costs two wake-ups. A call that only waits for local file systems does
     * without, if no other call's deadline could pass meanwhile. */
    if (j->prepared == 0 && j->cage.may_block > (is_alone(j) ? TC_BLOCK_LOCAL_FS : TC_BLOCK_NO)) {
        if (hand_over(j, work_prepare, on_prepared) < 0)
            tc_job_step(j, TC_ON_OUTCOME);
        return;
    }
    if (j->prepared == 0)
        j->prepared = tc_cage_prepare(&j->cage);
    go_on(j);
}

void tc_job_cleared(struct tc_job_record *j)
{
    if (!j->again.due)
        return;
    j->again.due = false;
    if (j->reason != TC_FOR_NOTHING) { /* the call was cancelled meanwhile */
        tc_job_answer(j);
        return;
    }
    tc_again_reset(j);
    tc_job_step(j, TC_ON_NEXT);
    tc_job_prepare(j);
}

void tc_job_abandon(struct tc_job_record *j)
{
    if (tc_workers_take_back(j->workers, &j->task))
        tc_job_step(j, TC_ON_DONE);
    j->outcome.wall_us = tc_now_us() - j->begun_us;
    j->outcome.note =
        strdup("the cage was still being prepared: a file system is slow, or the grant is large");
    tc_job_judge(j, NULL);
    tc_job_step(j, TC_ON_OUTCOME);
}

void tc_job_leave(struct tc_job_record *j)
{
    j->cage.answered = true;
    tc_job_answer(j);
    tc_cage_close_streams(&j->cage); /* the worker thread does not use them */
}

void tc_job_refuse(struct tc_job_record *j)
{
    if (!tc_workers_take_back(j->workers, &j->task))
        return; /* a thread has started on it */
    tc_job_step(j, TC_ON_DONE);
    (void)tc_cage_fail(
        &j->cage,
        TC_WHY(TOOLCAGE_ESYSTEM, "prepare", "file systems",
               "find the granted path whose file system does not respond; then try again"),
        -1, "%d other calls have been waiting for their granted paths for seconds", TC_WORKERS_MAX);
    tc_job_step(j, TC_ON_OUTCOME);
}

/* ---- calls ---- */

static int open_input(struct tc_job_record *j, int kind, int fd)
{
    if (kind == TC_STDIN_PIPE) {
        j->cage.stdin_fd = fd;
        return 0;
    }
    if (kind != TC_STDIN_BYTES)
        return 0;
    int pair[2];
    j->feed.from = fd;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    j->feed.to = pair[1];
    j->cage.stdin_fd = pair[0];
    return fcntl(pair[1], F_SETFL, O_NONBLOCK);
}

static int parse_plan(struct tc_job_record *j, const char *text, size_t size)
{
    struct tc_wire w = TC_WIRE_GET_INIT(text, size);
    tc_plan_visit(&w, &j->plan);
    return w.failed || w.left ? -1 : 0;
}

static int read_plan(struct tc_job_record *j, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return -1;
    char *text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return -1;
    int rc = parse_plan(j, text, (size_t)size);
    (void)munmap(text, (size_t)size);
    return rc;
}

static void begin_call(struct tc_job_record *j, const struct tc_job *job, const char *inside,
                       int plan_fd, int input)
{
    const struct tc_executor *executor = NULL;
    bool room = tc_reserve_close();
    if (open_input(j, job->stdin_kind, input) < 0)
        (void)tc_cage_fail(
            &j->cage,
            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "job", "standard input", errno,
                         "run fewer calls at once, or raise the limit of open files"),
            -1, "the helper cannot create a pipe");
    else if (!room)
        (void)tc_cage_fail(&j->cage,
                           TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "job", "descriptors", EMFILE, NULL), -1,
                           "the helper has no room for one more call");
    else if ((inside ? parse_plan(j, inside, (size_t)job->plan_bytes) : read_plan(j, plan_fd)) <
                 0 ||
             !j->plan.backend)
        (void)tc_cage_fail(&j->cage, &(struct tc_why){.code = TOOLCAGE_EHELPER, .stage = "job"}, -1,
                           "the helper could not read the plan");
    else if (!(executor = tc_executor_find(j->plan.backend)))
        (void)tc_cage_fail(&j->cage, TC_WHY(TOOLCAGE_EBACKEND, "backend", j->plan.backend, NULL),
                           -1, "the helper has no backend \"%s\"", j->plan.backend);
    if (j->outcome.failure.code) {
        tc_job_step(j, TC_ON_OUTCOME);
        return;
    }
    j->cage.executor = executor;
    if (j->plan.terminal) /* the pipe's bytes are typed on the terminal */
        j->feed.from = TAKE_FD(j->cage.stdin_fd);
    tc_job_mark(j, "receive", j->begun_us);
    tc_job_prepare(j);
}

/* ---- jobs without a tool ---- */

/* Starts the cage of the next executor that has a probe. It runs like a call's cage. False: no
 * executor is left. */
static bool begin_probe(struct tc_job_record *j)
{
    const struct tc_executor *w;
    while (j->reason < TC_FOR_HOST && (w = tc_executor_at(j->probed))) {
        j->probed++;
        tc_plan_done(&j->plan);
        if (!w->probe || !w->probe->plan(w, &j->plan))
            continue;
        j->cage = tc_cage_empty(&j->plan, &j->outcome);
        j->cage.executor = w;
        j->begun_us = tc_now_us();
        j->reason = j->reason < TC_FOR_CANCEL ? TC_FOR_NOTHING : j->reason;
        j->limit = NULL;
        tc_job_step(j, TC_ON_NEXT);
        tc_job_prepare(j);
        return true;
    }
    return false;
}

/* The record belongs to a cage whose processes do not end, or whose preparation does not. The
 * remaining probes would need it. */
static void report_untried(const struct tc_job_record *j, struct tc_outcome *rows)
{
    const struct tc_executor *w;
    for (size_t i = j->probed; j->reason < TC_FOR_HOST && (w = tc_executor_at(i)); i++) {
        struct tc_plan plan = {0};
        struct tc_probe *row =
            w->probe && w->probe->plan(w, &plan) ? TC_PUSH(rows->probes, rows->probe_count) : NULL;
        if (row)
            *row = (struct tc_probe){
                .backend = strdup(w->name),
                .whole = true,
                .clause = TC_CLAUSE_PRIV_NONE,
                .reason =
                    tc_format("not tested: the trial cage of %s was killed, but has not ended",
                              j->cage.executor->name),
                .fix = strdup("find the processes that wait in the kernel (ps: state D) and what "
                              "they wait for, then run toolcage doctor again")};
        tc_plan_done(&plan);
    }
}

bool tc_job_next_probe(struct tc_job_record *j)
{
    struct tc_outcome rows = {.exit_code = -1, .failure.clause = -1};
    if (!j->cage.priv) /* no executor is left */
        return false;
    rows.probes = TAKE(j->outcome.probes);
    rows.probe_count = j->outcome.probe_count;
    j->outcome.probe_count = 0;
    j->cage.executor->probe->tell(&j->cage, &rows);
    tc_outcome_done(&j->outcome);
    j->outcome = rows;
    /* the next probe's cage replaces this one in the record */
    if (j->state == TC_IS_ENDED)
        tc_job_clear(j);
    if (j->state == TC_IS_GONE && begin_probe(j))
        return true;
    if (j->state != TC_IS_GONE)
        report_untried(j, &j->outcome);
    (void)tc_journal_sweep();
    j->outcome.notice = tc_journal_cuts();
    return false;
}

static void work_clean(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    j->removed = tc_host_ops->sweep() + tc_journal_forget();
}

static void on_clean(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    if (is_back(j))
        tc_job_step(j, TC_ON_OUTCOME);
}

static void work_changes(struct tc_task *task)
{
    static const char *const words[] = {
        [TC_HELD_SHOW] = "show",         [TC_HELD_ABOUT] = "about",
        [TC_HELD_COMMIT] = "commit",     [TC_HELD_OVERWRITE] = "overwrite",
        [TC_HELD_STEERING] = "steering", [TC_HELD_DISCARD] = "discard"};
    struct tc_job_record *j = task->owner;
    if (!j->plan.call[0]) {
        (void)tc_held_calls(&j->late_outcome);
        return;
    }
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strcmp(j->plan.payload, words[i]) == 0)
            (void)tc_held_settle(j->plan.call, (enum tc_held_action)i, &j->plan.argv,
                                 j->plan.bounds, &j->late_outcome);
}

static void work_sessions(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    if (strcmp(j->plan.payload, "end") == 0)
        (void)tc_session_end(j->plan.session, &j->late_outcome);
    else
        (void)tc_session_list(&j->late_outcome);
}

static void on_state(struct tc_task *task)
{
    struct tc_job_record *j = task->owner;
    struct tc_outcome found = j->late_outcome;
    j->late_outcome = (struct tc_outcome){.failure.clause = -1};
    if (!is_back(j)) {
        tc_outcome_done(&found);
        return;
    }
    tc_outcome_done(&j->outcome);
    j->outcome = found;
    tc_job_step(j, TC_ON_OUTCOME);
}

/* Jobs on stored changes or sessions: the plan has the id or name, and the action. */
static void begin_state(struct tc_job_record *j, int plan_fd, bool changes)
{
    if (read_plan(j, plan_fd) < 0 || !(changes ? j->plan.call : j->plan.session) ||
        !j->plan.payload)
        (void)tc_cage_fail(&j->cage, &(struct tc_why){.code = TOOLCAGE_EHELPER, .stage = "job"}, -1,
                           "the helper could not read the request about %s",
                           changes ? "changes" : "sessions");
    else if (hand_over(j, changes ? work_changes : work_sessions, on_state) == 0)
        return;
    tc_job_step(j, TC_ON_OUTCOME);
}

static void begin_other(struct tc_job_record *j, int kind)
{
    bool begun = kind == TC_JOB_PROBE ? begin_probe(j) : hand_over(j, work_clean, on_clean) == 0;
    if (!begun)
        tc_job_step(j, TC_ON_OUTCOME);
}

struct tc_job_record *tc_job_new(struct tc_loop *loop, struct tc_workers *workers,
                                 const struct tc_job *job, const struct tc_job_fds *fds,
                                 struct tc_job_record *others)
{
    struct tc_job_record *j = calloc(1, sizeof(*j));
    _autofd_ int plan_fd = fds->plan, socket = fds->socket, input = fds->input,
                 secrets = fds->secrets, exchanges = fds->exchanges;
    if (!j)
        return NULL;
    *j = (struct tc_job_record){.loop = loop,
                                .workers = workers,
                                .next = others,
                                .inside = job->inside,
                                .socket = TAKE_FD(socket),
                                .feed = {.from = -1, .to = -1},
                                .again = {.input = -1, .secrets = -1, .exchanges = -1}};
    j->begun_us = tc_now_us();
    j->cage = tc_cage_empty(&j->plan, &j->outcome);
    j->cage.secrets_fd = TAKE_FD(secrets);
    j->cage.exchanges_fd = TAKE_FD(exchanges);
    j->outcome.exit_code = -1;
    j->outcome.failure.clause = -1;
    tc_job_attach(j);
    if (fcntl(j->socket, F_SETFL, O_NONBLOCK) < 0 ||
        !tc_job_watch(j, TC_ROLE_SOCKET, j->socket, EPOLLIN)) {
        (void)tc_job_not_watched(j);
        tc_job_step(j, TC_ON_OUTCOME);
        return j;
    }
    if (job->kind == TC_JOB_CALL)
        begin_call(j, job, fds->inside, plan_fd, TAKE_FD(input));
    else if (job->kind == TC_JOB_CHANGES)
        begin_state(j, plan_fd, true);
    else if (job->kind == TC_JOB_SESSIONS)
        begin_state(j, plan_fd, false);
    else
        begin_other(j, job->kind);
    return j;
}
