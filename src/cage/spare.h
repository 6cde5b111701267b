/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Spares: processes cloned ahead of the calls that they are for. A spare has done the stages that
 * are the same for every call in its root (namespaces, ids, private root, /proc) and waits. It has
 * run nothing but our own code, holds nothing of any call, serves one call at most, and ends with
 * the helper or when it was not needed for some seconds. A call that finds none that fits is cloned
 * on the spot: then it goes through the same stages, only without the waiting. */
#ifndef TC_CAGE_SPARE_H
#define TC_CAGE_SPARE_H

#include "cage/cage.h"
#include "cage/pool.h"

/* The memory that a spare shares with the helper: room for common init configs; a page is there
 * once it is written to. */
enum { TC_SPARE_ROOM = 256 << 10 };

/* What is cloned ahead where PID 1 of the cage is another program, which gets its call by orders: a
 * container, whose runtime is the process that we clone. `own` is the backend's record of one, and
 * holds nothing of any call. */
struct tc_spare_kind {
    /* What such a call must have in common with one, as far as it is known before the call is
     * prepared: appended. */
    void (*write_key)(const struct tc_process_cage *p, struct tc_buf *key);
    /* Of two with one key: do they serve the same calls? */
    bool (*alike)(const void *own, const void *other);
    /* The call is prepared: is it still what the call would get? Then the orders go to this socket.
     */
    bool (*serves)(void *own, struct tc_process_cage *p, int report);
    /* All of the init config but the root and the report socket, for who is cloned now; false: it
     * cannot be made. Then born(): it has its copies. */
    bool (*fill)(void *own, const struct tc_process_host *host, uid_t id,
                 struct tc_init_config *init);
    void (*cloned)(void *own);
    void (*done)(void *own);
};

/* Before the first call: for a call of any tool that needs no control group. It makes its
 * namespaces while its root is built. */
void tc_spare_first(struct tc_process_host *host);
/* Sends that one, whosever it is by now, the root that most calls want. */
void tc_spare_root(uint64_t root);
/* Nearly every call will have a control group here: drops it, if no call has claimed it. */
void tc_spare_no_first(void);
/* Gives the cage a spare for a call of this tool with its p->group_limits, and lends it that one's
 * id and control group; false when there is none. */
bool tc_spare_claim(struct tc_process_cage *p, const char *tool);
/* The same, made now for this cage alone, and of no call before it. */
bool tc_spare_new(struct tc_process_cage *p);
/* Hands the init config over: the spare becomes the cage's PID 1. False: there is none, it does not
 * fit after all, or has been killed; id and group are still the cage's. */
bool tc_spare_go(struct tc_process_cage *p);
/* Is its PID 1 the spare, and not one that was started in its place? */
bool tc_spare_serves(const struct tc_process_cage *p);
/* After the start of a call: one like it is made for the next, soon. */
void tc_spare_next(const struct tc_process_cage *p, const char *tool);
/* A cage that went ahead of its call has it now: until when it may run. */
void tc_spare_until(const struct tc_process_cage *p, int64_t last_us);
/* Its process is of no use after all: ends it. Another one takes its place, with its id and its
 * group. */
void tc_spare_replace(struct tc_process_cage *p);
/* One of the form's kind, for calls like the cage's, and up to `wanted` of them; not made yet.
 * Takes `own`. NULL: no memory. */
struct tc_pool_entry *tc_spare_like(const struct tc_process_cage *p, const char *tool, void *own,
                                    size_t wanted);
/* The cage goes, whatever became of the spare that it claimed, if any. It has no id and no group
 * from here on: they are given back when the spare has ended, too. */
void tc_spare_leave(struct tc_process_cage *p);

#endif
