/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The guest's arguments, environment, clocks, random numbers and exit. It has no sockets. */
#include <errno.h>
#include <sched.h>
#include <sys/random.h>
#include <time.h>

#include "wasm/wasi/guest.h"

static uint32_t put_list(const struct tc_wasi *w, const struct tc_strv *list, uint64_t at,
                         uint64_t bytes)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t length = strlen(list->items[i]) + 1;
        void *to = tc_guest(w, bytes, length);
        if (!to || !tc_guest_put32(w, at, (uint32_t)bytes))
            return WASI_FAULT;
        memcpy(to, list->items[i], length);
        at += 4;
        bytes += length;
    }
    return WASI_OK;
}

static uint32_t put_sizes(const struct tc_wasi *w, const struct tc_strv *list, uint64_t count,
                          uint64_t bytes)
{
    size_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += strlen(list->items[i]) + 1;
    return tc_guest_put32(w, count, (uint32_t)list->count) &&
                   tc_guest_put32(w, bytes, (uint32_t)sum)
               ? WASI_OK
               : WASI_FAULT;
}

uint32_t tc_wasi_args_get(struct tc_wasi *w, const uint64_t *a)
{
    return put_list(w, &w->args, a[0], a[1]);
}

uint32_t tc_wasi_args_sizes_get(struct tc_wasi *w, const uint64_t *a)
{
    return put_sizes(w, &w->args, a[0], a[1]);
}

uint32_t tc_wasi_environ_get(struct tc_wasi *w, const uint64_t *a)
{
    return put_list(w, &w->env, a[0], a[1]);
}

uint32_t tc_wasi_environ_sizes_get(struct tc_wasi *w, const uint64_t *a)
{
    return put_sizes(w, &w->env, a[0], a[1]);
}

/* A guest is one thread, so its process clock is the thread's. */
static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                   CLOCK_THREAD_CPUTIME_ID};

int64_t tc_wasi_now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)tc_wasi_ns(t);
}

uint32_t tc_wasi_clock_res_get(struct tc_wasi *w, const uint64_t *a)
{
    struct timespec t;
    if (a[0] >= TC_COUNT(clocks))
        return WASI_INVAL;
    if (clock_getres(clocks[a[0]], &t) < 0)
        return tc_wasi_error(errno);
    return tc_guest_put64(w, a[1], w->fixed ? 1 : tc_wasi_ns(t)) ? WASI_OK : WASI_FAULT;
}

/* The thread may have served earlier guests, so their time is subtracted. */
static int64_t read_clock(const struct tc_wasi *w, uint64_t id)
{
    if (w->fixed)
        return (int64_t)tc_wasi_fixed_clock(w, id);
    return tc_wasi_now(clocks[id]) - (clocks[id] == CLOCK_THREAD_CPUTIME_ID ? w->begun_ns : 0);
}

uint32_t tc_wasi_clock_time_get(struct tc_wasi *w, const uint64_t *a)
{
    if (a[0] >= TC_COUNT(clocks))
        return WASI_INVAL;
    return tc_guest_put64(w, a[2], (uint64_t)read_clock(w, a[0])) ? WASI_OK : WASI_FAULT;
}

uint32_t tc_wasi_random_get(struct tc_wasi *w, const uint64_t *a)
{
    uint8_t *to = tc_guest(w, a[0], a[1]);
    if (!to)
        return WASI_FAULT;
    w->cost += a[1];
    if (w->fixed)
        tc_wasi_fixed_random(w, to, a[1]);
    for (uint64_t left = w->fixed ? 0 : a[1]; left;) {
        ssize_t n = getrandom(to, left, 0);
        if (n < 0 && errno != EINTR)
            return tc_wasi_error(errno);
        to += n < 0 ? 0 : n;
        left -= n < 0 ? 0 : (uint64_t)n;
    }
    return WASI_OK;
}

uint32_t tc_wasi_sched_yield(struct tc_wasi *w, const uint64_t *a)
{
    (void)w;
    (void)a;
    return tc_wasi_answer(sched_yield());
}

uint32_t tc_wasi_proc_exit(struct tc_wasi *w, const uint64_t *a)
{
    w->exited = true;
    w->code = (uint32_t)a[0];
    return WASI_OK;
}

uint32_t tc_wasi_proc_raise(struct tc_wasi *w, const uint64_t *a)
{
    (void)w;
    (void)a;
    return WASI_NOTSUP;
}

static uint32_t no_socket(struct tc_wasi *w, uint64_t number)
{
    uint32_t error;
    return tc_wasi_get(w, number, 0, &error) ? WASI_NOTSOCK : error;
}

uint32_t tc_wasi_sock_accept(struct tc_wasi *w, const uint64_t *a)
{
    return no_socket(w, a[0]);
}

uint32_t tc_wasi_sock_recv(struct tc_wasi *w, const uint64_t *a)
{
    return no_socket(w, a[0]);
}

uint32_t tc_wasi_sock_send(struct tc_wasi *w, const uint64_t *a)
{
    return no_socket(w, a[0]);
}

uint32_t tc_wasi_sock_shutdown(struct tc_wasi *w, const uint64_t *a)
{
    return no_socket(w, a[0]);
}
