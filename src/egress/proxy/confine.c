/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/proxy/confine.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "linux/bpf.h"
#include "linux/landlock_rules.h"
#include "linux/privileges.h"
#include "policy/endpoint.h"

/* ---- limits and capabilities ---- */

static bool raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (tc_drop_capabilities(TC_BOUNDING_IF_MAY) < 0)
        return false;
    memset(data, 0xff, sizeof(data));
    if (tc_sys(SYS_capget, TC_ARG(&head), TC_ARG(data), 0, 0, 0, 0) < 0)
        return false;
    return !data[0].effective && !data[0].permitted && !data[0].inheritable && !data[1].effective &&
           !data[1].permitted && !data[1].inheritable;
}

/* ---- Landlock ---- */

/* Numbers instead of names, because headers may be older than the kernel. */
enum { NET_BIND = 1 << 0, NET_CONNECT = 1 << 1, RULE_NET_PORT = 2, ABI_NET = 4, DNS_PORT = 53 };

/* Every ABI has the read rights; a missing path needs no rule. */
static bool allow_path(int ruleset, const char *path, enum tc_landlock_kind kind)
{
    return tc_landlock_allow_path(ruleset, 1, path, kind) == 0 || errno == ENOENT;
}

/* Allows the directory with the real file: programs update the file by replacing it. */
static bool allow_place_of(int ruleset, const char *file)
{
    char real[PATH_MAX];
    if (!realpath(file, real))
        return true;
    char *slash = strrchr(real, '/');
    if (slash == real)
        return allow_path(ruleset, real, TC_LANDLOCK_DATA_FILE);
    *slash = '\0';
    return allow_path(ruleset, real, TC_LANDLOCK_DATA_TREE);
}

static bool allow_paths(int ruleset)
{
    /* c-ares seeds its query ids from /dev/urandom; without it they can be guessed */
    return allow_path(ruleset, "/etc", TC_LANDLOCK_DATA_TREE) &&
           allow_place_of(ruleset, "/etc/resolv.conf") && allow_place_of(ruleset, "/etc/hosts") &&
           allow_place_of(ruleset, "/etc/nsswitch.conf") &&
           allow_path(ruleset, "/dev/urandom", TC_LANDLOCK_DATA_FILE);
}

static bool allow_port(int ruleset, unsigned port)
{
    const struct {
        uint64_t access, port;
    } attr = {NET_CONNECT, port};
    return tc_sys(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, TC_ARG(&attr), 0, 0, 0) == 0;
}

static bool allow_ports(int ruleset, const struct tc_egress_config *config)
{
    struct tc_publish publish;
    struct tc_complaint c;
    if (config->replays)
        return true;
    for (size_t i = 0; i < config->published.count; i++)
        if (!tc_publish_read(config->published.items[i], &publish, &c) ||
            !allow_port(ruleset, publish.port))
            return false;
    if (!allow_port(ruleset, DNS_PORT))
        return false;
    if (config->upstream.host && !allow_port(ruleset, config->upstream.port))
        return false;
    for (size_t i = 0; i < config->net_count; i++)
        if (!allow_port(ruleset, config->net[i].port & TC_PORT_NUMBER))
            return false;
    return true;
}

/* Landlock filters only TCP, and a grant of any port leaves nothing to restrict. */
static uint64_t held_ports(const struct tc_egress_config *config)
{
    if (config->replays)
        return NET_BIND | NET_CONNECT;
    for (size_t i = 0; i < config->net_count; i++)
        if (config->net[i].port == TC_PORT_ANY)
            return NET_BIND;
    return NET_BIND | NET_CONNECT;
}

/* Allows reading the resolver's files and connecting to the grant's ports; no writing, executing or
 * binding. On a kernel without Landlock only the seccomp filter applies. */
static bool restrict_reach(const struct tc_egress_config *config)
{
    int abi = tc_landlock_abi();
    uint64_t net = abi >= ABI_NET ? held_ports(config) : 0;
    if (abi < 1)
        return true;
    _autofd_ int ruleset = tc_landlock_open(abi, net);
    return ruleset >= 0 && allow_paths(ruleset) &&
           (!(net & NET_CONNECT) || allow_ports(ruleset, config)) &&
           tc_landlock_restrict(ruleset) == 0;
}

/* ---- the system calls that the loop and c-ares need; all others kill the process ---- */

static const int allowed[] = {
    /* the loop */
    SYS_epoll_pwait,
    SYS_epoll_ctl,
    SYS_accept4,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_shutdown,
    SYS_close,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_clock_gettime,
    /* c-ares and its files */
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_uname,
    /* OpenSSL's random generator detects a fork */
    SYS_getpid,
    /* memory, signals, exit */
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
#ifdef SYS_stat
    SYS_stat,
#endif
};

/* IPv4 and IPv6 only, streams and datagrams only. */
static void sockets(struct tc_bpf *p)
{
    const uint32_t refused = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
    enum { TYPE_BITS = 0xf };
    size_t start = tc_bpf_open(p, SYS_socket);
    tc_bpf_load_argument(p, 0);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, AF_INET);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_INET6);
    tc_bpf_return(p, refused);
    tc_bpf_load_argument(p, 1);
    tc_bpf_add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, TYPE_BITS);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SOCK_STREAM);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SOCK_DGRAM);
    tc_bpf_return(p, refused);
    tc_bpf_return(p, SECCOMP_RET_ALLOW);
    tc_bpf_close(p, start);
}

static void descriptor_flags(struct tc_bpf *p)
{
    size_t start = tc_bpf_open(p, SYS_fcntl);
    tc_bpf_load_argument(p, 1);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 3, 0, F_GETFL);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, F_SETFL);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, F_SETFD);
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, F_GETFD);
    tc_bpf_return(p, SECCOMP_RET_ALLOW);
    tc_bpf_return(p, SECCOMP_RET_ERRNO | EPERM);
    tc_bpf_close(p, start);
}

static void build(struct tc_bpf *p, bool connects, bool opens)
{
    const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_TMPFILE;
    tc_bpf_begin(p);
    for (size_t i = 0; i < TC_COUNT(allowed); i++) /* x32 numbers match none of these */
        tc_bpf_verdict(p, allowed[i], SECCOMP_RET_ALLOW);
    if (connects)
        tc_bpf_verdict(p, SYS_connect, SECCOMP_RET_ALLOW);
    if (opens)
        sockets(p);
    descriptor_flags(p);
    /* O_TMPFILE includes the bit of O_DIRECTORY, which is not needed here */
    tc_bpf_without_bits(p, SYS_openat, 2, writes, SECCOMP_RET_ERRNO | EACCES);
    tc_bpf_without_bits(p, SYS_mmap, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    tc_bpf_without_bits(p, SYS_mprotect, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    tc_bpf_verdict(p, SYS_ioctl, SECCOMP_RET_ERRNO | ENOTTY); /* stdio's isatty() */
    tc_bpf_return(p, SECCOMP_RET_KILL_PROCESS);
}

/* A replay reaches nothing: without socket() and connect() the proxy has only the cage's sockets.
 * For published ports alone it connects sockets of the cage, which lead nowhere else. */
static bool wall_calls(const struct tc_egress_config *config)
{
    struct tc_bpf p = {.len = 0};
    bool alone = config->published.count && !config->net_count;
    build(&p, !config->replays, !config->replays && !alone);
    return tc_bpf_install(&p) == 0;
}

/* ---- everything ---- */

bool tc_egress_keep_shut(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && tc_fix_limit(RLIMIT_CORE, 0) == 0;
}

/* The standalone proxy may write its report to a file of its caller, and may outlive its parent. */
static bool depend(bool standalone)
{
    return standalone ||
           (tc_fix_limit(RLIMIT_FSIZE, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
}

bool tc_egress_confine(const struct tc_egress_config *config, bool standalone)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && raise_files() && restrict_reach(config) &&
           drop_capabilities() && depend(standalone) && wall_calls(config);
}
