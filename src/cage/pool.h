/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper's pool of processes made ahead of the calls that they are for: spare cages, workers,
 * machines, container templates. An entry serves calls of its key only, and belongs either to the
 * pool or to one cage. The owner of each kind puts its record behind the entry. On the helper's one
 * thread only. */
#ifndef TC_CAGE_POOL_H
#define TC_CAGE_POOL_H

#include "base/buf.h"

enum tc_pool_state {
    TC_POOL_CLAIMED, /* a cage has it, or its owner: as every new one */
    TC_POOL_WANTED,  /* made when it is due */
    TC_POOL_IDLE,    /* waits for a call; killed when it is due */
    TC_POOL_BARRED,  /* failed a call, and has no process: until it is due it keeps the place of its
                        like, so that no call is given one and none is made */
    TC_POOL_LEASED,  /* killed; a cage goes on with its id and its control group */
    TC_POOL_ENDING,  /* killed; freed when its process has ended */
};

struct tc_pool_entry;

/* What differs from kind to kind. */
struct tc_pool_ops {
    size_t most;       /* idle ones; for one more the oldest is killed */
    bool oldest_first; /* a claim takes the oldest, which has come furthest; else the newest */
    /* Of two with the same key: do they serve the same calls? NULL: they do. */
    bool (*alike)(const struct tc_pool_entry *one, const struct tc_pool_entry *other);
    /* Starts its process. False: it could not; the entry is dropped, and the next call says why. */
    bool (*make)(struct tc_pool_entry *one);
    bool (*waits)(const struct tc_pool_entry *one); /* its process is alive and has no call */
    void (*kill)(struct tc_pool_entry *one);        /* the process, if there is one */
    /* Has its process been reaped? Patiently: waits for that. */
    bool (*ended)(struct tc_pool_entry *one, bool patiently);
    void (*done)(struct tc_pool_entry *one); /* frees the record and all that it holds */
};

struct tc_pool_entry {
    const struct tc_pool_ops *ops;
    struct tc_pool_entry *next;
    enum tc_pool_state state;
    struct tc_buf key; /* owned: what a call must have in common with it, byte by byte */
    size_t wanted;     /* how many alike may be idle */
    int64_t idle_us;   /* how long one is kept that no call needs */
    int64_t due_us;    /* see the states; of a killed one: when it was killed */
    bool hurries;      /* due as soon as a call has its answer */
};

/* Makes one a little later; while a call runs, or (`hurries`) as soon as one has its answer. Takes
 * the entry; NULL is fine. */
void tc_pool_want(struct tc_pool_entry *like, bool hurries);
/* A call has its answer. After the first one nothing is hurried: a helper of one call (the command
 * line's) is gone before it would make anything for a second. */
void tc_pool_answered(void);
/* One that is idle, for a call of this key; it is the caller's from here on. NULL: there is none.
 */
struct tc_pool_entry *tc_pool_claim(const struct tc_pool_ops *ops, const struct tc_buf *key);
/* Of those that are idle or barred, with this key: the newest, borrowed until the pool's next call;
 * and how many there are. */
const struct tc_pool_entry *tc_pool_find(const struct tc_pool_ops *ops, const struct tc_buf *key,
                                         size_t *ret_count);
/* It waits for a call, or bars its like. Takes it from its cage. */
void tc_pool_give_back(struct tc_pool_entry *one, enum tc_pool_state state);
/* Kills it, for a cage that goes on with its leases and drops it later. */
void tc_pool_end(struct tc_pool_entry *one);
/* Kills it, whatever its state; it is freed when its process has ended, which nobody waits for.
 * Takes it; NULL is fine. */
void tc_pool_drop(struct tc_pool_entry *one);
/* Drops the idle ones of a kind of which this is so. Were there any? */
bool tc_pool_drop_idle(const struct tc_pool_ops *ops,
                       bool (*which)(const struct tc_pool_entry *one));
/* Makes and drops what is due, and frees what has ended. When to come again; 0: no matter. */
int64_t tc_pool_tick(int64_t now_us);
/* The helper ends: kills all, and waits until they have ended. */
void tc_pool_close(void);

/* The earlier of two times; 0 is none. */
static inline int64_t tc_sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

#endif
