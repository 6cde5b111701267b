/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The init config of a cage: everything that its child process needs, computed in advance by the
 * helper. The child is a copy of the helper's memory and reads the config in place. It computes and
 * allocates nothing. */
#ifndef TC_CAGE_INIT_CONFIG_H
#define TC_CAGE_INIT_CONFIG_H

#include <linux/filter.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/field.h"
#include "egress/gateway/gateway.h"
#include "linux/cgroup.h"
#include "linux/seccomp_filter.h"
#include "linux/userns.h"
#include "tree/mount.h"

/* The most likely cause of a failed stage. fix.c chooses a hint for it and inspects the host, so
 * that the hint names the one setting that is in the way. */
enum tc_process_lack {
    TC_LACK_OTHER,     /* another stage of the cage */
    TC_LACK_USERNS,    /* ordinary users may not create user namespaces */
    TC_LACK_PRIVILEGE, /* root may not mount */
    TC_LACK_MOUNT,     /* the helper cannot mount in its own namespace */
    TC_LACK_PROC,      /* no private procfs can be mounted */
    TC_LACK_FILTER,    /* the cage's network needs a packet filter, and the kernel installs none */
    TC_LACK_PATH,      /* a granted path, replaced by another process */
    TC_LACK_CWD,       /* the call's working directory */
};

/* The hint for a failed stage, static text; errnum is the kernel's error. */
const char *tc_process_fix(enum tc_process_lack lack, int errnum);

/* What the child creates in the network namespace of a cage with an allowlist, for the egress proxy
 * outside: addresses, routes and listeners. */
struct tc_init_network {
    struct tc_gateway_requests {
        const char *at; /* consecutive netlink requests */
        size_t len;
    } requests[TC_GATEWAY_REQUESTS];
    const struct tc_gateway_listener *listeners;
    size_t listeners_size; /* in bytes */
};

struct tc_init_limit {
    int resource;
    struct rlimit value;
};

struct tc_init_config;

/* One step between clone3 and the tool. */
struct tc_stage {
    const char *name;
    int (*run)(const struct tc_init_config *init); /* 0, or -1 with errno: no later stage runs */
    int clause;                /* not enforced if the stage fails; -1: no clause */
    enum tc_process_lack lack; /* the most likely cause of a failure */
};

struct tc_stages {
    const struct tc_stage *items;
    size_t count;
    int base;                                        /* added to stage numbers in reports */
    void (*then)(const struct tc_init_config *init); /* never returns */
    const struct tc_stages *inner; /* the next stages on the same socket; NULL: none */
};

/* How PID 1 controls the processes that the tool started. Called in the child: no allocation. */
struct tc_reaper_ops {
    int (*adopt)(void); /* before the tool starts; -1: PID 1 exits */
    int (*enter)(
        const struct tc_init_config *init); /* in the tool: applies the last layer; -1 with errno */
    void (*terminate)(const struct tc_init_config *init, pid_t tool); /* passes SIGTERM on */
    bool (*end)(void);   /* kills until no process is left; false: that cannot be verified */
    void (*leave)(void); /* called when PID 1 gives up */
    bool watches;        /* nothing kills PID 1 when the helper dies: PID 1 polls often */
};

struct tc_init_config {
    const struct tc_stages *stages; /* NULL: the stages of a process cage */
    const struct tc_reaper_ops
        *reaper; /* NULL: PID 1 of a PID namespace, whose exit kills the rest */
    int report;  /* the child's end of the report socket */
    int helper;  /* the helper's end; the child closes its inherited copy */
    /* A prestarted child waits for its call at the stage "call". Its config is in memory shared
     * with the helper. The fields that earlier stages need are set before the clone; the rest is
     * valid after the message that carries the fds. */
    bool parks;
    size_t handed; /* number of fds in that message; the child gets them from TC_INIT_HANDED on */
    bool wait_for_maps; /* a privileged helper writes the id maps; otherwise the child does */
    char uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    uid_t uid;
    gid_t gid;
    int root;        /* the prepared root, detached; a prestarted child receives it by message */
    int image;       /* the image, overlaid by `root`; detached; -1: none */
    const void *own; /* data for a backend's own stages; each of those stages names the type */
    const struct tc_init_mount *mounts;
    size_t mount_count;
    const struct tc_init_limit *limits;
    size_t limit_count;
    int in, out, err; /* the tool's ends of its streams; in: -1 for the null device */
    bool talks;       /* the tool is a toolcage program: it gets the socket `talk` as TC_INIT_TALK
                       */
    int talk;
    bool live; /* a live session: instead of a tool, commands that arrive on `talk` */
    const struct tc_init_network *network; /* NULL: no network */
    size_t network_count;
    /* Instead of the pipes: a terminal in a private devpts. Its other end is sent to the helper. */
    bool terminal;
    uint16_t rows, columns;
    int ruleset; /* Landlock ruleset for the tool alone, see tc_stage_ruleset(); otherwise unused */
    /* CLOCK_REALTIME in ns: the tool starts when file times are later; 0: at once */
    int64_t not_before;
    int landlock_abi; /* 0: the kernel has no Landlock */
    char *code;       /* seccomp filter, if the policy changes it; NULL: the filter for `watch` */
    size_t code_len;
    enum tc_seccomp_watch watch;
    bool told; /* signals cannot reach this PID 1: a byte on the report socket means SIGTERM */
    bool unix_sockets;              /* granted: the helper connects on the tool's behalf */
    mode_t umask;                   /* of the tool */
    const char *const *directories; /* working directories to try, NULL-terminated */
    const char *const *programs;    /* paths to execute, in order, NULL-terminated */
    char *const *argv;
    char *const *envp;
    /* Monotonic; 0: none. The cage ends itself at this time, in case the helper is blocked. */
    int64_t last_us;
    /* Maximum bytes in unattached System V segments; 0: another mechanism limits these segments. */
    int64_t segments;
    /* CPUs that the processes may run on, so that programs which count them see the tool's share; a
     * cgroup enforces it. 0: all. */
    int64_t cpus;
};

/* Fields sent to a PID 1 that is not a copy of the helper; the table is in init_config.c. */
extern const struct tc_fields tc_init_fields;
/* The helper's side. 0, or -1 with errno. */
int tc_init_send(int sock, const struct tc_init_config *init);
/* The receiver's side, in a separate program, which may allocate. Fills a zeroed config; id maps
 * and stages stay unset. False: the peer closed the socket, or the config is invalid. */
bool tc_init_receive(int sock, struct tc_init_config *ret);
/* To a prestarted child. `to` is at the start of `size` bytes of shared memory; the fds go over the
 * report socket. Fields that the child has already read stay unchanged. 0, or -1: the config does
 * not fit, or the child cannot be reached. */
int tc_init_hand(struct tc_init_config *to, size_t size, const struct tc_init_config *init,
                 int report);
/* The seccomp filter; *own holds a filter that is not static. NULL: the filter is invalid.
 * Allocates nothing. */
const struct sock_fprog *tc_init_filter(const struct tc_init_config *init, struct sock_fprog *own);

enum {
    TC_INIT_REPORT = 3,
    TC_INIT_HANDED,
    TC_INIT_RULESET = TC_INIT_HANDED,
    TC_INIT_TALK = TC_INIT_HANDED
};

/* Tells a PID 1 without a PID namespace to end all processes. SIGKILL would end PID 1 alone. */
#define TC_INIT_END SIGUSR1

/* Fixed-size records that the child sends on the report socket. */
enum tc_report_kind {
    TC_REPORT_LISTENER = 1, /* carries the seccomp listener */
    TC_REPORT_NETWORK,      /* carries listening sockets; `status` is the index of the first */
    TC_REPORT_TERMINAL,     /* carries the other end of the tool's terminal */
    TC_REPORT_READY,        /* the sandbox is complete; exec comes next */
    TC_REPORT_FAILED,       /* a stage failed: stage, errnum */
    TC_REPORT_EXEC_FAILED,  /* after READY: errnum */
    TC_REPORT_SEGMENTS,     /* unattached segments exceed the limit: max_rss has their bytes */
    TC_REPORT_EXITED,       /* wait status and usage; the tool and all its processes have ended */
};

struct tc_report {
    int32_t kind;
    int32_t stage;
    int32_t errnum;
    int32_t status; /* the tool's wait status; for a failed stage the index of the current mount, or
                       -1 */
    int64_t us;     /* monotonic time */
    int64_t cpu_us, max_rss; /* of everything that PID 1 reaped; bytes */
};

/* The child: never returns. It first enters the group, of cgroup v1; NULL: it was cloned into its
 * group, or there is none. */
_Noreturn void tc_init_enter(const struct tc_init_config *init, const struct tc_cgroup *group);
/* Runs only the stages, for a process that is not a copy of the helper. */
_Noreturn void tc_init_run_stages(const struct tc_init_config *init);
/* PID 1 of the complete sandbox: starts the tool, forwards signals, reaps, reports. */
_Noreturn void tc_init_main(const struct tc_init_config *init);

/* Stage numbers of failures after the stages: PID 1 could not fork the tool; the tool's process
 * could not apply the config's ruleset; the child could not enter its cgroup. */
enum { TC_INIT_STAGE_FORK = -1, TC_INIT_STAGE_RULESET = -2, TC_INIT_STAGE_CGROUP = -3 };

/* PID 1's exit code when it could not send a report. The tool's exit status is unknown then. */
enum { TC_INIT_MUTE = 2 };

/* The table row of a stage; for an unknown number a row named "unknown". */
const struct tc_stage *tc_init_stage(const struct tc_init_config *init, int stage);

#endif
