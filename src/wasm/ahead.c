/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A worker that was started before its call: it has the engine and the module, stands in its cage,
 * and waits. What comes and what goes back stands in cage/handed.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cage/handed.h"
#include "wasm/worker.h"

enum { BYTES_MAX = 96 << 20, THOUSAND = 1000, MILLION = 1000000 };

static struct tc_wasm_order *expected;
static int talk = STDIN_FILENO;  /* to the helper */
static int nothing = -1;         /* /dev/null, in place of streams between calls */
static int lowest;               /* descriptor that is free between calls */
static int64_t served, begun_us; /* calls; processor time */

/* Nobody tells us anything any more: the helper has gone, or has no use for us. */
static void leave(void)
{
    _exit(TC_WASM_REFUSED);
}

static struct rusage usage(void)
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

/* Streams come where the socket was. */
static void settle(void)
{
    if (nothing >= 0)
        return;
    talk = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (talk < 0 || nothing < 0)
        leave();
}

/* The length of the words, and the descriptors. */
static size_t receive(char *words, int fds[TC_HANDED_MORE + 1], size_t *ret_count)
{
    ssize_t n =
        tc_recv(talk, words, TC_HANDED_WORDS, fds, TC_HANDED_MORE + 1, ret_count, NULL, NULL, true);
    if (n <= 0 || words[n - 1] || *ret_count < TC_HANDED_MORE || !tc_handed_place(fds, *ret_count))
        leave();
    return (size_t)n;
}

static void take(char *words, size_t length)
{
    static char *list[TC_HANDED_WORDS + 1]; /* a word may be empty */
    struct tc_strv *lists[] = {&expected->read, &expected->write, &expected->env, &expected->args};
    (void)tc_handed_list(words, length, list);
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    expected->here = list[0];
    if (!tc_wasm_read_words(expected, list + 1))
        leave();
}

void tc_wasm_expect(struct tc_wasm_order *order)
{
    expected = order->ahead ? order : NULL;
}

void tc_wasm_await(struct tc_wasm_order *order)
{
    static char words[TC_HANDED_WORDS];
    int fds[TC_HANDED_MORE + 1];
    size_t count = 0;
    if (!order->ahead)
        return;
    settle();
    size_t length = receive(words, fds, &count);
    const struct rusage before = usage();
    begun_us = spent_us(&before);
    order->root = fds[TC_HANDED_ROOT];
    expected = order;
    take(words, length);
    expected = NULL;
    if (count > TC_HANDED_MORE &&
        (tc_sys(SYS_landlock_restrict_self, fds[TC_HANDED_MORE], 0, 0, 0, 0, 0) < 0 ||
         close(fds[TC_HANDED_MORE]) < 0))
        tc_wasm_fail("Landlock", "%s", "the call's paths cannot be enforced");
}

void tc_wasm_face(void)
{
    if (expected)
        tc_wasm_await(expected);
}

/* The guest's own are closed already. */
static void close_streams(void)
{
    for (int i = TC_HANDED_IN; i <= TC_HANDED_ERR; i++)
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
    const struct rusage u = usage();
    const struct tc_handed_end end = {.code = code,
                                      .last = order->only || is_left_over() ||
                                              served >= order->calls ||
                                              u.ru_maxrss > BYTES_MAX / 1024,
                                      .cpu_us = spent_us(&u) - begun_us,
                                      .bytes = (int64_t)u.ru_maxrss * 1024};
    if (tc_send(talk, &end, sizeof(end), NULL, 0) < 0)
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
