/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Clones a cage's processes into its namespaces and cgroup, with its ids.
 *
 * With cgroup v1 a process starts in its parent's cgroup, and moving a process takes milliseconds.
 * So each cgroup gets a spawner: a process that shares the helper's memory and fds, is moved into
 * the cgroup once, and clones cages there. Helper and spawner alternate: one works while the other
 * waits, like two coroutines. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"

/* ---- cloning into another cgroup (v1) ---- */

enum { STACK = 256 * 1024, PATIENCE_NS = 20000000 };

enum turn { HELPERS = 0, SPAWNERS = 1 };

struct tc_spawner {
    _Atomic int32_t turn;
    pid_t pid, helper;
    char *stack;
    struct clone_args *args;
    const struct tc_init_config *init;
    pid_t result;
    int errnum;
};

/* futex(2) without errno: both processes share errno, and the waiting one must not write it while
 * the other works. */
static long wait_while(_Atomic int32_t *word, int32_t value)
{
    long result;
#if defined(__x86_64__)
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_futex), "D"(word), "S"((long)FUTEX_WAIT), "d"((long)value),
                       "r"(timeout)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long nr __asm__("x8") = SYS_futex;
    register long a0 __asm__("x0") = (long)word;
    register long a1 __asm__("x1") = FUTEX_WAIT;
    register long a2 __asm__("x2") = value;
    register long a3 __asm__("x3") = 0;
    __asm__ volatile("svc 0" : "+r"(a0) : "r"(nr), "r"(a1), "r"(a2), "r"(a3) : "memory");
    result = a0;
#else
#error "no raw futex call for this CPU architecture"
#endif
    return result;
}

static void give_turn(struct tc_spawner *s, int32_t to)
{
    atomic_store(&s->turn, to);
    (void)tc_sys(SYS_futex, TC_ARG(&s->turn), FUTEX_WAKE, 1, 0, 0, 0);
}

static int live(void *arg)
{
    struct tc_spawner *s = arg;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->helper) /* the helper died before; its fds would stay open here */
        _exit(1);
    for (;;) {
        while (atomic_load(&s->turn) != SPAWNERS)
            (void)wait_while(&s->turn, HELPERS);
        pid_t pid = tc_clone3(s->args);
        if (pid == 0)
            tc_init_enter(s->init);
        s->result = pid;
        s->errnum = errno;
        give_turn(s, HELPERS);
    }
    return 0;
}

static int start_spawner(struct tc_spawner *s)
{
    atomic_store(&s->turn, HELPERS);
    s->helper = getpid();
    s->pid = clone(live, s->stack + STACK, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, s);
    return s->pid < 0 ? -1 : 0;
}

/* Starts a spawner; NULL with errno. */
static struct tc_spawner *make_spawner(void)
{
    struct tc_spawner *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (s->stack == MAP_FAILED) {
        free(s);
        return NULL;
    }
    if (start_spawner(s) == 0)
        return s;
    (void)munmap(s->stack, STACK);
    free(s);
    return NULL;
}

/* False: the spawner was killed; it must be restarted and moved into the cgroup again. */
static bool lives(const struct tc_spawner *s)
{
    siginfo_t info = {0};
    return s->pid > 0 && waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           !info.si_pid;
}

static int revive(struct tc_spawner *s)
{
    while (s->pid > 0 && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return start_spawner(s);
}

/* clone3(args) in the spawner. The child, whose parent is the helper, enters the init config. The
 * child's pid, or -1 with errno. */
static pid_t clone_there(struct tc_spawner *s, struct clone_args *args,
                         const struct tc_init_config *init)
{
    struct timespec patience = {.tv_nsec = PATIENCE_NS};
    s->args = args;
    s->init = init;
    give_turn(s, SPAWNERS);
    while (atomic_load(&s->turn) != HELPERS) {
        long rc =
            tc_sys(SYS_futex, TC_ARG(&s->turn), FUTEX_WAIT, SPAWNERS, TC_ARG(&patience), 0, 0);
        if (rc < 0 && errno == ETIMEDOUT && !lives(s)) {
            errno = ESRCH; /* the spawner was killed; the next call starts another */
            return -1;
        }
    }
    errno = s->errnum;
    return s->result;
}

/* Ends the spawner; NULL is fine. Usable as a cgroup's discard function. */
static void end_spawner(void *spawner)
{
    struct tc_spawner *s = spawner;
    if (!s)
        return;
    if (s->pid > 0)
        (void)kill(s->pid, SIGKILL); /* own child, not yet reaped: the pid cannot be reused */
    while (s->pid > 0 && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)munmap(s->stack, STACK);
    free(s);
}

/* ---- cloning into any cgroup ---- */

/* Namespaces that clone3 must create. The child creates the others itself, without blocking the
 * helper: a network namespace takes half a millisecond. */
enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWCGROUP };

/* The ids that the tool sees if the caller is root of a host or container; else the caller's
 * own. */
enum { INSIDE = 1000 };

unsigned tc_process_inside(const struct tc_process_host *h, unsigned id)
{
    return h->tree->privileged || id == 0 ? INSIDE : id;
}

void tc_process_set_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init)
{
    init->wait_for_maps = host->tree->privileged;
    init->uid = tc_process_inside(host, host->tree->uid);
    init->gid = tc_process_inside(host, host->tree->gid);
    tc_id_map(init->uid_map, init->uid, host->tree->privileged ? id : host->tree->uid);
    tc_id_map(init->gid_map, init->gid, host->tree->privileged ? id : host->tree->gid);
}

static struct tc_spawner *resident(struct tc_cgroup *group)
{
    struct tc_spawner *s = tc_cgroup_resident(group);
    if (s && lives(s))
        return s;
    if (s) /* the group owns the spawner already and keeps it on failure */
        return revive(s) == 0 && tc_cgroup_settle(group, s->pid, end_spawner, s) == 0 ? s : NULL;
    s = make_spawner();
    if (s && tc_cgroup_settle(group, s->pid, end_spawner, s) < 0) {
        int saved = errno;
        end_spawner(s);
        errno = saved;
        return NULL;
    }
    return s;
}

pid_t tc_process_clone(struct tc_cgroup *group, const struct tc_init_config *init, int *ret_pidfd)
{
    /* the pidfd comes with the clone: opened later it could fail, and the exit could not be
     * awaited */
    struct clone_args args = {.flags = NAMESPACES | CLONE_CLEAR_SIGHAND | CLONE_PIDFD,
                              .pidfd = (uintptr_t)ret_pidfd};
    if (group && tc_cgroup_fd(group) < 0) {
        struct tc_spawner *s = resident(group);
        /* a child of the helper, so it is reaped by the helper and dies with it */
        args.flags |= CLONE_PARENT;
        return s ? clone_there(s, &args, init) : -1;
    }
    args.exit_signal = SIGCHLD;
    if (group) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)tc_cgroup_fd(group);
    }
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        tc_init_enter(init);
    return pid;
}

int tc_process_announce(const struct tc_process_host *host, int report)
{
    const unsigned ids[2] = {tc_process_inside(host, host->tree->uid),
                             tc_process_inside(host, host->tree->gid)};
    return tc_send(report, ids, sizeof(ids), NULL, 0);
}

int tc_process_map_ids(pid_t pid, const struct tc_init_config *init, int report)
{
    char proc[16];
    if (!init->wait_for_maps)
        return 0;
    (void)snprintf(proc, sizeof(proc), "%d", (int)pid);
    if (tc_write_id_maps(proc, init->uid_map, init->gid_map, 0) < 0)
        return -1;
    return tc_send(report, "", 1, NULL, 0);
}
