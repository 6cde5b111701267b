/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/syscall_names.h"

#include <string.h>

#include "base/strv.h"

/* sorted; a test compares it with the profile */
/* clang-format off */
static const char *const names[] = {
    "accept", "accept4", "access", "acct", "add_key", "adjtimex", "alarm", "arch_prctl", "bind",
    "bpf", "brk", "capget", "capset", "chdir", "chmod", "chown", "chroot", "clock_adjtime",
    "clock_getres", "clock_gettime", "clock_nanosleep", "clock_settime", "clone", "clone3", "close",
    "close_range", "connect", "copy_file_range", "creat", "delete_module", "dup", "dup2", "dup3",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
    "eventfd", "eventfd2", "execve", "execveat", "exit", "exit_group", "faccessat", "faccessat2",
    "fadvise64", "fallocate", "fanotify_init", "fanotify_mark", "fchdir", "fchmod", "fchmodat",
    "fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "finit_module",
    "flistxattr", "flock", "fork", "fremovexattr", "fsconfig", "fsetxattr", "fsmount", "fsopen",
    "fspick", "fstat", "fstatfs", "fsync", "ftruncate", "futex", "futex_requeue", "futex_wait",
    "futex_waitv", "futex_wake", "futimesat", "get_mempolicy", "get_robust_list", "getcpu",
    "getcwd", "getdents", "getdents64", "getegid", "geteuid", "getgid", "getgroups", "getitimer",
    "getpeername", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom",
    "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "getsockname", "getsockopt",
    "gettid", "gettimeofday", "getuid", "getxattr", "getxattrat", "init_module",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioctl", "ioperm", "iopl", "ioprio_get", "ioprio_set",
    "kcmp", "kexec_file_load", "kexec_load", "keyctl", "kill", "landlock_add_rule",
    "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lgetxattr", "link", "linkat",
    "listen", "listxattr", "listxattrat", "llistxattr", "lookup_dcookie", "lremovexattr", "lseek",
    "lsetxattr", "lstat", "madvise", "map_shadow_stack", "mbind", "membarrier", "memfd_create",
    "migrate_pages", "mincore", "mkdir", "mkdirat", "mknod", "mknodat", "mlock", "mlock2",
    "mlockall", "mmap", "mount", "mount_setattr", "move_mount", "move_pages", "mprotect",
    "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
    "mremap", "mseal", "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall",
    "munmap", "name_to_handle_at", "nanosleep", "newfstatat", "open", "open_by_handle_at",
    "open_tree", "open_tree_attr", "openat", "openat2", "pause", "perf_event_open", "personality",
    "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pivot_root", "pkey_alloc",
    "pkey_free", "pkey_mprotect", "poll", "ppoll", "prctl", "pread64", "preadv", "preadv2",
    "prlimit64", "process_madvise", "process_vm_readv", "process_vm_writev", "pselect6", "ptrace",
    "pwrite64", "pwritev", "pwritev2", "quotactl", "quotactl_fd", "read", "readahead", "readlink",
    "readlinkat", "readv", "reboot", "recvfrom", "recvmmsg", "recvmsg", "removexattr",
    "removexattrat", "rename", "renameat", "renameat2", "request_key", "restart_syscall", "rmdir",
    "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
    "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setattr",
    "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "select", "semctl", "semget",
    "semop", "semtimedop", "sendfile", "sendmmsg", "sendmsg", "sendto", "set_mempolicy",
    "set_robust_list", "set_tid_address", "setdomainname", "setfsgid", "setfsuid", "setgid",
    "setgroups", "sethostname", "setitimer", "setns", "setpgid", "setpriority", "setregid",
    "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setsockopt", "settimeofday",
    "setuid", "setxattr", "setxattrat", "shmat", "shmctl", "shmdt", "shmget", "shutdown",
    "sigaltstack", "signalfd", "signalfd4", "socket", "socketpair", "splice", "stat", "statfs",
    "statx", "swapoff", "swapon", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs",
    "sysinfo", "syslog", "tee", "tgkill", "time", "timer_create", "timer_delete",
    "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime",
    "timerfd_settime", "times", "tkill", "truncate", "umask", "umount2", "uname", "unlink",
    "unlinkat", "unshare", "userfaultfd", "utime", "utimensat", "utimes", "vfork", "vhangup",
    "vmsplice", "wait4", "waitid", "write", "writev",
};
/* clang-format on */

bool tc_syscall_known(const char *name)
{
    size_t low = 0, high = TC_COUNT(names);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(names[middle], name);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

const char *tc_syscall_nearest(const char *name)
{
    const char *best = NULL;
    struct tc_near nearest = tc_near_to(name);
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (tc_near_is(&nearest, names[i]))
            best = names[i];
    return best;
}

const char *const *tc_syscall_names(size_t *ret_count)
{
    *ret_count = TC_COUNT(names);
    return names;
}

static const char *const may_add[] = {
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
    "kcmp",   "move_pages",       "migrate_pages",     "name_to_handle_at"};

/* Reasons for commonly requested system calls that are never allowed. */
static const struct {
    const char *name, *why;
} never[] = {
    {"mount", "it changes what the tool sees"},
    {"umount2", "it exposes denied paths"},
    {"move_mount", "it changes what the tool sees"},
    {"open_tree", "it changes what the tool sees"},
    {"pivot_root", "it changes what the tool sees"},
    {"chroot", "it changes what the tool sees"},
    {"setns", "it enters other namespaces"},
    {"unshare", "new namespaces give capabilities in them"},
    {"clone3", "a filter cannot see its flags, and new namespaces give capabilities"},
    {"openat2", "a filter cannot see its mode, which may be set-id"},
    {"open_by_handle_at", "it opens files past every path"},
    {"bpf", "it loads programs into the kernel"},
    {"perf_event_open", "it observes the kernel and other processes"},
    {"userfaultfd", "it blocks the kernel inside its own work"},
    {"io_uring_setup", "its work bypasses the filter"},
    {"io_uring_enter", "its work bypasses the filter"},
    {"io_uring_register", "its work bypasses the filter"},
    {"keyctl", "keyrings belong to the host"},
    {"add_key", "keyrings belong to the host"},
    {"request_key", "keyrings belong to the host"},
    {"pidfd_getfd", "it takes file descriptors from other processes"},
    {"init_module", "it loads code into the kernel"},
    {"finit_module", "it loads code into the kernel"},
    {"delete_module", "it changes the kernel"},
    {"kexec_load", "it replaces the kernel"},
    {"kexec_file_load", "it replaces the kernel"},
    {"reboot", "it affects the whole host"},
    {"iopl", "it reaches the hardware"},
    {"ioperm", "it reaches the hardware"},
};

bool tc_syscall_allowable(const char *name)
{
    return TC_AMONG(may_add, name);
}

const char *tc_syscall_never(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(never); i++)
        if (tc_streq(never[i].name, name))
            return never[i].why;
    return NULL;
}
