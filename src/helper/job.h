/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A job: one call (or a doctor's or cleaner's request) from the library's message to its answer.
 * Everything that holds a call to its limits happens here, whatever the host does meanwhile. */
#ifndef TC_HELPER_JOB_H
#define TC_HELPER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "helper/loop.h"
#include "helper/protocol.h"
#include "helper/terminal.h"
#include "helper/worker.h"
#include "plan/backend.h"
#include "plan/stream.h"

enum tc_role {
    TC_ROLE_SOCKET,
    TC_ROLE_OUT,
    TC_ROLE_ERR,
    TC_ROLE_EVENT,
    TC_ROLE_EXIT,
    TC_ROLE_FEED,
    TC_ROLE_TYPED,
    TC_ROLE_COLLECT,
    TC_ROLES,
};

/* Who has the cage beside the loop. A held one is answered for when its time is over, and goes when
 * its holder lets it. */
enum tc_hold {
    TC_HOLD_NONE,
    TC_HOLD_PREPARING,  /* a worker */
    TC_HOLD_COLLECTING, /* who gathers changes: a process, or a worker */
    TC_HOLD_DYING,      /* the kernel: it was killed, and does not end */
    TC_HOLD_CLEARING,   /* a worker */
};

struct tc_running {
    struct tc_running *next;
    struct tc_loop *loop;
    struct tc_workers *workers;
    int socket;
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_outcome
        aside; /* what a cage has to say that a worker has, or that was answered for */
    struct tc_cage cage;
    enum tc_hold hold;
    struct tc_task task;
    int prepared;
    struct tc_output output[2];
    struct tc_source sources[TC_ROLES];
    int64_t begun_us, leased_us, started_us, running_us;
    int64_t end_at_us;      /* the deadline; 0: none */
    int64_t kill_at_us;     /* after TERM; 0: not ending; INT64_MAX: killed */
    int64_t stuck_at_us;    /* when a killed one should be gone; 0: not killed */
    int64_t refuse_at_us;   /* when a worker should have begun; 0: one has */
    int feed_from, feed_to; /* standard input: memory file -> pipe */
    off_t fed;
    struct tc_terminal terminal;
    bool timed_out, cancelled, host_gone;
    const char *limit; /* what we killed for */
    bool given_up;     /* what came of it is known: nothing is to be gathered */
    bool ended;        /* what is left is to deliver, and to let go of the cage */
    bool finished;     /* to be freed */
    bool inside;       /* the host takes the outcome in the message */
    int64_t removed;   /* of a CLEAN job */
    size_t trials;     /* of a PROBE job: works that were looked at */
    size_t sent[2];    /* of the streams, to a host that streams */
    bool held_back[2]; /* nothing is read of it until what was read is delivered */
};

/* begin.c */
/* What comes with a job; -1: it has none. */
struct tc_job_fds {
    int socket, plan, input, secrets;
    const char *inside; /* the plan itself, job->plan_bytes of it, in place of its file; borrowed */
};
/* Takes the descriptors; the job stands before the others then. NULL when out of memory. */
struct tc_running *tc_job_new(struct tc_loop *loop, struct tc_workers *workers,
                              const struct tc_job *job, const struct tc_job_fds *fds,
                              struct tc_running *others);
/* Are leftovers of dead helpers being looked for? */
bool tc_job_sweeping(void);
/* A trial has ended: true when another has begun, or the answer now holds what was found. */
bool tc_job_next_trial(struct tc_running *job);
/* Prepares, or has prepared; then the cage starts. */
void tc_job_prepare(struct tc_running *job);
/* No worker has begun with it for long. */
void tc_job_refuse(struct tc_running *job);
/* The call's time is over while a worker has its cage. */
void tc_job_abandon(struct tc_running *job);

/* job.c */
void tc_job_attach(struct tc_running *job);
/* False: it cannot be watched. -1: not any more. */
static inline bool tc_job_watch(struct tc_running *job, enum tc_role role, int fd, uint32_t events)
{
    if (tc_loop_watch(job->loop, &job->sources[role], fd, events) == 0)
        return true;
    job->sources[role].fd = -1;
    return false;
}
/* The next moment at which tc_job_tick() must be called; 0: never. */
int64_t tc_job_next(const struct tc_running *job);
void tc_job_tick(struct tc_running *job, int64_t now_us);
/* As if its host had gone. */
void tc_job_end(struct tc_running *job);
/* Nobody is to hear more of it: its socket and its input go. */
void tc_job_hang_up(struct tc_running *job);
/* Only with no hold on it. */
void tc_job_free(struct tc_running *job);

/* for begin.c */
void tc_job_mark(struct tc_running *job, const char *step, int64_t since_us);
int tc_job_not_watched(struct tc_running *job);
/* Failed with the failure written: ends what there is of it, and answers. */
void tc_job_give_up(struct tc_running *job);
/* Decides what the call came to. */
void tc_job_judge(struct tc_running *job, const char *counter);
void tc_job_answer(struct tc_running *job);

/* Nothing runs any more and nobody holds it: the cage goes. */
void tc_job_clear(struct tc_running *job);

#endif
