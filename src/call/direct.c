/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/stream.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "base/untouched.h"
#include "cage/handed.h"
#include "call/again.h"
#include "call/call.h"

enum { READ_SHARE = 16384, LAST_WORDS = 1 << 20 };
enum { TALK, JOB, OUT, ERR, WATCHED };

/* A worker that is ours to hand calls to. It is trusted no further than the helper trusts it: what
 * it sends is its end of a call, three numbers, and its streams, which are bounded. */
struct tc_direct {
    struct tc_buf key;     /* the plan without the call: what is alike has the same */
    struct tc_buf outcome; /* of the call before it: how its cage holds what it holds */
    char *cwd;             /* where each call begins; NULL: not known yet */
    int job;               /* to the helper: the worker is ours while it is open */
    int fds[TC_LOAN_FDS];
    int in, out[2], err[2]; /* the streams of its calls, one after another; both ends */
    struct tc_loan_page *page;
    bool handed;              /* the worker has root and streams of ours, and keeps them */
    struct tc_untouched rest; /* /tmp */
    int64_t left;             /* calls */
    /* of the call that it serves */
    struct tc_output output[2];
    bool lost;     /* it says nothing any more */
    bool returned; /* the helper makes the result */
    bool full;     /* not all was read that it has written */
};

/* ---- made and let go ---- */

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(TAKE_FD(*fd));
}

static void drop_output(struct tc_direct *d)
{
    for (size_t i = 0; i < TC_COUNT(d->output); i++)
        tc_output_done(&d->output[i]);
}

static void let_go(struct tc_direct *d, bool forked)
{
    if (!d)
        return;
    /* a fork of this process may hold a copy, which must not keep the worker */
    if (d->job >= 0 && !forked)
        (void)shutdown(d->job, SHUT_RDWR);
    int *const own[] = {&d->job, &d->in, &d->out[0], &d->out[1], &d->err[0], &d->err[1]};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        close_one(own[i]);
    for (size_t i = 0; i < TC_LOAN_FDS; i++)
        close_one(&d->fds[i]);
    if (d->page)
        (void)munmap(d->page, sizeof(*d->page));
    drop_output(d);
    tc_buf_done(&d->key);
    tc_buf_done(&d->outcome);
    free(d->cwd);
    free(d);
}

/* Reads end-of-file from a pipe of its own. */
static bool make_input(struct tc_direct *d)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return false;
    (void)close(pair[1]);
    d->in = pair[0];
    return true;
}

/* As the helper makes them: who opens its stream once more is checked against the owner. */
static bool make_streams(struct tc_direct *d)
{
    const int64_t owner = d->page->owner;
    if (!make_input(d) || pipe2(d->out, O_CLOEXEC) < 0 || pipe2(d->err, O_CLOEXEC) < 0 ||
        fcntl(d->out[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(d->err[0], F_SETFL, O_NONBLOCK) < 0)
        return false;
    const int ends[] = {d->in, d->out[1], d->err[1]};
    for (size_t i = 0; i < TC_COUNT(ends) && owner >= 0; i++)
        if (fchown(ends[i], (uid_t)owner, (gid_t)owner) < 0)
            return false;
    return true;
}

static bool open_page(struct tc_direct *d)
{
    void *page =
        mmap(NULL, sizeof(*d->page), PROT_READ | PROT_WRITE, MAP_SHARED, d->fds[TC_LOAN_PAGE], 0);
    if (page == MAP_FAILED)
        return false;
    d->page = page;
    d->left = d->page->calls;
    return true;
}

static struct tc_direct *make(const struct toolcage_call *call, const char *outcome, size_t length,
                              const int *fds)
{
    struct tc_direct *d = calloc(1, sizeof(*d));
    if (!d) {
        tc_close_all(fds, TC_LOAN_FDS);
        return NULL;
    }
    d->job = d->in = d->out[0] = d->out[1] = d->err[0] = d->err[1] = -1;
    memcpy(d->fds, fds, sizeof(d->fds));
    d->key.max = d->outcome.max = SIZE_MAX / 2;
    tc_buf_add(&d->key, call->key.data, call->key.len);
    tc_buf_add(&d->outcome, outcome, length);
    d->job = fcntl(call->sock, F_DUPFD_CLOEXEC, 0);
    if (!d->key.failed && !d->outcome.failed && d->job >= 0 && open_page(d) && make_streams(d) &&
        tc_untouched_take(&d->rest, d->fds[TC_LOAN_TMP]) == 0)
        return d;
    let_go(d, false);
    return NULL;
}

/* ---- the shelf ---- */

static struct tc_direct_shelf *shelf_of(const struct toolcage_call *call)
{
    return tc_engine_direct(call->engine);
}

/* In place of the oldest, if need be, whose worker ends. */
static void put(struct tc_direct_shelf *shelf, struct tc_direct *d)
{
    for (size_t i = 0; i < TC_DIRECT_MAX && d; i++) {
        struct tc_direct *none = NULL;
        if (atomic_compare_exchange_strong(&shelf->places[i], &none, d))
            return;
    }
    let_go(atomic_exchange(&shelf->places[atomic_fetch_add(&shelf->next, 1) % TC_DIRECT_MAX], d),
           false);
}

static bool fits(const struct tc_direct *d, const struct tc_buf *key)
{
    return d->key.len == key->len && memcmp(d->key.data, key->data, key->len) == 0;
}

/* Whoever has it out has it alone. */
static struct tc_direct *take(struct tc_direct_shelf *shelf, const struct tc_buf *key)
{
    for (size_t i = 0; i < TC_DIRECT_MAX; i++) {
        struct tc_direct *d = atomic_exchange(&shelf->places[i], NULL);
        if (d && fits(d, key))
            return d;
        if (d)
            put(shelf, d);
    }
    return NULL;
}

void tc_direct_close(struct tc_direct_shelf *shelf, bool forked)
{
    for (size_t i = 0; i < TC_DIRECT_MAX; i++)
        let_go(atomic_exchange(&shelf->places[i], NULL), forked);
}

/* FNV-1a: two that are alike by chance cost time, and nothing else. */
static uint64_t digest(const struct tc_buf *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < key->len; i++)
        hash = (hash ^ (unsigned char)key->data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void refuse(struct tc_direct_shelf *shelf, const struct tc_buf *key)
{
    unsigned at = atomic_fetch_add(&shelf->next, 1) % TC_DIRECT_REFUSED;
    atomic_store(&shelf->refused[at], digest(key));
}

bool tc_direct_asks(const struct toolcage_call *call)
{
    const struct tc_direct_shelf *shelf = shelf_of(call);
    uint64_t hash = call->key.len ? digest(&call->key) : 0;
    for (size_t i = 0; i < TC_DIRECT_REFUSED; i++)
        if (atomic_load(&shelf->refused[i]) == hash)
            return false;
    return call->key.len > 0;
}

void tc_direct_keep(struct toolcage_call *call, const char *outcome, size_t length, const int *fds,
                    size_t count)
{
    struct tc_direct *d = count == TC_LOAN_FDS ? make(call, outcome, length, fds) : NULL;
    call->lent = d != NULL;
    if (d)
        put(shelf_of(call), d);
    else if (count != TC_LOAN_FDS)
        tc_close_all(fds, count);
}

/* ---- a call begins ---- */

/* All that it reads is there from the beginning. Two inputs are a mistake, which is not told here.
 */
static bool reads_what_is_there(const struct toolcage_call *call)
{
    return call->input.pipe < 0 && !(call->grant.stdin_bytes && call->input.given);
}

static bool suits(const struct toolcage_call *call, const struct tc_plan *plan)
{
    return plan->calls > 0 && plan->ahead > 0 && (size_t)plan->ahead <= plan->argv.count &&
           !plan->stream && !plan->terminal && !plan->session && !plan->secret_count &&
           !plan->net_count && !call->work && !call->installs && reads_what_is_there(call);
}

/* All of the plan but which call it is, and its words. */
static bool write_key(struct tc_plan *plan, struct tc_buf *ret)
{
    const size_t words = plan->argv.count;
    char *const call = plan->call, *const grant = plan->grant;
    struct tc_wire w = TC_WIRE_PUT_INIT;
    plan->call = plan->grant = NULL;
    plan->argv.count = (size_t)plan->ahead;
    tc_plan_visit(&w, plan);
    plan->call = call;
    plan->grant = grant;
    plan->argv.count = words;
    *ret = w.out;
    return !w.failed && !w.out.failed;
}

/* One that is kept for the next such call is written once. */
static bool find_key(struct toolcage_call *call, struct tc_plan *plan)
{
    struct tc_buf *kept = tc_again_key(call);
    if (!kept)
        return write_key(plan, &call->key);
    if (!kept->len && !write_key(plan, kept)) {
        tc_buf_done(kept);
        return false;
    }
    call->key.max = SIZE_MAX / 2;
    tc_buf_add(&call->key, kept->data, kept->len);
    return !call->key.failed;
}

/* The first of the plan's that is there. */
static bool find_cwd(struct tc_direct *d, const struct tc_plan *plan)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    for (size_t i = 0; i < plan->cwd.count && !d->cwd; i++) {
        _autofd_ int fd = tc_openat2(d->fds[TC_LOAN_ROOT], plan->cwd.items[i], &how);
        if (fd >= 0)
            d->cwd = strdup(plan->cwd.items[i]);
    }
    return d->cwd != NULL;
}

static bool write_words(const struct tc_direct *d, const struct tc_plan *plan, bool keep,
                        struct tc_buf *ret)
{
    static const char keeping[] = TC_WORD_KEEP "\0001";
    ret->max = TC_HANDED_WORDS;
    tc_buf_add(ret, d->cwd, strlen(d->cwd) + 1);
    if (keep)
        tc_buf_add(ret, keeping, sizeof(keeping));
    for (size_t i = (size_t)plan->ahead; i < plan->argv.count; i++)
        tc_buf_add(ret, plan->argv.items[i], strlen(plan->argv.items[i]) + 1);
    return !ret->failed;
}

/* Neither the worker nor the helper has said anything since the call before. */
static bool is_quiet(const struct tc_direct *d)
{
    struct pollfd p[] = {{.fd = d->fds[TC_LOAN_TALK], .events = POLLIN},
                         {.fd = d->job, .events = POLLIN}};
    return poll(p, TC_COUNT(p), 0) == 0;
}

/* The helper looks when this comes: at the call's end at the latest. Where it will look soon enough
 * already it is not told again; the call has begun by then (loan.h). */
static bool arm(const struct tc_direct *d, int64_t begun_us, int64_t timeout_ms)
{
    int64_t most = begun_us + TC_LOAN_LOOK_US, armed = atomic_load(&d->page->armed_us);
    if (timeout_ms && begun_us + tc_us_of_ms(timeout_ms) < most)
        most = begun_us + tc_us_of_ms(timeout_ms);
    if (armed > begun_us && armed <= most)
        return true;
    return tc_loan_arm(d->page, d->fds[TC_LOAN_CLOCK], most) == 0;
}

/* A pipe of its own, in *ret; -1: it reads nothing. False: by the helper's way it can be more. */
static bool fill_input(const struct toolcage_call *call, const struct tc_direct *d, int *ret)
{
    size_t length;
    const int64_t owner = d->page->owner;
    const char *bytes = tc_call_input(call, &length);
    if (!bytes || !length)
        return true;
    *ret = tc_filled_pipe(bytes, length);
    return *ret >= 0 && (owner < 0 || fchown(*ret, (uid_t)owner, (gid_t)owner) == 0);
}

/* The page and the clock first: from then on the helper holds the call to its time. */
static bool begin(const struct toolcage_call *call, struct tc_direct *d, const struct tc_plan *plan,
                  int input)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    int64_t before = atomic_load(&d->page->word);
    if ((!d->cwd && !find_cwd(d, plan)) || !write_words(d, plan, input < 0, &words) || !is_quiet(d))
        return false;
    atomic_store(&d->page->begun_us, call->begun_us);
    if (tc_loan_state(before) != TC_LOAN_FREE ||
        !atomic_compare_exchange_strong(&d->page->word, &before,
                                        tc_loan_word(call->serial, TC_LOAN_BUSY)) ||
        !arm(d, call->begun_us, plan->limits.timeout_ms))
        return false;
    for (size_t i = 0; i < TC_COUNT(d->output); i++)
        d->output[i] = (struct tc_output){.limit = (size_t)plan->limits.output};
    tc_untouched_note(&d->rest);
    const int fds[] = {[TC_HANDED_IN] = input >= 0 ? input : d->in,
                       [TC_HANDED_OUT] = d->out[1],
                       [TC_HANDED_ERR] = d->err[1],
                       [TC_HANDED_ROOT] = d->fds[TC_LOAN_ROOT]};
    const size_t count = d->handed && input < 0 ? 0 : TC_COUNT(fds);
    d->handed = input < 0;
    return tc_send_now(d->fds[TC_LOAN_TALK], words.data, words.len, fds, count) == 0;
}

/* Who cancels from another thread sees the line, or is seen here. */
static bool open_line(struct toolcage_call *call, const struct tc_direct *d)
{
    int line = fcntl(d->job, F_DUPFD_CLOEXEC, 0);
    call->serial = atomic_fetch_add(&shelf_of(call)->calls, 1) + 1;
    atomic_store(&call->line, line);
    return line >= 0;
}

/* The helper gets the call as any other. Another thread may be about to cancel it: the line stays
 * what it is, and leads to the call's own socket from now on, where its number says nothing, or
 * that it has ended. */
static void give_up_line(struct toolcage_call *call)
{
    int line = atomic_load(&call->line);
    if (line >= 0 && tc_call_open(call, NULL) == 0)
        (void)dup3(call->sock, line, O_CLOEXEC);
}

bool tc_direct_begin(struct toolcage_call *call, struct tc_plan *plan)
{
    tc_buf_done(&call->key);
    if (!suits(call, plan) || !find_key(call, plan))
        return false;
    if (atomic_load(&call->line) >= 0) /* one worker was there and did not take it */
        return false;
    struct tc_direct *d = take(shelf_of(call), &call->key);
    if (!d)
        return false;
    _autofd_ int input = -1;
    if (!fill_input(call, d, &input)) {
        put(shelf_of(call), d);
        return false;
    }
    call->begun_us = tc_now_us();
    bool begun = open_line(call, d) && begin(call, d, plan, input);
    if (begun) {
        call->direct = d;
    } else {
        give_up_line(call);
        let_go(d, false);
    }
    int line = atomic_load(&call->line);
    if (line >= 0 && atomic_load(&call->cancelled))
        tc_call_send_cancel(line, call->serial);
    return begun;
}

/* ---- and ends ---- */

/* False: there may be more. */
static bool read_stream(struct tc_direct *d, int stream, size_t most)
{
    char bytes[READ_SHARE];
    int fd = stream == 0 ? d->out[0] : d->err[0];
    for (size_t all = 0; all < most;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n <= 0)
            return true;
        tc_output_add(&d->output[stream], bytes, (size_t)n);
        all += (size_t)n;
        if ((size_t)n < sizeof(bytes)) /* a pipe gives what it has */
            return true;
    }
    return false;
}

void tc_direct_fill(struct toolcage_call *call, struct tc_outcome *o)
{
    struct tc_direct *d = call->direct;
    struct tc_stream *streams[] = {&o->out, &o->err};
    tc_outcome_drop_course(o);
    for (size_t i = 0; i < TC_COUNT(streams); i++) {
        tc_output_finish(&d->output[i], 0, streams[i]);
        tc_output_done(&d->output[i]);
    }
    struct tc_timing *t = TC_PUSH(o->timings, o->timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup("ready"), .us = call->begun_us - d->page->made_us};
    o->wall_us = tc_now_us() - call->begun_us;
}

/* Whoever polls the call hears nothing of these any more. */
static void unwatch(const struct toolcage_call *call, const int *fds, size_t count)
{
    for (size_t i = 0; i < count && call->watch >= 0; i++)
        (void)epoll_ctl(call->watch, EPOLL_CTL_DEL, fds[i], NULL);
}

/* False: the helper was about to end the call, and will end the worker. */
static bool set_free(const struct toolcage_call *call, struct tc_direct *d, int64_t cpu_us)
{
    int64_t busy = tc_loan_word(call->serial, TC_LOAN_BUSY);
    (void)atomic_fetch_add(&d->page->told_us, cpu_us);
    return atomic_compare_exchange_strong(&d->page->word, &busy,
                                          tc_loan_word(call->serial, TC_LOAN_FREE));
}

/* Goes to the next call, or back to the helper. */
static void settle(struct toolcage_call *call, const struct tc_handed_end *end)
{
    struct tc_direct *d = TAKE(call->direct);
    const struct tc_message back = {.kind = TC_MESSAGE_RETURN};
    const int watched[] = {d->fds[TC_LOAN_TALK], d->job, d->out[0], d->err[0]};
    unwatch(call, watched, TC_COUNT(watched));
    if (!end->last && !d->full && --d->left > 0 && set_free(call, d, end->cpu_us)) {
        put(shelf_of(call), d);
        return;
    }
    d->page->end = *end;
    d->page->end.last = 1;
    (void)tc_send_now(d->job, &back, sizeof(back), NULL, 0);
    let_go(d, false);
}

static int lose(struct toolcage_call *call, struct toolcage_error *why, struct toolcage_error **err)
{
    int r = tc_call_lose(call, why, err);
    return r < 0 ? r : 1;
}

/* Everything of the outcome but the end itself is as it was for the call before. */
static int finish(struct toolcage_call *call, const struct tc_handed_end *end,
                  struct toolcage_error **err)
{
    struct tc_outcome o = {0};
    struct toolcage_error *why = NULL;
    if (tc_again_outcome(call, &call->direct->outcome, &o, &why) < 0) {
        tc_outcome_done(&o);
        drop_output(call->direct);
        settle(call, end);
        return lose(call, why, err);
    }
    tc_outcome_drop_call(&o);
    tc_direct_fill(call, &o);
    o.exit_code = end->code;
    o.status = end->code ? TOOLCAGE_STATUS_FAILED : TOOLCAGE_STATUS_OK;
    o.cpu_us = end->cpu_us;
    o.memory_peak = end->bytes;
    settle(call, end);
    int r = tc_call_finish(call, &o, NULL, err);
    return r < 0 ? r : 1;
}

/* What was left in /tmp is the helper's to judge and to clear away; a tool that leaves something
 * once will do it again. */
static int hand_back(struct toolcage_call *call, const struct tc_handed_end *end)
{
    struct tc_direct *d = call->direct;
    const struct tc_message back = {.kind = TC_MESSAGE_RETURN};
    refuse(shelf_of(call), &d->key);
    const int silent[] = {d->fds[TC_LOAN_TALK], d->out[0], d->err[0]};
    unwatch(call, silent, TC_COUNT(silent));
    d->page->end = *end;
    d->lost = d->returned = true;
    if (tc_send_now(d->job, &back, sizeof(back), NULL, 0) < 0)
        (void)shutdown(d->job, SHUT_WR); /* then it ends, and says so */
    return 0;
}

/* Nobody knows what such a worker does: it ends. */
static int disbelieve(struct toolcage_call *call, struct toolcage_error **err)
{
    struct toolcage_error *why = NULL;
    (void)tc_fail(&why,
                  TC_WHY(TOOLCAGE_EBACKEND, "wait", "toolcage-wasm",
                         "call it again: that will be another worker"),
                  "the worker gave an answer that cannot be read");
    let_go(TAKE(call->direct), false);
    return lose(call, why, err);
}

/* Copied once, from a packet of its size. */
static int hear_worker(struct toolcage_call *call, struct toolcage_error **err)
{
    struct tc_direct *d = call->direct;
    struct tc_handed_end said;
    size_t count = 0;
    ssize_t n =
        tc_recv(d->fds[TC_LOAN_TALK], &said, sizeof(said), NULL, 0, &count, NULL, NULL, false);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    d->lost = n == 0 || (n < 0 && errno == ECONNRESET);
    if (d->lost) { /* it ends, which the helper sees */
        unwatch(call, &d->fds[TC_LOAN_TALK], 1);
        return 0;
    }
    if (n != sizeof(said))
        return disbelieve(call, err);
    tc_handed_bound(&said);
    for (int stream = 0; stream < 2; stream++)
        d->full = !read_stream(d, stream, LAST_WORDS) || d->full;
    return tc_untouched_still(&d->rest, d->fds[TC_LOAN_TMP]) ? finish(call, &said, err)
                                                             : hand_back(call, &said);
}

static int hear_helper(struct toolcage_call *call, struct toolcage_error **err)
{
    int r = tc_call_hear(call, call->direct->job, err);
    if (call->state == TC_CALL_DONE)
        let_go(TAKE(call->direct), false);
    return r < 0 ? r : call->state == TC_CALL_DONE;
}

int tc_direct_turn(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err)
{
    struct tc_direct *d = call->direct;
    struct pollfd p[WATCHED] = {
        [TALK] = {.fd = d->lost ? -1 : d->fds[TC_LOAN_TALK], .events = POLLIN},
        [JOB] = {.fd = d->job, .events = POLLIN},
        [OUT] = {.fd = d->returned ? -1 : d->out[0], .events = POLLIN},
        [ERR] = {.fd = d->returned ? -1 : d->err[0], .events = POLLIN}};
    int n = poll(p, WATCHED, timeout_ms);
    if (n < 0 && errno != EINTR)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "wait", .errnum = errno},
                       "cannot wait for the call: poll failed");
    if (n <= 0)
        return 0;
    for (int stream = 0; stream < 2; stream++)
        if (p[OUT + stream].revents)
            (void)read_stream(d, stream, READ_SHARE);
    int r = p[TALK].revents ? hear_worker(call, err) : 0;
    return r == 0 && call->direct && p[JOB].revents ? hear_helper(call, err) : r;
}

/* Its own socket; if it needed none, one whose other end is closed: always ready, and no harm. */
static int ready_fd(struct toolcage_call *call)
{
    int r = tc_call_open(call, NULL);
    if (call->direct || call->untold || call->state == TC_CALL_DONE)
        close_one(&call->peer);
    return r < 0 ? r : call->sock;
}

static bool add(int watch, int fd)
{
    struct epoll_event ready = {.events = EPOLLIN};
    return fd < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, fd, &ready) == 0;
}

/* All by which it goes on, and what stays readable when it has ended: of the others none does, they
 * go on with the worker. */
static void make_watch(struct toolcage_call *call)
{
    const struct tc_direct *d = call->direct;
    const bool ended = call->untold || call->state == TC_CALL_DONE;
    _autofd_ int watch = epoll_create1(EPOLL_CLOEXEC);
    _autofd_ int over = eventfd(ended, EFD_CLOEXEC | EFD_NONBLOCK);
    bool good = watch >= 0 && over >= 0 && add(watch, over);
    if (d)
        good = good && add(watch, d->fds[TC_LOAN_TALK]) && add(watch, d->job) &&
               add(watch, d->out[0]) && add(watch, d->err[0]);
    else if (!ended)
        good = good && add(watch, call->sock);
    if (!good)
        return;
    call->watch = TAKE_FD(watch);
    call->over = TAKE_FD(over);
}

/* Whether a worker serves it or may be lent with its answer: either has a key. */
int tc_direct_fd(struct toolcage_call *call)
{
    if (call->watch < 0 && !call->polled && call->key.len)
        make_watch(call);
    call->polled = true; /* the answer is the same each time */
    return call->watch >= 0 ? call->watch : ready_fd(call);
}

void tc_direct_over(struct toolcage_call *call)
{
    if (call->over >= 0)
        (void)eventfd_write(call->over, 1);
}

void tc_direct_drop(struct toolcage_call *call)
{
    int line = atomic_exchange(&call->line, -1);
    let_go(TAKE(call->direct), tc_engine_forked(call->engine));
    close_one(&line);
    close_one(&call->watch);
    close_one(&call->over);
    tc_buf_done(&call->key);
}
