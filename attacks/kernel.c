/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attacks on kernel interfaces: foreign system call ABIs, new namespaces, the mount API, io_uring,
 * keyrings, a seccomp listener, the program file of PID 1; and other users' System V and POSIX
 * objects. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attack.h"

#ifdef __x86_64__
static void int80(char **args)
{
    (void)args;
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20) : "memory"); /* getpid */
    if (result > 0)
        got("a 32-bit system call");
}

static void x32(char **args)
{
    (void)args;
    if (syscall(0x40000000 | SYS_getpid) > 0)
        got("an x32 system call");
    else
        missed("x32");
}
#endif

/* Tries one system call that the policy denies, in every ABI. */
static void denied(char **args)
{
    (void)args;
    pid_t other = fork();
    if (other == 0) {
#ifdef __x86_64__
        x32(NULL);
        int80(NULL);
#endif
        _exit(0);
    }
    if (other > 0)
        (void)waitpid(other, NULL, 0);
    if (syscall(SYS_getpid) > 0)
        got("getpid");
    else
        missed("getpid");
    /* the kernel ignores the upper half of the number */
    if (syscall((long)(0x100000000ul | SYS_getpid)) > 0)
        got("getpid with more in its number");
}

static void io_uring(char **args)
{
    (void)args;
    struct io_uring_params params = {0};
    if (syscall(SYS_io_uring_setup, 4, &params) >= 0)
        got("io_uring");
    else
        missed("io_uring_setup");
}

/* Creates a user namespace in every way, with all capabilities inside. */
static void user_namespace(char **args)
{
    (void)args;
    struct clone_args clone3 = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &clone3, sizeof(clone3));
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        got("a user namespace by clone3");
    pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        got("a user namespace by clone");
    pid = syscall(SYS_clone, 0xffffffff00000000ul | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        got("a user namespace by clone with a high half");
    if (unshare(CLONE_NEWUSER) == 0)
        got("a user namespace by unshare");
    else
        missed("unshare");
}

/* PATH: mounts over it, in new namespaces so that no other process sees the mount. */
static void mount_alone(char **args)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
        syscall(SYS_mount, "none", args[0], "tmpfs", 0, NULL) == 0)
        got("mount");
    else
        missed("mount");
}

static void new_mounts(char **args)
{
    if (syscall(SYS_fsopen, "tmpfs", 0) >= 0)
        got("fsopen");
    else
        missed("fsopen");
    if (syscall(SYS_open_tree, AT_FDCWD, args[0], 1 /* OPEN_TREE_CLONE */) >= 0)
        got("open_tree");
    else
        missed("open_tree");
    if (syscall(SYS_mount, "none", args[0], "tmpfs", 0, NULL) == 0 &&
        syscall(SYS_umount2, args[0], 0) == 0)
        got("mount");
    else
        missed("mount");
    if (syscall(SYS_chroot, args[0]) == 0)
        got("chroot");
    else
        missed("chroot");
}

/* System calls with much kernel code behind them. */
static void far_reach(char **args)
{
    (void)args;
    struct perf_event_attr perf = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(perf)};
    struct {
        uint32_t type, key, value, entries, rest[12];
    } map = {2, 4, 4, 1, {0}};
    if (syscall(SYS_bpf, 0, &map, sizeof(map)) >= 0)
        got("bpf");
    if (syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0) >= 0)
        got("perf");
    if (syscall(SYS_userfaultfd, O_CLOEXEC) >= 0)
        got("userfaultfd");
    if (syscall(SYS_kcmp, getpid(), getppid(), 1, 0, 0) >= 0)
        got("kcmp");
    if (syscall(SYS_fanotify_init, 0, O_RDONLY) >= 0)
        got("fanotify");
    if (syscall(SYS_syslog, 10, NULL, 0) >= 0)
        got("the kernel log");
}

/* DESCRIPTION: reads a key of the user, which another process added. */
static void key(char **args)
{
    static const int rings[] = {KEY_SPEC_USER_KEYRING, KEY_SPEC_USER_SESSION_KEYRING,
                                KEY_SPEC_SESSION_KEYRING};
    for (size_t i = 0; i < 3; i++) {
        char text[128] = "";
        long id = syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i], "user", args[0], 0);
        if (id > 0 && syscall(SYS_keyctl, KEYCTL_READ, id, text, sizeof(text) - 1) > 0)
            got("key: %s", text);
        else
            missed("keyctl");
    }
}

/* DESCRIPTION, TEXT: adds such a key; run outside. */
static void add_key(char **args)
{
    if (syscall(SYS_add_key, "user", args[0], args[1], strlen(args[1]), KEY_SPEC_USER_KEYRING) < 0)
        missed("add_key");
    else
        (void)puts("added");
}

static void drop_key(char **args)
{
    long id = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", args[0], 0);
    if (id > 0)
        (void)syscall(SYS_keyctl, KEYCTL_UNLINK, id, KEY_SPEC_USER_KEYRING);
}

/* Installs a seccomp notification listener, which would answer instead of the cage's. */
static void listener(char **args)
{
    (void)args;
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, code};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >=
        0)
        got("a listener");
    else
        missed("listener");
}

/* Opens the program files of PID 1 and of the parent for writing: the next start would run the new
 * content. */
static void program_files(char **args)
{
    for (; *args; args++) {
        int fd = open(*args, O_RDWR | O_CLOEXEC);
        if (fd >= 0)
            got("%s", *args);
        else
            missed(*args);
    }
}

/* ID: attaches a shared memory segment of another process. */
static void shared_memory(char **args)
{
    const char *text = shmat(number(args[0]), NULL, SHM_RDONLY);
    if (text != (void *)-1)
        got("shared memory: %.64s", text);
    else
        missed("shmat");
}

/* TEXT: creates such a segment and prints its id; run outside. */
static void make_shared_memory(char **args)
{
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
    char *text = shmat(id, NULL, 0);
    if (id < 0 || text == (void *)-1) {
        missed("shmget");
        return;
    }
    (void)snprintf(text, 4096, "%s", args[0]);
    (void)printf("%d\n", id);
}

static void drop_shared_memory(char **args)
{
    (void)shmctl(number(args[0]), IPC_RMID, NULL);
}

/* NAME: reads a POSIX message queue of another process. */
static void message_queue(char **args)
{
    char text[8192];
    mqd_t queue = mq_open(args[0], O_RDONLY | O_NONBLOCK);
    ssize_t n = queue < 0 ? -1 : mq_receive(queue, text, sizeof(text), NULL);
    if (n >= 0)
        got("message: %.*s", (int)n, text);
    else
        missed("mq_open");
}

static void make_message_queue(char **args)
{
    (void)mq_unlink(args[0]);
    mqd_t queue = mq_open(args[0], O_RDWR | O_CREAT | O_EXCL, 0666, NULL);
    if (queue < 0 || mq_send(queue, args[1], strlen(args[1]), 0) < 0)
        missed("mq_open");
    else
        (void)puts("made");
}

static void drop_message_queue(char **args)
{
    (void)mq_unlink(args[0]);
}

const struct attack tc_attacks_kernel[] = {
#ifdef __x86_64__
    {"int80", 0, int80},
    {"x32", 0, x32},
#endif
    {"denied", 0, denied},
    {"io-uring", 0, io_uring},
    {"user-namespace", 0, user_namespace},
    {"mount-alone", 1, mount_alone},
    {"new-mounts", 1, new_mounts},
    {"far-reach", 0, far_reach},
    {"key", 1, key},
    {"add-key", 2, add_key},
    {"drop-key", 1, drop_key},
    {"listener", 0, listener},
    {"program-files", 1, program_files},
    {"shared-memory", 1, shared_memory},
    {"make-shared-memory", 1, make_shared_memory},
    {"drop-shared-memory", 1, drop_shared_memory},
    {"message-queue", 1, message_queue},
    {"make-message-queue", 2, make_message_queue},
    {"drop-message-queue", 1, drop_message_queue},
    {NULL, 0, NULL}};
