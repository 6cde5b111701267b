/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "helper/worker.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Address space only: untouched pages cost nothing. */
enum { STACK = 1 << 20, IDLE_KEPT = 2 };

static void append(struct tc_tasks *list, struct tc_task *task)
{
    task->next = NULL;
    if (!list->first)
        list->end = &list->first;
    *list->end = task;
    list->end = &task->next;
}

static struct tc_task *take_first(struct tc_tasks *list)
{
    struct tc_task *task = list->first;
    list->first = task->next;
    return task;
}

/* Waits with the lock held; NULL when enough threads are idle. */
static struct tc_task *await_task(struct tc_workers *w)
{
    while (!w->waiting.first) {
        if (w->idle > IDLE_KEPT)
            return NULL;
        (void)pthread_cond_wait(&w->given, &w->lock);
    }
    return take_first(&w->waiting);
}

/* Retries until it succeeds: a task whose end goes unnoticed would last until its call's timeout. A
 * full counter (EAGAIN) wakes the loop, too. */
static void wake(const struct tc_workers *w)
{
    const uint64_t one = 1;
    while (write(w->source.fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        continue;
}

/* Counted as idle from its creation on. */
static void *serve_jobs(void *arg)
{
    struct tc_workers *w = arg;
    struct tc_task *task;
    (void)pthread_mutex_lock(&w->lock);
    while ((task = await_task(w))) {
        w->queued--;
        w->idle--;
        (void)pthread_mutex_unlock(&w->lock);
        task->work(task);
        (void)pthread_mutex_lock(&w->lock);
        append(&w->finished, task);
        wake(w);
        w->idle++;
    }
    w->idle--;
    w->threads--;
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int add_thread(struct tc_workers *w)
{
    pthread_attr_t attr;
    pthread_t thread;
    int rc = pthread_attr_init(&attr);
    if (rc == 0) {
        (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attr, STACK);
        rc = pthread_create(&thread, &attr, serve_jobs, w);
        (void)pthread_attr_destroy(&attr);
    }
    w->threads += rc == 0;
    w->idle += rc == 0;
    errno = rc;
    return rc == 0 ? 0 : -1;
}

static void on_finished(struct tc_source *s)
{
    struct tc_workers *w = s->owner;
    uint64_t count;
    (void)pthread_mutex_lock(&w->lock);
    bool any = read(s->fd, &count, sizeof(count)) > 0;
    struct tc_task *task = any ? w->finished.first : NULL;
    w->finished.first = any ? NULL : w->finished.first;
    (void)pthread_mutex_unlock(&w->lock);
    for (struct tc_task *next; task; task = next) {
        next = task->next; /* done() may free the task or submit it again */
        task->done(task);
    }
}

int tc_workers_open(struct tc_workers *w, struct tc_loop *loop)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return -1;
    *w = (struct tc_workers){.source = {.ready = on_finished, .owner = w, .fd = -1},
                             .lock = PTHREAD_MUTEX_INITIALIZER,
                             .given = PTHREAD_COND_INITIALIZER};
    return tc_loop_watch(loop, &w->source, fd, EPOLLIN);
}

int tc_workers_give(struct tc_workers *w, struct tc_task *task)
{
    int rc = 0;
    (void)pthread_mutex_lock(&w->lock);
    if (w->queued >= w->idle && w->threads < TC_WORKERS_MAX && add_thread(w) < 0 && !w->threads) {
        rc = -1;
    } else {
        append(&w->waiting, task);
        w->queued++;
        (void)pthread_cond_signal(&w->given);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return rc;
}

bool tc_workers_free(struct tc_workers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is = w->idle > w->queued;
    (void)pthread_mutex_unlock(&w->lock);
    return is;
}

bool tc_workers_take_back(struct tc_workers *w, struct tc_task *task)
{
    (void)pthread_mutex_lock(&w->lock);
    struct tc_task **at = &w->waiting.first;
    while (*at && *at != task)
        at = &(*at)->next;
    bool found = *at != NULL;
    if (found) {
        *at = task->next;
        w->queued--;
        if (w->waiting.end == &task->next)
            w->waiting.end = at;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return found;
}
