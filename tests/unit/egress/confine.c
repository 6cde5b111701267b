/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Behind its walls the proxy can do its work, and nothing else: each attempt is made in a child
 * that has raised them. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/proxy/confine.h"
#include "linux/landlock_rules.h"

enum { NOBODY = 65534, GRANTED = 4433, OTHER = 4434, KILLED = -SIGSYS, FAILED_WALLS = 254 };

static struct tc_net_entry net[] = {{.host = (char *)(uintptr_t) "a.example", .port = GRANTED}};
static const struct tc_egress_config config = {.net = net, .net_count = 1, .connections = 1};

typedef int attempt_fn(void); /* 0, or an errno */

/* What the attempt gives: its errno, or the signal that it died of, negative. */
static int confined_by(const struct tc_egress_config *by, attempt_fn *attempt)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                               setresuid(NOBODY, NOBODY, NOBODY) < 0))
            _exit(FAILED_WALLS);
        syscall(SYS_exit_group, tc_egress_confine(by, false) ? attempt() : FAILED_WALLS);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int confined(attempt_fn *attempt)
{
    return confined_by(&config, attempt);
}

static int open_as(const char *path, int flags)
{
    return open(path, flags, 0600) < 0 ? errno : 0;
}

static int connect_to(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

static int socket_of(int family, int type)
{
    return socket(family, type, 0) < 0 ? errno : 0;
}

static int read_hosts(void)
{
    return open_as("/etc/hosts", O_RDONLY | O_CLOEXEC);
}
static int read_random(void)
{
    return open_as("/dev/urandom", O_RDONLY);
}
static int read_shadow(void)
{
    return open_as("/etc/shadow", O_RDONLY);
}
static int read_program(void)
{
    return open_as("/bin/sh", O_RDONLY);
}
static int read_process(void)
{
    return open_as("/proc/self/status", O_RDONLY);
}
static int write_hosts(void)
{
    return open_as("/etc/hosts", O_RDWR);
}
static int make_file(void)
{
    return open_as("/tmp/toolcage-egress-test", O_WRONLY | O_CREAT);
}
static int make_nameless(void)
{
    return open_as("/tmp", O_RDWR | O_TMPFILE);
}
static int connect_granted(void)
{
    return connect_to(GRANTED);
}
static int connect_dns(void)
{
    return connect_to(53);
}
static int connect_other(void)
{
    return connect_to(OTHER);
}
/* A socket that was there before. */
static int inherited = -1;
static int connect_inherited(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(GRANTED),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return connect(inherited, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}
static int connect_inherited_other(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(OTHER), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return connect(inherited, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}
static int unix_socket(void)
{
    return socket_of(AF_UNIX, SOCK_STREAM);
}
static int netlink_socket(void)
{
    return socket_of(AF_NETLINK, SOCK_RAW);
}
static int raw_socket(void)
{
    return socket_of(AF_INET, SOCK_RAW);
}
static int datagrams(void)
{
    return socket_of(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
}
static int do_fork(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 ? errno : 0;
}
static int do_exec(void)
{
    char *const argv[] = {(char *)(uintptr_t) "true", NULL}, *const envp[] = {NULL};
    return execve("/bin/true", argv, envp) < 0 ? errno : 0;
}
static int do_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 ? errno : 0;
}
static int do_prctl(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? errno : 0;
}
static int do_kill(void)
{
    return kill(getppid(), 0) < 0 ? errno : 0;
}
static int do_bind(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? errno : 0;
}
static int make_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}
static int become_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(at, 4096, PROT_READ | PROT_EXEC) < 0 ? errno : 0;
}
#ifdef __x86_64__
static int do_x32(void)
{
    return syscall(0x40000000 + SYS_close, 0) < 0 ? errno : 0;
}
#endif

static void confined_proxy_can_work(void **state)
{
    assert_int_equal(confined(read_hosts), 0);
    assert_int_equal(confined(read_random), 0);
    assert_int_equal(confined(datagrams), 0);
    int granted = confined(connect_granted), dns = confined(connect_dns);
    assert_true(granted == 0 || granted == ECONNREFUSED);
    assert_true(dns == 0 || dns == ECONNREFUSED);
}

static void replaying_proxy_opens_no_socket(void **state)
{
    const struct tc_egress_config replay = {
        .net = net, .net_count = 1, .connections = 1, .replays = true};
    inherited = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(confined_by(&replay, read_hosts), 0);
    assert_int_equal(confined_by(&replay, datagrams), KILLED);
    assert_int_equal(confined_by(&replay, connect_granted), KILLED);
    assert_int_equal(confined_by(&replay, connect_dns), KILLED);
    assert_int_equal(confined_by(&replay, connect_inherited), KILLED);
}

static void ungranted_access_is_refused(void **state)
{
    int abi = tc_landlock_abi();
    assert_int_equal(confined(read_shadow), EACCES);
    assert_int_equal(confined(write_hosts), EACCES);
    assert_int_equal(confined(make_file), EACCES);
    assert_int_equal(confined(make_nameless), EACCES);
    assert_int_equal(confined(unix_socket), EAFNOSUPPORT);
    assert_int_equal(confined(netlink_socket), EAFNOSUPPORT);
    assert_int_equal(confined(raw_socket), EAFNOSUPPORT);
    if (abi >= 1) {
        assert_int_equal(confined(read_program), EACCES);
        assert_int_equal(confined(read_process), EACCES);
    }
    if (abi >= 4)
        assert_int_equal(confined(connect_other), EACCES);
    print_message("# Landlock ABI %d\n", abi);
}

/* It connects sockets of the cage, to these ports alone, and makes none. */
static void publishing_proxy_makes_no_socket(void **state)
{
    char port[] = "4433:127.0.0.1:0";
    char *ports[] = {port, NULL};
    const struct tc_egress_config publishes = {
        .connections = 1, .published = {.items = ports, .count = 1}, .sockets = 3};
    static attempt_fn *const attempts[] = {connect_granted, connect_dns, unix_socket,
                                           netlink_socket,  do_bind,     do_exec};
    for (size_t i = 0; i < TC_COUNT(attempts); i++)
        assert_int_equal(confined_by(&publishes, attempts[i]), KILLED);
    inherited = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(confined_by(&publishes, connect_inherited), ECONNREFUSED);
    int other = confined_by(&publishes, connect_inherited_other);
    assert_int_equal(other, tc_landlock_abi() >= 4 ? EACCES : ECONNREFUSED);
    (void)close(inherited);
}

static void unneeded_syscalls_kill(void **state)
{
    static attempt_fn *const attempts[] = {
        do_fork, do_exec, do_ptrace, do_prctl, do_kill, do_bind, make_code, become_code,
#ifdef __x86_64__
        do_x32,
#endif
    };
    for (size_t i = 0; i < TC_COUNT(attempts); i++) {
        int got = confined(attempts[i]);
        if (got != KILLED)
            print_error("attempt %zu: %d\n", i, got);
        assert_int_equal(got, KILLED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confined_proxy_can_work),
        cmocka_unit_test(replaying_proxy_opens_no_socket),
        cmocka_unit_test(publishing_proxy_makes_no_socket),
        cmocka_unit_test(ungranted_access_is_refused),
        cmocka_unit_test(unneeded_syscalls_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
