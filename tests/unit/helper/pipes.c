/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whole calls in real cages over a plain pair of pipes, as they go into a machine: nothing but
 * bytes crosses. And peers that break the rules of the stream. */
#include "base/frame.h"
#include "helper/serve.h"
#include "plan/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "plan/backend.h"
#include "test.h"
#include "version.h"

enum { PATIENCE_MS = 20000 };

static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_HELLO] = TC_BUILD_ID_SIZE,
                                            [TC_FRAME_TAKEN] = sizeof(uint32_t),
                                            [TC_FRAME_OUT] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_ERR] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_DONE] = 16 << 20};

/* The other end, and what it said. */
static struct {
    pid_t pid;
    int to, from;
    struct tc_frames frames;
    struct tc_buf text[2];
    size_t taken;
} peer;

static int set_up(void **state)
{
    int there[2], back[2];
    (void)state;
    if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
        return -1;
    peer.pid = fork();
    if (peer.pid == 0) {
        (void)close(there[1]);
        (void)close(back[0]);
        tc_helper_serve_stream(there[0], back[1], NULL);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    peer.to = there[1];
    peer.from = back[0];
    peer.frames = tc_frames_of(most, TC_FRAME_KINDS);
    peer.text[0] = peer.text[1] = TC_BUF_INIT;
    peer.taken = 0;
    return peer.pid < 0;
}

static void close_to(void)
{
    if (peer.to >= 0)
        (void)close(TAKE_FD(peer.to));
}

/* However the stream ended, the other end ends with it, and by itself. */
static int tear_down(void **state)
{
    int status = -1;
    (void)state;
    close_to();
    int64_t until = tc_now_us() + PATIENCE_MS * 1000;
    while (waitpid(peer.pid, &status, WNOHANG) == 0 && tc_now_us() < until)
        (void)poll(NULL, 0, 10);
    (void)kill(peer.pid, SIGKILL);
    (void)close(peer.from);
    tc_frames_done(&peer.frames);
    tc_buf_done(&peer.text[0]);
    tc_buf_done(&peer.text[1]);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* The next frame; false at the end of the stream. */
static bool next(struct tc_frame *ret)
{
    for (;;) {
        int more = tc_frames_next(&peer.frames, ret);
        assert_true(more >= 0);
        if (more)
            return true;
        struct pollfd p = {.fd = peer.from, .events = POLLIN};
        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        ssize_t n = tc_frames_read(&peer.frames, peer.from);
        assert_true(n >= 0);
        if (n == 0)
            return false;
    }
}

static void say(enum tc_frame_kind kind, const void *bytes, size_t len)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_frame_put(&out, kind, bytes, len);
    assert_int_equal(tc_write_all(peer.to, out.data, out.len), 0);
}

static void hear_hello(void)
{
    static const char build[TC_BUILD_ID_SIZE] = TC_BUILD_ID;
    struct tc_frame f;
    assert_true(next(&f));
    assert_int_equal(f.kind, TC_FRAME_HELLO);
    assert_int_equal(f.len, sizeof(build));
    assert_memory_equal(f.bytes, build, sizeof(build));
}

static void say_job(const char *script, enum tc_stdin_kind input)
{
    struct tc_job job = {.build = TC_BUILD_ID, .kind = TC_JOB_CALL, .stdin_kind = input};
    struct tc_plan plan;
    struct tc_wire w = TC_WIRE_PUT_INIT;
    const struct tc_executor *executor = tc_executor_find("process");
    assert_true(executor->probe->plan(executor, &plan));
    tc_strv_done(&plan.argv);
    assert_true(tc_strv_add(&plan.argv, "/bin/sh") && tc_strv_add(&plan.argv, "-c") &&
                tc_strv_add(&plan.argv, script));
    plan.limits.timeout_ms = PATIENCE_MS;
    plan.limits.output = 1 << 20;
    plan.stream = TC_STREAM_KEPT;
    tc_plan_visit(&w, &plan);
    assert_false(w.failed);
    say(TC_FRAME_JOB, &job, sizeof(job));
    say(TC_FRAME_PLAN, w.out.data, w.out.len);
    tc_buf_done(&w.out);
    tc_plan_done(&plan);
}

/* What comes until the call is over. */
static void hear_all(struct tc_outcome *ret)
{
    struct tc_frame f;
    *ret = (struct tc_outcome){0};
    for (;;) {
        uint32_t taken = 0;
        assert_true(next(&f));
        if (f.kind == TC_FRAME_DONE)
            break;
        if (f.kind == TC_FRAME_TAKEN)
            memcpy(&taken, f.bytes, sizeof(taken));
        else
            tc_buf_add(&peer.text[f.kind == TC_FRAME_ERR], f.bytes, f.len);
        peer.taken += taken;
    }
    struct tc_wire w = TC_WIRE_GET_INIT(f.bytes, f.len);
    tc_outcome_visit(&w, ret);
    assert_false(w.failed);
    assert_int_equal(w.left, 0);
    if (ret->failure.code)
        print_message("# %s: %s\n", ret->failure.subject, ret->failure.message);
    assert_int_equal(ret->failure.code, 0);
}

static void ended(void)
{
    struct tc_frame f;
    while (next(&f))
        assert_int_not_equal(f.kind, TC_FRAME_DONE);
}

static void a_whole_call_goes_over_pipes(void **state)
{
    struct tc_outcome outcome;
    (void)state;
    hear_hello();
    say_job("read a; read b; echo \"$a $b\"; echo bad >&2; exit 3", TC_STDIN_PIPE);
    say(TC_FRAME_INPUT, "on", 2);
    say(TC_FRAME_INPUT, "e\ntwo\n", 6);
    say(TC_FRAME_INPUT_END, NULL, 0);
    hear_all(&outcome);
    assert_string_equal(peer.text[0].data, "one two\n");
    assert_string_equal(peer.text[1].data, "bad\n");
    assert_int_equal(outcome.status, TOOLCAGE_STATUS_FAILED);
    assert_int_equal(outcome.exit_code, 3);
    assert_int_equal(outcome.out.bytes, 8);
    assert_true(outcome.enforced_count > 10);
    assert_int_equal(peer.taken, 8);
    tc_outcome_done(&outcome);
}

static void one_call_follows_another(void **state)
{
    struct tc_outcome outcome;
    (void)state;
    hear_hello();
    for (int i = 0; i < 3; i++) {
        say_job("echo again", TC_STDIN_NONE);
        hear_all(&outcome);
        assert_int_equal(outcome.status, TOOLCAGE_STATUS_OK);
        tc_outcome_done(&outcome);
        say(TC_FRAME_CANCEL, NULL, 0); /* too late, and no matter */
        say(TC_FRAME_INPUT, "late", 4);
    }
    assert_string_equal(peer.text[0].data, "again\nagain\nagain\n");
}

/* A window at a time, and what nobody reads is taken all the same. */
static void much_input(const char *script, const char *says)
{
    static const char bytes[TC_MESSAGE_BYTES_MAX];
    enum { FRAMES = 64 };
    struct tc_outcome outcome;
    struct tc_frame f;
    hear_hello();
    say_job(script, TC_STDIN_PIPE);
    for (size_t sent = 0; sent < FRAMES * sizeof(bytes);) {
        if (sent + sizeof(bytes) - peer.taken <= TC_INPUT_WINDOW) {
            say(TC_FRAME_INPUT, bytes, sizeof(bytes));
            sent += sizeof(bytes);
            continue;
        }
        uint32_t taken;
        assert_true(next(&f));
        assert_int_equal(f.kind, TC_FRAME_TAKEN);
        memcpy(&taken, f.bytes, sizeof(taken));
        peer.taken += taken;
    }
    say(TC_FRAME_INPUT_END, NULL, 0);
    hear_all(&outcome);
    assert_string_equal(peer.text[0].data, says);
    assert_int_equal(outcome.status, TOOLCAGE_STATUS_OK);
    tc_outcome_done(&outcome);
}

static void input_comes_whole(void **state)
{
    (void)state;
    much_input("wc -c", "2097152\n");
}

static void input_that_nobody_reads_holds_up_nothing(void **state)
{
    (void)state;
    much_input("exec 0<&-; sleep 1; echo done", "done\n");
}

static void a_call_is_cancelled(void **state)
{
    struct tc_outcome outcome;
    (void)state;
    hear_hello();
    say_job("echo up; exec sleep 60", TC_STDIN_NONE);
    struct tc_frame f;
    assert_true(next(&f));
    assert_int_equal(f.kind, TC_FRAME_OUT);
    say(TC_FRAME_CANCEL, NULL, 0);
    hear_all(&outcome);
    assert_int_equal(outcome.status, TOOLCAGE_STATUS_CANCELLED);
    tc_outcome_done(&outcome);
}

static void lost_host_ends_its_call(void **state)
{
    struct tc_frame f;
    (void)state;
    hear_hello();
    say_job("echo up; exec sleep 60", TC_STDIN_NONE);
    assert_true(next(&f));
    close_to();
    ended();
}

static void a_length_that_is_a_lie_ends_it(void **state)
{
    static const unsigned char lie[] = {TC_FRAME_PLAN, 0, 0, 0, 255, 255, 255, 255};
    (void)state;
    hear_hello();
    assert_int_equal(tc_write_all(peer.to, lie, sizeof(lie)), 0);
    ended();
}

static void words_out_of_turn_end_it(void **state)
{
    (void)state;
    hear_hello();
    say(TC_FRAME_PLAN, "plan", 4); /* of no job */
    ended();
}

static void helper_frames_from_a_host_are_refused(void **state)
{
    (void)state;
    hear_hello();
    say(TC_FRAME_DONE, NULL, 0);
    ended();
}

static void more_input_than_the_window_ends_it(void **state)
{
    static const char bytes[TC_MESSAGE_BYTES_MAX];
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    hear_hello();
    say_job("exec sleep 60", TC_STDIN_PIPE);
    for (int i = 0; i < 64; i++) {
        _autobuf_ struct tc_buf out = TC_BUF_INIT;
        tc_frame_put(&out, TC_FRAME_INPUT, bytes, sizeof(bytes));
        if (tc_write_all(peer.to, out.data, out.len) < 0)
            break;
    }
    ended();
}

/* The call is not begun by half a plan, and who stalls there holds no more than himself. */
static void half_a_frame_begins_nothing(void **state)
{
    struct tc_job job = {.build = TC_BUILD_ID, .kind = TC_JOB_CALL};
    static const unsigned char half[] = {TC_FRAME_PLAN, 0, 0, 0, 100, 0, 0, 0, 'h'};
    struct pollfd p = {.fd = peer.from, .events = POLLIN};
    (void)state;
    hear_hello();
    say(TC_FRAME_JOB, &job, sizeof(job));
    assert_int_equal(tc_write_all(peer.to, half, sizeof(half)), 0);
    assert_int_equal(poll(&p, 1, 300), 0);
    close_to();
    ended();
}

/* Both sides are of one build, or nothing runs. */
static void another_build_is_not_served(void **state)
{
    struct tc_job job = {.build = "another", .kind = TC_JOB_CALL};
    struct tc_frame f;
    (void)state;
    hear_hello();
    say(TC_FRAME_JOB, &job, sizeof(job));
    say(TC_FRAME_PLAN, "plan", 4);
    assert_true(next(&f));
    assert_int_equal(f.kind, TC_FRAME_DONE);
    assert_int_equal(f.len, 0);
}

/* ---- a machine that was written to a file ---- */

static int calls[2][2]; /* what it may call by, and has called by */

static bool renew(const struct tc_renewal *renewal)
{
    return renewal->now_us == 7;
}

static int call_again(void)
{
    static size_t next_call;
    return next_call < TC_COUNT(calls) ? dup(calls[next_call++][1]) : -1;
}

static int set_up_calling(void **state)
{
    int pair[2];
    (void)state;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    for (size_t i = 0; i < TC_COUNT(calls); i++)
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, calls[i]) < 0)
            return -1;
    peer.pid = fork();
    if (peer.pid == 0) {
        (void)close(pair[0]);
        for (size_t i = 0; i < TC_COUNT(calls); i++)
            (void)close(calls[i][0]);
        tc_helper_serve_stream(
            pair[1], pair[1],
            &(struct tc_serve_place){.grants = "/", .renew = renew, .again = call_again});
    }
    (void)close(pair[1]);
    for (size_t i = 0; i < TC_COUNT(calls); i++)
        (void)close(calls[i][1]);
    peer.to = pair[0];
    peer.from = dup(pair[0]);
    peer.frames = tc_frames_of(most, TC_FRAME_KINDS);
    peer.text[0] = peer.text[1] = TC_BUF_INIT;
    return peer.pid < 0;
}

/* What it has called by last. */
static void take_call(size_t number)
{
    (void)close(peer.to);
    (void)close(peer.from);
    peer.to = calls[number][0];
    peer.from = dup(peer.to);
}

static void say_renewal(void)
{
    const struct tc_renewal renewal = {.now_us = 7};
    say(TC_FRAME_RENEW, &renewal, sizeof(renewal));
}

/* However often it is written before it is spoken to; it greets when it is told that it is a copy.
 */
static void cut_between_calls_it_calls_again(void **state)
{
    struct tc_outcome outcome;
    (void)state;
    hear_hello();
    take_call(0);
    struct pollfd p = {.fd = peer.from, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 300), 0);
    take_call(1);
    say_renewal();
    hear_hello();
    say_job("echo copied", TC_STDIN_NONE);
    hear_all(&outcome);
    assert_string_equal(peer.text[0].data, "copied\n");
    tc_outcome_done(&outcome);
    assert_int_equal(shutdown(peer.to, SHUT_WR), 0);
}

/* A call whose host is gone has none. */
static void cut_in_a_call_it_ends(void **state)
{
    (void)state;
    hear_hello();
    say_renewal();
    hear_hello();
    say_job("sleep 60", TC_STDIN_NONE);
    take_call(0);
    ended();
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
#define CALLING(fn) cmocka_unit_test_setup_teardown(fn, set_up_calling, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_whole_call_goes_over_pipes),
        CASE(one_call_follows_another),
        CASE(input_comes_whole),
        CASE(input_that_nobody_reads_holds_up_nothing),
        CASE(a_call_is_cancelled),
        CASE(lost_host_ends_its_call),
        CASE(a_length_that_is_a_lie_ends_it),
        CASE(words_out_of_turn_end_it),
        CASE(helper_frames_from_a_host_are_refused),
        CASE(more_input_than_the_window_ends_it),
        CASE(half_a_frame_begins_nothing),
        CASE(another_build_is_not_served),
        CALLING(cut_between_calls_it_calls_again),
        CALLING(cut_in_a_call_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
