/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Worker threads of the helper, for tasks that take long or may wait for a file system. The event
 * loop submits a task and is notified of its end by an fd, so that one call's files cannot delay
 * another call's deadline.
 *
 * A thread is created when a task finds none idle, up to a maximum; a few idle threads are kept. A
 * task that never ends blocks only its thread. Only the event loop's thread clones cages, because
 * cages die with the thread that cloned them. */
#ifndef TC_HELPER_WORKER_H
#define TC_HELPER_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "helper/loop.h"

enum { TC_WORKERS_MAX = 32 };

struct tc_task {
    void (*work)(struct tc_task *task); /* in a worker thread */
    void (*done)(struct tc_task *task); /* on the event loop, afterwards */
    void *owner;
    struct tc_task *next; /* in one of the lists of struct tc_workers */
};

struct tc_tasks {
    struct tc_task *first, **end;
};

struct tc_workers {
    struct tc_source source;
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct tc_tasks waiting, finished;
    unsigned threads, idle, queued; /* threads in all; threads without a task; tasks in `waiting` */
};

/* Called before the first task; creates no thread yet. The record must not move. 0, or -1 with
 * errno. */
int tc_workers_open(struct tc_workers *workers, struct tc_loop *loop);
/* Gives the task to a thread. The caller owns the task and must not free it before done() was
 * called, on the event loop. 0, or -1 with errno: no thread can be created. */
int tc_workers_give(struct tc_workers *workers, struct tc_task *task);
/* Would a thread start on a task at once? */
bool tc_workers_free(struct tc_workers *workers);
/* Takes a task back that no thread has started: true, and done() will not be called. False: a
 * thread has started it. */
bool tc_workers_take_back(struct tc_workers *workers, struct tc_task *task);

#endif
