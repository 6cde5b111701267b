/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attacks on the processes that manage a call: fds and limits of PID 1 and other processes, the
 * parent, a flood of refused calls, scheduling, regained privileges, programs without a file. */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>

#include "attack.h"

enum { FDS = 24, IO_REALTIME = 1 << 13 };

/* Its own pipes do not count, even in another process. gVisor lets every process read /proc/PID/fd,
 * and PID 1 of a cage has the tool's pipes open for a moment. */
static bool is_own(int fd)
{
    struct stat st, own;
    for (int i = 0; i <= 2; i++)
        if (fstat(fd, &st) == 0 && fstat(i, &own) == 0 && st.st_dev == own.st_dev &&
            st.st_ino == own.st_ino)
            return true;
    return false;
}

static void got_foreign(const char *what, int fd)
{
    if (is_own(fd))
        (void)close(fd);
    else if (fd >= 0)
        got_content(what, fd);
}

/* PID…: copies open fds of other processes. */
static void foreign_descriptors(char **args)
{
    for (; *args; args++) {
        int pidfd = (int)syscall(SYS_pidfd_open, number(*args), 0);
        for (int fd = 0; fd < FDS; fd++) {
            char path[64];
            int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
            got_foreign("a copied descriptor", copy);
            (void)snprintf(path, sizeof(path), "/proc/%s/fd/%d", *args, fd);
            copy = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
            got_foreign(path, copy);
        }
        missed(*args);
    }
}

/* Stops and kills its parent, which may be a supervisor or may report the call's end. */
static void parent(char **args)
{
    (void)args;
    if (kill(getppid(), SIGSTOP) < 0 || kill(getppid(), SIGKILL) < 0)
        missed("the parent");
    (void)usleep(500000);
}

/* Takes a higher priority than all other processes of the host. */
static void realtime(char **args)
{
    const struct sched_param most = {.sched_priority = 1};
    (void)args;
    if (sched_getscheduler(0) == SCHED_FIFO || getpriority(PRIO_PROCESS, 0) < 0)
        got("a priority that it was born with");
    if (sched_setscheduler(0, SCHED_FIFO, &most) == 0)
        got("a realtime policy");
    else
        missed("sched_setscheduler");
    if (setpriority(PRIO_PROCESS, 0, -5) == 0)
        got("a negative nice value");
    else
        missed("setpriority");
    if (syscall(SYS_ioprio_set, 1, 0, IO_REALTIME) == 0)
        got("realtime input and output");
    else
        missed("ioprio_set");
}

/* Prints its resource limits. */
static void limits(char **args)
{
    (void)args;
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit l;
        if (getrlimit((__rlimit_resource_t)resource, &l) == 0)
            (void)printf("%d %llu %llu\n", resource, (unsigned long long)l.rlim_cur,
                         (unsigned long long)l.rlim_max);
    }
}

/* Reports signals that are ignored or blocked at its start. */
static void signals(char **args)
{
    sigset_t blocked;
    (void)args;
    (void)sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int sig = 1; sig < SIGRTMIN; sig++) {
        struct sigaction now;
        if (sigismember(&blocked, sig) == 1)
            got("signal %d is blocked", sig);
        if (sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            got("signal %d is ignored", sig);
    }
}

/* SECONDS: makes as many refused calls as possible, in four processes that ignore SIGTERM. */
static void refusals(char **args)
{
    const time_t end = time(NULL) + number(args[0]);
    (void)signal(SIGTERM, SIG_IGN);
    (void)fork();
    (void)fork();
    while (time(NULL) < end) {
        for (int i = 0; i < 1000; i++)
            (void)syscall(SYS_swapoff, "");
    }
    got("all its time");
}

/* ARGUMENT…: runs itself from a memfd, with these arguments. */
static void from_memory(char **args)
{
    char bytes[65536], name[] = "attack", *argv[16] = {name};
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = (int)memfd_create("attack", 0);
    for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) > 0;) {
        if (write(to, bytes, (size_t)n) != n)
            missed("write");
    }
    for (size_t i = 1; i < 15 && *args; i++)
        argv[i] = *args++;
    (void)fchmod(to, 04755);
    (void)syscall(SYS_execveat, to, "", argv, environ, AT_EMPTY_PATH);
    missed("execveat");
}

/* COMMAND…: executes the command, with its own program file open as fd 9. */
static void hand_on(char **args)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && dup2(fd, 9) == 9)
        (void)execv(args[0], args);
    missed(args[0]);
}

/* Reports the privileges that this process has or can gain. */
static void rights(char **args)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    (void)args;
    if (geteuid() == 0)
        got("root's id");
    (void)syscall(SYS_capget, &header, data);
    if (data[0].effective || data[1].effective || data[0].permitted || data[1].permitted)
        got("capabilities %x%08x", data[1].permitted, data[0].permitted);
    data[0].effective = data[0].permitted = data[0].inheritable = 1U << CAP_SYS_CHROOT;
    if (syscall(SYS_capset, &header, data) == 0)
        got("a capability by capset");
    else
        missed("capset");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_CHROOT, 0, 0) == 0)
        got("an ambient capability");
    if (setresuid(0, 0, 0) == 0)
        got("root's id by setresuid");
    else
        missed("setresuid");
}

/* Turns off the echo of the caller's terminal. */
static void terminal_modes(char **args)
{
    (void)args;
    static const char *const names[] = {"/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr"};
    for (size_t i = 0; i < 4; i++) {
        struct termios modes;
        int fd = open(names[i], O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || tcgetattr(fd, &modes) < 0) {
            missed(names[i]);
            continue;
        }
        modes.c_lflag &= (tcflag_t)~ECHO;
        if (tcsetattr(fd, TCSANOW, &modes) == 0)
            got("the modes of %s", names[i]);
    }
}

/* Creates a semaphore and a message queue with a message, and prints their ids; run outside. */
static void make_ipc(char **args)
{
    struct {
        long type;
        char text[64];
    } message = {.type = 1};
    int sem = semget(IPC_PRIVATE, 1, IPC_CREAT | 0666);
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0666);
    (void)snprintf(message.text, sizeof(message.text), "%s", args[0]);
    if (sem < 0 || queue < 0 || msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT) < 0)
        missed("System V objects");
    else
        (void)printf("%d %d\n", sem, queue);
}

/* SEMAPHORE, QUEUE: changes the semaphore, and takes a message from the queue. */
static void take_ipc(char **args)
{
    struct {
        long type;
        char text[64];
    } message;
    struct sembuf up = {.sem_op = 1};
    if (semop(number(args[0]), &up, 1) == 0)
        got("a semaphore");
    else
        missed("semop");
    if (msgrcv(number(args[1]), &message, sizeof(message.text), 0, IPC_NOWAIT) > 0)
        got("a message: %.64s", message.text);
    else
        missed("msgrcv");
}

static void drop_ipc(char **args)
{
    (void)semctl(number(args[0]), 0, IPC_RMID);
    (void)msgctl(number(args[1]), IPC_RMID, NULL);
}

const struct attack tc_attacks_machinery[] = {{"foreign-descriptors", 1, foreign_descriptors},
                                              {"parent", 0, parent},
                                              {"realtime", 0, realtime},
                                              {"limits", 0, limits},
                                              {"signals", 0, signals},
                                              {"refusals", 1, refusals},
                                              {"from-memory", 1, from_memory},
                                              {"hand-on", 1, hand_on},
                                              {"rights", 0, rights},
                                              {"terminal-modes", 0, terminal_modes},
                                              {"make-ipc", 1, make_ipc},
                                              {"take-ipc", 2, take_ipc},
                                              {"drop-ipc", 2, drop_ipc},
                                              {NULL, 0, NULL}};
