/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The last process to close a mount's fd waits until its file system is destroyed. A process that
 * was cloned for another call has copies of all fds that the helper had then, until it sets up its
 * own cage, so that call could wait for this file system. Therefore the fds are kept here until no
 * other process has copies. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sys.h"
#include "tree/tree.h"

enum { PATIENCE_MS = 10000, STACK = 256 << 10 };

/* A pipe without data whose write end every cloned process inherits. The read end reports a hangup
 * when the last process with fds from this epoch has closed them. Each release starts a new epoch,
 * and processes cloned later do not have the old pipe. */
struct epoch {
    int read, write;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct epoch now = {-1, -1};

struct away {
    int *fds; /* room for two more */
    size_t count;
    int over; /* hangs up when no other process holds the fds */
    sem_t held;
    int rc;
};

/* A thread with a private fd table, which no cloned process copies. It also holds the write end of
 * the next epoch: waiting for that epoch includes the earlier ones. */
static void *hold(void *arg)
{
    struct away *a = arg;
    struct pollfd over = {.fd = a->over};
    a->rc = unshare(CLONE_FILES);
    if (a->rc == 0)
        tc_close_but(a->fds, a->count + 2);
    (void)sem_post(&a->held);
    if (a->rc < 0)
        return NULL;
    while (poll(&over, 1, PATIENCE_MS) < 0 && errno == EINTR)
        continue;
    (void)tc_close_range(0, ~0U, 0); /* closed here, because pthread_join() returns before the
                                        kernel closes a thread's fds */
    return NULL;
}

static int begin_epoch(struct epoch *ret)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    *ret = (struct epoch){pair[0], pair[1]};
    return 0;
}

static void end_epoch(struct epoch *e)
{
    (void)close(e->write);
    (void)close(e->read);
}

static int start_thread(struct away *a, pthread_t *ret)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return -1;
    (void)pthread_attr_setstacksize(&attr, STACK);
    rc = pthread_create(ret, &attr, hold, a);
    (void)pthread_attr_destroy(&attr);
    if (rc != 0)
        return -1;
    while (sem_wait(&a->held) < 0)
        continue;
    return 0;
}

/* Called with the lock held. Afterwards no process is cloned with these fds. */
static int hand_over(struct tc_trees *t, struct away *a, pthread_t *ret)
{
    struct epoch past = now, next;
    if (past.read < 0 || begin_epoch(&next) < 0)
        return -1;
    memcpy(a->fds, t->fds, t->fd_count * sizeof(*t->fds));
    a->fds[t->fd_count] = a->over = past.read;
    a->fds[t->fd_count + 1] = next.write;
    if (start_thread(a, ret) < 0) {
        end_epoch(&next);
        return -1;
    }
    tc_trees_release(t); /* before the epoch's pipe is closed */
    now = next;
    end_epoch(&past);
    return 0;
}

void tc_trees_know_holders(void)
{
    (void)pthread_mutex_lock(&lock);
    if (now.read < 0)
        (void)begin_epoch(&now); /* without a pipe, the last process closes the fds */
    (void)pthread_mutex_unlock(&lock);
}

void tc_trees_put_away(struct tc_trees *t)
{
    struct away a = {.count = t->fd_count};
    pthread_t holder;
    _autofree_ int *fds = calloc(t->fd_count + 2, sizeof(*fds));
    a.fds = fds;
    if (fds && sem_init(&a.held, 0, 0) == 0) {
        (void)pthread_mutex_lock(&lock);
        int rc = hand_over(t, &a, &holder);
        (void)pthread_mutex_unlock(&lock);
        if (rc == 0)
            (void)pthread_join(holder, NULL);
        (void)sem_destroy(&a.held);
    }
    tc_trees_release(t);
}
