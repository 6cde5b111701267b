/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A hand-written seccomp filter for toolcage programs that need few system calls: one block per
 * call, and every path through a block ends in a verdict. The cage's own profile is compiled at
 * build time with libseccomp instead. */
#ifndef TC_LINUX_BPF_H
#define TC_LINUX_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_BPF_MAX = 256 };

struct tc_bpf {
    struct sock_filter code[TC_BPF_MAX];
    unsigned short len;
};

/* One instruction. Instructions beyond TC_BPF_MAX are dropped, and tc_bpf_install() reports
 * that. */
void tc_bpf_add(struct tc_bpf *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k);
/* A return instruction: SECCOMP_RET_…. */
void tc_bpf_return(struct tc_bpf *p, uint32_t verdict);
/* Start of the filter: kills the process on a call of another architecture; loads the call's
 * number. */
void tc_bpf_begin(struct tc_bpf *p);
/* Loads the lower half of argument `index`, which is all of a flag, mode or small number. */
void tc_bpf_load_argument(struct tc_bpf *p, unsigned index);
/* Opens the block for call `nr`, on every path of which the caller must end with a verdict. Pass
 * the returned value to tc_bpf_close(). */
size_t tc_bpf_open(struct tc_bpf *p, int nr);
void tc_bpf_close(struct tc_bpf *p, size_t start);
/* A block that returns `verdict`. */
void tc_bpf_verdict(struct tc_bpf *p, int nr, uint32_t verdict);
/* A block that allows the call when none of `bits` is set in the argument, and else returns
 * `verdict`. */
void tc_bpf_without_bits(struct tc_bpf *p, int nr, unsigned argument, uint32_t bits,
                         uint32_t verdict);
/* Installs the filter for this process and its children; needs no_new_privs. 0, or -1 with
 * errno; ENOSPC: the filter is too long. */
int tc_bpf_install(const struct tc_bpf *p);

#endif
