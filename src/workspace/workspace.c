/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The state of this room for one cage, from its start to its end. */
#include "workspace/workspace.h"

#include <stdlib.h>
#include <sys/statfs.h>
#include <time.h>

#include "workspace/session.h"

void tc_workspace_start(struct tc_workspace *w)
{
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &w->started);
}

/* Is the private storage full, in bytes or in files? */
static bool full(int fd)
{
    struct statfs s;
    return fd >= 0 && fstatfs(fd, &s) == 0 && (s.f_bfree == 0 || s.f_ffree == 0);
}

bool tc_workspace_full(const struct tc_trees *t)
{
    for (size_t i = 0; i < t->item_count; i++)
        if (full(t->items[i].copy))
            return true;
    return full(t->storage);
}

/* A private storage of this size is freed in less than a millisecond. */
static bool is_large(int storage)
{
    enum { BYTES = 4 << 20, FILES = 1000 };
    struct statfs s;
    return storage >= 0 && fstatfs(storage, &s) == 0 &&
           ((s.f_blocks - s.f_bfree) * (uint64_t)s.f_bsize > BYTES ||
            s.f_files - s.f_ffree > FILES);
}

bool tc_workspace_large(const struct tc_trees *t)
{
    for (size_t i = 0; i < t->item_count; i++)
        if (is_large(t->items[i].copy))
            return true;
    return is_large(t->storage);
}

void tc_workspace_done(struct tc_workspace *w)
{
    free(w->copied);
    free(w->places);
    tc_session_free(w);
}
