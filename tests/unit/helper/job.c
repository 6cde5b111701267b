/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Jobs with an executor that is made here. A cage that cannot be watched, and does not end when it
 * is told to: the job is answered, and the loop does not wait for it. An input that cannot be read.
 */
#include "helper/job.h"

#include <errno.h>
#include <fcntl.h>
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

static struct tc_loop loop;
static struct tc_workers workers;

/* What was done to the one cage. */
static struct {
    int exit_pipe[2];
    int file;
    bool fails; /* the start, after it made a process */
    bool runs;  /* the start is good */
    int told;   /* the cage's event descriptor; 0: it has none */
    bool reached, oomed;
    int looks;
    bool large; /* to let go of */
    int kills, reaps, releases, destroys;
} seen;

static int make(struct tc_cage *cage)
{
    cage->priv = &seen;
    return 0;
}

/* No regular file can be watched. */
static int start(struct tc_cage *cage)
{
    cage->exit_fd = seen.exit_pipe[0];
    cage->running = seen.runs;
    cage->event_fd = seen.told ? seen.told : -1;
    if (seen.runs)
        return 0;
    cage->out_fd = seen.file;
    if (seen.fails)
        return tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "start"}, -1,
                            "no");
    return 0;
}

static void kill_it(struct tc_cage *cage, bool at_once)
{
    (void)cage;
    seen.kills += at_once;
    if (seen.runs && at_once)
        seen.exit_pipe[1] = close(seen.exit_pipe[1]);
}

/* Once it was told of something it looks again, twice. */
static int event(struct tc_cage *cage)
{
    uint64_t count;
    (void)!read(seen.told, &count, sizeof(count));
    cage->look_at_us = seen.looks++ < 2 ? tc_now_us() + 10000 : 0;
    cage->limit = seen.reached && seen.looks > 2 ? "memory" : NULL;
    return 0;
}

static const char *usage(struct tc_cage *cage)
{
    (void)cage;
    return seen.oomed ? "memory" : NULL;
}

static void reap(struct tc_cage *cage)
{
    seen.reaps++;
    cage->exit_fd = -1;
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    if (!cage->priv)
        return true;
    bool large = seen.large && !seen.releases;
    seen.releases += large && may_block == TC_BLOCK_YES;
    if (large)
        return false;
    assert_int_equal(cage->exit_fd, -1);
    seen.destroys++;
    cage->priv = NULL;
    return true;
}

static const struct tc_executor executor = {.name = "stubborn",
                                            .make = make,
                                            .start = start,
                                            .event = event,
                                            .signal = kill_it,
                                            .reap = reap,
                                            .usage = usage,
                                            .destroy = destroy};

static unsigned sweep(void)
{
    return 0;
}

static const struct tc_host_ops machine = {.sweep = sweep};
const struct tc_host_ops *const tc_host_ops = &machine;

const struct tc_executor *tc_executor_at(size_t index)
{
    return index == 0 ? &executor : NULL;
}

const struct tc_executor *tc_executor_find(const char *name)
{
    return strcmp(name, executor.name) == 0 ? &executor : NULL;
}

static int plan_of_one_call(void)
{
    struct tc_plan plan = {.backend = strdup(executor.name)};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_plan_visit(&w, &plan);
    assert_false(w.failed);
    int fd = tc_memfd("plan", w.out.data, w.out.len);
    tc_buf_done(&w.out);
    tc_plan_done(&plan);
    assert_true(fd >= 0);
    return fd;
}

static struct tc_job_record *begin(int *ret_host, int kind, int input)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    *ret_host = pair[0];
    struct tc_job job = {.kind = TC_JOB_CALL, .stdin_kind = kind};
    const struct tc_job_fds fds = {.socket = pair[1],
                                   .plan = plan_of_one_call(),
                                   .input = input,
                                   .secrets = -1,
                                   .exchanges = -1};
    struct tc_job_record *j = tc_job_new(&loop, &workers, &job, &fds, NULL);
    assert_non_null(j);
    return j;
}

static void turn(struct tc_job_record *j, int64_t us)
{
    for (int64_t until = tc_now_us() + us; tc_now_us() < until;) {
        assert_int_equal(tc_loop_turn(&loop, tc_job_next(j) ? tc_now_us() + 1000 : until), 0);
        tc_job_tick(j, tc_now_us());
    }
}

static bool answered(int host)
{
    struct tc_message m;
    return recv(host, &m, sizeof(m), MSG_DONTWAIT) == (ssize_t)sizeof(m) &&
           m.kind == TC_MESSAGE_DONE;
}

static int set_up(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    seen.file = tc_memfd("file", "", 0);
    return pipe2(seen.exit_pipe, O_CLOEXEC) < 0 || seen.file < 0 || tc_loop_open(&loop) < 0 ||
           tc_workers_open(&workers, &loop) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(seen.exit_pipe[0]);
    (void)close(seen.file);
    (void)close(workers.source.fd);
    return close(loop.epoll);
}

static void ends_when_it_ends(struct tc_job_record *j, int host)
{
    assert_true(answered(host));
    assert_true(seen.kills > 0);
    assert_int_equal(seen.destroys, 0);
    int before = seen.kills;
    turn(j, 1500000);
    assert_true(seen.kills > before); /* once more, since it still has not ended */
    assert_true(seen.kills < before + 20);
    assert_int_equal(seen.destroys, 0);
    (void)close(seen.exit_pipe[1]);
    turn(j, 500000);
    assert_int_equal(seen.reaps, 1);
    assert_int_equal(seen.destroys, 1);
    assert_int_equal(j->state, TC_IS_GONE);
    tc_job_free(j);
    (void)close(host);
}

static void unwatchable_cage_fails_at_once(void **state)
{
    int host;
    (void)state;
    int64_t began = tc_now_us();
    struct tc_job_record *j = begin(&host, TC_STDIN_NONE, -1);
    assert_true(tc_now_us() - began < 1000000);
    assert_int_equal(j->outcome.failure.code, TOOLCAGE_ESYSTEM);
    assert_string_equal(j->outcome.failure.subject, "epoll");
    ends_when_it_ends(j, host);
}

static void failed_start_ends_at_once(void **state)
{
    int host;
    (void)state;
    seen.fails = true;
    struct tc_job_record *j = begin(&host, TC_STDIN_NONE, -1);
    assert_string_equal(j->outcome.failure.stage, "start");
    ends_when_it_ends(j, host);
}

/* Then the end itself cannot be watched for at first. */
static void unwatchable_end_is_polled(void **state)
{
    int host, whole = seen.exit_pipe[0];
    (void)state;
    seen.exit_pipe[0] = seen.file;
    struct tc_job_record *j = begin(&host, TC_STDIN_NONE, -1);
    assert_true(answered(host));
    turn(j, 300000);
    assert_true(seen.kills > 1);
    assert_int_equal(seen.destroys, 0);
    seen.exit_pipe[0] = j->cage.exit_fd = whole;
    (void)close(seen.exit_pipe[1]);
    turn(j, 500000);
    assert_int_equal(seen.reaps, 1);
    assert_int_equal(seen.destroys, 1);
    tc_job_free(j);
    (void)close(host);
}

/* Nothing can be read from a directory. */
static void half_an_input_is_not_taken_for_the_whole(void **state)
{
    int host;
    (void)state;
    seen.runs = true;
    struct tc_job_record *j = begin(&host, TC_STDIN_BYTES, open("/", O_RDONLY | O_CLOEXEC));
    turn(j, 200000);
    assert_true(answered(host));
    assert_int_equal(j->outcome.status, TOOLCAGE_STATUS_ERROR);
    assert_int_equal(j->outcome.failure.code, TOOLCAGE_ESYSTEM);
    assert_string_equal(j->outcome.failure.subject, "standard input");
    assert_int_equal(j->outcome.failure.errnum, EISDIR);
    assert_int_equal(seen.kills, 1);
    assert_int_equal(seen.reaps, 1);
    assert_int_equal(seen.destroys, 1);
    tc_job_free(j);
    (void)close(host);
}

static void the_whole_input_comes(void **state)
{
    static char text[300000], got[sizeof(text)];
    int host;
    (void)state;
    memset(text, 'x', sizeof(text));
    seen.runs = true;
    struct tc_job_record *j = begin(&host, TC_STDIN_BYTES, tc_memfd("input", text, sizeof(text)));
    size_t have = 0;
    for (ssize_t n = 1; n > 0; have += (size_t)n) {
        turn(j, 5000);
        n = read(j->cage.stdin_fd, got + have, sizeof(got) - have);
        assert_true(n >= 0);
    }
    assert_int_equal(have, sizeof(text));
    assert_memory_equal(got, text, sizeof(text));
    (void)close(seen.exit_pipe[1]);
    turn(j, 100000);
    assert_true(answered(host));
    assert_int_equal(j->outcome.failure.code, 0);
    (void)close(j->cage.stdin_fd);
    tc_job_free(j);
    (void)close(host);
}

static struct tc_job_record *begin_that_is_told(int *ret_host)
{
    seen.runs = true;
    seen.told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(seen.told > 0);
    return begin(ret_host, TC_STDIN_NONE, -1);
}

static void tell(void)
{
    const uint64_t one = 1;
    assert_int_equal(write(seen.told, &one, sizeof(one)), sizeof(one));
}

static void ends_for(struct tc_job_record *j, int host, const char *limit)
{
    turn(j, 100000);
    assert_true(answered(host));
    if (limit)
        assert_string_equal(j->outcome.limit, limit);
    else
        assert_null(j->outcome.limit);
    tc_job_free(j);
    (void)close(host);
    (void)close(seen.told);
}

static void a_limit_that_is_seen_at_a_later_look_ends_it(void **state)
{
    int host;
    (void)state;
    seen.reached = true;
    struct tc_job_record *j = begin_that_is_told(&host);
    assert_int_equal(tc_job_next(j), 0);
    tell();
    turn(j, 5000);
    assert_int_equal(seen.kills, 0);
    turn(j, 200000);
    assert_int_equal(seen.kills, 1);
    ends_for(j, host, "memory");
}

static void look_below_the_limits_ends_nothing(void **state)
{
    int host;
    (void)state;
    struct tc_job_record *j = begin_that_is_told(&host);
    tell();
    turn(j, 200000);
    assert_int_equal(seen.looks, 3);
    assert_int_equal(seen.kills, 0);
    assert_int_equal(tc_job_next(j), 0);
    (void)close(seen.exit_pipe[1]);
    ends_for(j, host, NULL);
}

static void a_good_end_does_not_hide_a_kill(void **state)
{
    int host;
    (void)state;
    struct tc_job_record *j = begin_that_is_told(&host);
    seen.oomed = true;
    (void)close(seen.exit_pipe[1]);
    ends_for(j, host, "memory");
    assert_int_equal(seen.kills, 0);
}

static void slow_release_delays_no_answer(void **state)
{
    int host;
    (void)state;
    seen.runs = seen.large = true;
    struct tc_job_record *j = begin(&host, TC_STDIN_NONE, -1);
    (void)close(seen.exit_pipe[1]);
    turn(j, 200000);
    assert_true(answered(host));
    assert_int_equal(seen.releases, 1);
    assert_int_equal(seen.destroys, 1);
    assert_int_equal(j->state, TC_IS_GONE);
    tc_job_free(j);
    (void)close(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unwatchable_cage_fails_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_start_ends_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unwatchable_end_is_polled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_an_input_is_not_taken_for_the_whole, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_whole_input_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_limit_that_is_seen_at_a_later_look_ends_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(look_below_the_limits_ends_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slow_release_delays_no_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_good_end_does_not_hide_a_kill, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
