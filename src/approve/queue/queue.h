/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The queue of approvals: a directory in the user's state where a host stores the request of a call
 * that waits, and a person the answer. It only carries both; the gate of the call decides. For the
 * command line and the MCP server, which pass an answer on with toolcage_call_approve() and
 * toolcage_call_deny(); no part of the library.
 *
 * ID.json is a request. Its host holds a lock on it, so an unlocked one is the rest of a host that
 * was killed; the next process that opens the queue removes it. ID.answer is the answer. Other
 * A program that answers holds a lock on ID.claim meanwhile. Other
 * users cannot enter the directory. Any program of the same user can answer, as it could also
 * change that user's policies. */
#ifndef TC_APPROVE_QUEUE_QUEUE_H
#define TC_APPROVE_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/fault.h"

enum {
    TC_QUEUE_MAX = 64,     /* waiting requests of a user */
    TC_QUEUE_ID_SIZE = 27, /* a ULID */
    TC_QUEUE_DIGEST_SIZE = 72,
    TC_QUEUE_REASON_MAX = 512, /* bytes */
    TC_QUEUE_CHANGES_S = 600,  /* how long a request about staged changes waits, seconds */
    /* How often a host looks for an answer. Polled, because a user may have few inotify instances
     * (often 128), and a person takes longer than this. */
    TC_QUEUE_LOOK_MS = 200,
};

/* Functions that fail fill a struct tc_fault; TOOLCAGE_EDENIED: the queue does not take this
 * request. */

/* ---- wait.c: the host ---- */

struct tc_wait; /* a waiting request */

/* TC_ANSWER_SESSION: yes, also to equal calls of the same server, for an hour. */
enum tc_answer { TC_ANSWER_NONE, TC_ANSWER_YES, TC_ANSWER_NO, TC_ANSWER_SESSION };

/* Stores `request`, the JSON of toolcage_call_approval_json(). `asker`: the
 * name of the program that waits, in small letters. 0, or a negative code. */
int tc_wait_begin(const char *request, const char *asker, struct tc_wait **ret,
                  struct tc_fault *fault);
const char *tc_wait_id(const struct tc_wait *wait);
/* Looks for the answer, without waiting. Every problem is a no: an unusable answer, the end of the
 * time, a removed request. *ret_reason: the reason, of a no usually; owned, NULL: none. */
enum tc_answer tc_wait_look(const struct tc_wait *wait, char **ret_reason);
/* Withdraws the request, if it is still stored, and frees `wait`. NULL is allowed. */
void tc_wait_end(struct tc_wait *wait);

/* review.c: the staged changes of a call that has ended */
struct tc_queue_changes {
    const char *call, *digest; /* its id, and that of toolcage_engine_changes_json() */
    const char *tool;          /* NULL: a bare command */
    int64_t count;             /* of changes */
};
/* As tc_wait_begin(). The reason of a yes says what was applied. */
int tc_wait_begin_changes(const struct tc_queue_changes *changes, const char *asker,
                          struct tc_wait **ret, struct tc_fault *fault);

/* ---- answer.c: the person ---- */

struct tc_queued {
    char id[TC_QUEUE_ID_SIZE], digest[TC_QUEUE_DIGEST_SIZE];
    int64_t created, expires; /* seconds of real time */
    char *asker;
    char *subject; /* the JSON text with this digest */
};

void tc_queued_done(struct tc_queued *queued);

/* The waiting requests, the oldest first; owned. 0, or a negative code. */
int tc_queue_list(struct tc_queued **ret, size_t *ret_count, struct tc_fault *fault);
void tc_queue_free(struct tc_queued *list, size_t count);
/* The waiting request whose id begins with `prefix`, in either case. 0, or a negative code:
 * TOOLCAGE_ENOT_FOUND: none; TOOLCAGE_EUSAGE: several. */
int tc_queue_find(const char *prefix, struct tc_queued *ret, struct tc_fault *fault);
/* The right to answer a request. While a program has it, no other one answers. */
struct tc_queue_claim {
    int dir, fd; /* the directory; the locked file; -1: not claimed */
    char name[40];
};
#define TC_QUEUE_UNCLAIMED  \
    {                       \
        .dir = -1, .fd = -1 \
    }
/* Claims a request that waits and has no answer; does nothing if `claim` has it already. 0, or a
 * negative code as tc_queue_answer(); TOOLCAGE_EUSAGE: another program is deciding. */
int tc_queue_claim(const struct tc_queued *queued, struct tc_queue_claim *claim,
                   struct tc_fault *fault);
void tc_queue_unclaim(struct tc_queue_claim *claim);
/* As tc_queue_answer(), with the claim. */
int tc_queue_answer_claimed(const struct tc_queue_claim *claim, const struct tc_queued *queued,
                            enum tc_answer said, const char *reason, struct tc_fault *fault);
/* Stores the answer to exactly this request; the first answer counts. `reason` is for the model;
 * NULL: none. Returns when the host has read it: 0; after a few seconds without that: 1. Negative:
 * TOOLCAGE_ENOT_FOUND: the call no longer waits; TOOLCAGE_EUSAGE: it was answered. */
int tc_queue_answer(const struct tc_queued *queued, enum tc_answer said, const char *reason,
                    struct tc_fault *fault);

/* Stores the answer without waiting for its reader, for a program that may be that reader. 0, or a
 * negative code as tc_queue_answer(). */
int tc_queue_post(const struct tc_queued *queued, enum tc_answer said, const char *reason,
                  struct tc_fault *fault);

/* ---- last.c: the last approved subject of a tool under a policy ---- */

/* Stores it for the next question, which shows what differs. It approves nothing, so a failure does
 * not matter. `policy`: its digest. */
void tc_last_approved_keep(const char *tool, const char *policy, const char *subject,
                           size_t length);
/* Owned; NULL: none. *ret_at: when it was approved, in seconds. */
char *tc_last_approved_read(const char *tool, const char *policy, int64_t *ret_at);

/* ---- kept.c: calls that only a person starts ---- */

/* A call of a tool of tier ManualOnly that a model asked for. It is stored for a day. */
struct tc_kept {
    char id[TC_QUEUE_ID_SIZE];
    int64_t created;        /* seconds of real time */
    char *policy, *digest;  /* path and digest of the policy */
    char *directory;        /* where to start */
    char *workspace;        /* NULL: that directory */
    char *tool, *arguments; /* arguments: a JSON object */
};

void tc_kept_done(struct tc_kept *kept);
/* The stored calls, the oldest first; owned. 0, or a negative code. */
int tc_kept_list(struct tc_kept **ret, size_t *ret_count, struct tc_fault *fault);
void tc_kept_free(struct tc_kept *list, size_t count);
/* Stores a call; `id` and `created` are chosen here. 0, or a negative code. */
int tc_kept_store(const struct tc_kept *kept, char ret_id[TC_QUEUE_ID_SIZE],
                  struct tc_fault *fault);
/* Removes a call, so that only this caller starts or denies it. 0, or a negative code:
 * TOOLCAGE_ENOT_FOUND: another one was first. */
int tc_kept_take(const char *id, struct tc_fault *fault);

#endif
