/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A helper in a thread: speaks the protocol, runs nothing, answers what the command line says (ok,
 * failed, timeout, limit or hang, then exit=N stdout=TEXT stderr=TEXT limit=NAME), and can be told
 * to misbehave. */
#ifndef TC_TESTS_UNIT_CALL_PEER_H
#define TC_TESTS_UNIT_CALL_PEER_H

#include <pthread.h>
#include <toolcage/engine.h>

#include "plan/outcome.h"
#include "plan/protocol.h"

enum peer_manner {
    PEER_HONEST,
    PEER_VANISH,     /* closes the job without an answer */
    PEER_LEAVE,      /* closes the engine's socket too */
    PEER_GARBAGE,    /* an outcome that is none */
    PEER_TRAILING,   /* an outcome with more behind it */
    PEER_UNSEALED,   /* a memory file that could still shrink */
    PEER_NO_FILE,    /* DONE without an outcome */
    PEER_SHORT,      /* a message shorter than its head */
    PEER_INSIDE,     /* an honest one, with the outcome in the message; */
    PEER_INSIDE_CUT, /* with a byte less of it */
};

struct peer {
    int sock;
    enum peer_manner manner;
    bool hang_up; /* a call that hangs is to end by end-of-file, not by a cancel */
    pthread_t thread;
    pthread_mutex_t lock; /* held while a job is served */
    /* what an honest one answers, when set: for outcomes that no word can say */
    void (*answer)(struct tc_outcome *outcome);
    /* what it saw last; look at it after peer_settle() */
    struct tc_job job;
    struct tc_buf input;
    size_t calls;
};

/* Starts the thread and makes an engine over the other end of its socket. */
void peer_start(struct peer *peer, enum peer_manner manner, struct toolcage_engine **ret);
/* Waits for the end of the job that is being served. */
void peer_settle(struct peer *peer);
/* After the engine's last unref. */
void peer_join(struct peer *peer);

#endif
