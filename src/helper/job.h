/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A job: one call (or a doctor's or cleaner's request) from the library's message to its answer.
 * Everything that holds a call to its limits happens here, whatever the host does meanwhile. */
#ifndef TC_HELPER_JOB_H
#define TC_HELPER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "helper/loop.h"
#include "helper/protocol.h"
#include "helper/stream.h"

enum tc_role {
    TC_ROLE_SOCKET,
    TC_ROLE_OUT,
    TC_ROLE_ERR,
    TC_ROLE_EVENT,
    TC_ROLE_EXIT,
    TC_ROLE_NOTIFY,
    TC_ROLE_OOM,
    TC_ROLE_FEED,
    TC_ROLE_COLLECT,
    TC_ROLES,
};

struct tc_running {
    struct tc_running *next;
    struct tc_loop *loop;
    int socket;
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_cage cage;
    struct tc_output output[2];
    struct tc_source sources[TC_ROLES];
    int64_t begun_us, started_us, running_us;
    int64_t end_at_us;      /* the deadline; 0: none */
    int64_t kill_at_us;     /* after TERM; 0: not ending */
    int64_t sample_at_us;   /* processor time; 0: not watched */
    int feed_from, feed_to; /* standard input: memory file -> pipe */
    bool timed_out, cancelled, host_gone;
    const char *limit; /* what we killed for */
    bool ended;        /* the cage is gone; what is left is to deliver */
    bool finished;     /* to be freed */
    int64_t removed;   /* of a CLEAN job */
    size_t sent[2];    /* of the streams, to a host that streams */
};

/* Takes the descriptors. NULL when out of memory. */
struct tc_running *tc_job_new(struct tc_loop *loop, const struct tc_job *job, int socket, int plan,
                              int input);
/* The next moment at which tc_job_tick() must be called; 0: never. */
int64_t tc_job_next(const struct tc_running *job);
void tc_job_tick(struct tc_running *job, int64_t now_us);
void tc_job_free(struct tc_running *job);

#endif
