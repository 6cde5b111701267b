/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writes one rich message of each wire struct: the seeds that a fuzzer could not guess. They are
 * made by the build, so they follow the format.
 *
 * usage: make-seed plan|outcome|result|served|machine|task FILE */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/frame.h"
#include "base/task.h"
#include "plan/outcome.h"
#include "plan/plan.h"
#include "plan/protocol.h"
#include "wasm/order.h"

/* The visitors only read in PUT mode, so literals may stand in the structs. */
#define TEXT(literal) ((char *)(uintptr_t)(literal))

static void put_plan(struct tc_wire *w)
{
    char *argv[] = {TEXT("python3"), TEXT("-c"), TEXT("print()"), NULL};
    char *env[] = {TEXT("PATH=/usr/bin"), TEXT("HOME=/tmp"), NULL};
    struct tc_mount mounts[] = {
        {.kind = TC_MOUNT_SYSTEM, .path = TEXT("/usr"), .from = TEXT("/usr"), .optional = true},
        {.kind = TC_MOUNT_FILE,
         .path = TEXT("/etc/passwd"),
         .content = TEXT("tool:x:1000:1000::/:/bin/sh\n")},
        {.kind = TC_MOUNT_WRITE,
         .path = TEXT("/workspace"),
         .from = TEXT("/srv/w"),
         .bound = TEXT("/srv"),
         .workspace = true,
         .key = TEXT("tool.t.filesystem.writable"),
         .line = 9},
    };
    struct tc_deny denies[] = {
        {.path = TEXT("/workspace/.env"), .key = TEXT("filesystem.denied"), .line = 4}};
    struct tc_plan plan = {
        .call = TEXT("01JD0000000000000000000000"),
        .tool = TEXT("t"),
        .backend = TEXT("process"),
        .grant = TEXT("sha256:00"),
        .clauses = TC_CLAUSE_BIT(TC_CLAUSE_FS_READ) | TC_CLAUSE_BIT(TC_CLAUSE_NET_NONE),
        .argv = {argv, 3},
        .env = {env, 2},
        .mounts = mounts,
        .mount_count = TC_COUNT(mounts),
        .denies = denies,
        .deny_count = TC_COUNT(denies),
        .limits = {.timeout_ms = 30000,
                   .grace_ms = 2000,
                   .memory = 1 << 29,
                   .memory_any = true,
                   .pids = 128},
        .stream = true,
    };
    tc_plan_visit(w, &plan);
}

static void put_outcome(struct tc_wire *w)
{
    struct tc_denial denials[] = {
        {.kind = TC_DENIAL_CONNECT, .target = TEXT("127.0.0.1:80"), .count = 2}};
    struct tc_change changes[] = {
        {.path = TEXT("/workspace/a"), .kind = TEXT("added"), .bytes = 3, .sha256 = TEXT("00")},
        {.path = TEXT("/workspace/b"),
         .kind = TEXT("modified"),
         .attribution = TEXT("time"),
         .target = TEXT("a"),
         .mode = 0120777,
         .was_mode = 0100644,
         .links = 2},
    };
    struct tc_file files[] = {
        {.path = TEXT("/workspace/a"), .bytes = 3, .content = TEXT("a,b"), .content_len = 3},
        {.path = TEXT("/workspace/c"), .content = TEXT("\xff"), .content_len = 1},
        {.path = TEXT("/workspace/d"), .bytes = 1 << 20, .sha256 = TEXT("00")},
    };
    struct tc_enforced enforced[] = {
        {.clause = TC_CLAUSE_FS_READ, .mechanism = TEXT("mount namespace")}};
    struct tc_timing timings[] = {{.step = TEXT("clone"), .us = 120}};
    struct tc_probe probes[] = {
        {.clause = TC_CLAUSE_NET_NONE, .works = true, .mechanism = TEXT("netns")},
        {.clause = TC_CLAUSE_LIMIT_CPUS, .reason = TEXT("none"), .fix = TEXT("delegate")}};
    struct tc_outcome outcome = {
        .status = 1,
        .exit_code = 2,
        .limit = TEXT("pids"),
        .note = TEXT("it waits"),
        .failure = {.code = -13, .stage = TEXT("mount"), .message = TEXT("cannot"), .clause = -1},
        .out = {.head = TEXT("hello\n"), .head_len = 6, .bytes = 6},
        .err = {.head = TEXT(""), .truncated = true},
        .denials = denials,
        .denial_count = TC_COUNT(denials),
        .changes = changes,
        .change_count = TC_COUNT(changes),
        .files = files,
        .file_count = TC_COUNT(files),
        .enforced = enforced,
        .enforced_count = TC_COUNT(enforced),
        .timings = timings,
        .timing_count = TC_COUNT(timings),
        .probes = probes,
        .probe_count = TC_COUNT(probes),
    };
    tc_outcome_visit(w, &outcome);
}

/* A call on a stream, as tests/fuzz/served.c reads it: the way, the size of the pieces, frames. */
static void put_served(struct tc_wire *w)
{
    const struct tc_job job = {.kind = TC_JOB_CALL, .stdin_kind = TC_STDIN_PIPE};
    struct tc_plan plan = {.backend = TEXT("w"), .stream = TC_STREAM_KEPT};
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_plan_visit(&wire, &plan);
    w->failed = wire.failed;
    tc_buf_add(&w->out, "\0\377", 2);
    tc_frame_put(&w->out, TC_FRAME_JOB, &job, sizeof(job));
    tc_frame_put(&w->out, TC_FRAME_PLAN, wire.out.data, wire.out.len);
    tc_frame_put(&w->out, TC_FRAME_INPUT, "in", 2);
    tc_frame_put(&w->out, TC_FRAME_INPUT_END, NULL, 0);
    tc_frame_put(&w->out, TC_FRAME_CANCEL, NULL, 0);
    tc_buf_done(&wire.out);
}

/* A guest that does as it should, as tests/fuzz/machine.c reads it: in pieces of the largest size,
 * after a greeting, with nothing on the console. */
static void put_machine(struct tc_wire *w)
{
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    put_outcome(&wire);
    w->failed = wire.failed;
    tc_buf_add(&w->out, "\377\0", 2);
    tc_frame_put(&w->out, TC_FRAME_OUT, "out", 3);
    tc_frame_put(&w->out, TC_FRAME_ERR, "err", 3);
    tc_frame_put(&w->out, TC_FRAME_TAKEN, "\0\0\0", 4);
    tc_frame_put(&w->out, TC_FRAME_DONE, wire.out.data, wire.out.len);
    tc_buf_done(&wire.out);
}

/* A module's call with one descriptor, as tests/fuzz/task.c reads it. */
static void put_task(struct tc_wire *w)
{
    char *words[] = {TEXT("module"), TEXT("word"), NULL};
    const struct tc_wasm_order order = {.work = TEXT("run"),
                                        .engine = TEXT("/engine"),
                                        .module = TEXT("/module"),
                                        .memory = 1 << 20,
                                        .watched = true,
                                        .read = {words, 2},
                                        .args = {words, 2}};
    struct tc_task_message task = TC_TASK_NONE;
    const unsigned call = TC_WASM_OF_CALL;
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    task.program = tc_fields_put(&tc_wasm_order_fields, &order, call, 0, &task.program_len);
    task.call = tc_fields_put(&tc_wasm_order_fields, &order, call, call, &task.call_len);
    task.root = 0;
    tc_fields_visit(&wire, &tc_task_fields, &task, 0, 0);
    const uint32_t sizes[] = {(uint32_t)wire.out.len, (uint32_t)wire.fd_count};
    w->failed = wire.failed || !task.program || !task.call;
    tc_buf_add(&w->out, "\1", 1);
    tc_buf_add(&w->out, sizes, sizeof(sizes));
    tc_buf_add(&w->out, wire.out.data, wire.out.len);
    tc_fields_done(&tc_task_fields, &task);
    tc_buf_done(&wire.out);
    free(wire.fds);
}

/* A seed that does not decode would be worth nothing, and nobody would see it. */
static bool decodes(const char *kind, const struct tc_buf *bytes)
{
    struct tc_wire get = TC_WIRE_GET_INIT(bytes->data, bytes->len);
    struct tc_plan plan = {0};
    struct tc_outcome outcome = {0};
    if (strcmp(kind, "served") == 0 || strcmp(kind, "machine") == 0 || strcmp(kind, "task") == 0)
        return true;
    if (strcmp(kind, "plan") == 0)
        tc_plan_visit(&get, &plan);
    else
        tc_outcome_visit(&get, &outcome);
    tc_plan_done(&plan);
    tc_outcome_done(&outcome);
    return !get.failed && get.left == 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct tc_wire put = TC_WIRE_PUT_INIT;
    if (strcmp(argv[1], "plan") == 0)
        put_plan(&put);
    else if (strcmp(argv[1], "served") == 0)
        put_served(&put);
    else if (strcmp(argv[1], "machine") == 0)
        put_machine(&put);
    else if (strcmp(argv[1], "task") == 0)
        put_task(&put);
    else
        put_outcome(&put);
    _autofd_ int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = !put.failed && decodes(argv[1], &put.out) && fd >= 0 &&
                tc_write_all(fd, put.out.data, put.out.len) == 0;
    if (!good)
        fprintf(stderr, "make-seed: cannot make the %s seed\n", argv[1]);
    tc_buf_done(&put.out);
    return good ? 0 : 1;
}
