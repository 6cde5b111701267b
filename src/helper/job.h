/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A job: the helper's record of one request of the library, from its arrival to the release of its
 * cage. Most requests are calls; others probe executors (doctor), remove leftovers, or handle
 * staged changes and sessions. The helper enforces a call's limits even if the library does not
 * respond. */
#ifndef TC_HELPER_JOB_H
#define TC_HELPER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "helper/loop.h"
#include "helper/worker.h"
#include "plan/backend.h"
#include "plan/protocol.h"
#include "plan/stream.h"

/* The fds that the event loop watches for a job. */
enum tc_role {
    TC_ROLE_SOCKET,  /* messages from the library, and room for messages to it */
    TC_ROLE_OUT,     /* the tool's standard output, or its terminal */
    TC_ROLE_ERR,     /* the tool's standard error */
    TC_ROLE_EVENT,   /* the cage's event_fd */
    TC_ROLE_EXIT,    /* the cage's exit_fd */
    TC_ROLE_FEED,    /* the tool's input accepts more bytes */
    TC_ROLE_TYPED,   /* the caller's pipe has input for the terminal */
    TC_ROLE_COLLECT, /* the process that collects changes has ended */
    TC_ROLES,
};

/* A job's state. job.c describes the states' order and has the table of transitions. From
 * TC_IS_ENDED on the outcome was sent, or is being sent. */
enum tc_job_state {
    TC_IS_FREE,      /* no process runs and no worker thread works: before and after the tool */
    TC_IS_PREPARING, /* a worker thread prepares the cage, or has it in its queue */
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
    TC_IS_SAME = TC_IS_STATES /* only as the next state of a row: the state does not change */
};

enum tc_job_event {
    TC_ON_GIVEN,   /* the cage is queued for a worker thread */
    TC_ON_STARTED, /* the event loop watches the cage */
    TC_ON_UP,      /* the sandbox is complete */
    TC_ON_CANCEL,  /* the library cancelled the call, or the call's timeout is over */
    TC_ON_HOST,    /* the library closed the job's socket */
    TC_ON_DUE,     /* the time limit of the state is reached */
    TC_ON_KILL,    /* a limit or a failure ends the call */
    TC_ON_EXIT,    /* all processes of the cage have ended */
    TC_ON_OVER,    /* the tool and all its processes have ended; the rest of the cage follows */
    TC_ON_GATHER,  /* the collection of changes began */
    TC_ON_OUTCOME, /* the outcome is final, or the job has failed: it is answered next */
    TC_ON_DONE,    /* the worker thread or the collector no longer uses the cage */
    TC_ON_ALIVE,   /* the cage cannot be released yet: some of its processes are alive */
    TC_ON_LARGE,   /* a worker thread began to release the cage */
    TC_ON_CLEARED, /* the cage is released */
    TC_ON_NEXT,    /* the job continues with its next cage: of a probe, or another attempt */
    TC_ON_EVENTS
};

/* Why the helper ends a call; of several reasons, the highest value is reported. */
enum tc_reason { TC_FOR_NOTHING, TC_FOR_LIMIT, TC_FOR_TIME, TC_FOR_CANCEL, TC_FOR_HOST };

struct tc_flow { /* an output stream */
    struct tc_output read;
    size_t sent;    /* bytes, with streaming */
    bool held_back; /* not read, until the library has received all that was read before */
};

/* The tool's input: copied from a memory file to a pipe, or from the caller's pipe to the
 * terminal. */
struct tc_feed {
    int from, to;
    off_t fed; /* bytes of the memory file that were written */
};

/* Another attempt at the cage, see again.c. */
struct tc_again {
    bool possible, due;
    int count;
    int input, secrets, exchanges; /* duplicates of the cage's fds until the tool runs; -1: none */
    char why[256]; /* the reason for another mode of the workspace; "": it is the first */
};

struct tc_terminal {
    bool attached;          /* the cage has sent its terminal */
    uint16_t rows, columns; /* the last requested size; 0: unchanged since the start */
    char typed[4096];       /* input that the terminal has not accepted yet: [from, to) */
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
        late_outcome; /* the cage's outcome while a worker thread uses the cage, and after the
                         answer was sent: what the cage reports then must not change `outcome` */
    struct tc_cage cage;
    enum tc_job_state state;
    enum tc_reason reason;
    const char *limit;   /* name of the limit, for TC_FOR_LIMIT */
    struct tc_task task; /* the work of this job that a worker thread does */
    int prepared;        /* result of make() and prepare(): 0 or -1 */
    struct tc_flow flows[2];
    struct tc_source sources[TC_ROLES];
    int64_t begun_us, step_us; /* start of the job, and of the step that is timed now */
    int64_t end_at_us;         /* the deadline; 0: none */
    int64_t due_us;            /* time of TC_ON_DUE; 0: never */
    int64_t report_us;         /* GATHERING: time of the next COLLECTED message; 0: none */
    struct tc_feed feed;
    struct tc_terminal terminal;
    struct tc_again again;
    bool inside; /* the library accepts an outcome in the message itself, without a memory file */
    int64_t removed; /* number of leftovers that a CLEAN job removed */
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
/* The fds that arrived with a job; -1: absent. */
struct tc_job_fds {
    int socket, plan, input, secrets, exchanges;
    const char *inside; /* the plan itself (job->plan_bytes bytes), if not in a file; borrowed */
};
/* Begins a job. Takes ownership of the fds, also on failure. Returns the job with `others` (a list
 * of jobs) as its successors; NULL when out of memory. */
struct tc_job_record *tc_job_new(struct tc_loop *loop, struct tc_workers *workers,
                                 const struct tc_job *job, const struct tc_job_fds *fds,
                                 struct tc_job_record *others);
/* Is the sweep for leftovers of dead helpers running? */
bool tc_job_sweeping(void);
/* Called when a probe's cage has ended: adds its result to the outcome, and begins the next
 * executor's probe. False: none is left, and the outcome is complete. */
bool tc_job_next_probe(struct tc_job_record *job);
/* The cage of a job was released: begins another attempt, if one must follow. */
void tc_job_cleared(struct tc_job_record *job);
/* Prepares the cage, perhaps in a worker thread, and then starts it. */
void tc_job_prepare(struct tc_job_record *job);
/* The next four are actions of the state table in job.c. */
/* The worker thread has returned the cage: copies its result, a failure or none, to the outcome. */
void tc_job_take_over(struct tc_job_record *job);
/* The job has waited too long for a worker thread: fails it, unless a thread has begun. */
void tc_job_refuse(struct tc_job_record *job);
/* The call is ended before its cage is prepared: answers it now. A worker thread that has begun
 * continues, and the cage is released when the thread returns it. */
void tc_job_abandon(struct tc_job_record *job);
/* Sends the outcome while a worker thread uses the cage. */
void tc_job_leave(struct tc_job_record *job);

/* again.c: another attempt at the cage. Before the cage is made: keeps what another attempt needs.
 * Once no other attempt can follow: closes it. */
void tc_again_keep(struct tc_job_record *job);
void tc_again_drop(struct tc_job_record *job);
/* Instead of the answer: true if another attempt must follow once the cage is released. */
bool tc_again_wanted(struct tc_job_record *job);
/* The record as it was before the first attempt, with the adjusted plan. */
void tc_again_reset(struct tc_job_record *job);

/* job.c */
/* Connects the job's fds with their handlers; watches none yet. */
void tc_job_attach(struct tc_job_record *job);
/* Watches an fd in this role; fd -1: stops watching. False: the fd cannot be watched. */
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
/* Handles the times that are over: the call's timeout, the state's limit, the cage's next look. */
void tc_job_tick(struct tc_job_record *job, int64_t now_us);
/* The helper exits: ends the job as if the library had closed its socket. */
void tc_job_end(struct tc_job_record *job);
/* Closes the job's socket and input: no more messages are sent. */
void tc_job_hang_up(struct tc_job_record *job);
/* Only while no worker thread uses the cage. */
void tc_job_free(struct tc_job_record *job);

/* job.c, for begin.c and deliver.c */
/* What an event does in one state. */
struct tc_job_row {
    void (*act)(struct tc_job_record *job); /* called after the state was set to `next` */
    enum tc_job_state next;
};
extern const struct tc_job_row tc_job_rows[TC_ON_EVENTS][TC_IS_STATES];
/* Handles an event: sets the next state, then calls the action. */
void tc_job_step(struct tc_job_record *job, enum tc_job_event event);
/* Fails the call with errno, because one of its fds cannot be watched; -1. */
int tc_job_not_watched(struct tc_job_record *job);
/* Sends the outcome; then releases the cage, unless a worker thread uses it or a process of it is
 * alive. A probe job begins its next probe instead, if there is one. */
void tc_job_answer(struct tc_job_record *job);
/* Releases the cage of a job in TC_IS_ENDED. If its processes are alive, kills them and releases
 * the cage later. */
void tc_job_clear(struct tc_job_record *job);

/* deliver.c: sends output and outcome to the library. If the socket is full, the rest is sent when
 * the socket accepts more: the helper never blocks on a library that does not read. */
/* Adds a timing to the outcome: the step took from since_us until now. */
void tc_job_mark(struct tc_job_record *job, const char *step, int64_t since_us);
/* Decides the call's status. `counter` is the limit that the cage's usage has reached, or NULL. */
void tc_job_judge(struct tc_job_record *job, const char *counter);
/* Sends output that the library has not received yet. */
void tc_deliver_stream(struct tc_job_record *job);
enum { TC_REPORT_US = 500000 }; /* interval between COLLECTED messages */
/* Of a live session: sends that it accepts commands. */
void tc_deliver_ready(struct tc_job_record *job);
/* Sends how many changes are collected so far, and sets the time of the next message. */
void tc_deliver_collected(struct tc_job_record *job, int64_t now);
/* Sends the rest of the output and the outcome, and then closes the job's socket. */
void tc_deliver(struct tc_job_record *job);
/* The socket accepts more: continues with one of the two. */
void tc_deliver_more(struct tc_job_record *job);

/* terminal.c */
/* Called after each event of the cage: watches the terminal when the cage has sent it. False: it
 * cannot be watched. */
bool tc_terminal_attach(struct tc_job_record *job);
/* The caller's pipe is readable: writes its bytes to the terminal. */
void tc_terminal_typed(struct tc_source *source);
/* Writes pending input to the terminal. */
void tc_terminal_feed(struct tc_job_record *job);
/* The caller's window has this size now. */
void tc_terminal_resize(struct tc_job_record *job, uint16_t rows, uint16_t columns);

#endif
