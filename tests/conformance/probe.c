/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The one program that every conformance case runs inside: it tries one access and says what came
 * of it, "yes …" or "no ERRNO". What really happened is seen outside. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(int worked, const char *what)
{
    if (worked)
        printf("yes %s\n", what);
    else
        printf("no %s: %s\n", what, strerror(errno));
    (void)fflush(stdout);
}

/* ---- files ---- */

static void do_read(char **a)
{
    char text[4096];
    int fd = open(a[0], O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    say(n >= 0, "read");
    if (n > 0)
        (void)!write(1, text, (size_t)n);
}

static void do_size(char **a)
{
    struct stat st;
    say(stat(a[0], &st) == 0 && st.st_size > 0, "size");
}

static void do_write(char **a)
{
    int fd = open(a[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    say(fd >= 0 && write(fd, "written\n", 8) == 8, "write");
}

/* For what belongs to the machine: the right to write it is proven without using it. */
static void do_may_write(char **a)
{
    say(open(a[0], O_WRONLY | O_CLOEXEC) >= 0, "may-write");
}

static void do_unlink(char **a)
{
    say(unlink(a[0]) == 0, "unlink");
}

static void do_rename(char **a)
{
    say(rename(a[0], a[1]) == 0, "rename");
}

static void do_chmod(char **a)
{
    int fd = open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    say(fd >= 0 && fchmod(fd, (mode_t)strtoul(a[1], NULL, 8)) == 0, "chmod");
}

static void do_link(char **a)
{
    say(link(a[0], a[1]) == 0, "link");
}

/* Each call that can give a file a set-id bit; only the files tell. */
static void do_setid_files(char **a)
{
    char path[PATH_MAX];
    const char *const ways[] = {"open", "creat", "mknod", "mkdir", "chmod", "fchmod", "fchmodat"};
    (void)umask(0);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", a[0], ways[i]);
        int fd = i < 4 ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        long results[] = {i == 0 ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755) : -1,
                          i == 1 ? syscall(SYS_creat, path, 02755) : -1,
                          i == 2 ? mknod(path, S_IFREG | 04755, 0) : -1,
                          i == 3 ? mkdir(path, 02755) : -1,
                          i == 4 ? chmod(path, 06755) : -1,
                          i == 5 ? fchmod(fd, 04755) : -1,
                          i == 6 ? fchmodat(AT_FDCWD, path, 04755, 0) : -1};
        struct stat st;
        (void)results;
        errno = EPERM;
        say(stat(path, &st) == 0 && st.st_mode & 06000, "set-id");
    }
}

/* Reads a name after its directory has got another one. */
static void do_read_moved(char **a)
{
    char path[PATH_MAX];
    say(rename(a[0], a[1]) == 0, "move");
    (void)snprintf(path, sizeof(path), "%s/%s", a[1], a[2]);
    do_read((char *[]){path});
}

static void do_read_link(char **a)
{
    say(symlink(a[0], a[1]) == 0, "symlink");
    do_read(a + 1);
}

static void do_device(char **a)
{
    say(open(a[0], O_RDWR | O_CLOEXEC) >= 0, "device");
}

static void do_node(char **a)
{
    say(mknod(a[0], S_IFCHR | 0666, (dev_t)(1 << 8 | 3)) == 0, "node");
}

static void do_exec(char **a)
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        (void)execv(a[0], a);
        _exit(127);
    }
    (void)waitpid(pid, &status, 0);
    errno = EACCES;
    say(WIFEXITED(status) && WEXITSTATUS(status) == 0, "exec");
}

/* Every line of standard input: "read P", "write P", "create P" or "exec P". */
static void do_many(char **a)
{
    char line[PATH_MAX + 16];
    (void)a;
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        char *path = strchr(line, ' ');
        if (!path)
            continue;
        *path++ = '\0';
        int ok = 0;
        if (strcmp(line, "exec") == 0) {
            pid_t pid = fork();
            int status = -1;
            if (pid == 0) {
                (void)execl(path, path, "nothing", NULL);
                _exit(127);
            }
            (void)waitpid(pid, &status, 0);
            ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        } else {
            int flags = strcmp(line, "read") == 0    ? O_RDONLY
                        : strcmp(line, "write") == 0 ? O_WRONLY
                                                     : O_WRONLY | O_CREAT;
            int fd = open(path, flags | O_CLOEXEC, 0644);
            ok = fd >= 0;
            if (fd >= 0)
                (void)close(fd);
        }
        printf("%d", ok);
    }
    printf("\n");
}

/* ---- identity and surroundings ---- */

static void do_ids(char **a)
{
    FILE *map = fopen("/proc/self/uid_map", "re");
    unsigned inside, outside, count;
    (void)a;
    while (map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
        printf("uid %u is %u of %u\n", inside, outside, count);
    printf("ids %u %u\n", geteuid(), getegid());
}

static void do_capabilities(char **a)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    (void)a;
    if (syscall(SYS_capget, &header, caps) == 0)
        printf("effective %08x%08x\npermitted %08x%08x\n", caps[1].effective, caps[0].effective,
               caps[1].permitted, caps[0].permitted);
    printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    say(sethostname("x", 1) == 0, "sethostname");
    say(setuid(0) == 0, "setuid");
}

static void do_environment(char **a)
{
    extern char **environ;
    (void)a;
    for (char **e = environ; *e; e++)
        puts(*e);
}

static const char *kind_of(const struct stat *st)
{
    if (S_ISFIFO(st->st_mode))
        return "pipe";
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3) ? "null" : "other";
}

static void do_descriptors(char **a)
{
    struct stat st;
    (void)a;
    for (int fd = 0; fd < 1024; fd++)
        if (fstat(fd, &st) == 0)
            printf("%d %s\n", fd, kind_of(&st));
}

static void do_terminal(char **a)
{
    (void)a;
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
    say(tty >= 0, "terminal");
    char c = 'x';
    say(ioctl(tty >= 0 ? tty : 0, TIOCSTI, &c) == 0, "push");
    printf("session %d\n", getsid(0) == getpgid(0) || getsid(0) > 0);
}

static void do_signal(char **a)
{
    say(kill((pid_t)atol(a[0]), SIGTERM) == 0, "signal");
}

static void do_processes(char **a)
{
    char path[64];
    int found = 0;
    (void)a;
    for (int pid = 1; pid < 4194304 && found < 100; pid += pid < 65536 ? 1 : 4096) {
        (void)snprintf(path, sizeof(path), "/proc/%d", pid);
        found += access(path, F_OK) == 0;
    }
    printf("processes %d\n", found);
}

static void do_shared_memory(char **a)
{
    key_t key = (key_t)strtol(a[0], NULL, 0);
    int id = shmget(key, 0, 0);
    char *at = id < 0 ? (char *)-1 : shmat(id, NULL, SHM_RDONLY);
    say(at != (char *)-1, at == (char *)-1 ? "shared memory" : at);
}

static void do_own_memory(char **a)
{
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    (void)a;
    say(id >= 0 && shmat(id, NULL, 0) != (void *)-1, "shared memory of its own");
}

static void do_uptime(char **a)
{
    struct sysinfo of;
    (void)a;
    say(sysinfo(&of) == 0, "uptime");
}

static void do_queue(char **a)
{
    say(mq_open(a[0], O_RDWR) >= 0, "queue");
}

/* ---- the network ---- */

static void do_connect(char **a)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(a[1]))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)inet_pton(AF_INET, a[0], &to.sin_addr);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    say(rc == 0 && write(fd, a[2], strlen(a[2])) > 0, "connect");
}

/* Of HTTP: METHOD and target. Waits for whatever is said to it. */
static void do_request(char **a)
{
    char text[512];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(a[1]))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)inet_pton(AF_INET, a[0], &to.sin_addr);
    int n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", a[2], a[3], a[0],
                     a[1]);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    say(rc == 0 && write(fd, text, (size_t)n) == n, "request");
}

static void do_own_loopback(char **a)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)a;
    int ok = bind(server, (struct sockaddr *)&at, len) == 0 && listen(server, 1) == 0 &&
             getsockname(server, (struct sockaddr *)&at, &len) == 0 &&
             connect(client, (struct sockaddr *)&at, len) == 0;
    say(ok, "own loopback");
}

/* Such a pair would reach any socket by its name, without socket(). */
static void do_datagram_pair(char **a)
{
    int pair[2];
    (void)a;
    say(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0, "datagram pair");
}

static void do_unix(char **a)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int abstract = a[0][0] == '@';
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", a[0]);
    if (abstract)
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(a[0]) + !abstract);
    say(fd >= 0 && connect(fd, (struct sockaddr *)&to, len) == 0 &&
            write(fd, a[1], strlen(a[1])) > 0,
        "unix");
}

/* A server of its own by this name, and a client. */
static void do_own_unix(char **a)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", a[0]);
    int abstract = a[0][0] == '@';
    if (abstract)
        at.sun_path[0] = '\0';
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(a[0]) + !abstract);
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    say(bind(server, (struct sockaddr *)&at, len) == 0 && listen(server, 1) == 0 &&
            connect(client, (struct sockaddr *)&at, len) == 0,
        "own unix");
}

static void do_pair(char **a)
{
    int pair[2];
    (void)a;
    say(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[0], "x", 1) == 1, "pair");
}

/* ---- system calls ---- */

static void do_namespace(char **a)
{
    (void)a;
    say(unshare(CLONE_NEWUSER) == 0, "namespace");
}

static void do_uring(char **a)
{
    char params[256] = {0};
    (void)a;
    say(syscall(SYS_io_uring_setup, 1, params) >= 0, "io_uring");
}

/* One call of each group that no tool needs. */
static void do_closed(char **a)
{
    char zero[128] = {0};
    struct {
        unsigned long flags, mode, resolve;
    } how = {0};
    const struct {
        const char *group;
        long result;
    } calls[] = {
        {"mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL)},
        {"fsopen", syscall(SYS_fsopen, "tmpfs", 0)},
        {"chroot", syscall(SYS_chroot, "/")},
        {"setns", syscall(SYS_setns, 0, 0)},
        {"bpf", syscall(SYS_bpf, 0, zero, sizeof(zero))},
        {"perf", syscall(SYS_perf_event_open, zero, 0, -1, -1, 0)},
        {"userfaultfd", syscall(SYS_userfaultfd, 1)},
        {"add_key", syscall(SYS_add_key, "user", "toolcage", "x", 1, -4)},
        {"keyctl", syscall(SYS_keyctl, 0, -4, 0)},
        {"ptrace", syscall(SYS_ptrace, 0, 0, 0, 0)},
        {"process_vm_readv", syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0)},
        {"kexec", syscall(SYS_kexec_load, 0, 0, NULL, 0)},
        {"syslog", syscall(SYS_syslog, 10, NULL, 0)},
        {"open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, zero, 0)},
        {"openat2", syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how))},
#ifdef __x86_64__
        {"x32", syscall(0x40000000 | SYS_getpid)},
#endif
    };
    (void)a;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        say(calls[i].result >= 0, calls[i].group);
}

static void do_trace(char **a)
{
    say(syscall(SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, atol(a[0]), 0, 0) == 0, "trace");
}

static void do_foreign(char **a)
{
    (void)a;
#ifdef __x86_64__
    int result = -1;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20) : "memory"); /* getpid */
    errno = result < 0 ? -result : 0;
    say(result > 0, "foreign");
#else
    errno = ENOSYS;
    say(0, "foreign");
#endif
}

static void do_thread(char **a)
{
    (void)a;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    say(pid > 0 && waitpid(pid, NULL, 0) == pid, "child");
}

/* ---- limits ---- */

static void do_memory(char **a)
{
    size_t size = (size_t)atol(a[0]) << 20;
    char *block = malloc(size);
    if (block)
        for (size_t i = 0; i < size; i += 4096)
            ((volatile char *)block)[i] = 1;
    say(block != NULL, "memory");
}

static void do_fork(char **a)
{
    int made = 0, most = atoi(a[0]);
    for (; made < most; made++) {
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                (void)pause();
        if (pid < 0)
            break;
    }
    say(made == most, "processes");
}

/* The memory of many: each is below the limit, all together are not. */
static void do_memory_many(char **a)
{
    int done[2], count = atoi(a[0]), seen = 0;
    size_t size = (size_t)atol(a[1]) << 20;
    char byte;
    if (pipe(done) < 0)
        return;
    for (int i = 0; i < count; i++) {
        if (fork() != 0)
            continue;
        volatile char *block = malloc(size);
        for (size_t at = 0; block && at < size; at += 4096)
            block[at] = 1;
        (void)!write(done[1], "x", block != NULL);
        for (;;)
            (void)pause();
    }
    (void)close(done[1]);
    while (seen < count && read(done[0], &byte, 1) == 1)
        seen++;
    say(seen == count, "memory of many");
}

static void *idle(void *arg)
{
    for (;;)
        (void)pause();
    return arg;
}

static void do_threads(char **a)
{
    int made = 0, most = atoi(a[0]);
    pthread_t thread;
    while (made < most && pthread_create(&thread, NULL, idle, NULL) == 0)
        made++;
    say(made == most, "threads");
}

static void do_fill(char **a)
{
    static char block[65536];
    long left = atol(a[1]);
    int fd = open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (left > 0 && write(fd, block, sizeof(block)) > 0)
        left -= (long)sizeof(block);
    say(left <= 0, "fill");
}

static void do_files(char **a)
{
    char path[64];
    int made = 0, most = atoi(a[0]);
    for (; made < most; made++) {
        (void)snprintf(path, sizeof(path), "/tmp/file-%d", made);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            break;
        (void)close(fd);
    }
    say(made == most, "files");
}

static void do_raise(char **a)
{
    rlim_t want = (rlim_t)atol(a[0]);
    struct rlimit limit = {want, want};
    say(setrlimit(RLIMIT_NOFILE, &limit) == 0, "raise");
}

static void do_open(char **a)
{
    int most = atoi(a[0]), made = 0;
    while (made < most && dup(0) >= 0)
        made++;
    say(made == most, "open");
}

static void do_spin(char **a)
{
    double seconds = atof(a[0]);
    while ((double)clock() / CLOCKS_PER_SEC < seconds)
        ;
    say(1, "spin");
}

static void do_spin_many(char **a)
{
    int count = atoi(a[0]);
    for (int i = 1; i < count; i++)
        if (fork() == 0)
            break;
    do_spin(a + 1);
}

static void add_to(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    (void)!write(fd, "x", 1);
    (void)close(fd);
}

/* Forks all the time, so that somebody is always new when the end comes; heeds no signal. */
static void do_fork_on(char **a)
{
    struct timespec start, now;
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    add_to(a[1]);
    do {
        if (fork() == 0) {
            (void)usleep(300000);
            add_to(a[1]);
            _exit(0);
        }
        (void)usleep(10000);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < atol(a[0]));
    say(1, "fork on");
}

static void do_sleep(char **a)
{
    (void)signal(SIGTERM, SIG_IGN);
    double seconds = atof(a[0]);
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&t, NULL);
    say(1, "sleep");
}

static void do_print(char **a)
{
    static char block[1024];
    memset(block, 'o', sizeof(block));
    for (long left = atol(a[0]); left > 0; left -= (long)sizeof(block))
        (void)!write(1, block, sizeof(block));
    printf("\nyes print\n");
}

/* Leaves a process behind that writes into a file as long as it lives. */
static void do_daemon(char **a)
{
    if (fork() > 0) {
        for (int i = 0; i < 500 && access(a[0], F_OK) < 0; i++) /* until it has begun */
            (void)usleep(20000);
        (void)usleep(200000);
        say(1, "daemon");
        return;
    }
    (void)setsid();
    if (fork() > 0)
        _exit(0);
    (void)close(1);
    (void)close(2);
    for (;;) {
        add_to(a[0]);
        (void)usleep(20000);
    }
}

static void do_nothing(char **a)
{
    (void)a;
}

static const struct {
    const char *name;
    void (*run)(char **args);
    int args;
} accesses[] = {
    {"read", do_read, 1},
    {"size", do_size, 1},
    {"write", do_write, 1},
    {"may-write", do_may_write, 1},
    {"unlink", do_unlink, 1},
    {"rename", do_rename, 2},
    {"chmod", do_chmod, 2},
    {"link", do_link, 2},
    {"setid-files", do_setid_files, 1},
    {"read-moved", do_read_moved, 3},
    {"read-link", do_read_link, 2},
    {"device", do_device, 1},
    {"node", do_node, 1},
    {"exec", do_exec, 1},
    {"many", do_many, 0},
    {"ids", do_ids, 0},
    {"capabilities", do_capabilities, 0},
    {"environment", do_environment, 0},
    {"descriptors", do_descriptors, 0},
    {"terminal", do_terminal, 0},
    {"signal", do_signal, 1},
    {"processes", do_processes, 0},
    {"shared-memory", do_shared_memory, 1},
    {"own-memory", do_own_memory, 0},
    {"uptime", do_uptime, 0},
    {"queue", do_queue, 1},
    {"connect", do_connect, 3},
    {"request", do_request, 4},
    {"own-loopback", do_own_loopback, 0},
    {"unix", do_unix, 2},
    {"pair", do_pair, 0},
    {"own-unix", do_own_unix, 1},
    {"namespace", do_namespace, 0},
    {"io-uring", do_uring, 0},
    {"foreign", do_foreign, 0},
    {"closed", do_closed, 0},
    {"trace", do_trace, 1},
    {"datagram-pair", do_datagram_pair, 0},
    {"memory-many", do_memory_many, 2},
    {"threads", do_threads, 1},
    {"raise", do_raise, 1},
    {"spin-many", do_spin_many, 2},
    {"fork-on", do_fork_on, 2},
    {"child", do_thread, 0},
    {"memory", do_memory, 1},
    {"fork", do_fork, 1},
    {"fill", do_fill, 2},
    {"files", do_files, 1},
    {"open", do_open, 1},
    {"spin", do_spin, 1},
    {"sleep", do_sleep, 1},
    {"print", do_print, 1},
    {"daemon", do_daemon, 1},
    {"nothing", do_nothing, 0},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(accesses) / sizeof(accesses[0]); i++) {
        if (strcmp(accesses[i].name, argv[1]) != 0 || argc - 2 < accesses[i].args)
            continue;
        accesses[i].run(argv + 2);
        return 0;
    }
    (void)fprintf(stderr, "probe: no such access\n");
    return 99;
}
