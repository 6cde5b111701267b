/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attacks on other processes and on the end of the call: reading a victim's memory, signals,
 * surviving the call, exceeding the limits. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "attack.h"

enum { PEEK = 64, SURVIVE_S = 15 };

/* PID, ADDRESS (hex): tries every way to read the victim's memory. */
static void peek(char **args)
{
    pid_t pid = number(args[0]);
    uintptr_t at = strtoul(args[1], NULL, 16);
    char text[PEEK + 1] = "", path[64];
    struct iovec local = {text, PEEK}, remote = {(void *)at, PEEK};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0)
        got("process_vm_readv: %s", text);
    else
        missed("process_vm_readv");
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    memset(text, 0, sizeof(text));
    if (fd >= 0 && pread(fd, text, PEEK, (off_t)at) > 0)
        got("mem: %s", text);
    else
        missed(path);
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0)
        got("ptrace of %d", (int)pid);
    else
        missed("ptrace");
}

/* PID, PATH: reads a file through the victim's root and working directory. */
static void root_of(char **args)
{
    static const char *const links[] = {"root", "cwd"};
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "/proc/%s/%s/%s", args[0], links[i], args[1]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            got_content(path, fd);
        else
            missed(path);
    }
}

/* PID...: kills each; the driver checks the victim. */
static void signal_pids(char **args)
{
    for (; *args; args++) {
        if (kill(number(*args), SIGKILL) < 0)
            missed(*args);
    }
}

/* Appends to the file until a timeout, or until the file is removed. */
static void beat(const char *path)
{
    int make = O_CREAT;
    for (int i = 0; i < SURVIVE_S * 20; i++, make = 0) {
        int fd = open(path, O_WRONLY | make | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0)
            return;
        (void)!write(fd, ".", 1);
        (void)close(fd);
        (void)usleep(50000);
    }
}

/* FILE: leaves an orphan that ignores all signals and holds no pipe. */
static void survive(char **args)
{
    if (fork() > 0) {
        (void)usleep(300000);
        return;
    }
    (void)setsid();
    if (fork() > 0)
        _exit(0);
    for (int sig = 1; sig < 32; sig++)
        (void)signal(sig, SIG_IGN);
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)close(0);
    (void)close(1);
    (void)close(2);
    beat(args[0]);
    _exit(0);
}

/* FILE: runs until killed, and ignores all other signals. */
static void stay(char **args)
{
    for (int sig = 1; sig < 32; sig++)
        (void)signal(sig, SIG_IGN);
    beat(args[0]);
}

/* COUNT: that many processes at once. */
static void bomb(char **args)
{
    int want = number(args[0]), made = 0;
    pid_t pids[4096];
    while (made < want && made < 4096) {
        pids[made] = fork();
        if (pids[made] < 0)
            break;
        if (pids[made] == 0) {
            (void)sleep(5);
            _exit(0);
        }
        made++;
    }
    got("processes %d", made);
    for (int i = 0; i < made; i++)
        (void)kill(pids[i], SIGKILL);
}

/* MIB: allocates memory in several processes, so that limits per process do not apply. */
static void memory(char **args)
{
    size_t mib = strtoul(args[0], NULL, 10), each = 64, children = 0;
    pid_t pids[256];
    int done[2];
    if (pipe(done) < 0)
        return;
    while (children < mib / each && children < 256) {
        pids[children] = fork();
        if (pids[children] < 0)
            break;
        if (pids[children++] > 0)
            continue;
        char *p =
            mmap(NULL, each << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p != MAP_FAILED) {
            memset(p, 1, each << 20);
            (void)!write(done[1], "x", 1);
        }
        (void)sleep(3);
        _exit(0);
    }
    (void)close(done[1]);
    size_t seen = 0;
    char byte;
    while (seen < mib / each && read(done[0], &byte, 1) == 1)
        seen++;
    got("mebibytes %zu", seen * each);
    for (size_t i = 0; i < children; i++)
        (void)kill(pids[i], SIGKILL);
}

/* PID, NAMESPACE: joins a namespace of the victim. */
static void join_namespace(char **args)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%s/ns/%s", args[0], args[1]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int pidfd = (int)syscall(SYS_pidfd_open, number(args[0]), 0);
    if (fd >= 0 && setns(fd, 0) == 0)
        got("namespace by file");
    else
        missed("setns");
    if (pidfd >= 0 && setns(pidfd, CLONE_NEWUTS) == 0)
        got("namespace by pidfd");
    else
        missed("setns of a pidfd");
}

static void dump(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[65536];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n < 0) {
        missed(path);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (!text[i])
            text[i] = '\n';
    }
    text[n] = '\0';
    got("%s: %s", path, text);
}

/* Prints the environment of itself, PID 1 and its parent. */
static void environment(char **args)
{
    (void)args;
    char path[64];
    dump("/proc/self/environ");
    dump("/proc/1/environ");
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
    dump(path);
}

/* Pushes a byte into the input of the caller's terminal (TIOCSTI). */
static void push_input(char **args)
{
    (void)args;
    static const char *const names[] = {"/dev/tty", "/dev/stdin", "/dev/console"};
    for (size_t i = 0; i < 3; i++) {
        int fd = open(names[i], O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || syscall(SYS_ioctl, fd, 0xffffffff00005412ul, "#") < 0)
            missed(names[i]);
    }
}

/* Opens the caller's terminal, to talk to its user. */
static void terminal(char **args)
{
    (void)args;
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        got("the terminal");
    else
        missed("/dev/tty");
}

/* COUNT: opens that many files, with the limit raised as far as possible. */
static void open_files(char **args)
{
    int want = number(args[0]), opened = 0;
    struct rlimit limit = {.rlim_cur = (rlim_t)want + 16, .rlim_max = (rlim_t)want + 16};
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        missed("setrlimit");
    while (opened < want && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        opened++;
    got("files %d", opened);
}

/* BYTES: prints that much. */
static void print(char **args)
{
    char line[64];
    memset(line, '.', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (long left = strtol(args[0], NULL, 10); left > 0; left -= (long)sizeof(line)) {
        if (write(STDOUT_FILENO, line, sizeof(line)) < 0)
            return;
    }
}

/* Dumps core in the working directory. */
static void dump_core(char **args)
{
    (void)args;
    struct rlimit most;
    (void)getrlimit(RLIMIT_CORE, &most);
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_CORE, &most);
    (void)prctl(PR_SET_DUMPABLE, 1);
    abort();
}

/* DIRECTORY…: tries to leave its cgroup through these cgroup directories. */
static void leave_group(char **args)
{
    for (; *args; args++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", *args);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0)
            got("%s for writing", path);
        else
            missed(path);
    }
}

const struct attack tc_attacks_processes[] = {{"peek", 2, peek},
                                              {"root-of", 2, root_of},
                                              {"signal", 1, signal_pids},
                                              {"survive", 1, survive},
                                              {"stay", 1, stay},
                                              {"bomb", 1, bomb},
                                              {"memory", 1, memory},
                                              {"join-namespace", 2, join_namespace},
                                              {"environment", 0, environment},
                                              {"push-input", 0, push_input},
                                              {"terminal", 0, terminal},
                                              {"open-files", 1, open_files},
                                              {"print", 1, print},
                                              {"dump-core", 0, dump_core},
                                              {"leave-group", 1, leave_group},
                                              {NULL, 0, NULL}};
