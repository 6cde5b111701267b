/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How the signer confines itself before it reads anything: it keeps its fds, its memory and random
 * numbers, and can open no file and no socket, and start no program. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "linux/bpf.h"
#include "linux/privileges.h"
#include "receipt/protocol.h"
#include "receipt/receipt.h"

enum { KEY_BYTES = 16 << 10 };

static const int allowed[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    /* memory, random numbers, signals, exit */
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_futex,
    SYS_getrandom,
    SYS_getpid,
    SYS_gettid,
    SYS_clock_gettime,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
};

static int filter_calls(void)
{
    struct tc_bpf p = {.len = 0};
    tc_bpf_begin(&p);
    for (size_t i = 0; i < TC_COUNT(allowed); i++)
        tc_bpf_verdict(&p, allowed[i], SECCOMP_RET_ALLOW);
    tc_bpf_without_bits(&p, SYS_mmap, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    tc_bpf_without_bits(&p, SYS_mprotect, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    tc_bpf_verdict(&p, SYS_openat, SECCOMP_RET_ERRNO | EACCES); /* OpenSSL's configuration */
    tc_bpf_return(&p, SECCOMP_RET_KILL_PROCESS);
    return tc_bpf_install(&p);
}

/* The program that starts the signer may have any files open. Its own messages go to standard
 * error, which stays. */
static bool close_others(void)
{
    _autofd_ int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
           close_range(TC_RECEIPT_KEY + 1, ~0U, 0) == 0;
}

bool tc_receipt_confine(void)
{
    return close_others() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && tc_fix_limit(RLIMIT_CORE, 0) == 0 &&
           tc_fix_limit(RLIMIT_FSIZE, KEY_BYTES) == 0 &&
           tc_drop_capabilities(TC_BOUNDING_IF_MAY) == 0 && filter_calls() == 0;
}
