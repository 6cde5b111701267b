/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How the archive reader confines itself: its root is the target directory, and its seccomp filter
 * allows only the system calls for reading and writing files. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "image/unpack.h"
#include "linux/bpf.h"
#include "linux/landlock_rules.h"
#include "linux/privileges.h"
#include "linux/userns.h"

enum { MEMORY = 2 << 30 >> 1, SECONDS = 3600, FILES = 64 };

/* ---- the root ---- */

/* chroot needs a capability: without it, the child gets it in a user namespace, and drops it below.
 */
static int enter_namespace(void)
{
    char uids[TC_ID_MAP_SIZE], gids[TC_ID_MAP_SIZE];
    if (geteuid() == 0)
        return setgroups(0, NULL);
    tc_id_map(uids, geteuid(), geteuid());
    tc_id_map(gids, getegid(), getegid());
    return unshare(CLONE_NEWUSER) < 0 ? -1 : tc_write_id_maps("self", uids, gids, 1);
}

static int enter_root(int target)
{
    return fchdir(target) < 0 || chroot(".") < 0 ? -1 : chdir("/");
}

static int restrict_reach(int target)
{
    int abi = tc_landlock_abi();
    if (abi < 1)
        return 0; /* no Landlock: only the root confines */
    _autofd_ int ruleset = tc_landlock_open(abi, 0);
    return ruleset < 0 || tc_landlock_allow(ruleset, abi, target, TC_LANDLOCK_WRITE_TREE) < 0
               ? -1
               : tc_landlock_restrict(ruleset);
}

/* A sanitizer's shadow memory exceeds any limit. */
static int limit_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return tc_fix_limit(RLIMIT_AS, MEMORY);
#endif
}

/* ---- system calls ---- */

static const int allowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_pwrite64,
    SYS_lseek,
    SYS_close,
    SYS_openat2,
    SYS_unlinkat,
    SYS_symlinkat,
    SYS_linkat,
    SYS_utimensat,
    SYS_ftruncate,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_getdents64,
    SYS_readlinkat,
    SYS_fchdir,
    SYS_getcwd,
    SYS_fcntl,
    /* memory, time, signals, exit */
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_getpid,
    SYS_gettid,
};

/* The mode argument of each call: set-id bits are refused. */
static const struct {
    int nr;
    unsigned argument;
} modes[] = {{SYS_openat, 3}, {SYS_mkdirat, 2}, {SYS_fchmod, 1}, {SYS_fchmodat, 2}};

static int filter_calls(void)
{
    struct tc_bpf p = {.len = 0};
    tc_bpf_begin(&p);
    for (size_t i = 0; i < TC_COUNT(allowed); i++)
        tc_bpf_verdict(&p, allowed[i], SECCOMP_RET_ALLOW);
    for (size_t i = 0; i < TC_COUNT(modes); i++)
        tc_bpf_without_bits(&p, modes[i].nr, modes[i].argument, S_ISUID | S_ISGID,
                            SECCOMP_RET_KILL_PROCESS);
    tc_bpf_return(&p, SECCOMP_RET_ERRNO | EPERM);
    return tc_bpf_install(&p);
}

/* ---- everything ---- */

const char *tc_unpack_confine(int target, int64_t most_bytes)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return "no_new_privs";
    if (enter_namespace() < 0)
        return "user namespace";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return "parent's end";
    if (enter_root(target) < 0)
        return "root directory";
    if (restrict_reach(target) < 0)
        return "Landlock";
    if (tc_fix_limit(RLIMIT_CORE, 0) < 0 || tc_fix_limit(RLIMIT_FSIZE, (rlim_t)most_bytes) < 0 ||
        tc_fix_limit(RLIMIT_NOFILE, FILES) < 0 || tc_fix_limit(RLIMIT_CPU, SECONDS) < 0 ||
        limit_memory() < 0)
        return "limits";
    if (tc_drop_capabilities(TC_BOUNDING_IF_MAY) < 0)
        return "capabilities";
    return filter_calls() < 0 ? "system calls" : NULL;
}
