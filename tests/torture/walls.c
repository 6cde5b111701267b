/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The tool of the torture tests: tries every wall from inside and prints "caged", or each hole by
 * name. Also writes that verdict to the file "verdict" of its directory, so that it is known even
 * when the output is lost.
 *
 * As "serve" it prints nothing, and then is an MCP server whose one tool says the verdict.
 *
 *     walls bind|auto|copy|overlay|serve|shell SECRET-FILE PORT ABSTRACT-SOCKET NAMESPACE…
 *
 * The namespaces are those of the host, as readlink() tells them; none of them may be ours. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char holes[4096];

static void want(int held, const char *wall)
{
    size_t used = strlen(holes);
    if (!held)
        (void)snprintf(holes + used, sizeof(holes) - used, " %s", wall);
}

static int opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* ---- who we are ---- */

static void check_status(void)
{
    static const char *const lines[] = {"CapInh:\t0000000000000000",
                                        "CapPrm:\t0000000000000000",
                                        "CapEff:\t0000000000000000",
                                        "CapBnd:\t0000000000000000",
                                        "CapAmb:\t0000000000000000",
                                        "NoNewPrivs:\t1",
                                        "Seccomp:\t2"};
    char text[8192] = "";
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    want(n > 0, "proc-status");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        want(strstr(text, lines[i]) != NULL, lines[i]);
}

static void check_ids(void)
{
    unsigned inside = 0, outside = 0, count = 0;
    gid_t groups[64];
    FILE *map = fopen("/proc/self/uid_map", "re");
    want(map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && count == 1 &&
             inside != 0 && outside != 0,
         "uid-map");
    if (map)
        (void)fclose(map);
    want(getuid() != 0 && geteuid() == getuid() && getuid() == inside, "uid");
    want(getgid() != 0 && getegid() == getgid(), "gid");
    want(getgroups(64, groups) >= 0, "groups");
    want(setuid(0) < 0 && setgid(0) < 0, "setuid");
}

/* What can be added, up to the kernel's sixteen, tells how many stand already. */
static void check_landlock(void)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 0) {
        want(0, "landlock");
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0), added = 0;
        while (rules >= 0 && added < 16 && syscall(SYS_landlock_restrict_self, rules, 0) == 0)
            added++;
        _exit(added);
    }
    int status = 0;
    want(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
             WEXITSTATUS(status) == 15,
         "landlock");
}

/* ---- what we see ---- */

static void check_namespaces(char **host)
{
    for (; *host; host++) {
        char path[64], link[64] = "", name[32] = "";
        (void)sscanf(*host, "%31[^:]", name);
        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
        want(readlink(path, link, sizeof(link) - 1) > 0 && strcmp(link, *host) != 0, *host);
    }
}

static void check_proc(void)
{
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    int count = 0;
    while (dir && (e = readdir(dir)))
        count += e->d_name[0] >= '1' && e->d_name[0] <= '9';
    want(dir && count == 2 && getpid() == 2 && getppid() == 1, "proc");
    if (dir)
        (void)closedir(dir);
    want(!opens("/proc/sys/kernel/hostname", O_WRONLY), "proc-writable");
    want(!opens("/proc/1/mem", O_RDWR), "pid1-memory");
    want(ptrace(PTRACE_ATTACH, 1, NULL, NULL) < 0, "pid1-trace");
    FILE *kcore = fopen("/proc/kcore", "re");
    want(!kcore || fgetc(kcore) == EOF, "kcore");
    if (kcore)
        (void)fclose(kcore);
}

/* A pipe, or without input the null device, which nobody can write through this number. */
static int is_stream(int fd, const struct stat *st)
{
    return S_ISFIFO(st->st_mode) ||
           (fd == 0 && S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3) &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
}

static void check_descriptors(int terminal)
{
    struct stat st;
    for (int fd = 0; fd < 3; fd++)
        want(fstat(fd, &st) == 0 && (terminal ? isatty(fd) : is_stream(fd, &st)),
             "standard-stream");
    for (int fd = 3; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            want(0, "descriptor");
}

static void check_limits(void)
{
    struct rlimit files = {0, 0}, core = {1, 1};
    want(getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max == 64, "open-files");
    want(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max <= 1, "core");
}

static void stay(void)
{
    (void)pause();
    _exit(0);
}

/* The policy grants sixteen. */
static void check_pids(void)
{
    pid_t made[32];
    int count = 0;
    while (count < 32 && (made[count] = fork()) >= 0) {
        if (made[count] == 0)
            stay();
        count++;
    }
    for (int i = 0; i < count; i++) {
        (void)kill(made[i], SIGKILL);
        (void)waitpid(made[i], NULL, 0);
    }
    want(count > 0 && count <= 16, "pids");
}

/* ---- what we may do ---- */

static int append(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int done = fd >= 0 && write(fd, "hole", 4) == 4;
    (void)close(fd);
    return done;
}

/* Changes of what steers the host are staged, or fail where it is a bind; another is committed. */
static void write_staged(int policy)
{
    static const char *const names[] = {".git/config", "base.toml", "schema.json"};
    for (int i = 0; i < (policy ? 3 : 1); i++)
        (void)append(names[i]);
    (void)mkdir("made", 0755); /* an earlier call's may be there */
    want(append("made/file"), "no-other-change");
}

static void check_files(const char *secret, const char *mode)
{
    int bound =
        strcmp(mode, "auto") != 0 && strcmp(mode, "copy") != 0 && strcmp(mode, "overlay") != 0;
    char name[300];
    want(!opens(secret, O_RDONLY), "secret-read");
    want(!opens(secret, O_WRONLY), "secret-write");
    want(!opens("/etc/shadow", O_RDONLY), "shadow");
    want(!opens("denied", O_RDONLY), "denied-read");
    want(!opens("denied", O_WRONLY), "denied-write");
    want(unlink("denied") < 0, "denied-removed");
    want(!bound || !opens(".git/config", O_WRONLY), "steering");
    want(!bound || !opens("base.toml", O_WRONLY), "policy");
    want(!bound || !opens("schema.json", O_WRONLY), "policy-schema");
    if (!bound)
        write_staged(strcmp(mode, "auto") == 0); /* the others' are parts of no policy */
    want(!opens("/usr/hole", O_WRONLY | O_CREAT), "usr-writable");
    want(!opens("/etc/hole", O_WRONLY | O_CREAT), "etc-writable");
    want(!opens("/hole", O_WRONLY | O_CREAT), "root-writable");
    want(!opens("/dev/hole", O_WRONLY | O_CREAT), "dev-writable");
    (void)snprintf(name, sizeof(name), "%.280s.hole", secret);
    want(!opens(name, O_WRONLY | O_CREAT), "outside-writable");
    want(access("/home", F_OK) < 0 && access("/root", F_OK) < 0 && access("/sys/fs", F_OK) < 0,
         "host-tree");
    want(opens("/tmp/own", O_WRONLY | O_CREAT), "own-tmp");
}

static void check_network(const char *port, const char *abstract)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    want(fd < 0 || connect(fd, (const struct sockaddr *)&in, sizeof(in)) < 0, "host-loopback");
    (void)close(fd);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    want((fd >= 0) == (getenv("SOCKETS") != NULL), "unix-socket");
    (void)snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", abstract);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract));
    want(fd < 0 || connect(fd, (const struct sockaddr *)&un, len) < 0, "abstract-socket");
    (void)close(fd);
}

static void check_calls(int terminal)
{
    want(unshare(CLONE_NEWUSER) < 0, "new-userns");
    want(mount("none", "/tmp", "tmpfs", 0, NULL) < 0, "mount");
    want(syscall(SYS_io_uring_setup, 1, NULL) < 0 && errno != EFAULT, "io-uring");
    want(syscall(SYS_bpf, 0, NULL, 0) < 0 && errno != EINVAL, "bpf");
    want(syscall(SYS_keyctl, 0, 0) < 0, "keyctl");
    want(opens("/dev/tty", O_RDWR) == terminal, "terminal");
    want(ioctl(0, TIOCSTI, "#") < 0, "terminal-input");
    want(chmod("verdict", 04755) < 0, "set-id");
    want(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0, "no-new-privs");
    /* the default profile has it, this policy takes it away */
    want(syscall(SYS_mincore, NULL, 0, NULL) < 0 && errno == EPERM, "denied-call");
}

static void tell(const char *verdict, int aloud)
{
    int fd = open("verdict", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, verdict, strlen(verdict)) < 0)
        want(0, "no-verdict-file");
    (void)close(fd);
    if (aloud)
        printf("%s\n", verdict);
}

/* Every message is a request on one line, whose id is a number. */
static void serve(const char *verdict)
{
    char line[4096];
    setlinebuf(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        const char *id = strstr(line, "\"id\":");
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":", id ? strtol(id + 5, NULL, 10) : 0);
        if (strstr(line, "\"initialize\""))
            printf("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"walls\",\"version\":\"1\"}}}\n");
        else if (strstr(line, "\"tools/list\""))
            printf("{\"tools\":[{\"name\":\"auto\",\"inputSchema\":{\"type\":\"object\"}}]}}\n");
        else
            printf("{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}\n", verdict);
    }
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    int terminal = strcmp(argv[1], "shell") == 0;
    check_descriptors(terminal); /* before anything of ours is open */
    (void)opens("verdict", O_WRONLY | O_CREAT);
    check_proc(); /* before there are other processes */
    check_status();
    check_ids();
    check_namespaces(argv + 5);
    check_limits();
    check_files(argv[2], argv[1]);
    check_network(argv[3], argv[4]);
    check_calls(terminal);
    check_landlock();
    check_pids();
    int server = strcmp(argv[1], "serve") == 0;
    tell(holes[0] ? holes : "caged", !server);
    if (server)
        serve(holes[0] ? holes : "caged");
    return 0;
}
