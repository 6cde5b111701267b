/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Who puts trees away holds them last: a process that was cloned meanwhile never has to. What tells
 * is the end of a pipe in a tree's place, which hangs up with its last holder. */
#include "tree/tree.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../backend/test.h"
#include "base/fd.h"
#include "base/sys.h"

enum { SOON_MS = 50, LATE_MS = 5000 };

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static void open_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

/* Cloned for somebody else's call: it holds everything, but for one thing, until it is told to let
 * go. */
struct other {
    pid_t pid;
    int go, gone;
};

static struct other begin_other_without(int fd)
{
    int go[2], gone[2];
    char c;
    open_pipe(go);
    open_pipe(gone);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int kept[] = {go[0], gone[1]};
        (void)close(go[1]);
        (void)close(fd);
        if (read(go[0], &c, 1) == 1)
            tc_close_but(kept, 2);
        if (write(gone[1], "", 1) == 1)
            (void)pause();
        _exit(1);
    }
    (void)close(go[0]);
    (void)close(gone[1]);
    return (struct other){pid, go[1], gone[0]};
}

static struct other begin_other(void)
{
    return begin_other_without(-1);
}

static void let_go(const struct other *o)
{
    assert_int_equal(write(o->go, "", 1), 1);
    assert_true(readable(o->gone, LATE_MS));
}

static void end_other(const struct other *o)
{
    (void)kill(o->pid, SIGKILL);
    assert_int_equal(waitpid(o->pid, NULL, 0), o->pid);
    (void)close(o->go);
    (void)close(o->gone);
}

/* A call whose end puts away its tree. */
struct call {
    struct tc_trees trees;
    int tree, last; /* hangs up */
    pthread_t thread;
};

static void open_call(struct call *c)
{
    int ends[2];
    open_pipe(ends);
    *c = (struct call){.tree = ends[1], .last = ends[0]};
    tc_trees_know_holders();
    assert_int_equal(tc_tree_keep(&c->trees, c->tree), c->tree);
}

static void *put_away(void *arg)
{
    tc_trees_put_away(&((struct call *)arg)->trees);
    return NULL;
}

/* Until no process can be cloned with it any more. */
static void begin_end(struct call *c)
{
    assert_int_equal(pthread_create(&c->thread, NULL, put_away, c), 0);
    for (int i = 0; i < LATE_MS && fcntl(c->tree, F_GETFD) >= 0; i++)
        (void)usleep(1000);
    assert_int_equal(fcntl(c->tree, F_GETFD), -1);
}

static void await_end(struct call *c)
{
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    assert_true(readable(c->last, 0));
    (void)close(c->last);
    tc_trees_done(&c->trees);
}

static void unshared_tree_is_released_at_once(void **state)
{
    struct call c;
    (void)state;
    open_call(&c);
    begin_end(&c);
    await_end(&c);
}

static void earlier_clone_is_waited_for(void **state)
{
    struct call c;
    (void)state;
    open_call(&c);
    struct other o = begin_other();
    begin_end(&c);
    let_go(&o);
    await_end(&c);
    end_other(&o);
}

/* Held by a thread of ours: who might have held it, too, has not said yet that it does not. */
static void it_is_held_meanwhile(void **state)
{
    struct call c;
    (void)state;
    open_call(&c);
    struct other o = begin_other(), waited = begin_other_without(c.tree);
    begin_end(&c);
    let_go(&o);
    assert_false(readable(c.last, SOON_MS));
    let_go(&waited);
    await_end(&c);
    end_other(&waited);
    end_other(&o);
}

static void later_clone_is_not_waited_for(void **state)
{
    struct call c;
    (void)state;
    open_call(&c);
    struct other before = begin_other();
    begin_end(&c);
    struct other after = begin_other();
    let_go(&before);
    await_end(&c);
    end_other(&before);
    end_other(&after);
}

/* Its holder may have been cloned before another tree was put away. */
static void times_before_the_last_one_count(void **state)
{
    struct call first, second;
    (void)state;
    open_call(&first);
    open_call(&second);
    struct other o = begin_other();
    begin_end(&first);
    begin_end(&second);
    assert_false(readable(second.last, SOON_MS));
    let_go(&o);
    await_end(&first);
    await_end(&second);
    end_other(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unshared_tree_is_released_at_once),
        cmocka_unit_test(earlier_clone_is_waited_for),
        cmocka_unit_test(it_is_held_meanwhile),
        cmocka_unit_test(later_clone_is_not_waited_for),
        cmocka_unit_test(times_before_the_last_one_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
