/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper's pool of prestarted processes: spare cages, workers, VMs, container templates. An
 * entry serves only calls with its key. An entry belongs either to the pool or to one cage. Each
 * kind embeds struct tc_pool_entry as its first member. Used on the event loop's thread only. */
#ifndef TC_CAGE_POOL_H
#define TC_CAGE_POOL_H

#include "base/buf.h"

enum tc_pool_state {
    TC_POOL_CLAIMED, /* a cage or the entry's creator has it; initial state */
    TC_POOL_WANTED,  /* created when due */
    TC_POOL_IDLE,    /* waits for a call; killed when due */
    TC_POOL_BARRED,  /* failed a call and has no process. Until due it blocks its key: no call gets
                        an entry, and none is created. */
    TC_POOL_LEASED,  /* killed; a cage still uses its id and cgroup */
    TC_POOL_ENDING,  /* killed; freed when its process has ended */
};

struct tc_pool_entry;

/* Operations of a kind of entries. */
struct tc_pool_ops {
    size_t most;       /* maximum of idle entries; the oldest is killed to make room */
    bool oldest_first; /* a claim takes the oldest, whose startup is furthest; else the newest */
    /* Do two entries with the same key serve the same calls? NULL: yes. */
    bool (*alike)(const struct tc_pool_entry *one, const struct tc_pool_entry *other);
    /* Starts the process. False: it failed; the entry is dropped, and the next call reports the
     * reason. */
    bool (*make)(struct tc_pool_entry *one);
    bool (*waits)(const struct tc_pool_entry *one); /* its process is alive and has no call */
    void (*kill)(struct tc_pool_entry *one);        /* kills the process, if there is one */
    /* Has its process been reaped? `patiently`: blocks until then. */
    bool (*ended)(struct tc_pool_entry *one, bool patiently);
    void (*done)(struct tc_pool_entry *one); /* frees the record and everything in it */
};

struct tc_pool_entry {
    const struct tc_pool_ops *ops;
    struct tc_pool_entry *next;
    enum tc_pool_state state;
    struct tc_buf key; /* owned: matches calls with equal bytes */
    size_t wanted;     /* how many matching entries may be idle */
    int64_t idle_us;   /* how long the entry may stay unused */
    int64_t due_us;    /* see the states; for a killed entry: when it was killed */
    bool hurries;      /* due as soon as a call has been answered */
};

/* Creates the entry a little later: while a call runs, or (`hurries`) once a call has been
 * answered. Takes the entry; NULL is fine. */
void tc_pool_want(struct tc_pool_entry *like, bool hurries);
/* A call has been answered: makes `hurries` entries due. The first answer does not: a helper that
 * serves a single call (the command line's) exits before such an entry would be of use. */
void tc_pool_answered(void);
/* An idle entry for a call with this key; the caller owns it. NULL: there is none. */
struct tc_pool_entry *tc_pool_claim(const struct tc_pool_ops *ops, const struct tc_buf *key);
/* The newest idle or barred entry with this key, borrowed until the pool's next call; and the
 * number of such entries. */
const struct tc_pool_entry *tc_pool_find(const struct tc_pool_ops *ops, const struct tc_buf *key,
                                         size_t *ret_count);
/* Returns an entry from its cage to the pool, as idle or as barred. */
void tc_pool_give_back(struct tc_pool_entry *one, enum tc_pool_state state);
/* Kills the process, for a cage that keeps the entry's leases and drops the entry later. */
void tc_pool_end(struct tc_pool_entry *one);
/* Kills the process in any state; the entry is freed once its process has ended, without blocking.
 * Takes the entry; NULL is fine. */
void tc_pool_drop(struct tc_pool_entry *one);
/* Drops the idle entries of a kind that match. Were there any? */
bool tc_pool_drop_idle(const struct tc_pool_ops *ops,
                       bool (*which)(const struct tc_pool_entry *one));
/* Creates and drops due entries, and frees ended ones. The next due time; 0: none. */
int64_t tc_pool_tick(int64_t now_us);
/* At the helper's exit: kills all entries and waits until they have ended. */
void tc_pool_close(void);

/* The earlier of two times; 0 means none. */
static inline int64_t tc_sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

#endif
