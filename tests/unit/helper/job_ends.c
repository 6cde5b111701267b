/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a job ends when several things end it, in any order. A job is driven by letters, on a clock
 * and with workers, a workspace and a backend that are all made here, so nothing depends on time:
 *     q   start: prepared by a worker, but none has begun     p   start: a worker has begun
 *     s   start: the cage starts     r   start: the tool runs     t   the same, to its end: changes
 *     c   the same as t, and a commit has begun               b   the same as t, by a worker
 *     m   the same as r, and its cage takes long to let go of
 *     d   start: the doctor's, of two backends     k   start: held changes     l   start: leftovers
 *     U   every wall stands     L   a limit is reached        F   the cage failed, and has to end
 *     B   the cage did not come up     O   the tool has ended, and what is left ends by itself
 *     W   more output than its limit   C   the host cancels    H   the host goes
 *     E   the helper ends    D   the deadline    G   0.21 s pass (the grace period is 0.2 s)
 *     S   2.1 s pass         Z   6 s pass        Y   121 s pass        X   the cage has ended
 *     K   the worker, or who gathers, is done */
#include "helper/job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "test.h"
#include "workspace/inline_collect.h"
#include "workspace/workspace.h"

enum { SECOND = 1000000, BEGUN = 100 * SECOND, TIMEOUT_MS = 10000, GRACE_MS = 200 };

static struct tc_loop loop;
static struct tc_workers workers;

/* What the surroundings of the one job do, and what was done to them. */
static struct {
    int64_t now;
    int exit, event, out[2], collector, host;
    char next;  /* what event() finds */
    bool begun; /* a worker began with the task */
    bool gathers, cancels, briefly, large;
    struct tc_task *task;
    int64_t counted, reported; /* changes, and those of the last report */
    int terms, kills, collects, makes, reaps, destroys, answers;
    bool deaf; /* the host, or the helper, went */
} seen;

int clock_gettime(clockid_t id, struct timespec *ret)
{
    (void)id;
    *ret = (struct timespec){.tv_sec = seen.now / SECOND, .tv_nsec = seen.now % SECOND * 1000};
    return 0;
}

/* ---- workers ---- */

int tc_workers_open(struct tc_workers *w, struct tc_loop *l)
{
    (void)w, (void)l;
    return 0;
}

int tc_workers_give(struct tc_workers *w, struct tc_task *task)
{
    (void)w;
    assert_null(seen.task);
    seen.task = task;
    return 0;
}

bool tc_workers_free(struct tc_workers *w)
{
    (void)w;
    return seen.briefly;
}

bool tc_workers_take_back(struct tc_workers *w, struct tc_task *task)
{
    (void)w;
    assert_ptr_equal(task, seen.task);
    if (!seen.begun)
        seen.task = NULL;
    return !seen.begun;
}

static void be_done(void)
{
    struct tc_task *task = seen.task;
    seen.task = NULL;
    task->work(task);
    task->done(task);
}

/* ---- a workspace ---- */

int tc_workspace_collect(struct tc_cage *cage, bool commit)
{
    (void)cage, (void)commit;
    return seen.collects++ == 0 && seen.gathers ? seen.collector : -1;
}

int64_t tc_workspace_collected(const struct tc_cage *cage)
{
    (void)cage;
    return seen.gathers && seen.collects == 1 ? ++seen.counted : -1;
}

char *tc_workspace_explain(const struct tc_cage *cage, const char *output, size_t length)
{
    (void)cage, (void)output, (void)length;
    return NULL;
}

bool tc_workspace_cancel(const struct tc_cage *cage)
{
    (void)cage;
    return seen.cancels;
}

bool tc_inline_collect_begin(struct tc_cage *cage)
{
    (void)cage;
    return true;
}

void tc_inline_collect_work(struct tc_cage *cage)
{
    (void)cage;
}

bool tc_inline_collect_end(struct tc_cage *cage)
{
    (void)cage;
    return true;
}

/* ---- a backend ---- */

static int make(struct tc_cage *cage)
{
    cage->priv = &seen;
    seen.makes++;
    cage->may_block = seen.task || !seen.begun ? TC_BLOCK_YES : TC_BLOCK_NO;
    return 0;
}

static int start(struct tc_cage *cage)
{
    cage->exit_fd = seen.exit;
    cage->event_fd = seen.event;
    cage->out_fd = seen.out[0];
    return 0;
}

static int event(struct tc_cage *cage)
{
    switch (seen.next) {
    case 'U':
        cage->running = true;
        return 0;
    case 'L':
        cage->limit = "memory";
        return 0;
    case 'O':
        cage->over = true;
        cage->outcome->exit_code = 0;
        return 0;
    case 'F':
    case 'B':
        (void)tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "event"}, -1,
                           "no");
        return seen.next == 'B' ? -1 : 0;
    default:
        return 0;
    }
}

static void ask(struct tc_cage *cage, bool kill)
{
    (void)cage;
    seen.terms += !kill;
    seen.kills += kill;
}

static void reap(struct tc_cage *cage)
{
    seen.reaps++;
    cage->exit_fd = -1;
    if (cage->over)
        return;
    if (!cage->running)
        (void)tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "walls"}, -1,
                           "it ended before its walls stood");
    cage->outcome->exit_code = seen.kills || seen.terms ? -1 : 0;
    cage->outcome->signal = seen.kills ? 9 : seen.terms ? 15 : 0;
}

static const char *usage(struct tc_cage *cage)
{
    (void)cage;
    return NULL;
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    if (cage->priv && seen.large) {
        seen.large = may_block != TC_BLOCK_YES;
        return false;
    }
    if (cage->priv) {
        assert_int_equal(cage->exit_fd, -1);
        seen.destroys++;
        cage->priv = NULL;
    }
    return true;
}

static bool plan_trial(const struct tc_executor *w, struct tc_plan *ret)
{
    *ret = (struct tc_plan){.backend = strdup(w->name),
                            .limits = {.timeout_ms = TIMEOUT_MS, .grace_ms = GRACE_MS}};
    return true;
}

static void tell_trial(const struct tc_cage *tried, struct tc_outcome *outcome)
{
    (void)tc_cage_probed(tried, outcome);
}

static const struct tc_probe_ops probe = {.plan = plan_trial, .tell = tell_trial};

static const struct tc_executor executor = {.name = "lettered",
                                            .make = make,
                                            .start = start,
                                            .event = event,
                                            .signal = ask,
                                            .reap = reap,
                                            .usage = usage,
                                            .destroy = destroy,
                                            .probe = &probe};

static unsigned sweep(void)
{
    return 0;
}

static const struct tc_host_ops machine = {.sweep = sweep};
const struct tc_host_ops *const tc_host_ops = &machine;

const struct tc_executor *tc_executor_at(size_t index)
{
    return index < 2 ? &executor : NULL;
}

const struct tc_executor *tc_executor_find(const char *name)
{
    return strcmp(name, executor.name) == 0 ? &executor : NULL;
}

/* ---- a host ---- */

static int plan_of_one(void)
{
    struct tc_plan plan = {
        .backend = strdup(executor.name),
        .call = strdup(""),
        .payload = strdup("show"),
        .limits = {
            .timeout_ms = TIMEOUT_MS, .grace_ms = GRACE_MS, .output = 64, .output_kill = true}};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_plan_visit(&w, &plan);
    assert_false(w.failed);
    int fd = tc_memfd("plan", w.out.data, w.out.len);
    tc_buf_done(&w.out);
    tc_plan_done(&plan);
    assert_true(fd >= 0);
    return fd;
}

static void listen_once(void)
{
    struct tc_message m;
    ssize_t n;
    do {
        n = seen.host >= 0 ? recv(seen.host, &m, sizeof(m), MSG_DONTWAIT) : 0;
        if (n == (ssize_t)sizeof(m) && m.kind == TC_MESSAGE_COLLECTED)
            seen.reported = m.collected;
    } while (n == (ssize_t)sizeof(m) && m.kind == TC_MESSAGE_COLLECTED);
    if (n != (ssize_t)sizeof(m) || m.kind != TC_MESSAGE_DONE)
        return;
    seen.answers++;
}

static void say(int32_t kind)
{
    const struct tc_message m = {.kind = kind};
    if (seen.host >= 0)
        (void)send(seen.host, &m, sizeof(m), MSG_NOSIGNAL);
}

/* As the loop would; nothing where it would not. */
static void be_ready(struct tc_job_record *j, enum tc_role role, uint32_t events)
{
    j->sources[role].ready_for = events;
    if (j->sources[role].fd >= 0)
        j->sources[role].ready(&j->sources[role]);
}

static void pass(struct tc_job_record *j, int64_t us)
{
    seen.now += us;
    tc_job_tick(j, seen.now);
}

static void play(struct tc_job_record *j, char letter)
{
    char bytes[128];
    int64_t left = BEGUN + TIMEOUT_MS * 1000 - seen.now;
    seen.now += 1000;
    switch (letter) {
    case 'C':
        say(TC_MESSAGE_CANCEL);
        be_ready(j, TC_ROLE_SOCKET, EPOLLIN);
        break;
    case 'H':
        seen.deaf = true;
        if (seen.host >= 0)
            (void)close(TAKE_FD(seen.host));
        be_ready(j, TC_ROLE_SOCKET, EPOLLHUP);
        break;
    case 'E':
        seen.deaf = true;
        tc_job_end(j);
        break;
    case 'D':
        pass(j, left > 0 ? left : 0);
        break;
    case 'G':
        pass(j, SECOND * 21 / 100);
        break;
    case 'S':
        pass(j, SECOND * 21 / 10);
        break;
    case 'Z':
        pass(j, 6 * (int64_t)SECOND);
        break;
    case 'Y':
        pass(j, 121 * (int64_t)SECOND);
        break;
    case 'W':
        memset(bytes, 'x', sizeof(bytes));
        (void)!write(seen.out[1], bytes, sizeof(bytes));
        be_ready(j, TC_ROLE_OUT, EPOLLIN);
        break;
    case 'X':
        be_ready(j, TC_ROLE_EXIT, EPOLLIN);
        break;
    case 'K':
        if (seen.task)
            be_done();
        else
            be_ready(j, TC_ROLE_COLLECT, EPOLLIN);
        break;
    default: /* the cage's */
        seen.next = letter;
        be_ready(j, TC_ROLE_EVENT, EPOLLIN);
    }
}

static struct tc_job_record *begin(char from)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    int exit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int collector = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    memset(&seen, 0, sizeof(seen));
    seen.now = BEGUN;
    seen.exit = exit_fd;
    seen.event = event_fd;
    seen.collector = collector;
    seen.host = pair[0];
    assert_int_equal(pipe2(seen.out, O_CLOEXEC | O_NONBLOCK), 0);
    int kind = from == 'd'   ? TC_JOB_PROBE
               : from == 'k' ? TC_JOB_CHANGES
               : from == 'l' ? TC_JOB_CLEAN
                             : TC_JOB_CALL;
    seen.begun = from != 'q' && from != 'p';
    seen.large = from == 'm';
    seen.gathers = from == 't' || from == 'c';
    seen.cancels = from != 'c';
    seen.briefly = from == 'b';
    struct tc_job job = {.kind = kind};
    const struct tc_job_fds fds = {
        .socket = pair[1],
        .plan = kind == TC_JOB_CALL || kind == TC_JOB_CHANGES ? plan_of_one() : -1,
        .input = -1,
        .secrets = -1,
        .exchanges = -1};
    struct tc_job_record *j = tc_job_new(&loop, &workers, &job, &fds, NULL);
    assert_non_null(j);
    seen.begun = from != 'q';
    seen.now += 9 * (int64_t)SECOND;
    if (strchr("rtcbm", from))
        play(j, 'U');
    if (strchr("tcb", from))
        play(j, 'X');
    return j;
}

/* Whatever it is in, it comes to its end, is told once, and leaves nothing. */
static void settle(struct tc_job_record *j)
{
    for (int i = 0; i < 6 && !tc_job_over(j); i++) {
        play(j, 'X');
        play(j, 'K');
    }
    for (int i = 0; i < 4 && seen.host >= 0; i++)
        listen_once();
    assert_int_equal(j->state, TC_IS_GONE);
    assert_true(seen.answers <= 1);
    assert_true(seen.reaps <= seen.makes);
    assert_null(seen.task);
    tc_job_free(j);
    assert_int_equal(seen.destroys, seen.makes);
    const int fds[] = {seen.exit, seen.event, seen.collector, seen.out[0], seen.out[1], seen.host};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* What a job came to that was driven so: its status and reason, whether it was asked to end, was
 * killed, and its changes were looked for and given up; and with which letter it was told ('-': not
 * before the settling). */
static void drive(const char *letters, char *ret, size_t size)
{
    struct tc_job_record *j = begin(letters[0]);
    char told = '-';
    for (const char *at = letters + 1; *at && !tc_job_over(j); at++) {
        play(j, *at);
        int before = seen.answers;
        listen_once();
        if (seen.answers > before)
            told = *at;
    }
    static const char *const words[] = {
        [TOOLCAGE_STATUS_OK] = "ok",         [TOOLCAGE_STATUS_FAILED] = "failed",
        [TOOLCAGE_STATUS_DENIED] = "denied", [TOOLCAGE_STATUS_TIMEOUT] = "timeout",
        [TOOLCAGE_STATUS_LIMIT] = "limit",   [TOOLCAGE_STATUS_CANCELLED] = "cancelled",
        [TOOLCAGE_STATUS_ERROR] = "error",
    };
    const struct tc_outcome *o = &j->outcome;
    (void)snprintf(ret, size, "%s%s%s%s%s%s%s%s%s, %c", words[o->status], o->limit ? " " : "",
                   o->limit ? o->limit : "", o->failure.code ? " " : "",
                   o->failure.code ? o->failure.stage : "", seen.terms ? " asked" : "",
                   seen.kills ? " killed" : "", seen.collects ? " gathered" : "",
                   o->omitted_changes ? " omitted" : "", told);
    settle(j);
    assert_int_equal(seen.answers, seen.deaf ? seen.answers : 1);
}

/* What came of each of these before there was a table, in this order: the host's word counts for
 * more than the time limit, that for more than any other limit, and all for more than the tool's
 * own end; a failure is told whatever ended it. */
static const struct {
    const char *outcome, *drives;
} rows[] = {
    {"error walls, X", "sX sGX sX pKX"},
    {"cancelled killed, X", "sCX sCDX sCLX sDCX sLCX sCDLX sCLDX sDCLX sDLCX sLCDX sLDCX qKCX"},
    {"timeout killed, X", "sDX sDLX sLDX"},
    {"cancelled killed, -",
     "sHX sCHX sDHX sHCX sHDX sHLX sLHX sCDHX sCHDX sCHLX sCLHX sDCHX sDHCX sDHLX "
     "sDLHX sHCDX sHCLX sHDCX sHDLX sHLCX sHLDX sLCHX sLDHX sLHCX sLHDX rHX rHCX "
     "rHDX rHLX rLHX rHCDX rHCLX rHDCX rHDLX rHLCX rHLDX rLCHX rLDHX rLHCX rLHDX rEX "
     "rEXS sEX"},
    {"limit memory killed, X", "sLX"},
    {"ok gathered, X", "rX rGX sUX qKUX pKUX mX mXK mXE dUXX dUXUX"},
    {"cancelled asked gathered, X", "rCX rDCX sUCX pKUCX mCX"},
    {"timeout asked gathered, X", "rDX sUDX mDX"},
    {"limit memory killed gathered, X", "rLX sLUX mLX"},
    {"cancelled asked killed gathered, X",
     "rCDX rCLX rCDLX rCLDX rDCLX rDLCX rCGX rCSX rCSXX rDGCX"},
    {"cancelled asked killed, -", "rCHX rDHX rCDHX rCHDX rCHLX rCLHX rDCHX rDHCX rDHLX rDLHX rCEX"},
    {"timeout asked killed gathered, X", "rDLX rDGX rDWX"},
    {"cancelled killed gathered, X", "rLCX rLCDX rLDCX rWCX sCUX"},
    {"timeout killed gathered, X", "rLDX rWDX sDUX"},
    {"cancelled asked killed omitted, S", "rCGSX"},
    {"timeout killed omitted, S", "rLSX rLSCX"},
    {"cancelled killed omitted, -", "rHSX rES sES"},
    {"limit output killed gathered, X", "rWX"},
    {"error event killed gathered, X", "rFX rFCX rFDX rFLX rLFX"},
    {"error event asked killed gathered, X", "rCFX"},
    {"ok gathered, O", "rOX rOCX rOHX"},
    {"ok killed gathered, O", "rOSX"},
    {"limit memory killed gathered, O", "rLOX"},
    {"cancelled asked gathered, O", "rCO"},
    {"timeout asked gathered, O", "rDO rDOX"},
    {"error event killed, X", "sBX sBCX sBDX sLBX sCBX sFX sFCX"},
    {"error event killed omitted, S", "sBSX"},
    {"error event killed, -", "sBHX"},
    {"cancelled, C", "qC qCK pC pCK pCDK kC kCK lC lCK"},
    {"timeout, D", "qD pD pDK pGD pDCK"},
    {"cancelled, -", "qH qE pH pE pHK kH kE kHK lH lE lHK"},
    {"error prepare, G", "qG qGC"},
    {"timeout, S", "qS pS"},
    {"ok, -", "qK pG bD dX kD kS kG lD lS lG"},
    {"cancelled gathered omitted, C", "tC tCK tCY tCDK"},
    {"ok gathered, -", "tD cC cD cH cE cHK cEK dUX"},
    {"cancelled gathered omitted, -", "tH tE tHK tEK"},
    {"ok gathered, K", "tK cK cCK cCDK"},
    {"error collect gathered omitted, Y", "tY tYK tYC"},
    {"error collect gathered, -", "cY cCY cYC"},
    {"error collect gathered, K", "cYK"},
    {"cancelled omitted, C", "bC bCK bCY bCDK"},
    {"cancelled omitted, -", "bH bE bHK bEK"},
    {"ok, K", "bK kK lK"},
    {"error collect omitted, Y", "bY bYK bYC"},
    {"ok, X", "dXX"},
    {"ok killed, -", "dCX dDX dHX dXHX dSX dEX"},
    {"ok killed, X", "dXCX"},
};

static void the_strongest_reason_is_told(void **state)
{
    char text[128], letters[16];
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        int length = 0;
        for (const char *at = rows[i].drives; sscanf(at, "%15s%n", letters, &length) == 1;
             at += length) {
            drive(letters, text, sizeof(text));
            if (strcmp(text, rows[i].outcome) != 0)
                fail_msg("%s: %s, not %s", letters, text, rows[i].outcome);
        }
    }
}

/* A process that collects changes for long is reported twice a second, until it has ended; a thread
 * is not. */
static void a_long_collection_is_reported(void **state)
{
    struct tc_job_record *j = begin('t');
    (void)state;
    pass(j, SECOND * 4 / 10);
    listen_once();
    assert_int_equal(seen.reported, 0);
    for (int64_t count = 1; count < 4; count++) {
        assert_in_range(tc_job_next(j), seen.now, seen.now + TC_REPORT_US);
        pass(j, TC_REPORT_US);
        listen_once();
        assert_int_equal(seen.reported, count);
    }
    settle(j);
    assert_int_equal(seen.reported, 3);
    j = begin('b');
    pass(j, SECOND);
    assert_int_equal(j->report_us, 0);
    settle(j);
    assert_int_equal(seen.reported, 0);
}

/* How a job comes there. Nobody rests in two of the states. */
static const char *const ways[TC_IS_STATES] = {
    [TC_IS_FREE] = "p",       [TC_IS_PREPARING] = "p", [TC_IS_STARTING] = "s",
    [TC_IS_RUNNING] = "r",    [TC_IS_ENDING] = "rC",   [TC_IS_KILLED] = "rL",
    [TC_IS_GIVEN_UP] = "sB",  [TC_IS_GATHERING] = "t", [TC_IS_ENDED] = "pC",
    [TC_IS_ABANDONED] = "pC", [TC_IS_DYING] = "rO",    [TC_IS_CLEARING] = "mX",
    [TC_IS_GONE] = "rX",
};

/* Where it is after each event, by the first letters: Free, Preparing, Starting, Running, eNding,
 * Killed, givenUp, Gathering, Ended, Abandoned, Dying, Clearing, gOne. */
static const char names[] = "FPSRNKUGEADCO";
static const char *const after[TC_ON_EVENTS] = {
    [TC_ON_GIVEN] = "PAUUUUUAEADCO",   [TC_ON_STARTED] = "SAUUUUUAEADCO",
    [TC_ON_UP] = "OARUUKUAEADCO",      [TC_ON_CANCEL] = "OAKNNKUAEADCO",
    [TC_ON_HOST] = "OAKKKKUAEADCO",    [TC_ON_DUE] = "OPUUKDDAEADCO",
    [TC_ON_KILL] = "OAKKKKUAEADCO",    [TC_ON_EXIT] = "OAOOOOOAEAOCO",
    [TC_ON_OVER] = "OADDDDUAEADCO",    [TC_ON_GATHER] = "GAUUUUUAEADCO",
    [TC_ON_OUTCOME] = "OAUUUUUAEADCO", [TC_ON_DONE] = "OFUUUUUFEODOO",
    [TC_ON_ALIVE] = "OAUUUUUADADCO",   [TC_ON_LARGE] = "OAUUUUUACADCO",
    [TC_ON_CLEARED] = "OAUUUUUAOADCO", [TC_ON_NEXT] = "FAUUUUUAEADCF",
};

static struct tc_job_record *bring_to(enum tc_job_state there)
{
    struct tc_job_record *j = begin(ways[there][0]);
    for (const char *at = ways[there] + 1; *at; at++)
        play(j, *at);
    if (there == TC_IS_FREE) {
        seen.task = NULL;
        tc_job_step(j, TC_ON_DONE);
    } else if (there == TC_IS_ENDED) {
        seen.task = NULL;
        j->state = TC_IS_ENDED;
    }
    assert_int_equal(j->state, there);
    return j;
}

/* Who was said to have it lets go of it, and what was said to run in it ends. */
static void release(struct tc_job_record *j)
{
    for (int i = 0; i < 6 && j->state != TC_IS_GONE; i++) {
        if (seen.task)
            play(j, 'K');
        else if (j->state == TC_IS_FREE)
            tc_job_step(j, TC_ON_OUTCOME);
        else if (j->state == TC_IS_ENDED)
            tc_job_clear(j);
        else if (tc_job_rows[TC_ON_EXIT][j->state].next != TC_IS_SAME)
            tc_job_step(j, TC_ON_EXIT);
        else
            tc_job_step(j, TC_ON_DONE);
    }
    assert_int_equal(j->state, TC_IS_GONE);
}

/* In every state, whatever comes: it is told at most once, its failure where that cannot be, and it
 * can be let go of. */
static void every_state_knows_every_event(void **state)
{
    (void)state;
    for (int e = 0; e < TC_ON_EVENTS; e++)
        for (int s = 0; s < TC_IS_STATES; s++) {
            const struct tc_job_row *row = &tc_job_rows[e][s], *never = &tc_job_rows[TC_ON_DUE][0];
            if (!row->act)
                fail_msg("no row for event %d in state %d", e, s);
            assert_true(row->next <= TC_IS_SAME);
            struct tc_job_record *j = bring_to((enum tc_job_state)s);
            bool told = tc_job_answered(j);
            if (e == TC_ON_DONE && seen.task) {
                seen.task->work(seen.task);
                seen.task = NULL;
            }
            if (e == TC_ON_NEXT) { /* which begins with nothing told */
                free(TAKE(j->outcome.out.head));
                free(TAKE(j->outcome.err.head));
            }
            tc_job_step(j, (enum tc_job_event)e);
            if (names[j->state] != after[e][s])
                fail_msg("event %d leads from %c to %c, not to %c", e, names[s], names[j->state],
                         after[e][s]);
            if (row->act == never->act && !told)
                assert_int_not_equal(j->outcome.failure.code, 0);
            release(j);
            settle(j);
        }
}

static int set_up(void **state)
{
    (void)state;
    return tc_loop_open(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_reason_is_told),
        cmocka_unit_test(a_long_collection_is_reported),
        cmocka_unit_test(every_state_knows_every_event),
    };
    return cmocka_run_group_tests_name("job ends", tests, set_up, NULL);
}
