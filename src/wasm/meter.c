/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Limits of a call: CPU time, or fuel for a deterministic call. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/task.h"
#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

/* ---- CPU time ---- */

/* Enforces CPU time to the millisecond: the helper only samples it, this code reads the clock. A
 * tick only triggers a reading; the number of ticks means nothing on a busy host. A guest that
 * sleeps uses no CPU time. */

enum { TICK_NS = 1000000, THOUSAND = 1000, MILLION = 1000000 };

static int64_t most;    /* CPU time of the process at which this call ends */
static unsigned served; /* calls */
static bool ticking;    /* the thread exists */
static sem_t begun;
static atomic_bool runs;
static const struct tc_wasm *api;

static int64_t spent(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * THOUSAND + t.tv_nsec / MILLION;
}

static void *tick(void *engine)
{
    const struct timespec pause = {.tv_nsec = TICK_NS};
    for (;;) {
        while (!atomic_load(&runs))
            (void)sem_wait(&begun);
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        api->wasmtime_engine_increment_epoch(engine);
    }
    return NULL;
}

static struct wasmtime_error *look_at_clock(struct wasmtime_context *context, void *data,
                                            uint64_t *ret_delta, uint8_t *ret_kind)
{
    (void)context;
    (void)data;
    *ret_delta = 1;
    *ret_kind = 0;
    if (spent() >= most)
        (void)raise(SIGXCPU);
    return NULL;
}

static void begin_ticking(struct wasm_engine *engine)
{
    pthread_t thread;
    sigset_t all, before;
    if (ticking || sem_init(&begun, 0, 0) < 0)
        return;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    ticking = pthread_create(&thread, NULL, tick, engine) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The epoch deadline is set only if the ticker thread exists, since otherwise no tick comes. Where
 * the policy allows only one process, there is no thread, and the helper's samples end the call. */
void tc_wasm_watch_time(const struct tc_wasm *of, struct wasm_engine *engine,
                        struct wasmtime_store *store, int64_t cpu_time)
{
    struct wasmtime_context *context = of->wasmtime_store_context(store);
    api = of;
    of->wasmtime_context_set_epoch_deadline(context, UINT64_MAX / 2);
    if (!cpu_time)
        return;
    most = (served++ ? spent() : 0) + cpu_time;
    begin_ticking(engine);
    if (!ticking)
        return;
    of->wasmtime_store_epoch_deadline_callback(store, look_at_clock, NULL, NULL);
    of->wasmtime_context_set_epoch_deadline(context, 1);
    atomic_store(&runs, true);
    (void)sem_post(&begun);
}

void tc_wasm_rest(void)
{
    atomic_store(&runs, false);
}

/* ---- fuel ---- */

/* The engine counts the guest's instructions; this code adds the cost of its system calls. */

/* A system call takes about a microsecond on a host. */
enum { CALL_COST = 1000 };

static uint64_t tank;
static bool empty; /* used up by a system call */

static uint64_t left(const struct wasmtime_context *context)
{
    uint64_t fuel = 0;
    struct wasmtime_error *error = api->wasmtime_context_get_fuel(context, &fuel);
    if (error)
        tc_wasm_fail("fuel", "%s", tc_wasm_error_text(api, error, NULL));
    return fuel;
}

static void set(struct wasmtime_context *context, uint64_t fuel)
{
    struct wasmtime_error *error = api->wasmtime_context_set_fuel(context, fuel);
    if (error)
        tc_wasm_fail("fuel", "%s", tc_wasm_error_text(api, error, NULL));
}

void tc_wasm_fill_up(const struct tc_wasm *of, struct wasmtime_context *context, int64_t fuel)
{
    api = of;
    tank = (uint64_t)fuel;
    if (tank)
        set(context, tank);
}

void tc_wasm_look_at_fuel(struct wasmtime_context *context, struct tc_wasi *guest)
{
    if (!tank)
        return;
    guest->used = tank - left(context);
    guest->cost = 0;
}

bool tc_wasm_pay(struct wasmtime_context *context, struct tc_wasi *guest)
{
    if (!tank)
        return true;
    uint64_t fuel = tank - guest->used, cost = CALL_COST + guest->cost;
    empty = cost >= fuel;
    set(context, empty ? 0 : fuel - cost);
    return !empty;
}

void tc_wasm_tell_fuel(struct wasmtime_context *context, const struct wasm_trap *why)
{
    uint8_t code = 0;
    if (!tank)
        return;
    bool dry = empty || (why && api->wasmtime_trap_code(why, &code) && code == TC_WASM_OUT_OF_FUEL);
    const struct tc_task_fuel told = {.used = (int64_t)(dry ? tank : tank - left(context)),
                                      .spent = dry};
    (void)tc_send(TC_TASK_SOCKET, &told, sizeof(told), NULL, 0);
}
