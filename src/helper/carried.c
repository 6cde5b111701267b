/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted trees of a call from a host at the other end of a byte stream. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "helper/inline.h"
#include "linux/mounts.h"
#include "plan/guest.h"

/* Mounts a tmpfs with the announced limits; larger values than INT64_MAX are invalid. */
static int store(int parent, const char *name, uint64_t bytes, uint64_t names)
{
    if (bytes > INT64_MAX || names > INT64_MAX) {
        errno = EINVAL;
        return -1;
    }
    _autofd_ int tmpfs = tc_tmpfs((int64_t)bytes, (int64_t)names, "0700", true);
    return tmpfs < 0 ? -1 : tc_move_mount(tmpfs, parent, name);
}

void tc_carried_open(struct tc_carried *c, const char *place, uid_t owner)
{
    c->place = place;
    tc_unpack_init(&c->in);
    tc_pack_init(&c->out);
    c->in.owner = owner;
    c->in.store = store;
    c->in.bytes = c->in.names = INT64_MAX; /* the sender enforces the limits */
}

/* Records the current state of the writable trees. */
static bool look_at_carried(struct tc_carried *c)
{
    enum { NAMES_MAX = 10000000 };
    size_t root;
    return tc_pack_look(&c->out, NAMES_MAX, &root) == 0;
}

static bool take_all(struct tc_carried *c)
{
    bool fine = true;
    for (size_t i = 0; fine && i < c->in.count; i++) {
        _autofree_ char *path = tc_format("%s/%s", c->place, c->in.roots[i].name);
        fine = path && (!c->in.roots[i].writable || tc_pack_add(&c->out, (uint32_t)i, path, true));
    }
    c->some = fine && look_at_carried(c);
    return c->some;
}

bool tc_carried_take(struct tc_carried *c, const struct tc_frame *f)
{
    if (!c->place || c->some)
        return false;
    /* opened on the first frame, when this process is in its final mount namespace */
    if (c->in.place < 0)
        c->in.place = open(c->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool fine = c->in.place >= 0 && tc_unpack_take(&c->in, f) == 0 && (!c->in.ended || take_all(c));
    if (!fine) /* in a VM stderr is the console, from which the host takes the reason for the VM's
                  end */
        (void)fprintf(stderr, TC_GUEST_LAST_WORD "cannot unpack the granted files: %s\n",
                      c->in.fault ? c->in.fault : strerror(c->in.errnum ? c->in.errnum : errno));
    return fine;
}

bool tc_carried_compare(struct tc_carried *c)
{
    bool fine = look_at_carried(c);
    if (!fine)
        (void)fprintf(stderr, TC_GUEST_LAST_WORD "cannot read what the tool changed: %s\n",
                      strerror(errno));
    return fine;
}

int tc_carried_next(struct tc_carried *c, struct tc_buf *out)
{
    return tc_pack_next(&c->out, out);
}

void tc_carried_close(struct tc_carried *c)
{
    if (!c->place)
        return;
    if (c->in.place >= 0)
        (void)close(TAKE_FD(c->in.place));
    tc_unpack_done(&c->in);
    tc_pack_done(&c->out);
    c->place = NULL;
    c->some = false;
}
