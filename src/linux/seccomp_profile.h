/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The default system call profile: the table from which the filter is generated at build time
 * (gen_seccomp.c) and from which the supervisor takes its replies (seccomp_filter.c). A call that
 * is not in the table returns ENOSYS, as on a kernel without it. Foreign ABIs are closed: a 32-bit
 * call (int 0x80) kills the process, an x32 number returns ENOSYS.
 *
 * Decisions that are not obvious:
 * - clone3, openat2: ENOSYS: their arguments are behind a pointer, where a filter cannot look
 *   without a race; libc falls back to clone and openat, which are checked.
 * - seccomp, Landlock: allowed: a tool may restrict itself further (file, man and browsers do). A
 *   second notification listener is refused: the newest filter's listener would decide instead of
 *   the supervisor's, even after the supervisor's was closed.
 * - socket: internet stream and datagram sockets, and route netlink, which getifaddrs needs: the
 *   cage has a private network namespace and no capability in it. Unix sockets are refused here
 *   because a connect to a path needs no write access. glibc connects to a name service daemon over
 *   one before each look-up of a user or a host: a socket of exactly that type may be a probe,
 *   which the supervisor decides by the calling code.
 * - With unix sockets granted: stream and seqpacket only, because a datagram socket can name its
 *   peer in each message. The supervisor then makes every connect for the tool, of any family. It
 *   lets no connect continue in the kernel, because another thread of the tool could exchange the
 * fd or the address in memory after the check.
 * - socketpair: stream and seqpacket only: a datagram socketpair can send to any path.
 * - renameat2: no RENAME_WHITEOUT: it leaves a device node that an overlay reads as "deleted".
 * - io_setup family: ENOSYS: fs.aio-max-nr is one number for the whole host.
 * - memfd_secret: ENOSYS: memory that not even root can read.
 * - get_mempolicy, vmsplice, pidfd_open: ENOSYS: the first reveals the host's memory layout, the
 *   second lends pages to pipes, and all users of the third can wait for their children without it.
 * - name_to_handle_at: refused with its pair: a handle is a path that no mount contains.
 * - chmod and friends: no set-user-id and set-group-id bits, wherever a mode can be given.
 * - execve: notified only to list programs that the cage does not show; the mounts decide. execveat
 *   is not notified: PID 1 starts the tool with it, which saves a round trip to the supervisor.
 * - watched calls (seccomp_watched.h): allowed; if the paths of a call are observed, the supervisor
 * is notified and lets them continue. Notifications are for reports only: the filter has already
 * checked the registers, and nothing is decided by memory that the tool could change meanwhile.
 * - adjtimex: refused although reading is harmless: the mode is behind a pointer.
 * - prctl: a closed list of options, EINVAL as on a kernel without the option.
 * - setrlimit, prlimit64: RLIMIT_CORE does not change (1 is the only value at which the kernel
 *   starts no core handler, which would run on the host as root). The calls return success without
 *   effect, because scripts run "ulimit -c 0", which asks for the same.
 * - personality: only values that change no protection, and the query.
 * - fcntl: no lease: an open() of the same file by a host program would wait until the tool
 *   releases it, at most /proc/sys/fs/lease-break-time. No directory notification, which sends
 *   signals.
 * - memfd_create, mmap, shmget: no huge pages: no memory limit counts them. The errors are those of
 *   a host without huge pages, after which programs use ordinary ones. */
#ifndef TC_LINUX_SECCOMP_PROFILE_H
#define TC_LINUX_SECCOMP_PROFILE_H

#include <errno.h>
#include <stdint.h>

enum tc_seccomp_verdict {
    TC_SECCOMP_ALLOW,
    TC_SECCOMP_ABSENT, /* errno; not listed as a denial */
    TC_SECCOMP_REFUSE, /* errno; listed as a denial */
    TC_SECCOMP_PROBE,  /* errno; listed as a harmless probe */
    TC_SECCOMP_ASK,    /* allowed; listed when another layer refuses */
    TC_SECCOMP_BROKER, /* made by the supervisor for the tool; errno without a supervisor */
    TC_SECCOMP_CHECK,  /* depends on arguments: the first step whose conditions hold decides */
};

enum tc_seccomp_op {
    TC_SECCOMP_ALWAYS, /* no condition */
    TC_SECCOMP_EQ,     /* (arg & mask) == value */
    TC_SECCOMP_NE,
    TC_SECCOMP_ANY, /* (arg & value) != 0 */
};

/* Only the low 32 bits of an argument are compared: the kernel reads no more of any argument
 * used here, and garbage in the upper half would bypass a filter that compares all 64. Pointers
 * are the exception: HIGH_HALF() of one is a separate argument. */
#define TC_SECCOMP_ARGS 6
#define HIGH_HALF(n) ((n) + TC_SECCOMP_ARGS)
struct tc_seccomp_cond {
    enum tc_seccomp_op op;
    unsigned arg;
    uint32_t mask, value;
};

struct tc_seccomp_step {
    enum tc_seccomp_verdict verdict;
    int errnum;
    struct tc_seccomp_cond cond[2]; /* both must hold */
};

struct tc_seccomp_row {
    const char *name;
    enum tc_seccomp_verdict verdict;
    int errnum;
    const struct tc_seccomp_step *steps; /* CHECK: ended by a step without condition */
};

/* a table, one entry per line */
/* clang-format off */
#define EQ(n, v) {TC_SECCOMP_EQ, n, 0xffffffff, v}
#define NE(n, v) {TC_SECCOMP_NE, n, 0xffffffff, v}
#define MASKED_EQ(n, m, v) {TC_SECCOMP_EQ, n, m, v}
#define MASKED_NE(n, m, v) {TC_SECCOMP_NE, n, m, v}
#define ANY(n, v) {TC_SECCOMP_ANY, n, 0xffffffff, v}
#define ALLOW_IF(...) {TC_SECCOMP_ALLOW, 0, {__VA_ARGS__}}
#define REFUSE_IF(e, ...) {TC_SECCOMP_REFUSE, e, {__VA_ARGS__}}
#define PROBE_IF(e, ...) {TC_SECCOMP_PROBE, e, {__VA_ARGS__}}
/* returns success, does nothing */
#define PRETEND_IF(...)                                                                            \
    {                                                                                              \
        TC_SECCOMP_ABSENT, 0, {__VA_ARGS__}                                                        \
    }
#define ELSE_ALLOW ALLOW_IF({TC_SECCOMP_ALWAYS})
#define ELSE_REFUSE(e) REFUSE_IF(e, {TC_SECCOMP_ALWAYS})
#define ELSE_PROBE(e) PROBE_IF(e, {TC_SECCOMP_ALWAYS})
#define ELSE_ABSENT(e) {TC_SECCOMP_ABSENT, e, {{TC_SECCOMP_ALWAYS}}}

/* Kernel values, defined here because their headers collide with libc's. */
enum {
    K_SETID = 06000,
    K_CREATES = 0100 | 020000000, /* O_CREAT | __O_TMPFILE: else the mode argument is garbage */
    K_IFMT = 0170000,
    K_IFREG = 0100000,
    K_IFIFO = 0010000,
    K_NSCD_TYPE = 1 | 02000000 | 04000, /* SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK */
    K_SOCK_TYPE = 0xf,                  /* without SOCK_NONBLOCK and SOCK_CLOEXEC */
    K_RENAME_WHITEOUT = 4,
    K_NEW_LISTENER = 8,
    K_RLIMIT_CORE = 4,
    K_F_SETLEASE = 1024,
    K_F_NOTIFY = 1026,
    K_MFD_HUGETLB = 4,
    K_MAP_HUGETLB = 0x40000,
    K_SHM_HUGETLB = 04000,
    K_TIOCSTI = 0x5412,
    K_TIOCLINUX = 0x541c,
    K_TIOCSETD = 0x5423,
    K_TIOCCONS = 0x541d,
};
/* Every CLONE_NEW… that clone can take (its low byte is a signal), and unshare's NEWTIME too. */
#define K_CLONE_NEW 0x7e020000u
#define K_UNSHARE_NEW (K_CLONE_NEW | 0x80u)

/* ---- checks by arguments ---- */

#define MODE_AT(n) REFUSE_IF(EPERM, ANY(n, K_SETID)), ELSE_ALLOW
static const struct tc_seccomp_step check_mode_1[] = {MODE_AT(1)};
static const struct tc_seccomp_step check_mode_2[] = {MODE_AT(2)};

static const struct tc_seccomp_step check_open[] = {
    REFUSE_IF(EPERM, ANY(1, K_CREATES), ANY(2, K_SETID)), ELSE_ALLOW};
static const struct tc_seccomp_step check_openat[] = {
    REFUSE_IF(EPERM, ANY(2, K_CREATES), ANY(3, K_SETID)), ELSE_ALLOW};

/* regular files and fifos; no device and no socket */
#define NODE_AT(n)                                                                        \
    REFUSE_IF(EPERM, ANY(n, K_SETID)), ALLOW_IF(MASKED_EQ(n, K_IFMT, 0)),                 \
        ALLOW_IF(MASKED_EQ(n, K_IFMT, K_IFREG)), ALLOW_IF(MASKED_EQ(n, K_IFMT, K_IFIFO)), \
        ELSE_REFUSE(EPERM)
static const struct tc_seccomp_step check_mknod[] = {NODE_AT(1)};
static const struct tc_seccomp_step check_mknodat[] = {NODE_AT(2)};

static const struct tc_seccomp_step check_renameat2[] = {
    REFUSE_IF(EPERM, ANY(4, K_RENAME_WHITEOUT)), ELSE_ALLOW};

static const struct tc_seccomp_step check_clone[] = {REFUSE_IF(EPERM, ANY(0, K_CLONE_NEW)),
                                                     ELSE_ALLOW};
static const struct tc_seccomp_step check_unshare[] = {REFUSE_IF(EPERM, ANY(0, K_UNSHARE_NEW)),
                                                       ELSE_ALLOW};

static const struct tc_seccomp_step check_ioctl[] = {
    REFUSE_IF(EPERM, EQ(1, K_TIOCSTI)), REFUSE_IF(EPERM, EQ(1, K_TIOCLINUX)),
    REFUSE_IF(EPERM, EQ(1, K_TIOCSETD)), REFUSE_IF(EPERM, EQ(1, K_TIOCCONS)), ELSE_ALLOW};

static const struct tc_seccomp_step check_setrlimit[] = {PRETEND_IF(EQ(0, K_RLIMIT_CORE)), ELSE_ALLOW};
/* PID 1 of a live session has the commands' user */
static const struct tc_seccomp_step check_prlimit64[] = {
    REFUSE_IF(EPERM, EQ(0, 1), NE(2, 0)), REFUSE_IF(EPERM, EQ(0, 1), NE(HIGH_HALF(2), 0)),
    PRETEND_IF(EQ(1, K_RLIMIT_CORE), NE(2, 0)), PRETEND_IF(EQ(1, K_RLIMIT_CORE), NE(HIGH_HALF(2), 0)),
    ELSE_ALLOW};

static const struct tc_seccomp_step check_seccomp[] = {REFUSE_IF(EPERM, ANY(1, K_NEW_LISTENER)),
                                                       ELSE_ALLOW};

static const struct tc_seccomp_step check_personality[] = {
    ALLOW_IF(EQ(0, 0xffffffff)), /* query */
    ALLOW_IF(EQ(0, 0)),
    ALLOW_IF(EQ(0, 0x0008)),    /* PER_LINUX32 */
    ALLOW_IF(EQ(0, 0x0020000)), /* UNAME26 */
    ALLOW_IF(EQ(0, 0x0020008)),
    ALLOW_IF(EQ(0, 0x0040000)), /* ADDR_NO_RANDOMIZE: for the caller only; sanitizers need it */
    ELSE_REFUSE(EPERM)};

static const struct tc_seccomp_step check_fcntl[] = {
    REFUSE_IF(EACCES, EQ(1, K_F_SETLEASE)), REFUSE_IF(EINVAL, EQ(1, K_F_NOTIFY)), ELSE_ALLOW};
static const struct tc_seccomp_step check_memfd_create[] = {PROBE_IF(EINVAL, ANY(1, K_MFD_HUGETLB)),
                                                            ELSE_ALLOW};
static const struct tc_seccomp_step check_mmap[] = {PROBE_IF(ENOMEM, ANY(3, K_MAP_HUGETLB)),
                                                    ELSE_ALLOW};
static const struct tc_seccomp_step check_shmget[] = {PROBE_IF(ENOMEM, ANY(2, K_SHM_HUGETLB)),
                                                      ELSE_ALLOW};

/* families: 1 unix, 2 inet, 10 inet6, 16 netlink; types: 1 stream, 2 datagram, 3 raw,
 * 5 seqpacket */
#define OTHER_SOCKETS \
    ALLOW_IF(EQ(0, 16), EQ(2, 0)), /* NETLINK_ROUTE */ \
        REFUSE_IF(EPROTONOSUPPORT, EQ(0, 16)), REFUSE_IF(EAFNOSUPPORT, NE(0, 2), NE(0, 10)), \
        REFUSE_IF(EPERM, MASKED_EQ(1, K_SOCK_TYPE, 3)), \
        REFUSE_IF(ESOCKTNOSUPPORT, MASKED_NE(1, K_SOCK_TYPE, 1), MASKED_NE(1, K_SOCK_TYPE, 2)), \
        ALLOW_IF(EQ(2, 0)), ALLOW_IF(EQ(2, 6)), ALLOW_IF(EQ(2, 17)), \
        /* Go tries MPTCP (262) at start, ping ICMP */ \
        ELSE_PROBE(EPROTONOSUPPORT)
static const struct tc_seccomp_step check_socket[] = {
    PROBE_IF(EACCES, EQ(0, 1), EQ(1, K_NSCD_TYPE)), REFUSE_IF(EACCES, EQ(0, 1)), OTHER_SOCKETS};
static const struct tc_seccomp_step check_socket_unix[] = {
    ALLOW_IF(EQ(0, 1), MASKED_EQ(1, K_SOCK_TYPE, 1)),
    ALLOW_IF(EQ(0, 1), MASKED_EQ(1, K_SOCK_TYPE, 5)), REFUSE_IF(EACCES, EQ(0, 1)), OTHER_SOCKETS};
static const struct tc_seccomp_step check_socketpair[] = {
    REFUSE_IF(EAFNOSUPPORT, NE(0, 1)), ALLOW_IF(MASKED_EQ(1, K_SOCK_TYPE, 1)),
    ALLOW_IF(MASKED_EQ(1, K_SOCK_TYPE, 5)), ELSE_REFUSE(EACCES)};

static const struct tc_seccomp_step check_prctl[] = {
    ALLOW_IF(EQ(0, 1)),          /* SET_PDEATHSIG */
    ALLOW_IF(EQ(0, 2)),          /* GET_PDEATHSIG */
    ALLOW_IF(EQ(0, 3)),          /* GET_DUMPABLE */
    ALLOW_IF(EQ(0, 4)),          /* SET_DUMPABLE */
    ALLOW_IF(EQ(0, 7)),          /* GET_KEEPCAPS */
    ALLOW_IF(EQ(0, 8)),          /* SET_KEEPCAPS */
    ALLOW_IF(EQ(0, 13)),         /* GET_TIMING */
    ALLOW_IF(EQ(0, 15)),         /* SET_NAME */
    ALLOW_IF(EQ(0, 16)),         /* GET_NAME */
    ALLOW_IF(EQ(0, 21)),         /* GET_SECCOMP */
    ALLOW_IF(EQ(0, 22)),         /* SET_SECCOMP: flags cannot be given here */
    ALLOW_IF(EQ(0, 23)),         /* CAPBSET_READ */
    ALLOW_IF(EQ(0, 24)),         /* CAPBSET_DROP */
    ALLOW_IF(EQ(0, 25)),         /* GET_TSC */
    ALLOW_IF(EQ(0, 27)),         /* GET_SECUREBITS */
    ALLOW_IF(EQ(0, 29)),         /* SET_TIMERSLACK */
    ALLOW_IF(EQ(0, 30)),         /* GET_TIMERSLACK */
    ALLOW_IF(EQ(0, 33)),         /* MCE_KILL */
    ALLOW_IF(EQ(0, 34)),         /* MCE_KILL_GET */
    ALLOW_IF(EQ(0, 36)),         /* SET_CHILD_SUBREAPER */
    ALLOW_IF(EQ(0, 37)),         /* GET_CHILD_SUBREAPER */
    ALLOW_IF(EQ(0, 38)),         /* SET_NO_NEW_PRIVS */
    ALLOW_IF(EQ(0, 39)),         /* GET_NO_NEW_PRIVS */
    ALLOW_IF(EQ(0, 41)),         /* SET_THP_DISABLE */
    ALLOW_IF(EQ(0, 42)),         /* GET_THP_DISABLE */
    ALLOW_IF(EQ(0, 47)),         /* CAP_AMBIENT */
    ALLOW_IF(EQ(0, 52)),         /* GET_SPECULATION_CTRL */
    ALLOW_IF(EQ(0, 53)),         /* SET_SPECULATION_CTRL */
    ALLOW_IF(EQ(0, 65)),         /* SET_MDWE */
    ALLOW_IF(EQ(0, 66)),         /* GET_MDWE */
    ALLOW_IF(EQ(0, 0x53564d41)), /* SET_VMA: names of mappings */
    ALLOW_IF(EQ(0, 0x59616d61)), /* SET_PTRACER */
    ELSE_ABSENT(EINVAL)};

#undef EQ
#undef NE
#undef MASKED_EQ
#undef MASKED_NE
#undef ANY
#undef ALLOW_IF
#undef REFUSE_IF
#undef ELSE_ALLOW
#undef ELSE_REFUSE
#undef ELSE_PROBE
#undef PROBE_IF
#undef PRETEND_IF
#undef ELSE_ABSENT
#undef MODE_AT
#undef NODE_AT
#undef OTHER_SOCKETS

/* ---- the table ---- */

/* A(llow), N(ot there), R(efuse), P(robe), Q(uestion: notified on exec, connect and sysinfo), C(heck). */
#define TC_SECCOMP_MAP(A, N, R, P, Q, C) \
    /* files */ \
    A(read) A(write) A(close) A(stat) A(fstat) A(lstat) A(lseek) A(pread64) A(pwrite64) A(readv) \
    A(writev) A(preadv) A(pwritev) A(preadv2) A(pwritev2) A(access) A(faccessat) A(faccessat2) \
    A(sendfile) A(splice) A(tee) A(copy_file_range) A(dup) A(dup2) A(dup3) \
    A(flock) A(fsync) A(fdatasync) A(sync) A(syncfs) A(sync_file_range) A(truncate) A(ftruncate) \
    A(fallocate) A(readahead) A(fadvise64) A(getdents) A(getdents64) A(getcwd) A(chdir) \
    A(fchdir) A(rename) A(renameat) A(rmdir) A(link) A(linkat) A(unlink) A(unlinkat) A(symlink) \
    A(symlinkat) A(readlink) A(readlinkat) A(chown) A(fchown) A(lchown) A(fchownat) A(umask) \
    A(utime) A(utimes) A(futimesat) A(utimensat) A(statfs) A(fstatfs) A(newfstatat) A(statx) \
    A(setxattr) A(lsetxattr) A(fsetxattr) A(getxattr) A(lgetxattr) A(fgetxattr) A(listxattr) \
    A(llistxattr) A(flistxattr) A(removexattr) A(lremovexattr) A(fremovexattr) A(setxattrat) \
    A(getxattrat) A(listxattrat) A(removexattrat) A(close_range) A(pipe) A(pipe2) \
    A(inotify_init) A(inotify_init1) A(inotify_add_watch) A(inotify_rm_watch) \
    C(fcntl, check_fcntl) C(memfd_create, check_memfd_create) \
    C(open, check_open) C(openat, check_openat) C(creat, check_mode_1) C(chmod, check_mode_1) \
    C(fchmod, check_mode_1) C(fchmodat, check_mode_2) C(fchmodat2, check_mode_2) \
    C(mkdir, check_mode_1) C(mkdirat, check_mode_2) C(mknod, check_mknod) \
    C(mknodat, check_mknodat) C(renameat2, check_renameat2) C(ioctl, check_ioctl) \
    N(openat2, ENOSYS) N(vmsplice, ENOSYS) \
    R(name_to_handle_at, EPERM) R(open_by_handle_at, EPERM) R(fanotify_init, EPERM) \
    R(fanotify_mark, EPERM) R(lookup_dcookie, EPERM) R(quotactl, EPERM) R(quotactl_fd, EPERM) \
    /* waiting and time */ \
    A(poll) A(ppoll) A(select) A(pselect6) A(epoll_create) A(epoll_create1) A(epoll_ctl) \
    A(epoll_wait) A(epoll_pwait) A(epoll_pwait2) A(eventfd) A(eventfd2) A(signalfd) A(signalfd4) \
    A(timerfd_create) A(timerfd_settime) A(timerfd_gettime) A(timer_create) A(timer_settime) \
    A(timer_gettime) A(timer_getoverrun) A(timer_delete) A(nanosleep) A(clock_nanosleep) \
    A(clock_gettime) A(clock_getres) A(gettimeofday) A(time) A(times) A(alarm) A(getitimer) \
    A(setitimer) A(pause) \
    R(settimeofday, EPERM) R(clock_settime, EPERM) R(adjtimex, EPERM) R(clock_adjtime, EPERM) \
    /* memory */ \
    C(mmap, check_mmap) A(munmap) A(mprotect) A(mremap) A(msync) A(mincore) A(madvise) A(brk) \
    A(mlock) A(mlock2) A(munlock) A(mlockall) A(munlockall) A(membarrier) A(mbind) \
    N(get_mempolicy, ENOSYS) A(set_mempolicy) A(pkey_alloc) A(pkey_free) A(pkey_mprotect) A(map_shadow_stack) A(mseal) \
    P(userfaultfd, EPERM) \
    /* processes, threads, signals */ \
    A(fork) A(vfork) A(exit) A(exit_group) A(wait4) A(waitid) A(kill) A(tkill) A(tgkill) \
    N(pidfd_open, ENOSYS) A(pidfd_send_signal) A(rt_sigaction) A(rt_sigprocmask) A(rt_sigreturn) \
    A(rt_sigpending) A(rt_sigtimedwait) A(rt_sigqueueinfo) A(rt_tgsigqueueinfo) A(rt_sigsuspend) \
    A(sigaltstack) A(restart_syscall) A(set_tid_address) A(set_robust_list) A(get_robust_list) \
    A(futex) A(futex_waitv) A(futex_wake) A(futex_wait) A(futex_requeue) A(rseq) A(arch_prctl) \
    A(sched_yield) A(sched_getaffinity) A(sched_setaffinity) A(sched_getparam) A(sched_setparam) \
    A(sched_getscheduler) A(sched_setscheduler) A(sched_get_priority_max) \
    A(sched_get_priority_min) A(sched_rr_get_interval) A(sched_getattr) A(sched_setattr) \
    A(getpriority) A(setpriority) A(ioprio_get) A(ioprio_set) A(getrlimit) \
    A(getrusage) A(getcpu) Q(sysinfo) A(uname) A(getrandom) A(getpid) A(getppid) \
    A(gettid) A(getpgid) A(setpgid) A(getpgrp) A(getsid) A(setsid) A(getuid) A(geteuid) \
    A(getgid) A(getegid) A(getresuid) A(getresgid) A(getgroups) A(setuid) A(setgid) A(setreuid) \
    A(setregid) A(setresuid) A(setresgid) A(setgroups) A(setfsuid) A(setfsgid) A(capget) \
    A(capset) A(landlock_create_ruleset) A(landlock_add_rule) A(landlock_restrict_self) \
    A(execveat) \
    C(clone, check_clone) C(unshare, check_unshare) C(prctl, check_prctl) \
    C(setrlimit, check_setrlimit) C(prlimit64, check_prlimit64) C(personality, check_personality) \
    C(seccomp, check_seccomp) \
    N(clone3, ENOSYS) \
    Q(execve) \
    R(setns, EPERM) R(ptrace, EPERM) R(process_vm_readv, EPERM) R(process_vm_writev, EPERM) \
    R(process_madvise, EPERM) R(pidfd_getfd, EPERM) R(kcmp, EPERM) \
    P(perf_event_open, EPERM) \
    R(move_pages, EPERM) R(migrate_pages, EPERM) \
    /* sockets and messages */ \
    C(socket, check_socket) C(socketpair, check_socketpair) \
    Q(connect) \
    A(bind) A(listen) A(accept) A(accept4) A(getsockname) A(getpeername) A(sendto) A(recvfrom) \
    A(sendmsg) A(recvmsg) A(sendmmsg) A(recvmmsg) A(shutdown) A(setsockopt) A(getsockopt) \
    C(shmget, check_shmget) A(shmat) A(shmctl) A(shmdt) A(semget) A(semop) A(semtimedop) \
    A(semctl) A(msgget) A(msgsnd) A(msgrcv) A(msgctl) R(mq_open, EPERM) A(mq_unlink) \
    A(mq_timedsend) A(mq_timedreceive) A(mq_notify) A(mq_getsetattr) \
    /* the machine */ \
    P(io_uring_setup, ENOSYS) P(io_uring_enter, ENOSYS) P(io_uring_register, ENOSYS) \
    P(add_key, EPERM) P(request_key, EPERM) P(keyctl, EPERM) \
    R(bpf, EPERM) R(mount, EPERM) R(umount2, EPERM) R(open_tree, EPERM) R(move_mount, EPERM) \
    R(fsopen, EPERM) R(fsconfig, EPERM) R(fsmount, EPERM) R(fspick, EPERM) \
    R(mount_setattr, EPERM) R(open_tree_attr, EPERM) R(pivot_root, EPERM) R(chroot, EPERM) \
    R(init_module, EPERM) R(finit_module, EPERM) R(delete_module, EPERM) R(kexec_load, EPERM) \
    R(kexec_file_load, EPERM) R(reboot, EPERM) R(swapon, EPERM) R(swapoff, EPERM) R(acct, EPERM) \
    R(sethostname, EPERM) R(setdomainname, EPERM) R(iopl, EPERM) R(ioperm, EPERM) \
    R(vhangup, EPERM) R(syslog, EPERM)

/* clang-format on */

#define ALLOW_ROW(name) {#name, TC_SECCOMP_ALLOW, 0, NULL},
#define ABSENT_ROW(name, errnum) {#name, TC_SECCOMP_ABSENT, errnum, NULL},
#define REFUSE_ROW(name, errnum) {#name, TC_SECCOMP_REFUSE, errnum, NULL},
#define PROBE_ROW(name, errnum) {#name, TC_SECCOMP_PROBE, errnum, NULL},
#define ASK_ROW(name) {#name, TC_SECCOMP_ASK, 0, NULL},
#define CHECK_ROW(name, steps) {#name, TC_SECCOMP_CHECK, 0, steps},
static const struct tc_seccomp_row tc_seccomp_rows[] = {
    TC_SECCOMP_MAP(ALLOW_ROW, ABSENT_ROW, REFUSE_ROW, PROBE_ROW, ASK_ROW, CHECK_ROW)};
#undef ALLOW_ROW
#undef ABSENT_ROW
#undef REFUSE_ROW
#undef PROBE_ROW
#undef ASK_ROW
#undef CHECK_ROW

/* Where unix sockets are granted, these rows replace the table's rows of the same names. */
static const struct tc_seccomp_row tc_seccomp_unix_rows[] = {
    {"socket", TC_SECCOMP_CHECK, 0, check_socket_unix},
    {"connect", TC_SECCOMP_BROKER, EACCES, NULL}};

/* The errno of a call that is not in the table. */
#define TC_SECCOMP_UNNAMED ENOSYS

#endif
