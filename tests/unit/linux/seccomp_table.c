/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The generated filters, run by a small BPF machine over tables of (architecture, number,
 * arguments). Verdicts here are written down by hand, not taken from the profile. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"
#include "linux/seccomp_filter.h"
#include "test.h"

enum { ALLOW = 0, KILL = -1, PRETEND = -2 }; /* anything else: the errno */
enum { X32 = 0x40000000 };

/* What the kernel runs, for the instructions that filters may hold. */
static uint32_t simulate(const struct sock_fprog *program, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t pc = 0; pc < program->len; pc++) {
        const struct sock_filter *i = &program->filter[pc];
        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(i->k % 4 == 0 && i->k < sizeof(*data));
            memcpy(&a, (const char *)data + i->k, sizeof(a));
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= i->k;
            break;
        case BPF_JMP | BPF_JA:
            pc += i->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            pc += a == i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            pc += a >= i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            pc += a & i->k ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            fail_msg("instruction 0x%x", i->code);
        }
    }
    fail_msg("ran off the end");
    return 0;
}

static int plain_verdict(const struct seccomp_data *data)
{
    uint32_t ret = simulate(tc_seccomp_program(TC_WATCH_NOTHING, false), data);
    switch (ret & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
        return ALLOW;
    case SECCOMP_RET_KILL_PROCESS:
        return KILL;
    case SECCOMP_RET_ERRNO:
        return ret & SECCOMP_RET_DATA ? (int)(ret & SECCOMP_RET_DATA) : PRETEND;
    default:
        fail_msg("action 0x%x", ret);
        return KILL;
    }
}

/* Both filters and the supervisor's answer must give one verdict. */
static void expect(const struct seccomp_data *data, int want, bool listed, const char *what)
{
    uint64_t args[6];
    memcpy(args, data->args, sizeof(args));
    int got = plain_verdict(data);
    if (got != want)
        fail_msg("%s (%d): %d in place of %d", what, data->nr, got, want);
    uint32_t ret = simulate(tc_seccomp_program(TC_WATCH_CALLS, false), data);
    bool notified = (ret & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
    if (notified != listed)
        fail_msg("%s (%d): notified %d, wanted %d", what, data->nr, notified, listed);
    if (notified)
        assert_int_equal(tc_seccomp_answer(false, data->nr, args, NULL, NULL), want);
    else if (want == ALLOW)
        assert_int_equal(ret, SECCOMP_RET_ALLOW);
    else if (want == PRETEND)
        assert_int_equal(ret, SECCOMP_RET_ERRNO);
    else if (want != KILL)
        assert_int_equal(ret, SECCOMP_RET_ERRNO | (uint32_t)want);
}

struct row {
    const char *what;
    int nr;
    int want;
    bool listed;
    uint64_t args[6];
};

#define OK(name, ...)                                     \
    {                                                     \
#name " " #__VA_ARGS__, SYS_##name, ALLOW, false, \
        {                                                 \
            __VA_ARGS__                                   \
        }                                                 \
    }
#define NO(errnum, name, ...)                             \
    {                                                     \
#name " " #__VA_ARGS__, SYS_##name, errnum, true, \
        {                                                 \
            __VA_ARGS__                                   \
        }                                                 \
    }
#define MISSING(errnum, name, ...)                         \
    {                                                      \
#name " " #__VA_ARGS__, SYS_##name, errnum, false, \
        {                                                  \
            __VA_ARGS__                                    \
        }                                                  \
    }
#define ASKED(name)                     \
    {                                   \
#name, SYS_##name, ALLOW, true, \
        {                               \
            0                           \
        }                               \
    }
#define HIGH 0xffffffff00000000ull

static const struct row rows[] = {
    OK(read, 0),
    OK(mmap, 0),
    OK(rseq, 0),
    OK(futex, 0),
    OK(fork, 0),
    OK(getrandom, 0),
    OK(landlock_restrict_self, 0),
    ASKED(execve),
    OK(execveat, 0),
    ASKED(connect),
    MISSING(ENOSYS, clone3, 0),
    MISSING(ENOSYS, openat2, 0),
    MISSING(ENOSYS, io_setup, 0),
    MISSING(ENOSYS, memfd_secret, 0),
    MISSING(ENOSYS, get_mempolicy, 0),
    MISSING(ENOSYS, vmsplice, 0),
    MISSING(ENOSYS, pidfd_open, 0),
    MISSING(ENOSYS, modify_ldt, 0),
    MISSING(ENOSYS, uselib, 0),
    /* the whole of these */
    NO(EPERM, setns, 0),
    NO(EPERM, ptrace, 0),
    NO(EPERM, process_vm_readv, 0),
    NO(EPERM, process_vm_writev, 0),
    NO(EPERM, pidfd_getfd, 0),
    NO(EPERM, kcmp, 0),
    NO(EPERM, bpf, 0),
    NO(EPERM, perf_event_open, 0),
    NO(EPERM, userfaultfd, 0),
    NO(EPERM, add_key, 0),
    NO(EPERM, request_key, 0),
    NO(EPERM, keyctl, 0),
    NO(ENOSYS, io_uring_setup, 0),
    NO(ENOSYS, io_uring_enter, 0),
    NO(ENOSYS, io_uring_register, 0),
    NO(EPERM, mount, 0),
    NO(EPERM, umount2, 0),
    NO(EPERM, open_tree, 0),
    NO(EPERM, move_mount, 0),
    NO(EPERM, fsopen, 0),
    NO(EPERM, fsconfig, 0),
    NO(EPERM, fsmount, 0),
    NO(EPERM, fspick, 0),
    NO(EPERM, mount_setattr, 0),
    NO(EPERM, pivot_root, 0),
    NO(EPERM, chroot, 0),
    NO(EPERM, kexec_load, 0),
    NO(EPERM, kexec_file_load, 0),
    NO(EPERM, init_module, 0),
    NO(EPERM, finit_module, 0),
    NO(EPERM, delete_module, 0),
    NO(EPERM, reboot, 0),
    NO(EPERM, swapon, 0),
    NO(EPERM, swapoff, 0),
    NO(EPERM, quotactl, 0),
    NO(EPERM, acct, 0),
    NO(EPERM, settimeofday, 0),
    NO(EPERM, clock_settime, 0),
    NO(EPERM, clock_adjtime, 0),
    NO(EPERM, adjtimex, 0),
    NO(EPERM, open_by_handle_at, 0),
    NO(EPERM, name_to_handle_at, 0),
    NO(EPERM, fanotify_init, 0),
    NO(EPERM, lookup_dcookie, 0),
    NO(EPERM, iopl, 3),
    NO(EPERM, ioperm, 0),
    NO(EPERM, sethostname, 0),
    NO(EPERM, syslog, 2),
    /* namespaces */
    OK(clone, SIGCHLD),
    OK(clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS),
    NO(EPERM, clone, CLONE_NEWUSER | SIGCHLD),
    NO(EPERM, clone, CLONE_NEWNS),
    NO(EPERM, clone, CLONE_NEWNET),
    NO(EPERM, clone, CLONE_NEWPID),
    NO(EPERM, clone, CLONE_NEWIPC),
    NO(EPERM, clone, CLONE_NEWUTS),
    NO(EPERM, clone, CLONE_NEWCGROUP),
    NO(EPERM, clone, HIGH | CLONE_NEWUSER),
    OK(unshare, CLONE_FILES | CLONE_FS),
    NO(EPERM, unshare, CLONE_NEWUSER),
    NO(EPERM, unshare, CLONE_NEWNS | CLONE_FS),
    NO(EPERM, unshare, CLONE_NEWTIME),
    NO(EPERM, unshare, HIGH | CLONE_NEWTIME),
    /* set-id bits */
    OK(chmod, 0, 0755),
    OK(chmod, 0, 01777),
    NO(EPERM, chmod, 0, 04755),
    NO(EPERM, chmod, 0, 02755),
    NO(EPERM, chmod, 0, HIGH | 04000),
    NO(EPERM, fchmod, 3, 06755),
    OK(fchmodat, 3, 0, 0644),
    NO(EPERM, fchmodat, 3, 0, 04755),
    {"fchmodat2", 452, EPERM, true, {3, 0, 04755, 0}},
    {"fchmodat2", 452, ALLOW, false, {3, 0, 0755, 04000}},
    OK(creat, 0, 0644),
    NO(EPERM, creat, 0, 04755),
    OK(mkdir, 0, 0700),
    NO(EPERM, mkdir, 0, 02755),
    NO(EPERM, mkdirat, 3, 0, 02755),
    OK(open, 0, O_RDONLY, 04755), /* without O_CREAT the mode is garbage */
    OK(open, 0, O_RDWR | O_CREAT, 0644),
    NO(EPERM, open, 0, O_RDWR | O_CREAT, 04755),
    NO(EPERM, open, 0, O_RDWR | __O_TMPFILE, 02755),
    OK(openat, 3, 0, O_RDONLY | O_DIRECTORY, 07777),
    OK(openat, 3, 0, O_WRONLY | O_CREAT, 0600),
    NO(EPERM, openat, 3, 0, O_WRONLY | O_CREAT, 04600),
    NO(EPERM, openat, 3, 0, HIGH | O_CREAT, HIGH | 02000),
    NO(EPERM, openat, 3, 0, O_WRONLY | O_TMPFILE, 06777),
    OK(mknod, 0, S_IFIFO | 0600),
    OK(mknod, 0, S_IFREG | 0600),
    OK(mknod, 0, 0600),
    NO(EPERM, mknod, 0, S_IFREG | 04755),
    NO(EPERM, mknod, 0, S_IFCHR | 0600),
    NO(EPERM, mknod, 0, S_IFBLK | 0600),
    NO(EPERM, mknod, 0, S_IFSOCK | 0600),
    NO(EPERM, mknodat, 3, 0, S_IFCHR | 0600),
    OK(mknodat, 3, 0, S_IFIFO | 0600),
    OK(renameat2, 3, 0, 3, 0, 2),
    NO(EPERM, renameat2, 3, 0, 3, 0, 4),
    /* terminals: the kernel looks at the low half of the command */
    OK(ioctl, 0, 0x5401),
    NO(EPERM, ioctl, 0, 0x5412),
    NO(EPERM, ioctl, 0, HIGH | 0x5412),
    NO(EPERM, ioctl, 0, 0x541c),
    NO(EPERM, ioctl, 0, 0x5423),
    /* sockets */
    OK(socket, AF_INET, SOCK_STREAM),
    OK(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6),
    OK(socket, AF_INET6, SOCK_DGRAM, 17),
    OK(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0),
    NO(EPROTONOSUPPORT, socket, AF_NETLINK, SOCK_RAW, 12),
    NO(EACCES, socket, AF_UNIX, SOCK_STREAM),
    NO(EACCES, socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC),
    NO(EACCES, socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK),
    NO(EACCES, socket, HIGH | AF_UNIX, SOCK_STREAM),
    NO(EPERM, socket, AF_INET, SOCK_RAW, 1),
    NO(EPERM, socket, AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58),
    NO(ESOCKTNOSUPPORT, socket, AF_INET, SOCK_PACKET, 3), /* the kernel makes it AF_PACKET */
    NO(ESOCKTNOSUPPORT, socket, AF_INET, SOCK_SEQPACKET, 132),
    NO(EPROTONOSUPPORT, socket, AF_INET, SOCK_STREAM, 262),
    NO(EAFNOSUPPORT, socket, AF_PACKET, SOCK_RAW),
    NO(EAFNOSUPPORT, socket, AF_VSOCK, SOCK_STREAM),
    NO(EAFNOSUPPORT, socket, AF_ALG, SOCK_SEQPACKET),
    NO(EAFNOSUPPORT, socket, AF_XDP, SOCK_RAW),
    NO(EAFNOSUPPORT, socket, AF_BLUETOOTH, SOCK_RAW),
    NO(EAFNOSUPPORT, socket, AF_KEY, SOCK_RAW),
    OK(socketpair, AF_UNIX, SOCK_STREAM),
    OK(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK),
    NO(EACCES, socketpair, AF_UNIX, SOCK_DGRAM),
    NO(EACCES, socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC),
    NO(EACCES, socketpair, AF_UNIX, SOCK_RAW),
    NO(EAFNOSUPPORT, socketpair, 40, SOCK_STREAM),
    /* the rest */
    OK(seccomp, 1, 0),
    NO(EPERM, seccomp, 1, 8),
    NO(EPERM, seccomp, 1, 8 | 32),
    MISSING(PRETEND, setrlimit, RLIMIT_CORE, 0x1000),
    OK(setrlimit, RLIMIT_NOFILE, 0x1000),
    OK(prlimit64, 0, RLIMIT_CORE, 0, 0x1000),
    MISSING(PRETEND, prlimit64, 0, RLIMIT_CORE, 0x1000, 0),
    MISSING(PRETEND, prlimit64, 2, HIGH | RLIMIT_CORE, 0x7f0000000000, 0),
    OK(prlimit64, 1, RLIMIT_NOFILE, 0, 0x1000),
    NO(EPERM, prlimit64, 1, RLIMIT_NOFILE, 0x1000, 0),
    NO(EPERM, prlimit64, HIGH | 1, RLIMIT_CORE, 0x7f0000000000, 0),
    OK(prlimit64, 0, RLIMIT_NOFILE, 0x1000, 0),
    OK(personality, 0xffffffff),
    OK(personality, 0),
    OK(personality, 0x0040000),
    NO(EPERM, personality, 0x0400000), /* READ_IMPLIES_EXEC */
    OK(fcntl, 3, F_GETFL),
    OK(fcntl, 3, F_SETLK, 0x1000),
    OK(fcntl, 3, 1025), /* F_GETLEASE */
    NO(EACCES, fcntl, 3, 1024, F_WRLCK),
    NO(EACCES, fcntl, 3, HIGH | 1024, F_RDLCK),
    NO(EINVAL, fcntl, 3, 1026),
    OK(memfd_create, 0x1000, 3),
    NO(EINVAL, memfd_create, 0x1000, 4 | 1),
    OK(mmap, 0, 4096, 3, 0x22, -1, 0),
    NO(ENOMEM, mmap, 0, 4096, 3, 0x40022, -1, 0),
    NO(ENOMEM, mmap, 0, 4096, 3, 0x40022 | 21U << 26, -1, 0), /* of a size of its own */
    OK(shmget, 0, 4096, 01600),
    NO(ENOMEM, shmget, 0, 4096, 01600 | 04000),
    OK(prctl, 15),
    OK(prctl, 38),
    MISSING(EINVAL, prctl, 35), /* PR_SET_MM */
    MISSING(EINVAL, prctl, 59), /* PR_SET_SYSCALL_USER_DISPATCH */
};

static void the_table_holds(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct seccomp_data data = {.nr = rows[i].nr, .arch = AUDIT_ARCH_X86_64};
        memcpy(data.args, rows[i].args, sizeof(rows[i].args));
        expect(&data, rows[i].want, rows[i].listed, rows[i].what);
    }
}

static void unknown_calls_are_absent(void **state)
{
    static const int numbers[] = {-1, 335, 423, 470, 600, 1023, 1024, 4096, 0x3fffffff, INT32_MIN};
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        struct seccomp_data data = {.nr = numbers[i], .arch = AUDIT_ARCH_X86_64};
        expect(&data, ENOSYS, false, "unknown");
    }
}

static void foreign_abis_are_closed(void **state)
{
    for (int nr = 0; nr < 1024; nr++) {
        struct seccomp_data data = {.nr = nr | X32, .arch = AUDIT_ARCH_X86_64};
        expect(&data, ENOSYS, false, "x32");
        data.nr = nr;
        data.arch = AUDIT_ARCH_I386;
        expect(&data, KILL, false, "int80");
        data.arch = AUDIT_ARCH_AARCH64;
        expect(&data, KILL, false, "aarch64");
    }
}

/* Every number with many arguments: the two filters and the answer never disagree, and only what
 * the other walls decide is ever told to go on. */
/* What is notified is answered as the plain program would have decided; the rest it decides so. */
static void check_watched(enum tc_seccomp_watch watch, const struct seccomp_data *data, int plain)
{
    uint32_t ret = simulate(tc_seccomp_program(watch, false), data);
    uint64_t args[6];
    const char *name;
    size_t count;
    if (ret != SECCOMP_RET_USER_NOTIF) {
        assert_int_equal(ret, simulate(tc_seccomp_program(TC_WATCH_NOTHING, false), data));
        return;
    }
    memcpy(args, data->args, sizeof(args));
    assert_int_equal(tc_seccomp_answer(false, data->nr, args, &name, NULL), plain);
    assert_string_not_equal(name, "?");
    if (plain == ALLOW && data->nr != SYS_connect && data->nr != SYS_execve &&
        data->nr != SYS_sysinfo) {
        assert_true(watch >= TC_WATCH_PATHS);
        assert_non_null(tc_seccomp_paths(data->nr, &count));
    }
}

static void the_watched_calls_are_notified(void **state)
{
    const struct {
        int nr;
        enum tc_seccomp_watch from;
        size_t paths;
    } calls[] = {{SYS_openat, TC_WATCH_PATHS, 1},      {SYS_renameat2, TC_WATCH_PATHS, 2},
                 {SYS_unlinkat, TC_WATCH_PATHS, 1},    {SYS_linkat, TC_WATCH_PATHS, 2},
                 {SYS_newfstatat, TC_WATCH_PATHS, 1},  {SYS_statx, TC_WATCH_PATHS, 1},
                 {SYS_execve, TC_WATCH_CALLS, 0},      {SYS_sysinfo, TC_WATCH_CALLS, 0},
                 {SYS_read, TC_WATCH_ACCESSES + 1, 0}, {SYS_fstat, TC_WATCH_ACCESSES + 1, 0}};
    for (size_t i = 0; i < TC_COUNT(calls); i++) {
        struct seccomp_data data = {.nr = calls[i].nr, .arch = AUDIT_ARCH_X86_64};
        size_t count = 0;
        for (enum tc_seccomp_watch w = TC_WATCH_NOTHING; w <= TC_WATCH_ACCESSES; w++)
            assert_int_equal(simulate(tc_seccomp_program(w, false), &data),
                             w >= calls[i].from ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
        assert_int_equal(tc_seccomp_paths(calls[i].nr, &count) != NULL, calls[i].paths > 0);
        assert_int_equal(count, calls[i].paths);
    }
}

static void filters_and_answers_agree(void **state)
{
    static const uint64_t values[] = {0,    1,     2,        3,       5,          010,       0100,
                                      0644, 02000, 04755,    0x5412,  0x7e020000, 0x80,      10,
                                      16,   17,    HIGH | 1, 0120600, 0x40000,    0xffffffff};
    unsigned seed = 1;
    for (int nr = 0; nr < 1100; nr++) {
        for (int round = 0; round < 200; round++) {
            struct seccomp_data data = {.nr = nr, .arch = AUDIT_ARCH_X86_64};
            uint64_t args[6];
            for (int i = 0; i < 6; i++) {
                seed = seed * 1103515245 + 12345;
                args[i] = values[(seed >> 16) % TC_COUNT(values)];
            }
            memcpy(data.args, args, sizeof(args));
            int plain = plain_verdict(&data);
            for (enum tc_seccomp_watch watch = TC_WATCH_CALLS; watch <= TC_WATCH_ACCESSES; watch++)
                check_watched(watch, &data, plain);
        }
    }
}

/* With unix sockets: connected kinds of them, no connect is ever told to go on, whatever is
 * watched, and all else stays as it is. */
static void unix_sockets_change_two_calls(void **state)
{
    static const struct {
        uint64_t family, type, protocol;
        int want;
    } kinds[] = {{AF_UNIX, SOCK_STREAM, 0, ALLOW},
                 {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ALLOW},
                 {HIGH | AF_UNIX, HIGH | SOCK_STREAM, 0, ALLOW},
                 {AF_UNIX, SOCK_DGRAM, 0, EACCES},
                 {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, EACCES},
                 {AF_UNIX, SOCK_RAW, 0, EACCES},
                 {AF_UNIX, SOCK_RDM, 0, EACCES},
                 {AF_INET, SOCK_STREAM, 0, ALLOW},
                 {AF_INET, SOCK_RAW, 1, EPERM},
                 {AF_NETLINK, SOCK_RAW, 12, EPROTONOSUPPORT},
                 {AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT}};
    for (enum tc_seccomp_watch w = TC_WATCH_NOTHING; w <= TC_WATCH_ACCESSES; w++) {
        for (size_t i = 0; i < TC_COUNT(kinds); i++) {
            const uint64_t args[6] = {kinds[i].family, kinds[i].type, kinds[i].protocol};
            struct seccomp_data data = {.nr = SYS_socket, .arch = AUDIT_ARCH_X86_64};
            memcpy(data.args, args, sizeof(args));
            uint32_t refused = w ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | kinds[i].want;
            assert_int_equal(simulate(tc_seccomp_program(w, true), &data),
                             kinds[i].want == ALLOW ? SECCOMP_RET_ALLOW : refused);
            if (kinds[i].want != ALLOW)
                assert_int_equal(tc_seccomp_answer(true, SYS_socket, args, NULL, NULL),
                                 kinds[i].want);
        }
        for (int nr = 0; nr < 1100; nr++) {
            struct seccomp_data data = {.nr = nr, .arch = AUDIT_ARCH_X86_64};
            uint32_t with = simulate(tc_seccomp_program(w, true), &data);
            if (nr == SYS_connect)
                assert_int_equal(with, SECCOMP_RET_USER_NOTIF);
            else if (nr != SYS_socket)
                assert_int_equal(with, simulate(tc_seccomp_program(w, false), &data));
        }
    }
    const uint64_t none[6] = {0};
    assert_int_equal(tc_seccomp_answer(true, SYS_connect, none, NULL, NULL), EACCES);
    assert_int_equal(tc_seccomp_answer(true, SYS_execve, none, NULL, NULL), 0);
}

static void answers_name_and_mark_probes(void **state)
{
    const uint64_t unix_stream[6] = {AF_UNIX, SOCK_STREAM}, none[6] = {0},
                   mptcp[6] = {AF_INET, SOCK_STREAM, 262};
    const char *name;
    bool probe;
    assert_int_equal(tc_seccomp_answer(false, SYS_socket, unix_stream, &name, &probe), EACCES);
    assert_string_equal(name, "socket");
    assert_false(probe);
    const uint64_t nscd[6] = {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK};
    assert_int_equal(tc_seccomp_answer(false, SYS_socket, nscd, NULL, &probe), EACCES);
    assert_true(probe);
    assert_int_equal(tc_seccomp_answer(false, SYS_socket, mptcp, NULL, &probe), EPROTONOSUPPORT);
    assert_true(probe);
    assert_int_equal(tc_seccomp_answer(false, SYS_io_uring_setup, none, &name, &probe), ENOSYS);
    assert_string_equal(name, "io_uring_setup");
    assert_true(probe);
    assert_int_equal(tc_seccomp_answer(false, SYS_connect, none, &name, &probe), 0);
    assert_string_equal(name, "connect");
    assert_false(probe);
    /* never notified: were it, it must not go on */
    assert_int_equal(tc_seccomp_answer(false, SYS_read, none, &name, NULL), ENOSYS);
    assert_int_equal(tc_seccomp_answer(false, 9999, none, &name, NULL), ENOSYS);
    assert_string_equal(name, "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_holds),
        cmocka_unit_test(unknown_calls_are_absent),
        cmocka_unit_test(foreign_abis_are_closed),
        cmocka_unit_test(filters_and_answers_agree),
        cmocka_unit_test(the_watched_calls_are_notified),
        cmocka_unit_test(unix_sockets_change_two_calls),
        cmocka_unit_test(answers_name_and_mark_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
