/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The observer of one cage, from the arrival of its listener to its end. If a separate process
 * serves the cage's notifications (the watcher), this file starts and ends it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "observe/broker.h"
#include "observe/observe.h"
#include "observe/watch.h"

enum { LEFT_MAX = 64 };

/* Watchers that were killed, but not reaped yet. */
static pid_t left[LEFT_MAX];
static size_t left_count;

/* ---- the process ---- */

/* Closes all fds of this and other cages, except one. */
static void close_all_but(int fd)
{
    if (fd > 0)
        (void)tc_close_range(0, (unsigned)fd - 1, 0);
    (void)tc_close_range((unsigned)fd + 1, ~0U, 0);
}

/* SERVED: continue. NOBODY: no process uses the filter any longer. BROKEN: a reply cannot be sent.
 */
enum { SERVED, NOBODY, BROKEN };

/* Waits for the next event and serves it. */
static int serve_notifications(struct tc_cage *cage, int listener)
{
    struct pollfd ready[1 + TC_BROKER_MAX] = {{.fd = listener, .events = POLLIN}};
    int ms;
    size_t more = tc_broker_waits(ready + 1, &ms);
    if (poll(ready, 1 + more, ms) < 0)
        return errno == EINTR ? SERVED : BROKEN;
    if (more)
        tc_broker_look(cage, listener);
    if (ready[0].revents & POLLHUP)
        return NOBODY;
    return !ready[0].revents || tc_notify_serve(cage, listener) ? SERVED : BROKEN;
}

static _Noreturn void observe(struct tc_cage *cage, pid_t helper)
{
    struct tc_observer *o = cage->observer;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (o->of.unix_sockets && !tc_broker_open(cage))
        tc_seen_break(cage);
    close_all_but(o->listener);
    int rc = SERVED;
    while (getppid() == helper && rc == SERVED)
        rc = serve_notifications(cage, o->listener);
    if (rc == BROKEN)
        tc_seen_break(cage);
    _exit(0);
}

/* Starts a separate process for a cage whose paths are observed, or whose connects the broker
 * makes; a slow look-up delays only that cage. Takes the listener. 0, or -1 with errno. */
static int start_watcher(struct tc_cage *cage)
{
    struct tc_observer *o = cage->observer;
    pid_t helper = getpid();
    o->seen = tc_seen_new();
    if (!o->seen)
        return -1;
    /* by fork(), so that no other thread can hold the child's allocator lock */
    o->watcher_pid = fork();
    if (o->watcher_pid == 0)
        observe(cage, helper);
    if (o->watcher_pid < 0) {
        o->watcher_pid = 0;
        return -1;
    }
    /* with a copy in the helper, the tool would wait forever if the watcher died */
    (void)close(o->listener);
    o->listener = -1;
    return 0;
}

/* The watcher exits by itself with the cage's last process. A watcher that was killed releases
 * the listener, and with it the tool, a moment before it can be reaped. */
static void check_end(struct tc_cage *cage)
{
    enum { LOOKS = 100, PAUSE_US = 100 };
    struct tc_observer *o = cage->observer;
    int status = 0;
    for (int i = 0; o->watcher_pid && i < LOOKS; i++) {
        if (waitpid(o->watcher_pid, &status, WNOHANG) == o->watcher_pid)
            o->watcher_pid = 0;
        else
            (void)usleep(PAUSE_US);
    }
    if ((status == 0 && !tc_seen_broken(o->seen)) || cage->outcome->failure.code)
        return;
    tc_notify_lost(cage, 0,
                   o->of.watch >= TC_WATCH_PATHS
                       ? "the process that observed the tool's paths ended, and from then on no "
                         "path could be opened"
                       : "the process that connected in the tool's place ended, and from then on "
                         "no connection could be made");
}

void tc_watcher_finish(struct tc_cage *cage)
{
    const struct tc_observer *o = cage->observer;
    if (!o->seen)
        return;
    check_end(cage);
    tc_seen_tell(cage, o->seen);
    tc_watcher_end(cage);
}

void tc_watcher_reap(void)
{
    for (size_t i = left_count; i-- > 0;)
        if (waitpid(left[i], NULL, WNOHANG) != 0)
            left[i] = left[--left_count];
}

void tc_watcher_end(struct tc_cage *cage)
{
    struct tc_observer *o = cage->observer;
    tc_seen_free(TAKE(o->seen));
    tc_watcher_reap();
    if (!o->watcher_pid)
        return;
    (void)kill(o->watcher_pid, SIGKILL);
    /* waits for the end if the list is full */
    if (waitpid(o->watcher_pid, NULL, left_count < LEFT_MAX ? WNOHANG : 0) == 0)
        left[left_count++] = o->watcher_pid;
    o->watcher_pid = 0;
}

/* ---- the observer's life ---- */

/* Does a separate process serve the cage's notifications? */
static bool is_apart(const struct tc_observer *o)
{
    return o->of.watch >= TC_WATCH_PATHS || o->of.unix_sockets || (o->of.lasting && o->of.watch);
}

bool tc_observe_take(struct tc_cage *cage, int listener)
{
    struct tc_observer *o = cage->observer;
    o->listener = listener;
    tc_seccomp_wake_here(listener);
    o->here = listener >= 0 && !is_apart(o);
    return o->here;
}

int tc_observe_begin(struct tc_cage *cage)
{
    struct tc_observer *o = cage->observer;
    o->running = true;
    return is_apart(o) ? start_watcher(cage) : 0;
}

void tc_observe_release(struct tc_observer *o)
{
    if (o->listener >= 0)
        (void)close(o->listener);
    o->listener = -1;
    o->here = false;
}
