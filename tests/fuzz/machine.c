/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/vm/call.c and src/base/frame.c: what a hostile guest says to toolcage-vm. (What a
 * host says to the guest's engine is the first way of served.c.) The first byte says whether the
 * guest greets as it should, and in pieces of which size it speaks; the second how much of the rest
 * is on the console; then what it says. Whatever comes: the call ends by an outcome that can be
 * told, nothing is said to a guest that has not greeted, and then only what a host says; no more is
 * shown than came, and no descriptor is left. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "plan/protocol.h"
#include "version.h"
#include "vm/vm.h"

enum { PIECES = 64, SIZE = 32768, BUFFER = 1 << 20, PATIENCE_MS = 5000 };

/* What the guest may hear. */
static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_JOB] = sizeof(struct tc_job),
                                            [TC_FRAME_PLAN] = 16,
                                            [TC_FRAME_INPUT] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_INPUT_END] = 0,
                                            [TC_FRAME_CANCEL] = 0};

/* A read of a socket of packets is a piece. */
static void speak(int port, const uint8_t *bytes, size_t size, size_t piece)
{
    piece = piece < size / PIECES + 1 ? size / PIECES + 1 : piece;
    for (size_t at = 0; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        INVARIANT(send(port, bytes + at, n, MSG_DONTWAIT) == (ssize_t)n);
    }
    INVARIANT(shutdown(port, SHUT_WR) == 0);
}

static void greet(int port)
{
    static const char build[TC_BUILD_ID_SIZE] = TC_BUILD_ID;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_frame_put(&out, TC_FRAME_HELLO, build, sizeof(build));
    INVARIANT(send(port, out.data, out.len, MSG_DONTWAIT) == (ssize_t)out.len);
}

/* What was said to the guest: whole frames of the kinds that hosts say, and one job at most. */
static void hear(int port, bool greeted)
{
    struct tc_frames frames = tc_frames_of(most, TC_FRAME_KINDS);
    struct tc_frame f;
    size_t jobs = 0;
    int more;
    while (tc_frames_read(&frames, port) > 0) {
        INVARIANT(greeted);
        while ((more = tc_frames_next(&frames, &f)) > 0) {
            jobs += f.kind == TC_FRAME_JOB;
            INVARIANT(jobs == 1);
        }
        INVARIANT(more == 0);
    }
    tc_frames_done(&frames);
}

static void look_at(const struct tc_outcome *outcome, bool greeted)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    const struct tc_outcome_failure *f = &outcome->failure;
    tc_outcome_visit(&w, (struct tc_outcome *)(uintptr_t)outcome);
    INVARIANT(!w.failed);
    tc_buf_done(&w.out);
    INVARIANT(greeted || f->code == TOOLCAGE_EBACKEND);
    INVARIANT(greeted || (f->stage && f->subject && f->message && f->hint));
}

static size_t shown(int fd)
{
    struct stat st;
    INVARIANT(fstat(fd, &st) == 0);
    return (size_t)st.st_size;
}

static void call(const uint8_t *said, size_t size, size_t console_size, size_t piece, bool greeted)
{
    static char plan[] = "p";
    int pair[2], tube[2], buffer = BUFFER;
    struct tc_outcome outcome = {0};
    INVARIANT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    INVARIANT(pipe2(tube, O_CLOEXEC | O_NONBLOCK) == 0);
    _autofd_ int ours = pair[0], port = pair[1], console = tube[0], print = tube[1];
    _autofd_ int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out = tc_memfd("out", "", 0);
    _autofd_ int err = tc_memfd("err", "", 0);
    INVARIANT(in >= 0 && out >= 0 && err >= 0);
    (void)setsockopt(port, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    INVARIANT(!console_size || write(print, said, console_size) == (ssize_t)console_size);
    (void)close(TAKE_FD(print));
    if (greeted)
        greet(port);
    speak(port, said + console_size, size - console_size, piece);
    bool kept = false;
    const struct tc_vm_options options = {.plan = plan,
                                          .plan_len = strlen(plan),
                                          .driver = &tc_vm_qemu,
                                          .boot_ms = PATIENCE_MS,
                                          .stall_ms = PATIENCE_MS,
                                          .in = in,
                                          .out = out,
                                          .err = err};
    struct tc_vm_files files;
    INVARIANT(tc_vm_files_open(&files, &options) == 0);
    tc_vm_call(&options, &(struct tc_vm){.port = ours, .console = console}, &files, &outcome,
               &kept);
    tc_vm_files_done(&files);
    look_at(&outcome, greeted);
    tc_outcome_done(&outcome);
    (void)close(TAKE_FD(ours));
    hear(port, greeted);
    INVARIANT(shown(out) + shown(err) <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int before = lowest_free();
    if (size < 2)
        return 0;
    size_t left = size - 2 < SIZE ? size - 2 : SIZE;
    size_t console = data[1] < left ? data[1] : left;
    /* no input finds the greeting of this build by chance */
    call(data + 2, left, console, data[0] == 255 ? SIZE : data[0] / 2 + 1u, data[0] & 1);
    INVARIANT(lowest_free() == before);
    return 0;
}
