/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A filter of system calls written by hand, for a program of ours that needs few of them: one part
 * a call, each of which ends in a verdict on every way. The cage's own profile is another matter:
 * libseccomp compiles that at build time. */
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

/* One instruction. What is beyond TC_BPF_MAX is dropped, and tc_bpf_install() says so. */
void tc_bpf_add(struct tc_bpf *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k);
/* The filter's answer from here on: SECCOMP_RET_…. */
void tc_bpf_return(struct tc_bpf *p, uint32_t verdict);
/* First of all: another architecture's call kills the process; the call's number is loaded. */
void tc_bpf_begin(struct tc_bpf *p);
/* The lower half of argument `index`, which holds all of what is a flag, a mode or a small number.
 */
void tc_bpf_load_argument(struct tc_bpf *p, unsigned index);
/* Opens the part for call `nr`, which ends in a verdict on every way; what is given back goes to
 * tc_bpf_close(). */
size_t tc_bpf_open(struct tc_bpf *p, int nr);
void tc_bpf_close(struct tc_bpf *p, size_t start);
/* A part that is its verdict. */
void tc_bpf_verdict(struct tc_bpf *p, int nr, uint32_t verdict);
/* A part that allows the call when none of `bits` is set in the argument, and else the verdict. */
void tc_bpf_without_bits(struct tc_bpf *p, int nr, unsigned argument, uint32_t bits,
                         uint32_t verdict);
/* For this process and what it starts; needs no_new_privs. 0, or -1 with errno, of which ENOSPC is
 * a filter that is too long. */
int tc_bpf_install(const struct tc_bpf *p);

#endif
