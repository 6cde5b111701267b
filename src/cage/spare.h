/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Spare processes: prestarted for later calls. A spare has run the stages that are the same for
 * every call with its root (namespaces, ids, private root, /proc) and waits. It has run only
 * toolcage's code and holds no data of a call. It serves at most one call, and ends with the helper
 * or after some seconds without a call. A call without a matching spare clones a process that runs
 * the same stages without the wait. */
#ifndef TC_CAGE_SPARE_H
#define TC_CAGE_SPARE_H

#include "cage/cage.h"
#include "cage/pool.h"

/* Size of the memory that a spare shares with the helper: enough for common init configs. Untouched
 * pages cost nothing. */
enum { TC_SPARE_ROOM = 256 << 10 };

/* A kind of spare whose PID 1 is a separate program and receives its init config as a message: a
 * container. The helper clones the process that becomes the container's runtime. `own` is the
 * backend's record of one spare and holds no data of a call. */
struct tc_spare_kind {
    /* Appends what a matching call must have in common with the spare, as far as it is known before
     * the call is prepared. */
    void (*write_key)(const struct tc_process_cage *p, struct tc_buf *key);
    /* Do two spares with the same key serve the same calls? */
    bool (*alike)(const void *own, const void *other);
    /* Does the spare fit the prepared call? If so, sends the init config over the socket `report`.
     */
    bool (*serves)(void *own, struct tc_process_cage *p, int report);
    /* Called just before the clone: sets the init config, except its root and report socket. False:
     * it cannot. */
    bool (*fill)(void *own, const struct tc_process_host *host, uid_t id,
                 struct tc_init_config *init);
    /* Called when the clone has its copies of the fds. */
    void (*cloned)(void *own);
    void (*done)(void *own);
};

/* Before the first call: starts a spare for calls of any tool, in a cgroup if the host has one. It
 * creates its namespaces while its root is built. */
void tc_spare_first(struct tc_process_host *host);
/* Sends the most common root to that first spare, idle or claimed. */
void tc_spare_root(uint64_t root);
/* Gives the cage a spare for a call of this tool with p->group_limits, with the spare's id and
 * cgroup; false when there is none. */
bool tc_spare_claim(struct tc_process_cage *p, const char *tool);
/* Like tc_spare_claim(), but creates a new process for this cage. */
bool tc_spare_new(struct tc_process_cage *p);
/* Sends the spare the init config: the spare becomes the cage's PID 1. False: there is no spare, or
 * it does not fit or was killed; the cage keeps the id and the cgroup. */
bool tc_spare_go(struct tc_process_cage *p);
/* Is the cage's PID 1 still the spare, not a replacement? */
bool tc_spare_serves(const struct tc_process_cage *p);
/* After the start of a call: requests a similar spare for the next call. */
void tc_spare_next(const struct tc_process_cage *p, const char *tool);
/* The spare has got its call: sets the time until which it may run. */
void tc_spare_until(const struct tc_process_cage *p, int64_t last_us);
/* Ends the cage's process because it cannot be used. Its replacement gets the same id and cgroup.
 */
void tc_spare_replace(struct tc_process_cage *p);
/* A pool entry for up to `wanted` spares of the cage ops' kind, for calls like this cage's; none is
 * created yet. Takes ownership of `own`. NULL: out of memory. */
struct tc_pool_entry *tc_spare_like(const struct tc_process_cage *p, const char *tool, void *own,
                                    size_t wanted);
/* The cage ends, with or without a claimed spare. Its id and cgroup are released when the spare has
 * ended. */
void tc_spare_leave(struct tc_process_cage *p);

#endif
