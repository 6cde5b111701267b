/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system calls that the loop and c-ares need, by number; any other kills the process. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "egress/walls.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "no system call filter for this architecture"
#endif

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

enum { CODE_MAX = 256 };

struct program {
    struct sock_filter code[CODE_MAX];
    unsigned short len;
};

static void add(struct program *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    if (p->len < CODE_MAX)
        p->code[p->len++] = (struct sock_filter){code, yes, no, k};
}

static void add_return(struct program *p, uint32_t verdict)
{
    add(p, BPF_RET | BPF_K, 0, 0, verdict);
}

static void load(struct program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The lower half of an argument: what is looked at here are flags and small numbers, of which the
 * kernel takes the lower half, too. */
static void load_argument(struct program *p, unsigned index)
{
    size_t offset = offsetof(struct seccomp_data, args) + 8 * (size_t)index;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    offset += 4;
#endif
    load(p, offset);
}

/* Opens the part for one call, which ends in a verdict on every way; close_call() says how long it
 * was. The number is loaded where it begins. */
static size_t open_call(struct program *p, int nr)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (uint32_t)nr);
    return p->len - 1U;
}

static void close_call(struct program *p, size_t start)
{
    p->code[start].jf = (uint8_t)(p->len - start - 1);
}

/* Allowed when none of the bits is set, else the verdict. */
static void without_bits(struct program *p, int nr, unsigned argument, uint32_t bits,
                         uint32_t verdict)
{
    size_t start = open_call(p, nr);
    load_argument(p, argument);
    add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    add_return(p, verdict);
    add_return(p, SECCOMP_RET_ALLOW);
    close_call(p, start);
}

/* Only the internet, streams and datagrams. */
static void sockets(struct program *p)
{
    const uint32_t refused = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
    enum { TYPE_BITS = 0xf };
    size_t start = open_call(p, SYS_socket);
    load_argument(p, 0);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, AF_INET);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_INET6);
    add_return(p, refused);
    load_argument(p, 1);
    add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, TYPE_BITS);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SOCK_STREAM);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SOCK_DGRAM);
    add_return(p, refused);
    add_return(p, SECCOMP_RET_ALLOW);
    close_call(p, start);
}

static void descriptor_flags(struct program *p)
{
    size_t start = open_call(p, SYS_fcntl);
    load_argument(p, 1);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 3, 0, F_GETFL);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, F_SETFL);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, F_SETFD);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, F_GETFD);
    add_return(p, SECCOMP_RET_ALLOW);
    add_return(p, SECCOMP_RET_ERRNO | EPERM);
    close_call(p, start);
}

static void with_errno(struct program *p, int nr, uint32_t error)
{
    size_t start = open_call(p, nr);
    add_return(p, SECCOMP_RET_ERRNO | error);
    close_call(p, start);
}

static void begin(struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    add_return(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
}

static void build(struct program *p)
{
    const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_TMPFILE;
    begin(p);
    for (size_t i = 0; i < TC_COUNT(allowed); i++) { /* x32's numbers are none of these */
        size_t start = open_call(p, allowed[i]);
        add_return(p, SECCOMP_RET_ALLOW);
        close_call(p, start);
    }
    sockets(p);
    descriptor_flags(p);
    /* O_TMPFILE holds the bit of O_DIRECTORY, which nobody needs here */
    without_bits(p, SYS_openat, 2, writes, SECCOMP_RET_ERRNO | EACCES);
    without_bits(p, SYS_mmap, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    without_bits(p, SYS_mprotect, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    with_errno(p, SYS_ioctl, ENOTTY); /* what stdio asks of a file */
    add_return(p, SECCOMP_RET_KILL_PROCESS);
}

bool tc_egress_wall_calls(void)
{
    struct program p = {.len = 0};
    build(&p);
    const struct sock_fprog program = {.len = p.len, .filter = p.code};
    if (p.len >= CODE_MAX)
        return false;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
