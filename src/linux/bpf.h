/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Builds a seccomp filter at run time: for toolcage programs that need few system calls, and for
 * crun. (The filter of a cage is generated at build time, with libseccomp.) A filter has one block
 * for each system call, and every path through a block ends in a verdict. */
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

/* Adds an instruction; `yes` and `no` are the jumps. An instruction beyond TC_BPF_MAX is dropped,
 * and tc_bpf_install() then fails. */
void tc_bpf_add(struct tc_bpf *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k);
/* Adds an instruction that ends the filter with this verdict (SECCOMP_RET_…). */
void tc_bpf_return(struct tc_bpf *p, uint32_t verdict);
/* Adds the start of each filter: it kills a process that makes a system call of another
 * architecture, and loads the call's number. */
void tc_bpf_begin(struct tc_bpf *p);
/* Loads the lower 32 bits of argument `index`: flags, modes and small numbers have no more. */
void tc_bpf_load_argument(struct tc_bpf *p, unsigned index);
/* Begins the block of system call `nr`. The caller adds instructions, of which every path must end
 * with a verdict, and then passes the returned value to tc_bpf_close(). */
size_t tc_bpf_open(struct tc_bpf *p, int nr);
void tc_bpf_close(struct tc_bpf *p, size_t start);
/* Adds a whole block that returns `verdict`. */
void tc_bpf_verdict(struct tc_bpf *p, int nr, uint32_t verdict);
/* Adds a whole block that allows the call if none of `bits` is set in the argument, and otherwise
 * returns `verdict`. */
void tc_bpf_without_bits(struct tc_bpf *p, int nr, unsigned argument, uint32_t bits,
                         uint32_t verdict);
/* Installs the filter for this process and its children; needs no_new_privs. 0, or -1 with
 * errno; ENOSPC: the filter is too long. */
int tc_bpf_install(const struct tc_bpf *p);

#endif
