/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A job: one call (or a request of the doctor or cleaner) from the library's message to its answer.
 * The job enforces the call's limits even if the library does not respond. */
#ifndef TC_HELPER_JOB_H
#define TC_HELPER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "helper/loop.h"
#include "helper/worker.h"
#include "plan/backend.h"
#include "plan/protocol.h"
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

/* A job's state, which also determines who besides the event loop uses its cage. The table in job.c
 * defines the transitions. From TC_IS_ENDED on the job is answered. */
enum tc_job_state {
    TC_IS_FREE,      /* the cage is unused: before and after the tool */
    TC_IS_PREPARING, /* a worker thread prepares the cage, or will */
    TC_IS_STARTING,  /* the sandbox is not complete yet */
    TC_IS_RUNNING,
    TC_IS_ENDING,    /* SIGTERM was sent; the grace period runs */
    TC_IS_KILLED,    /* SIGKILL was sent; the cage should end soon */
    TC_IS_GIVEN_UP,  /* like KILLED, but changes are not collected */
    TC_IS_GATHERING, /* a process or worker thread collects changes */
    TC_IS_ENDED,     /* the cage is unused and about to be released */
    TC_IS_ABANDONED, /* released when the worker or collector returns the cage */
    TC_IS_DYING,     /* released when the cage's processes end */
    TC_IS_CLEARING,  /* a worker thread releases the cage */
    TC_IS_GONE,
    TC_IS_STATES,
    TC_IS_SAME = TC_IS_STATES /* in a row: no state change */
};

enum tc_job_event {
    TC_ON_GIVEN,   /* the cage is queued for a worker thread */
    TC_ON_STARTED, /* the event loop watches the cage */
    TC_ON_UP,      /* the sandbox is complete */
    TC_ON_CANCEL,  /* cancelled by the library, or the call's timeout */
    TC_ON_HOST,    /* the library closed the job's socket */
    TC_ON_DUE,     /* the time limit of the state is reached */
    TC_ON_KILL,    /* a limit or a failure ends the call */
    TC_ON_EXIT,    /* all processes of the cage have ended */
    TC_ON_OVER,    /* the tool has ended; the rest of the cage follows */
    TC_ON_GATHER,  /* the collection of changes began */
    TC_ON_OUTCOME, /* the outcome is final; no changes are collected any longer */
    TC_ON_DONE,    /* the worker thread or collector returned the cage */
    TC_ON_ALIVE,   /* processes of the cage to release are left */
    TC_ON_LARGE,   /* a worker thread began to release the cage */
    TC_ON_CLEARED,
    TC_ON_PROBE, /* the job's next probe cage */
    TC_ON_EVENTS
};

/* Why a job is ended; the highest value wins. */
enum tc_reason { TC_FOR_NOTHING, TC_FOR_LIMIT, TC_FOR_TIME, TC_FOR_CANCEL, TC_FOR_HOST };

struct tc_flow { /* an output stream */
    struct tc_output read;
    size_t sent;    /* bytes, with streaming */
    bool held_back; /* reading stops until the output read so far is delivered */
};

struct tc_feed { /* standard input: memory file -> pipe */
    int from, to;
    off_t fed;
};

struct tc_terminal {
    bool attached;
    uint16_t rows, columns; /* the last requested size; 0: unchanged since the start */
    char typed[4096];       /* unwritten input, [from, to) */
    size_t from, to;
};

struct tc_job_record {
    struct tc_job_record *next;
    struct tc_loop *loop;
    struct tc_workers *workers;
    int socket; /* -1: no more messages are sent */
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_outcome
        late_outcome; /* results of a cage that a worker thread uses or whose job is answered */
    struct tc_cage cage;
    enum tc_job_state state;
    enum tc_reason reason;
    const char *limit; /* name of the limit, for TC_FOR_LIMIT */
    struct tc_task task;
    int prepared;
    struct tc_flow flows[2];
    struct tc_source sources[TC_ROLES];
    int64_t begun_us, step_us; /* start of the job, and of the current timing */
    int64_t end_at_us;         /* the deadline; 0: none */
    int64_t due_us;            /* time of TC_ON_DUE; 0: never */
    struct tc_feed feed;
    struct tc_terminal terminal;
    bool inside;     /* the library accepts the outcome within the message */
    int64_t removed; /* by a CLEAN job */
    size_t probed;   /* of a PROBE job: executors tried so far */
};

static inline bool tc_job_answered(const struct tc_job_record *job)
{
    return job->state >= TC_IS_ENDED;
}

/* Can the job be freed? */
static inline bool tc_job_over(const struct tc_job_record *job)
{
    return job->state == TC_IS_GONE && job->socket < 0;
}

/* begin.c */
/* The fds of a job; -1: absent. */
struct tc_job_fds {
    int socket, plan, input, secrets;
    const char *inside; /* the plan's job->plan_bytes bytes, instead of its file; borrowed */
};
/* Takes the fds and prepends the job to `others`. NULL when out of memory. */
struct tc_job_record *tc_job_new(struct tc_loop *loop, struct tc_workers *workers,
                                 const struct tc_job *job, const struct tc_job_fds *fds,
                                 struct tc_job_record *others);
/* Is the sweep for leftovers of dead helpers running? */
bool tc_job_sweeping(void);
/* A probe has ended: true when another has begun; otherwise the outcome holds all results. */
bool tc_job_next_probe(struct tc_job_record *job);
/* Prepares the cage, perhaps in a worker thread, and then starts it. */
void tc_job_prepare(struct tc_job_record *job);
/* Actions of the state table: the event loop has the cage again; no worker thread started on the
 * cage in time; the call ended while a worker thread uses its cage; such a call is answered. */
void tc_job_take_over(struct tc_job_record *job);
void tc_job_refuse(struct tc_job_record *job);
void tc_job_abandon(struct tc_job_record *job);
void tc_job_leave(struct tc_job_record *job);

/* job.c */
void tc_job_attach(struct tc_job_record *job);
/* False: the fd cannot be watched. fd -1: stops watching. */
static inline bool tc_job_watch(struct tc_job_record *job, enum tc_role role, int fd,
                                uint32_t events)
{
    if (tc_loop_watch(job->loop, &job->sources[role], fd, events) == 0)
        return true;
    job->sources[role].fd = -1;
    return false;
}
/* When tc_job_tick() must be called next; 0: never. */
int64_t tc_job_next(const struct tc_job_record *job);
void tc_job_tick(struct tc_job_record *job, int64_t now_us);
/* The helper ends: handled as if the library had closed the job's socket. */
void tc_job_end(struct tc_job_record *job);
/* Closes the job's socket and input: no more messages are sent. */
void tc_job_hang_up(struct tc_job_record *job);
/* Only while no worker thread uses the cage. */
void tc_job_free(struct tc_job_record *job);

/* for begin.c and deliver.c */
struct tc_job_row {
    void (*act)(struct tc_job_record *job); /* called in the next state */
    enum tc_job_state next;
};
extern const struct tc_job_row tc_job_rows[TC_ON_EVENTS][TC_IS_STATES];
void tc_job_step(struct tc_job_record *job, enum tc_job_event event);
void tc_job_mark(struct tc_job_record *job, const char *step, int64_t since_us);
int tc_job_not_watched(struct tc_job_record *job);
/* Decides the call's status. */
void tc_job_judge(struct tc_job_record *job, const char *counter);
/* Sends the outcome, and then releases an ended cage. */
void tc_job_answer(struct tc_job_record *job);
/* Releases the cage of an ended job. */
void tc_job_clear(struct tc_job_record *job);

/* deliver.c: sends a job's output and outcome to the library, without blocking on a library that
 * does not read. Called after new output, with the complete outcome, and when the socket accepts
 * more. */
void tc_deliver_stream(struct tc_job_record *job);
void tc_deliver(struct tc_job_record *job);
void tc_deliver_more(struct tc_job_record *job);

/* terminal.c. Called after an event of the cage, which may have brought the terminal. False: it
 * cannot be watched. */
bool tc_terminal_attach(struct tc_job_record *job);
/* The caller's pipe is readable; the terminal accepts more; the caller's window was resized. */
void tc_terminal_typed(struct tc_source *source);
void tc_terminal_feed(struct tc_job_record *job);
void tc_terminal_resize(struct tc_job_record *job, uint16_t rows, uint16_t columns);

#endif
