/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the helper and a program of ours that was started ahead of its calls say to each other, over
 * the program's standard input, a socket of packets. A call: where it begins and its words, each
 * with its NUL, and descriptors. An answer, of one that serves more than one call: how it ended. */
#ifndef TC_CAGE_HANDED_H
#define TC_CAGE_HANDED_H

#include <stdint.h>

#include "base/handed_end.h" /* the answer */

/* The program's last word. */
#define TC_WORD_AHEAD "--ahead"
/* Of a call, with "1": one after it comes without descriptors if it has the same. */
#define TC_WORD_KEEP "--keep"

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

/* What a deterministic one says at its end, over a socket that it has beside its streams. */
struct tc_told_fuel {
    int64_t used;
    int64_t spent; /* there was no more, and that is why it ended */
};

#endif
