/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper is a grandchild of the host by two vforks. The first child has no exit signal and is
 * reaped at once by its pid, so neither SIGCHLD nor wait(-1) of the host ever sees a toolcage
 * child. No page table is copied: starting costs the same whatever the host's resident memory.
 *
 * Between clone and exec both children run in the host's memory on separate stacks, while the
 * host's calling thread waits: they make system calls, write one errno into the shared record and
 * allocate nothing.
 *
 * If this program contains the helper's code (tc_launch_within), the helper is a plain fork that
 * runs the same steps except the exec. */
#include "call/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/stacks.h"
#include "plan/protocol.h"
#include "spawn/own.h"
#include "spawn/spawn.h"
#include "state/places.h"

enum { STACK = 64 << 10, KERNEL_SIGSET = 8, ABOVE = 10, AWAKE_US = 2000 };

void (*tc_launch_within)(const char *state);

struct launch {
    int program, sock, host, null;
    void (*within)(const char *state); /* called instead of executing the program */
    char *argv[3];
    char *stack;        /* of the children that share our memory; NULL: a fork */
    const char *failed; /* the failed step, when errnum is set */
    int errnum;
};

/* ---- in the children ---- */

static int reset_signals(struct launch *l)
{
    tc_spawn_reset_signals();
    return 0;
}

/* A terminal's ^C is sent to the host's process group; the helper must outlive it to clean up. */
static int leave_session(struct launch *l)
{
    return setsid() < 0 ? -1 : 0;
}

static int place_descriptors(struct launch *l)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(l->null, fd) < 0)
            return -1;
    return dup2(l->sock, TC_HELPER_SOCKET) < 0 || dup2(l->host, TC_HELPER_HOST) < 0 ? -1 : 0;
}

/* execveat() still needs the program's fd, so the fds are marked close-on-exec, not closed. */
static int close_others(struct launch *l)
{
    return close_range(TC_HELPER_HOST + 1, ~0U, l->within ? 0 : CLOSE_RANGE_CLOEXEC);
}

static int leave_directory(struct launch *l)
{
    return chdir("/");
}

static int execute(struct launch *l)
{
    static char *envp[] = {NULL};
    uint64_t none = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET);
    if (l->within)
        l->within(l->argv[1]);
    return execveat(l->program, "", l->argv, envp, AT_EMPTY_PATH);
}

static int become_helper(void *arg)
{
    static const struct {
        const char *name;
        int (*run)(struct launch *l);
    } steps[] = {
        {"signals", reset_signals},         {"session", leave_session},
        {"descriptors", place_descriptors}, {"close", close_others},
        {"directory", leave_directory},     {"exec", execute},
    };
    struct launch *l = arg;
    for (size_t i = 0; i < TC_COUNT(steps); i++) {
        if (steps[i].run(l) < 0) {
            l->failed = steps[i].name;
            l->errnum = errno;
            break;
        }
    }
    return 127;
}

static int vanish(void *arg)
{
    struct launch *l = arg;
    if (clone(become_helper, l->stack + 2 * STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, l) < 0) {
        l->failed = "clone";
        l->errnum = errno;
    }
    return 0;
}

/* ---- in the host ---- */

/* No cancellation point: the children's stacks are in our memory. */
static long reap_child(pid_t pid, int flags)
{
    return syscall(SYS_wait4, pid, NULL, __WALL | flags, NULL);
}

/* Polls for a while before it sleeps: a sleeping caller would be woken on the CPU where the
 * helper has begun to work, while another one is idle. */
static void await_end(pid_t pid)
{
    int64_t until = tc_now_us() + AWAKE_US;
    long ended = 0;
    while (ended == 0 && tc_now_us() < until) {
        (void)sched_yield();
        ended = reap_child(pid, WNOHANG);
    }
    while (ended == 0 || (ended < 0 && errno == EINTR))
        ended = reap_child(pid, 0);
}

/* A fork cannot report a failure; steps that may fail ran before. */
static pid_t split(struct launch *l)
{
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(become_helper(l));
    if (pid > 0)
        tc_spread(pid);
    return pid;
}

/* Blocks all signals, including libc's internal ones: a handler must not run in the children. */
static void start_helper(struct launch *l)
{
    uint64_t all = ~UINT64_C(0), before = 0;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SIGSET);
    pid_t pid = l->within ? split(l) : clone(vanish, l->stack + STACK, CLONE_VM, l);
    if (pid < 0) {
        l->failed = l->within ? "fork" : "clone";
        l->errnum = errno;
    }
    if (pid > 0 && !l->within)
        await_end(pid);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SIGSET);
}

static int above(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
    if (moved < 0 && errno == EINVAL)
        errno = EMFILE; /* fcntl() returns EINVAL where the limit is below `ABOVE` */
    return moved;
}

/* In the host fds 0 to 4 may be closed or in use, so fds that will be duplicated onto them are
 * moved above first. */
static void start_from_above(struct launch *l)
{
    _autofd_ int null = above(l->null), sock = above(l->sock), host = above(l->host),
                 program = l->within ? -1 : above(l->program);
    if (null < 0 || sock < 0 || host < 0 || (program < 0 && !l->within)) {
        l->failed = "descriptors";
        l->errnum = errno;
        return;
    }
    l->null = null;
    l->sock = sock;
    l->host = host;
    l->program = program;
    start_helper(l);
}

/* For two children, STACK bytes each. */
static bool make_stack(struct launch *l)
{
    if (l->within)
        return true;
    l->stack = mmap(NULL, 2 * (size_t)STACK, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    return l->stack != MAP_FAILED;
}

/* Starts the helper. `l` has the sockets, and the program or the function to run. */
static int launch(struct launch *l, const char *path, struct toolcage_error **err)
{
    struct tc_why why = {.code = TOOLCAGE_EHELPER, .stage = "helper", .subject = path};
    _autofd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) {
        why.code = TOOLCAGE_ESYSTEM;
        why.errnum = errno;
        return tc_fail(err, &why, "cannot open /dev/null");
    }
    static char name[] = "toolcage-helper";
    _autofree_ char *state = NULL;
    if (!tc_state_directory(&state))
        return tc_fail_memory(err);
    l->null = null;
    l->argv[0] = name;
    l->argv[1] = state;
    if (!make_stack(l))
        return tc_fail_memory(err);
    start_from_above(l);
    if (l->stack)
        tc_stack_free(l->stack, 2 * (size_t)STACK);
    if (!l->errnum)
        return 0;
    why.errnum = l->errnum;
    why.hint = "raise this process's limits (ulimit -u, ulimit -n) when they are reached, or "
               "reinstall toolcage";
    return tc_fail(err, &why, "cannot start the helper %s (step %s)", path, l->failed);
}

int tc_launch_program(const char *path, int sock, int host, struct toolcage_error **err)
{
    _autofd_ int program = -1;
    int r = tc_spawn_own_open(path, &program, err);
    struct launch l = {.program = program, .sock = sock, .host = host};
    return r < 0 ? r : launch(&l, path, err);
}

int tc_launch_helper(int sock, int host, struct toolcage_error **err)
{
    struct launch l = {.program = -1, .sock = sock, .host = host, .within = TAKE(tc_launch_within)};
    if (l.within)
        return launch(&l, "toolcage-helper", err);
    _autofree_ char *path = NULL;
    int r = tc_spawn_own_program("toolcage-helper", &path, err);
    return r < 0 ? r : tc_launch_program(path, sock, host, err);
}
