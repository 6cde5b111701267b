/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * usage: wasm-held-up POLICY
 *
 * A host whose thread is held up just before it says that a call of a worker on loan begins, while
 * the clock by which the helper was to look comes, and the helper sees that nothing runs. The tool
 * "c" of the policy, which sleeps, must end at its deadline all the same. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <toolcage/toolcage.h>

/* the library looks at two descriptors without waiting before a call begins; and the helper's clock
 * comes so long after the call before, or earlier */
enum { LOOKED_AT = 2, LOOK_US = 100000, BEFORE_US = 3000, HELD_US = 6000 };
enum { TRIES = 100, PAUSE_US = 50000, QUIET_US = 150000, MOST_MS = 10000, MILLION = 1000000 };

static bool held;

static long long now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (long long)MILLION + t.tv_nsec / (MILLION / 1000);
}

static void sleep_us(long us)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = us * (MILLION / 1000)}, NULL);
}

/* In place of the C library's, also for the library. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (held && count == LOOKED_AT && timeout_ms == 0)
        sleep_us(HELD_US);
    const struct timespec t = {.tv_sec = timeout_ms / 1000,
                               .tv_nsec = timeout_ms % 1000 * (long)MILLION};
    return ppoll(fds, count, timeout_ms < 0 ? NULL : &t, NULL);
}

static struct toolcage_engine *engine;
static struct toolcage_policy *policy;

static int complain(struct toolcage_error *err)
{
    (void)fprintf(stderr, "%s\n", toolcage_error_report(err));
    return 2;
}

/* 1: it ended, and *ret_call is to be let go of; 0: it did not; below 0: it cannot be called. */
static int run(const char *verb, const char *how_long, struct toolcage_call **ret_call)
{
    const char *const words[] = {"guest", verb, how_long};
    struct toolcage_error *err = NULL;
    int r = toolcage_call_new(engine, policy, "c", ret_call, &err);
    if (r == 0)
        r = toolcage_call_set_command(*ret_call, 3, words, &err);
    if (r == 0)
        r = toolcage_call_start(*ret_call, &err);
    if (r == 0)
        r = toolcage_call_wait(*ret_call, MOST_MS, &err);
    return r < 0 ? -complain(err) : r;
}

static bool was_direct(void)
{
    struct toolcage_call *call = NULL;
    bool direct = run("echo", "x", &call) == 1 &&
                  !strstr(toolcage_result_timings_json(toolcage_call_result(call)), "submit");
    toolcage_call_unref(call);
    return direct;
}

/* When a worker on loan began the call before, which armed the helper's clock; -1: it never did. */
static long long begin_armed(void)
{
    for (int i = 0; i < TRIES; i++) {
        bool lent = was_direct();
        sleep_us(lent ? QUIET_US : PAUSE_US);
        long long begun = now_us();
        if (lent && was_direct())
            return begun;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    if (argc != 2)
        return 2;
    if (toolcage_policy_load_buffer(argv[1], strlen(argv[1]), "/held_up.toml", &policy, &err) < 0 ||
        toolcage_engine_new(&engine, &err) < 0)
        return complain(err);
    long long begun = begin_armed();
    if (begun < 0)
        return 3;
    while (now_us() < begun + LOOK_US - BEFORE_US)
        ;
    held = true;
    int r = run("nap", "40", &call);
    bool timed_out =
        r == 1 && toolcage_result_status(toolcage_call_result(call)) == TOOLCAGE_STATUS_TIMEOUT;
    toolcage_call_unref(call);
    toolcage_engine_unref(engine);
    toolcage_policy_unref(policy);
    return timed_out ? 0 : 1;
}
