/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted trees of a call whose host is at the other end of a stream: they come before it, and
 * what was changed of them goes back when it has ended. */
#ifndef TC_HELPER_CARRIED_H
#define TC_HELPER_CARRIED_H

#include "carry/carry.h"

struct tc_carried {
    const char *place; /* borrowed; NULL: none are taken */
    struct tc_unpack in;
    struct tc_pack out;
    bool some; /* have come, all of them */
};

void tc_carried_open(struct tc_carried *carried, const char *place, uid_t owner);
/* A frame of theirs. False: it may not come, or cannot be taken. */
bool tc_carried_take(struct tc_carried *carried, const struct tc_frame *frame);
/* The call has ended. False: what became of them cannot be told. */
bool tc_carried_compare(struct tc_carried *carried);
/* Appends some frames of what has changed: 1, 0 after the last, or -1 with errno. */
int tc_carried_next(struct tc_carried *carried, struct tc_buf *out);
void tc_carried_close(struct tc_carried *carried);

#endif
