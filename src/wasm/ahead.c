/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The worker's side of the task messages (base/task.h). A prestarted worker loads the engine and
 * the module in its cage, then waits for calls, and reports each call's end. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "base/task.h"
#include "wasm/worker.h"

enum { BYTES_MAX = 96 << 20, THOUSAND = 1000, MILLION = 1000000 };

static struct tc_wasm_order *expected;
static int nothing = -1;         /* /dev/null, replaces the streams between calls */
static int lowest;               /* lowest free fd between calls */
static int64_t served, begun_us; /* calls; CPU time at the start of the call */

/* The helper has exited, or no longer needs this worker. */
static void leave(void)
{
    _exit(TC_WASM_REFUSED);
}

static struct rusage usage_of_thread(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return u;
}

static int64_t spent_us(const struct rusage *u)
{
    return ((int64_t)u->ru_utime.tv_sec + u->ru_stime.tv_sec) * MILLION + u->ru_utime.tv_usec +
           u->ru_stime.tv_usec;
}

/* Only a worker that waits for calls can get more than one. */
bool tc_wasm_begin(struct tc_wasm_order *ret)
{
    struct tc_task_message task = {0};
    *ret = (struct tc_wasm_order){.root = AT_FDCWD};
    bool fine = tc_task_take(&task, &tc_wasm_order_fields, ret, TC_WASM_OF_CALL) && task.program;
    ret->ahead = !task.call;
    if (!ret->ahead && !ret->fuel) /* no further messages */
        (void)close(TC_TASK_SOCKET);
    ret->calls = ret->ahead ? ret->calls : 0;
    tc_fields_done(&tc_task_fields, &task);
    return fine && ret->engine && ret->module && (!ret->code || ret->code_digest) &&
           ret->memory >= 0 && ret->fuel >= 0 && ret->cpu_time >= 0 && ret->calls >= 0;
}

void tc_wasm_expect(struct tc_wasm_order *order)
{
    expected = order->ahead ? order : NULL;
}

void tc_wasm_await(struct tc_wasm_order *order)
{
    struct tc_task_message task = {0};
    if (!order->ahead)
        return;
    if (nothing < 0 && (nothing = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
        leave();
    struct tc_strv *lists[] = {&order->read, &order->write, &order->env, &order->args};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    if (!tc_task_take(&task, &tc_wasm_order_fields, order, TC_WASM_OF_CALL) || task.program ||
        !task.call || task.root < 0 || !tc_task_place_streams(&task))
        leave();
    const struct rusage before = usage_of_thread();
    begun_us = spent_us(&before);
    expected = NULL;
    order->root = task.root;
    free(order->here);
    order->here = TAKE(task.cwd);
    if (task.wall >= 0 &&
        (tc_sys(SYS_landlock_restrict_self, task.wall, 0, 0, 0, 0, 0) < 0 || close(task.wall) < 0))
        tc_wasm_fail("Landlock", "%s", "the call's paths cannot be enforced");
    tc_fields_done(&tc_task_fields, &task);
}

void tc_wasm_face(void)
{
    if (expected)
        tc_wasm_await(expected);
}

/* The guest's fds are already closed. */
static void close_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (dup2(nothing, i) < 0)
            leave();
}

/* Is an fd of the call still open? The engine may open fds that it keeps during the first call. */
static bool is_left_over(void)
{
    int fd = dup(nothing), before = lowest;
    if (fd < 0 || close(fd) < 0)
        return true;
    lowest = fd;
    return served > 1 && fd != before;
}

bool tc_wasm_answer(struct tc_wasm_order *order, int code)
{
    if (!order->ahead)
        return false;
    (void)fflush(stderr);
    served++;
    const struct rusage u = usage_of_thread();
    const struct tc_task_end end = {.code = code,
                                    .last = order->only || is_left_over() ||
                                            served >= order->calls ||
                                            u.ru_maxrss > BYTES_MAX / 1024,
                                    .cpu_us = spent_us(&u) - begun_us,
                                    .bytes = (int64_t)u.ru_maxrss * 1024};
    if (tc_send(TC_TASK_SOCKET, &end, sizeof(end), NULL, 0) < 0)
        leave();
    if (order->calls <= 1)
        return false;
    /* The output is already in the pipes. Closing the root may remove its mounts, which takes the
     * kernel a while, so this happens after the report. */
    close_streams();
    if (close(order->root) < 0)
        leave();
    return true;
}
