/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system calls that the loop and c-ares need, by number; any other kills the process. */
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "egress/proxy/walls.h"
#include "linux/bpf.h"

static const int allowed[] = {
    /* the loop */
    SYS_epoll_pwait,
    SYS_epoll_ctl,
    SYS_accept4,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_connect,
    SYS_shutdown,
    SYS_close,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_clock_gettime,
    /* c-ares, and the files that it reads */
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
    /* OpenSSL's random numbers ask whether they are a copy's */
    SYS_getpid,
    /* memory, signals, the end */
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

/* Only the internet, streams and datagrams. */
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

static void build(struct tc_bpf *p)
{
    const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_TMPFILE;
    tc_bpf_begin(p);
    for (size_t i = 0; i < TC_COUNT(allowed); i++) /* x32's numbers are none of these */
        tc_bpf_verdict(p, allowed[i], SECCOMP_RET_ALLOW);
    sockets(p);
    descriptor_flags(p);
    /* O_TMPFILE holds the bit of O_DIRECTORY, which nobody needs here */
    tc_bpf_without_bits(p, SYS_openat, 2, writes, SECCOMP_RET_ERRNO | EACCES);
    tc_bpf_without_bits(p, SYS_mmap, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    tc_bpf_without_bits(p, SYS_mprotect, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    tc_bpf_verdict(p, SYS_ioctl, SECCOMP_RET_ERRNO | ENOTTY); /* what stdio asks of a file */
    tc_bpf_return(p, SECCOMP_RET_KILL_PROCESS);
}

bool tc_egress_wall_calls(void)
{
    struct tc_bpf p = {.len = 0};
    build(&p);
    return tc_bpf_install(&p) == 0;
}
