/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Births in another control group, with a process that shares our memory. */
#include "cage/spawner.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/sys.h"

enum { STACK = 256 * 1024, PATIENCE_NS = 20000000 };

enum turn { HELPERS = 0, SPAWNERS = 1 };

struct tc_spawner {
    _Atomic int32_t turn;
    pid_t pid, helper;
    char *stack;
    struct clone_args *args;
    const struct tc_box *box;
    pid_t result;
    int errnum;
};

/* futex(2) without errno: the two processes share one, and the waiting one must not touch it while
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
#error "no raw futex call for this processor"
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
    if (getppid() != s->helper) /* it went before: its descriptors would stay open in us */
        _exit(1);
    for (;;) {
        while (atomic_load(&s->turn) != SPAWNERS)
            (void)wait_while(&s->turn, HELPERS);
        pid_t pid = tc_clone3(s->args);
        if (pid == 0)
            tc_box_enter(s->box);
        s->result = pid;
        s->errnum = errno;
        give_turn(s, HELPERS);
    }
    return 0;
}

static int start(struct tc_spawner *s)
{
    atomic_store(&s->turn, HELPERS);
    s->helper = getpid();
    s->pid = clone(live, s->stack + STACK, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, s);
    return s->pid < 0 ? -1 : 0;
}

struct tc_spawner *tc_spawner_new(void)
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
    if (start(s) == 0)
        return s;
    (void)munmap(s->stack, STACK);
    free(s);
    return NULL;
}

pid_t tc_spawner_pid(const struct tc_spawner *s)
{
    return s->pid;
}

bool tc_spawner_lives(const struct tc_spawner *s)
{
    siginfo_t info = {0};
    return s->pid > 0 && waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           !info.si_pid;
}

int tc_spawner_revive(struct tc_spawner *s)
{
    while (s->pid > 0 && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return start(s);
}

pid_t tc_spawner_clone(struct tc_spawner *s, struct clone_args *args, const struct tc_box *box)
{
    struct timespec patience = {.tv_nsec = PATIENCE_NS};
    s->args = args;
    s->box = box;
    give_turn(s, SPAWNERS);
    while (atomic_load(&s->turn) != HELPERS) {
        long rc =
            tc_sys(SYS_futex, TC_ARG(&s->turn), FUTEX_WAIT, SPAWNERS, TC_ARG(&patience), 0, 0);
        if (rc < 0 && errno == ETIMEDOUT && !tc_spawner_lives(s)) {
            errno = ESRCH; /* killed; the next call starts another */
            return -1;
        }
    }
    errno = s->errnum;
    return s->result;
}

void tc_spawner_free(void *spawner)
{
    struct tc_spawner *s = spawner;
    if (!s)
        return;
    if (s->pid > 0)
        (void)kill(s->pid, SIGKILL); /* our own child, not yet reaped: the pid is still its */
    while (s->pid > 0 && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)munmap(s->stack, STACK);
    free(s);
}
