/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Receives the result. Nothing here has a timeout: the helper enforces every deadline. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/call.h"
#include "call/ports.h"

enum { SHARE = 64 }; /* messages of one dispatch: some 2 MiB */

/* Stores the install completely or not at all: a failed install leaves nothing. */
static void settle_install(struct toolcage_call *call, struct tc_outcome *outcome,
                           struct toolcage_error **why)
{
    bool well = !*why && outcome->status == TOOLCAGE_STATUS_OK && !outcome->failure.code &&
                outcome->exit_code == 0;
    if (well && tc_install_keep(call->policy, call->tool, call->stage, why) < 0)
        outcome->status = TOOLCAGE_STATUS_ERROR;
    tc_stage_free(TAKE(call->stage));
}

/* The result reports that its record is missing: the call may have run. */
static void record_end(struct toolcage_call *call, const struct tc_result_frame *frame)
{
    struct toolcage_error *err = NULL;
    if (tc_call_record_end(call, frame, call->result, &err) < 0)
        tc_result_add_note(frame, call->result,
                           tc_format("the audit log has no record of this %s: %s",
                                     call->recorded ? "result" : "refusal", tc_error_message(err)));
    tc_error_free(err);
    call->recorded = false;
}

int tc_call_finish(struct toolcage_call *call, struct tc_outcome *outcome,
                   struct toolcage_error *why, struct toolcage_error **err)
{
    if (call->stage)
        settle_install(call, outcome, &why);
    struct tc_result_frame frame = {.call = call->id,
                                    .tool = call->tool,
                                    .policy = call->policy,
                                    .grant = &call->grant,
                                    .steps = call->steps,
                                    .step_count = call->step_count,
                                    .total_us = tc_now_us() - call->started_us,
                                    .live_session = call->live_in[0] ? call->live_in : NULL,
                                    .proved_at = call->proved_at};
    call->collected = -1;
    int r = tc_result_make(&frame, outcome, why, &call->result, err);
    if (r == 0) {
        record_end(call, &frame);
        call->state = TC_CALL_DONE;
    } else if (call->state == TC_CALL_RUNNING) {
        call->state = TC_CALL_UNTOLD;
    }
    return r;
}

/* The outcome is unknown; `why` (taken) is the error. The tool may have run, and changed what it
 * may write. */
static int finish_lost(struct toolcage_call *call, struct toolcage_error *why,
                       struct toolcage_error **err)
{
    struct tc_outcome none = {
        .status = TOOLCAGE_STATUS_ERROR, .exit_code = -1, .memory_peak = -1, .pids_peak = -1};
    none.failure.clause = -1;
    if (tc_grant_writes(&call->grant)) {
        none.omitted_changes = 1;
        tc_outcome_note(&none, strdup("the tool may have run: check the writable directories"));
    }
    return tc_call_finish(call, &none, why, err);
}

/* Whether the helper runs: its end of the engine's socket closes when it exits, before those of
 * its calls. */
static bool helper_lives(const struct toolcage_engine *engine)
{
    struct pollfd socket = {.fd = tc_engine_fd(engine)};
    return poll(&socket, 1, 0) == 0;
}

static int finish_gone(struct toolcage_call *call, struct toolcage_error **err)
{
    struct toolcage_error *why = NULL;
    struct tc_why gone = {.code = TOOLCAGE_EHELPER, .stage = "wait", .subject = "toolcage-helper"};
    if (helper_lives(call->engine)) {
        gone.hint = "fewer calls at once, more open files (ulimit -n), or more memory";
        (void)tc_fail(&why, &gone,
                      "the helper could not accept this call, or could not return its result");
    } else {
        gone.hint =
            "make a new engine; if this happens again, library and helper may be of different "
            "builds: reinstall toolcage";
        (void)tc_fail(
            &why, &gone,
            "the helper exited without a result; every cage of this engine ended with it");
    }
    return finish_lost(call, why, err);
}

/* The kernel drops an fd when no fd number is free, and the outcome with it. */
static int finish_cut(struct toolcage_call *call, struct toolcage_error **err)
{
    struct toolcage_error *why = NULL;
    (void)tc_fail(&why,
                  TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "wait", "result", EMFILE,
                               "close descriptors or raise the limit (ulimit -n), then call again"),
                  "the call ended, but its result could not be received");
    return finish_lost(call, why, err);
}

/* The outcome is in a memory file, or else in the message. */
static int finish_done(struct toolcage_call *call, const struct tc_message *m, size_t length,
                       int fd, struct toolcage_error **err)
{
    struct tc_outcome outcome = {0};
    struct toolcage_error *why = NULL;
    int r = fd < 0 && length ? tc_outcome_parse(m->bytes, length, &outcome, &why)
                             : tc_outcome_read(fd, &outcome, &why);
    if (r == 0)
        return tc_call_finish(call, &outcome, NULL, err);
    tc_outcome_done(&outcome);
    return finish_lost(call, why, err);
}

/* Processes one message, which may end the call: 0, or a code. */
static int take_message(struct toolcage_call *call, const struct tc_message *m, size_t length,
                        int fd, struct toolcage_error **err)
{
    if (length < sizeof(*m))
        return finish_gone(call, err);
    if (m->kind == TC_MESSAGE_DONE)
        return finish_done(call, m, length - sizeof(*m), fd, err);
    if (m->kind == TC_MESSAGE_OUTPUT && call->output && (m->stream == 1 || m->stream == 2))
        call->output(call->userdata, m->stream, m->bytes, length - sizeof(*m));
    if (m->kind == TC_MESSAGE_COLLECTED)
        call->collected = m->collected;
    if (m->kind == TC_MESSAGE_READY) {
        call->ready = true;
        if (fd >= 0)
            tc_ports_take(call, fd);
    }
    return 0;
}

/* Processes the messages that have arrived; 0, or a code. */
static int receive_messages(struct toolcage_call *call, struct toolcage_error **err)
{
    union {
        struct tc_message message;
        char bytes[sizeof(struct tc_message) + TC_MESSAGE_BYTES_MAX];
    } in;
    int r = 0;
    /* a tool that never stops writing must not keep the host here */
    for (int share = 0; r == 0 && share < SHARE && call->state != TC_CALL_DONE; share++) {
        int fds[1] = {-1};
        size_t count = 0;
        ssize_t n = tc_recv(call->sock, &in, sizeof(in), fds, 1, &count, NULL, NULL, false);
        _autofd_ int fd = count ? fds[0] : -1;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n < 0 && errno == EMSGSIZE)
            r = finish_cut(call, err);
        else
            r = n <= 0 ? finish_gone(call, err)
                       : take_message(call, &in.message, (size_t)n, fd, err);
    }
    return r < 0 ? r : 0;
}

/* The call has ended; its outcome was lost for lack of memory. */
static int tell_late(struct toolcage_call *call, struct toolcage_error **err)
{
    struct toolcage_error *why = NULL;
    (void)tc_fail_memory(&why);
    int r = finish_lost(call, why, err);
    return r < 0 ? r : 1;
}

int tc_call_dispatch(struct toolcage_call *call, struct toolcage_error **err)
{
    int r = tc_engine_check(call->engine, err);
    if (r < 0)
        return r;
    if (call->state == TC_CALL_NEW)
        return tc_fail(
            err, TC_WHY(TOOLCAGE_EUSAGE, "dispatch", call->id, "call toolcage_call_start() first"),
            "the call was not started");
    if (call->state == TC_CALL_UNTOLD)
        return tell_late(call, err);
    r = receive_messages(call, err);
    return r < 0 ? r : call->state == TC_CALL_DONE;
}

static int wait_for(struct toolcage_call *call, bool until_ready, int timeout_ms,
                    struct toolcage_error **err)
{
    int64_t deadline = tc_now_us() + (int64_t)timeout_ms * 1000;
    for (;;) {
        int r = tc_call_dispatch(call, err);
        if (r != 0 || (until_ready && call->ready))
            return r < 0 ? r : 1;
        int64_t left = timeout_ms < 0 ? -1 : (deadline - tc_now_us() + 999) / 1000;
        if (timeout_ms >= 0 && left <= 0)
            return 0;
        struct pollfd p = {.fd = call->sock, .events = POLLIN};
        if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
            return tc_fail(
                err, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "wait", .errnum = errno},
                "cannot wait for the call: poll failed");
    }
}

int tc_call_wait(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err)
{
    return wait_for(call, false, timeout_ms, err);
}

int tc_call_wait_ready(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err)
{
    return wait_for(call, true, timeout_ms, err);
}
