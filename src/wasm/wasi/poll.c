/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Waits for times and streams. A guest that waits too long is killed from outside. */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>

#include "wasm/wasi/guest.h"

enum { SUBSCRIPTIONS_MAX = 512, ABSOLUTE = 1 };

struct wait {
    const uint8_t *from; /* a copy of the subscriptions, since events may overwrite them */
    size_t count;
    struct pollfd polls[SUBSCRIPTIONS_MAX]; /* one per subscription; fd -1: nothing to poll */
    uint32_t errors[SUBSCRIPTIONS_MAX];
    int64_t due[SUBSCRIPTIONS_MAX]; /* nanoseconds from the start; -1: no clock */
    bool ready[SUBSCRIPTIONS_MAX];
};

static void read_clock(const struct tc_wasi *w, struct wait *wait, size_t i, const uint8_t *s)
{
    uint32_t id = tc_get32(s + 16);
    uint64_t time = tc_get64(s + 24);
    int64_t due = time > INT64_MAX ? INT64_MAX : (int64_t)time;
    if (id > 1) {
        wait->errors[i] = WASI_NOTSUP;
        wait->ready[i] = true;
        return;
    }
    if (s[40] & ABSOLUTE)
        due -= w->fixed ? (int64_t)tc_wasi_fixed_clock(w, id)
                        : tc_wasi_now(id ? CLOCK_MONOTONIC : CLOCK_REALTIME);
    wait->due[i] = due < 0 ? 0 : due;
}

/* Files are always ready. A deterministic guest's streams are, too, since their timing must not
 * show: the read blocks instead. */
static void read_stream(struct tc_wasi *w, struct wait *wait, size_t i, const uint8_t *s)
{
    const struct tc_wasi_fd *fd = tc_wasi_get(w, tc_get32(s + 16), WASI_R_POLL, &wait->errors[i]);
    wait->ready[i] = !fd || fd->kind != TC_WASI_STREAM || w->fixed;
    if (!fd)
        return;
    wait->errors[i] = WASI_OK;
    if (fd->kind == TC_WASI_STREAM && !w->fixed)
        wait->polls[i] =
            (struct pollfd){.fd = fd->fd, .events = s[8] == WASI_EVENT_READ ? POLLIN : POLLOUT};
}

static bool read_all(struct tc_wasi *w, struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        const uint8_t *s = wait->from + i * WASI_SUBSCRIPTION_SIZE;
        wait->polls[i] = (struct pollfd){.fd = -1};
        wait->errors[i] = WASI_OK;
        wait->due[i] = -1;
        wait->ready[i] = false;
        if (s[8] > WASI_EVENT_WRITE)
            return false;
        if (s[8] == WASI_EVENT_CLOCK)
            read_clock(w, wait, i, s);
        else
            read_stream(w, wait, i, s);
    }
    return true;
}

/* The maximum wait in nanoseconds; -1: unlimited. */
static int64_t longest(const struct wait *wait)
{
    int64_t least = -1;
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->ready[i])
            return 0;
        if (wait->due[i] >= 0 && (least < 0 || wait->due[i] < least))
            least = wait->due[i];
    }
    return least;
}

/* Does not sleep: the guest's clock advances to the earliest time. */
static uint32_t pass_time(struct tc_wasi *w, struct wait *wait)
{
    int64_t most = longest(wait);
    if (most < 0)
        return WASI_INVAL; /* would wait forever */
    if (__builtin_add_overflow(w->slept, (uint64_t)most, &w->slept) || w->slept > INT64_MAX / 4)
        return WASI_OVERFLOW;
    for (size_t i = 0; i < wait->count; i++)
        wait->ready[i] |= wait->due[i] >= 0 && wait->due[i] <= most;
    return WASI_OK;
}

static uint32_t sleep_until_ready(struct wait *wait)
{
    int64_t start = tc_wasi_now(CLOCK_MONOTONIC), most = longest(wait);
    struct timespec time = {.tv_sec = most / TC_WASI_SECOND, .tv_nsec = most % TC_WASI_SECOND};
    if (ppoll(wait->polls, wait->count, most < 0 ? NULL : &time, NULL) < 0)
        return tc_wasi_error(errno);
    int64_t passed = tc_wasi_now(CLOCK_MONOTONIC) - start;
    for (size_t i = 0; i < wait->count; i++)
        wait->ready[i] |= wait->polls[i].revents || (wait->due[i] >= 0 && wait->due[i] <= passed);
    return WASI_OK;
}

static void write_event(uint8_t *to, const struct wait *wait, size_t i)
{
    const uint8_t *s = wait->from + i * WASI_SUBSCRIPTION_SIZE;
    uint16_t error = (uint16_t)wait->errors[i], hung = wait->polls[i].revents & POLLHUP ? 1 : 0;
    int bytes = 0;
    uint64_t there;
    if (wait->polls[i].revents && ioctl(wait->polls[i].fd, FIONREAD, &bytes) < 0)
        bytes = 0;
    there = (uint64_t)bytes;
    memset(to, 0, WASI_EVENT_SIZE);
    memcpy(to, s, 8);
    memcpy(to + 8, &error, sizeof(error));
    to[10] = s[8];
    memcpy(to + 16, &there, sizeof(there));
    memcpy(to + 24, &hung, sizeof(hung));
}

uint32_t tc_wasi_poll_oneoff(struct tc_wasi *w, const uint64_t *a)
{
    if (!a[2] || a[2] > SUBSCRIPTIONS_MAX)
        return WASI_INVAL;
    const void *from = tc_guest(w, a[0], a[2] * WASI_SUBSCRIPTION_SIZE);
    uint8_t copy[SUBSCRIPTIONS_MAX * WASI_SUBSCRIPTION_SIZE];
    uint8_t *to = tc_guest(w, a[1], a[2] * WASI_EVENT_SIZE);
    if (!from || !to || !tc_guest(w, a[3], 4))
        return WASI_FAULT;
    memcpy(copy, from, a[2] * WASI_SUBSCRIPTION_SIZE);
    struct wait wait = {.from = copy, .count = a[2]};
    if (!read_all(w, &wait))
        return WASI_INVAL;
    uint32_t error = w->fixed ? pass_time(w, &wait) : sleep_until_ready(&wait), written = 0;
    for (size_t i = 0; !error && i < wait.count; i++)
        if (wait.ready[i])
            write_event(to + (size_t)written++ * WASI_EVENT_SIZE, &wait, i);
    if (!error)
        (void)tc_guest_put32(w, a[3], written);
    return error;
}
