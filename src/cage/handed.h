/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the helper and a program of ours that was started ahead of its calls say to each other, over
 * the program's standard input, a socket of packets. A call: where it begins and its words, each
 * with its NUL, and descriptors. An answer, of one that serves more than one call: how it ended. */
#ifndef TC_CAGE_HANDED_H
#define TC_CAGE_HANDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The program's last word. */
#define TC_WORD_AHEAD "--ahead"

enum { TC_HANDED_WORDS = 64 << 10 }; /* bytes */

/* After the root the socket on which a program that has one beside its streams says what came of
 * the call; then the wall, a Landlock ruleset: none where the kernel has no Landlock, or where the
 * program serves calls after this one. */
enum tc_handed {
    TC_HANDED_IN,
    TC_HANDED_OUT,
    TC_HANDED_ERR,
    TC_HANDED_ROOT,
    TC_HANDED_MORE,
    TC_HANDED_MOST = TC_HANDED_MORE + 2
};

/* The answer. */
struct tc_handed_end {
    int32_t code;
    int32_t last;          /* it serves no more */
    int64_t cpu_us, bytes; /* that it took for the call; the most memory that it had until now */
};

/* One that somebody took over says what it likes: no more than a kernel could have said of it. */
static inline void tc_handed_bound(struct tc_handed_end *end)
{
    const int64_t most = INT64_C(1) << 50; /* a petabyte, or 35 years */
    end->code &= 255;
    end->cpu_us = end->cpu_us < 0 || end->cpu_us > most ? 0 : end->cpu_us;
    end->bytes = end->bytes < 0 || end->bytes > most ? 0 : end->bytes;
}

/* The program's side of a call: its streams are put in place of the program's. */
static inline bool tc_handed_place(const int *fds, size_t count)
{
    for (int i = TC_HANDED_IN; i <= TC_HANDED_ERR; i++)
        if ((size_t)i >= count || dup2(fds[i], i) < 0 || close(fds[i]) < 0)
            return false;
    return true;
}

/* And its words, the last of which ends with its NUL, in a list that ends with NULL; of them the
 * first says where it begins. */
static inline size_t tc_handed_list(char *words, size_t length, char *list[TC_HANDED_WORDS + 1])
{
    size_t count = 0;
    for (size_t at = 0; at < length; at += strlen(words + at) + 1)
        list[count++] = words + at;
    list[count] = NULL;
    return count;
}

/* What a deterministic one says at its end, over a socket that it has beside its streams. */
struct tc_told_fuel {
    int64_t used;
    int64_t spent; /* there was no more, and that is why it ended */
};

#endif
