/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Workers: threads of the helper for what may wait for a file system or takes long. The loop gives
 * a task away and hears of its end by a descriptor, so nobody's deadline waits for anybody's files.
 *
 * Threads are made when a task finds none idle, up to a bound; a few stay. A task that waits for
 * ever costs its thread and nothing else. Only the loop's thread clones cages: they die with the
 * thread that made them. A task that tries a container waits for its end. */
#ifndef TC_HELPER_WORKER_H
#define TC_HELPER_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "helper/loop.h"

enum { TC_WORKERS_MAX = 32 };

struct tc_task {
    void (*work)(struct tc_task *task); /* on a thread of its own */
    void (*done)(struct tc_task *task); /* on the loop, afterwards */
    void *owner;
    struct tc_task *next; /* the workers' */
};

struct tc_tasks {
    struct tc_task *first, **end;
};

struct tc_workers {
    struct tc_source source;
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct tc_tasks waiting, finished;
    unsigned threads, idle, queued;
};

/* Before the first task; no thread is made yet. The record must not move. 0, or -1 with errno. */
int tc_workers_open(struct tc_workers *workers, struct tc_loop *loop);
/* The task stays the caller's, and must stay until done(), which is called on the loop. 0, or -1
 * with errno: not even one thread can be made. */
int tc_workers_give(struct tc_workers *workers, struct tc_task *task);
/* Would one begin with a task at once? */
bool tc_workers_free(struct tc_workers *workers);
/* True: no worker had begun with it; done() will not be called. */
bool tc_workers_take_back(struct tc_workers *workers, struct tc_task *task);

#endif
