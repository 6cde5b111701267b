/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Unprivileged ids for the cages of a root caller, one per live cage. Leases are record locks on
 * one file under /run/toolcage, so they end with their holder, however it ends. */
#ifndef TC_LINUX_IDS_H
#define TC_LINUX_IDS_H

#include <sys/types.h>

#include "base/strv.h"

enum { TC_IDS_RANGE = 4096 };

struct tc_ids {
    int lock_fd;
    uid_t first; /* of TC_IDS_RANGE ids */
    unsigned char taken[TC_IDS_RANGE / 8];
};

/* Opens the lease file and chooses the range: 2000000000 and up where the id maps cover it, else
 * the highest ids below 65520 that neither passwd nor the subordinate ids name. 0, or -1 with
 * errno. */
int tc_ids_open(struct tc_ids *ids);
void tc_ids_close(struct tc_ids *ids);

/* A free id, or (uid_t)-1 with errno: EAGAIN when all are in use. */
uid_t tc_ids_take(struct tc_ids *ids);
void tc_ids_give(struct tc_ids *ids, uid_t id);

#endif
