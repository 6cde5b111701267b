/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Processor time to the millisecond: the helper samples it, this looks at the clock itself. The
 * ticks only say that it is time to look; how many there were, on a busy machine, says nothing. A
 * guest that waits in a call uses no time. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "wasm/worker.h"

enum { TICK_NS = 1000000, THOUSAND = 1000, MILLION = 1000000 };

static int64_t most;
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
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        api->wasmtime_engine_increment_epoch(engine);
    }
    return NULL;
}

static struct wasmtime_error *look(struct wasmtime_context *context, void *data,
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

/* Ticks that nobody makes never come, so the mark is only set where there is a ticker. Where there
 * can be none, because the policy allows one process, the helper's samples are what ends it. */
void tc_wasm_watch_time(const struct tc_wasm *of, struct wasm_engine *engine,
                        struct wasmtime_store *store, int64_t cpu_time)
{
    pthread_t thread;
    sigset_t all, before;
    struct wasmtime_context *context = of->wasmtime_store_context(store);
    api = of;
    most = cpu_time;
    of->wasmtime_context_set_epoch_deadline(context, UINT64_MAX / 2);
    if (!most)
        return;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, tick, engine) == 0) {
        of->wasmtime_store_epoch_deadline_callback(store, look, NULL, NULL);
        of->wasmtime_context_set_epoch_deadline(context, 1);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
