/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a worker is told (base/task.h). One that is started before its call has the engine and the
 * module, stands in its cage, and waits; it says how each call ended. */
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
static int nothing = -1;         /* /dev/null, in place of streams between calls */
static int lowest;               /* descriptor that is free between calls */
static int64_t served, begun_us; /* calls; processor time */

/* Nobody tells us anything any more: the helper has gone, or has no use for us. */
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

/* More calls than one come only to a worker that waits for them. */
bool tc_wasm_begin(struct tc_wasm_order *ret)
{
    struct tc_task_message task = {0};
    *ret = (struct tc_wasm_order){.root = AT_FDCWD};
    bool fine = tc_task_take(&task, &tc_wasm_order_fields, ret, TC_WASM_OF_CALL) && task.program;
    ret->ahead = !task.call;
    if (!ret->ahead && !ret->fuel) /* nothing more is said there */
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

/* The guest's own are closed already. */
static void close_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (dup2(nothing, i) < 0)
            leave();
}

/* Has something of the call's stayed open? The engine may have opened what it keeps in the first.
 */
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
    /* what was written is in the pipes; and the root may go with its mounts, which takes the kernel
     * a while: nobody need wait for that */
    close_streams();
    if (close(order->root) < 0)
        leave();
    return true;
}
