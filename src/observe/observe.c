/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The state of this room for one cage, from its listener to its end. */
#include "observe/observe.h"

#include <unistd.h>

#include "observe/watch.h"

/* Has it a process of its own that serves its notifications? */
static bool is_apart(const struct tc_observer *o)
{
    return o->of.watch >= TC_WATCH_PATHS || o->of.unix_sockets;
}

bool tc_observe_take(struct tc_cage *cage, int listener)
{
    struct tc_observer *o = cage->observer;
    o->listener = listener;
    tc_seccomp_wake_here(listener);
    o->here = listener >= 0 && !is_apart(o);
    return o->here;
}

int tc_observe_begin(struct tc_cage *cage)
{
    struct tc_observer *o = cage->observer;
    o->running = true;
    return is_apart(o) ? tc_watcher_start(cage) : 0;
}

void tc_observe_release(struct tc_observer *o)
{
    if (o->listener >= 0)
        (void)close(o->listener);
    o->listener = -1;
    o->here = false;
}
