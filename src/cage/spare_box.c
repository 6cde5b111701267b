/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The box of a call, copied for a process that waits for it. */
#include <string.h>

#include "base/fd.h"
#include "cage/spare.h"

/* Memory that the spare sees too. Once full it gives nothing more. */
struct room {
    char *at, *end;
    bool full;
};

static void *place(struct room *r, const void *from, size_t size)
{
    size_t whole = (size + 15) & ~(size_t)15;
    r->full = r->full || whole < size || (size_t)(r->end - r->at) < whole;
    if (r->full)
        return NULL;
    void *to = r->at;
    r->at += whole;
    memcpy(to, from, size);
    return to;
}

static char **place_list(struct room *r, const char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    char **to = place(r, list, (count + 1) * sizeof(*to));
    for (size_t i = 0; to && i < count; i++)
        to[i] = place(r, list[i], strlen(list[i]) + 1);
    return to;
}

struct handed {
    int fds[TC_FDS_MAX];
    size_t count;
};

/* The number that it will have there. */
static int hand(struct handed *h, int fd)
{
    if (h->count < TC_FDS_MAX)
        h->fds[h->count] = fd;
    return TC_BOX_HANDED + (int)h->count++;
}

static struct tc_box_mount *place_mounts(struct room *r, const struct tc_box *box, struct handed *h)
{
    struct tc_box_mount *mounts =
        place(r, box->mounts, box->mount_count * sizeof(struct tc_box_mount));
    for (size_t i = 0; mounts && i < box->mount_count; i++) {
        struct tc_box_mount *m = &mounts[i];
        m->fd = m->fd < 0 ? -1 : hand(h, m->fd);
        m->layers = m->layered ? hand(h, m->layers) : -1;
        m->path = place(r, m->path, strlen(m->path) + 1);
        m->hide = m->hide ? (const char *const *)place_list(r, m->hide) : NULL;
    }
    return mounts;
}

static const struct sock_fprog *place_filter(struct room *r, const struct sock_fprog *changed)
{
    struct sock_fprog program = {
        .len = changed->len,
        .filter = place(r, changed->filter, changed->len * sizeof(*changed->filter))};
    return place(r, &program, sizeof(program));
}

static const struct tc_box_network *place_network(struct room *r, const struct tc_box_network *from)
{
    struct tc_box_network network = *from;
    for (size_t i = 0; i < TC_DOOR_REQUESTS; i++)
        network.requests[i].at = place(r, from->requests[i].at, from->requests[i].len);
    network.listeners = place(r, from->listeners, from->listener_count * sizeof(*from->listeners));
    return place(r, &network, sizeof(network));
}

/* What is static in the program (the filter, where the policy changes nothing in it) is at the same
 * place in the spare. */
static bool fill(struct tc_box *shared, const struct tc_box *box, struct handed *h)
{
    struct room r = {.at = (char *)(shared + 1), .end = (char *)shared + TC_SPARE_ROOM};
    struct tc_box b = *box;
    r.at += -(uintptr_t)r.at & 15;
    /* it may still be on its way to the place where it waits: what it reads until then stays */
    b.report = shared->report;
    b.helper = shared->helper;
    b.parks = true;
    if (!b.terminal) {
        b.in = hand(h, b.in);
        b.out = hand(h, b.out);
        b.err = hand(h, b.err);
    }
    b.talk = b.talks ? hand(h, b.talk) : -1;
    b.mounts = place_mounts(&r, box, h);
    b.limits = place(&r, b.limits, b.limit_count * sizeof(*b.limits));
    b.directories = (const char *const *)place_list(&r, b.directories);
    b.programs = (const char *const *)place_list(&r, b.programs);
    b.argv = place_list(&r, (const char *const *)b.argv);
    b.envp = place_list(&r, (const char *const *)b.envp);
    b.network = b.network ? place_network(&r, b.network) : NULL;
    if (b.changed)
        b.filter = b.changed = place_filter(&r, b.changed);
    b.handed = h->count;
    *shared = b;
    return !r.full && h->count <= TC_FDS_MAX;
}

bool tc_spare_send_box(struct tc_box *shared, const struct tc_box *box, int report)
{
    struct handed h = {.count = 0};
    return fill(shared, box, &h) && tc_send(report, "", 1, h.fds, h.count) == 0;
}
