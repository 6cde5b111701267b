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

/* Where a job is, and with that who has its cage beside the loop. job.c has the table of what comes
 * next. From TC_IS_ENDED on it is answered for. */
enum tc_job_state {
    TC_IS_FREE,      /* nobody has the cage, and no tool runs in it: before, and after */
    TC_IS_PREPARING, /* a worker has it, or will */
    TC_IS_STARTING,  /* its walls do not stand yet */
    TC_IS_RUNNING,
    TC_IS_ENDING,    /* it was asked to, and the grace period runs */
    TC_IS_KILLED,    /* and should be gone soon */
    TC_IS_GIVEN_UP,  /* the same, and nothing is gathered */
    TC_IS_GATHERING, /* a process, or a worker, looks for what was changed */
    TC_IS_ENDED,     /* nobody has the cage: it is about to go */
    TC_IS_ABANDONED, /* it goes when who prepares or gathers lets it */
    TC_IS_DYING,     /* it goes when the kernel lets it */
    TC_IS_CLEARING,  /* a worker takes it down */
    TC_IS_GONE,
    TC_IS_STATES,
    TC_IS_SAME = TC_IS_STATES /* of a row: no other */
};

enum tc_job_event {
    TC_ON_GIVEN,   /* a worker is to prepare the cage */
    TC_ON_STARTED, /* the cage is watched */
    TC_ON_UP,      /* every wall stands */
    TC_ON_CANCEL,  /* the host says so, or the call's time is over */
    TC_ON_HOST,    /* it has gone */
    TC_ON_DUE,     /* the state has lasted for as long as it may */
    TC_ON_KILL,    /* a limit or a failure ends it */
    TC_ON_EXIT,    /* the whole cage has ended */
    TC_ON_OVER,    /* its tool has, and the rest follows */
    TC_ON_GATHER,  /* somebody began to look for changes */
    TC_ON_OUTCOME, /* what came of it is known, and nothing more is gathered */
    TC_ON_DONE,    /* who had the cage lets go of it */
    TC_ON_ALIVE,   /* of a cage that is to go: something of it is left */
    TC_ON_LARGE,   /* a worker has begun to take it down */
    TC_ON_CLEARED,
    TC_ON_PROBE, /* another cage is tried for the same job */
    TC_ON_EVENTS
};

/* Why it is ended; of several the last one here counts. */
enum tc_reason { TC_FOR_NOTHING, TC_FOR_LIMIT, TC_FOR_TIME, TC_FOR_CANCEL, TC_FOR_HOST };

struct tc_flow { /* an output stream */
    struct tc_output read;
    size_t sent;    /* to a host that streams */
    bool held_back; /* nothing is read of it until what was read is delivered */
};

struct tc_feed { /* standard input: memory file -> pipe */
    int from, to;
    off_t fed;
};

struct tc_terminal {
    bool attached;
    uint16_t rows, columns; /* the size said last; 0: none since the start */
    char typed[4096];       /* not taken yet: from `from` to `to` */
    size_t from, to;
};

struct tc_job_record {
    struct tc_job_record *next;
    struct tc_loop *loop;
    struct tc_workers *workers;
    int socket; /* -1: nobody is to hear more of it */
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_outcome
        late_outcome; /* what a cage has to say that a worker has, or that was answered for */
    struct tc_cage cage;
    enum tc_job_state state;
    enum tc_reason reason;
    const char *limit; /* TC_FOR_LIMIT: which */
    struct tc_task task;
    int prepared;
    struct tc_flow flows[2];
    struct tc_source sources[TC_ROLES];
    int64_t begun_us, step_us; /* the job, and what is timed now */
    int64_t end_at_us;         /* the deadline; 0: none */
    int64_t due_us;            /* when TC_ON_DUE comes; 0: never */
    struct tc_feed feed;
    struct tc_terminal terminal;
    bool inside;     /* the host takes the outcome in the message */
    int64_t removed; /* of a CLEAN job */
    size_t probed;   /* of a PROBE job: executors that were looked at */
};

static inline bool tc_job_answered(const struct tc_job_record *job)
{
    return job->state >= TC_IS_ENDED;
}

/* To be freed. */
static inline bool tc_job_over(const struct tc_job_record *job)
{
    return job->state == TC_IS_GONE && job->socket < 0;
}

/* begin.c */
/* What comes with a job; -1: it has none. */
struct tc_job_fds {
    int socket, plan, input, secrets;
    const char *inside; /* the plan itself, job->plan_bytes of it, in place of its file; borrowed */
};
/* Takes the descriptors; the job stands before the others then. NULL when out of memory. */
struct tc_job_record *tc_job_new(struct tc_loop *loop, struct tc_workers *workers,
                                 const struct tc_job *job, const struct tc_job_fds *fds,
                                 struct tc_job_record *others);
/* Are leftovers of dead helpers being looked for? */
bool tc_job_sweeping(void);
/* A probe has ended: true when another has begun, or the answer now holds what was found. */
bool tc_job_next_probe(struct tc_job_record *job);
/* Prepares, or has prepared; then the cage starts. */
void tc_job_prepare(struct tc_job_record *job);
/* For the table: the loop has the cage again; no worker has begun with it for long; the call's time
 * is over while a worker has its cage, and then it is answered for. */
void tc_job_take_over(struct tc_job_record *job);
void tc_job_refuse(struct tc_job_record *job);
void tc_job_abandon(struct tc_job_record *job);
void tc_job_leave(struct tc_job_record *job);

/* job.c */
void tc_job_attach(struct tc_job_record *job);
/* False: it cannot be watched. -1: not any more. */
static inline bool tc_job_watch(struct tc_job_record *job, enum tc_role role, int fd,
                                uint32_t events)
{
    if (tc_loop_watch(job->loop, &job->sources[role], fd, events) == 0)
        return true;
    job->sources[role].fd = -1;
    return false;
}
/* The next moment at which tc_job_tick() must be called; 0: never. */
int64_t tc_job_next(const struct tc_job_record *job);
void tc_job_tick(struct tc_job_record *job, int64_t now_us);
/* The helper ends: as if its host had gone. */
void tc_job_end(struct tc_job_record *job);
/* Nobody is to hear more of it: its socket and its input go. */
void tc_job_hang_up(struct tc_job_record *job);
/* Only when nobody has its cage. */
void tc_job_free(struct tc_job_record *job);

/* for begin.c and deliver.c */
struct tc_job_row {
    void (*act)(struct tc_job_record *job); /* in the next state already */
    enum tc_job_state next;
};
extern const struct tc_job_row tc_job_rows[TC_ON_EVENTS][TC_IS_STATES];
void tc_job_step(struct tc_job_record *job, enum tc_job_event event);
void tc_job_mark(struct tc_job_record *job, const char *step, int64_t since_us);
int tc_job_not_watched(struct tc_job_record *job);
/* Decides what the call came to. */
void tc_job_judge(struct tc_job_record *job, const char *counter);
/* Tells it; an ended cage goes then. */
void tc_job_answer(struct tc_job_record *job);
/* Of an ended job, the cage goes. */
void tc_job_clear(struct tc_job_record *job);

/* deliver.c: bringing a job's news to the library. A host that does not read is waited for without
 * holding up anybody. New output was read, the outcome is complete, and the socket takes more. */
void tc_deliver_stream(struct tc_job_record *job);
void tc_deliver(struct tc_job_record *job);
void tc_deliver_more(struct tc_job_record *job);

/* terminal.c. After an event of the cage its terminal may be there: false when it cannot be
 * watched.
 */
bool tc_terminal_attach(struct tc_job_record *job);
/* The host's pipe has something; the terminal takes more; the host's window has another size. */
void tc_terminal_typed(struct tc_source *source);
void tc_terminal_feed(struct tc_job_record *job);
void tc_terminal_resize(struct tc_job_record *job, uint16_t rows, uint16_t columns);

#endif
