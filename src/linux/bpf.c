/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/bpf.h"

#include <errno.h>
#include <linux/audit.h>
#include <sys/prctl.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "no system call filter for this architecture"
#endif

void tc_bpf_add(struct tc_bpf *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    if (p->len < TC_BPF_MAX)
        p->code[p->len++] = (struct sock_filter){code, yes, no, k};
}

void tc_bpf_return(struct tc_bpf *p, uint32_t verdict)
{
    tc_bpf_add(p, BPF_RET | BPF_K, 0, 0, verdict);
}

static void load_word(struct tc_bpf *p, size_t offset)
{
    tc_bpf_add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

void tc_bpf_begin(struct tc_bpf *p)
{
    load_word(p, offsetof(struct seccomp_data, arch));
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    tc_bpf_return(p, SECCOMP_RET_KILL_PROCESS);
    load_word(p, offsetof(struct seccomp_data, nr));
}

void tc_bpf_load_argument(struct tc_bpf *p, unsigned index)
{
    size_t half = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
    load_word(p, offsetof(struct seccomp_data, args) + 8 * (size_t)index + half);
}

size_t tc_bpf_open(struct tc_bpf *p, int nr)
{
    tc_bpf_add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (uint32_t)nr);
    return p->len - 1U;
}

/* Other calls jump here, with the number still loaded. */
void tc_bpf_close(struct tc_bpf *p, size_t start)
{
    p->code[start].jf = (uint8_t)(p->len - start - 1);
}

void tc_bpf_verdict(struct tc_bpf *p, int nr, uint32_t verdict)
{
    size_t start = tc_bpf_open(p, nr);
    tc_bpf_return(p, verdict);
    tc_bpf_close(p, start);
}

void tc_bpf_without_bits(struct tc_bpf *p, int nr, unsigned argument, uint32_t bits,
                         uint32_t verdict)
{
    size_t start = tc_bpf_open(p, nr);
    tc_bpf_load_argument(p, argument);
    tc_bpf_add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    tc_bpf_return(p, verdict);
    tc_bpf_return(p, SECCOMP_RET_ALLOW);
    tc_bpf_close(p, start);
}

int tc_bpf_install(const struct tc_bpf *p)
{
    const struct sock_fprog program = {.len = p->len, .filter = (struct sock_filter *)p->code};
    if (p->len >= TC_BPF_MAX) {
        errno = ENOSPC;
        return -1;
    }
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
