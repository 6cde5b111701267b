/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The directory of the queue and its files, for both sides. */
#ifndef TC_APPROVE_QUEUE_STORE_H
#define TC_APPROVE_QUEUE_STORE_H

#include "approve/queue/queue.h"
#include "base/cleanup.h"
#include "base/strv.h"

/* Opens the directory, and makes it if it is missing. An fd, or a negative code: another user can
 * write it, or it is a link. */
int tc_queue_open(struct tc_fault *fault);
/* The same for another directory of this name next to it. */
int tc_queue_place(const char *name, struct tc_fault *fault);
/* Locks the directory, which every process does that adds or removes what is not its own. An fd
 * whose close is the unlock, or a negative code. */
int tc_queue_lock(int dir, struct tc_fault *fault);
/* The ids of the waiting requests, in their order. The caller has the lock; what dead processes
 * left is removed. 0, or a negative code. */
int tc_queue_ids(int dir, struct tc_strv *ret, struct tc_fault *fault);
/* Opens the request with this id. -1: none. */
int tc_queue_request(int dir, const char *id);
/* Has this open file lost its name? */
bool tc_queue_removed(int fd);
/* Does the host of this open request still wait? */
bool tc_queue_waits(int request);

/* Reads the text of a request. False: it is none, or its subject does not have its digest. */
bool tc_queue_parse(const char *text, size_t length, const char *id, struct tc_queued *ret);
/* Makes a file with a temporary name, accessible to this user only. An fd, or -1 with errno. */
int tc_queue_make(int dir, char **ret_name, const char *bytes, size_t length);

/* An answer that was read. */
struct tc_queue_verdict {
    enum tc_answer answer; /* TC_ANSWER_NONE: there is no file */
    const char *unusable;  /* why the file does not answer this request; NULL: it does */
    char *reason;          /* owned; NULL: none */
};
/* Reads the answer to the request with this id and digest. Blocks on no kind of file. */
struct tc_queue_verdict tc_queue_verdict(int dir, const char *id, const char *digest);

/* "ID.claim" */
extern const char tc_queue_claim_end[];
/* "ID.json" and "ID.answer" */
enum { TC_QUEUE_NAME_SIZE = TC_QUEUE_ID_SIZE + 8 };
void tc_queue_request_name(const char *id, char ret[TC_QUEUE_NAME_SIZE]);
void tc_queue_answer_name(const char *id, char ret[TC_QUEUE_NAME_SIZE]);

#endif
