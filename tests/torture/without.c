/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a program on a machine that lacks some system calls: a filter answers them with an errno, as
 * an older kernel (ENOSYS) or a container's filter (EPERM) would. Everything that the program
 * starts inherits it.
 *
 *     without ERRNO NUMBER[,NUMBER…] PROGRAM ARGUMENT…
 *
 * A number may be followed by ":FLAG" (decimal): then only calls whose second argument has that bit
 * fail; for seccomp(2), whose listener is a flag of its second argument. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

static struct sock_filter code[4 * MOST + 2];
static unsigned short used;

static void add(unsigned short op, unsigned char yes, unsigned char no, unsigned k)
{
    code[used++] = (struct sock_filter){op, yes, no, k};
}

static void answer(unsigned number, unsigned flag, unsigned errnum)
{
    const unsigned nr = offsetof(struct seccomp_data, nr),
                   second = offsetof(struct seccomp_data, args[1]);
    add(BPF_LD | BPF_W | BPF_ABS, 0, 0, nr);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, flag ? 3 : 1, number);
    if (flag) {
        add(BPF_LD | BPF_W | BPF_ABS, 0, 0, second);
        add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, flag);
    }
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | errnum);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr, "usage: without ERRNO NUMBER[:FLAG][,…] PROGRAM ARGUMENT…\n");
        return 125;
    }
    unsigned errnum = (unsigned)strtoul(argv[1], NULL, 10);
    char *at = argv[2];
    for (int i = 0; i < MOST && *at; i++) {
        unsigned number = (unsigned)strtoul(at, &at, 10);
        unsigned flag = *at == ':' ? (unsigned)strtoul(at + 1, &at, 10) : 0;
        answer(number, flag, errnum);
        at += *at == ',';
    }
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = used, .filter = code};
    /* without no_new_privs where that is allowed: with it the program is not quite the same */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)) {
        perror("without: seccomp");
        return 125;
    }
    (void)execv(argv[3], argv + 3);
    perror("without: exec");
    return 125;
}
