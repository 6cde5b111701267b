/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A worker that was started before its call: it has the engine and the module, stands in its cage,
 * and waits. The call comes as one message over the standard input: where relative paths begin and
 * the words of the order that were missing; with it the three streams, a root that holds what the
 * cage of the call would show, and the wall around that. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "wasm/worker.h"

enum { WORDS_MAX = 64 << 10, STREAMS = 3, ROOT = STREAMS, WALL };

static struct tc_wasm_order *expected;

/* Nobody tells us anything any more: the helper has gone, or has no use for us. */
static void leave(void)
{
    _exit(TC_WASM_REFUSED);
}

/* The length of the words, and the descriptors. */
static size_t receive(char *words, int fds[WALL + 1], size_t *ret_count)
{
    ssize_t n = tc_recv(STDIN_FILENO, words, WORDS_MAX, fds, WALL + 1, ret_count, NULL, NULL, true);
    if (n <= 0 || words[n - 1] || *ret_count < WALL)
        leave();
    for (int i = 0; i < STREAMS; i++)
        if (dup2(fds[i], i) < 0 || close(fds[i]) < 0)
            leave();
    return (size_t)n;
}

static void take(char *words, size_t length)
{
    static char *list[WORDS_MAX / 2 + 2];
    size_t count = 0;
    for (size_t at = 0; at < length && count < TC_COUNT(list) - 1; at += strlen(words + at) + 1)
        list[count++] = words + at;
    list[count] = NULL;
    expected->ahead = false;
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
    static char words[WORDS_MAX];
    int fds[WALL + 1];
    size_t count = 0;
    if (!order->ahead)
        return;
    size_t length = receive(words, fds, &count);
    take(words, length);
    expected = NULL;
    order->root = fds[ROOT];
    if (count > WALL &&
        (tc_sys(SYS_landlock_restrict_self, fds[WALL], 0, 0, 0, 0, 0) < 0 || close(fds[WALL]) < 0))
        tc_wasm_fail("Landlock", "%s", "the call's paths cannot be enforced");
}

void tc_wasm_face(void)
{
    if (expected)
        tc_wasm_await(expected);
}
