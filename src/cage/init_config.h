/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The init config: everything the child of a process cage needs, computed beforehand in the helper.
 * The child is a copy of the helper's memory, so it reads this in place; it computes nothing and
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
#include "linux/seccomp_filter.h"
#include "linux/userns.h"
#include "tree/mount.h"

/* What a stage that fails is most likely to miss. fix.c: what to do about it; the place itself is
 * asked, so that the words name the one setting that is in the way. */
enum tc_process_lack {
    TC_LACK_OTHER,     /* another stage of the cage */
    TC_LACK_USERNS,    /* an ordinary caller may make none */
    TC_LACK_PRIVILEGE, /* root may not mount */
    TC_LACK_PROC,      /* no procfs of the cage's own */
    TC_LACK_FILTER,    /* its network takes no packet filter, where it needs one */
    TC_LACK_PATH,      /* a granted path, which somebody else has replaced */
    TC_LACK_CWD,       /* the call's working directory */
};

/* Static text; errnum is what the kernel said. */
const char *tc_process_fix(enum tc_process_lack lack, int errnum);

/* What is made in the network namespace of a cage with an allowlist, for the proxy outside. */
struct tc_init_network {
    struct tc_gateway_requests {
        const char *at; /* netlink requests, one after another */
        size_t len;
    } requests[TC_GATEWAY_REQUESTS];
    const struct tc_gateway_listener *listeners;
    size_t listeners_size; /* bytes */
};

struct tc_init_limit {
    int resource;
    struct rlimit value;
};

struct tc_init_config;

/* One step of a child's way to the tool. */
struct tc_stage {
    const char *name;
    int (*run)(
        const struct tc_init_config *init); /* 0, or -1 with errno: then nothing later happens */
    int clause;                             /* what is not enforced when it fails; -1: nothing is */
    enum tc_process_lack lack;              /* what it is most likely to miss then */
};

struct tc_stages {
    const struct tc_stage *items;
    size_t count;
    int base;                                        /* added to the numbers in its reports */
    void (*then)(const struct tc_init_config *init); /* never returns */
    const struct tc_stages *inner; /* whoever comes after it on the same socket; NULL: nobody */
};

/* What PID 1 does about all that the tool has started. In the child: no allocation. */
struct tc_reaper_ops {
    int (*adopt)(void);                              /* before there is any; -1: PID 1 ends */
    int (*enter)(const struct tc_init_config *init); /* in the tool, its last wall; -1 with errno */
    void (*terminate)(const struct tc_init_config *init, pid_t tool); /* passes SIGTERM on */
    bool (*end)(void);   /* until nothing is left; false: that cannot be said */
    void (*leave)(void); /* PID 1 gives up */
    bool watches;        /* nobody ends PID 1 with the helper: it looks often */
};

struct tc_init_config {
    const struct tc_stages *stages;     /* NULL: those of a process cage */
    const struct tc_reaper_ops *reaper; /* NULL: what a PID namespace takes with it */
    int report;                         /* our end of the report socket */
    int helper; /* the helper's end, of which the child has a copy at first */
    /* Cloned ahead: waits for its call where the table of stages says so. The init config then lies
     * in memory that helper and child share; what is needed before that is there at the clone, the
     * rest when the message comes that carries the descriptors. */
    bool parks;
    size_t handed;      /* their number; in the child they stand from TC_INIT_HANDED on */
    bool wait_for_maps; /* a privileged helper writes the id maps; else we write them ourselves */
    char uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    uid_t uid;
    gid_t gid;
    int root;        /* the prepared root, detached; one that parks is sent it instead */
    int image;       /* the tree under the root there, detached; -1: none */
    const void *own; /* what the stages of a backend read; each of those says what that is */
    const struct tc_init_mount *mounts;
    size_t mount_count;
    const struct tc_init_limit *limits;
    size_t limit_count;
    int in, out, err; /* the tool's ends */
    bool talks; /* the tool is a program of ours: it has `talk`, a socket, as TC_INIT_TALK beside */
    int talk;
    const struct tc_init_network *network; /* one, or NULL: no way out */
    size_t network_count;
    /* In place of them, a terminal in a devpts of the cage's own; its other end is sent out. */
    bool terminal;
    uint16_t rows, columns;
    int ruleset;      /* of Landlock, for the tool alone: tc_stage_ruleset(); else unused */
    int landlock_abi; /* 0: the kernel has none */
    char *code;       /* of the filter, where the policy changes it; NULL: that for `watch` */
    size_t code_len;
    enum tc_seccomp_watch watch;
    bool told;         /* no signal comes from outside: a word by the report socket says SIGTERM */
    bool unix_sockets; /* granted: the supervisor connects in the tool's place */
    const char *const *directories; /* working directories to try, NULL-terminated */
    const char *const *programs;    /* paths to execute, in order, NULL-terminated */
    char *const *argv;
    char *const *envp;
    /* Monotonic; 0: none. When the cage ends itself, should the helper be kept from ending it. */
    int64_t last_us;
    /* The most bytes in segments of System V that nobody has attached; 0: somebody else bounds
     * them. */
    int64_t segments;
};

/* What a process that is no copy of the helper has to be told; its rows are in init_config.c. */
extern const struct tc_fields tc_init_fields;
/* The helper's side. 0, or -1 with errno. */
int tc_init_send(int sock, const struct tc_init_config *init);
/* The other side's, in a program of its own, which may allocate: fills a zeroed init config, which
 * has no ids' maps and no stages yet. False: nobody will send one, or it makes no sense. */
bool tc_init_receive(int sock, struct tc_init_config *ret);
/* To a child that was cloned ahead, with `to` at the head of `size` bytes of memory that it shares,
 * and the descriptors by its report socket. What it has read before stays. 0, or -1: it has no room
 * for all, or cannot be reached. */
int tc_init_hand(struct tc_init_config *to, size_t size, const struct tc_init_config *init,
                 int report);
/* The filter of system calls; *own has it where it is not static. NULL: it is none. Allocates
 * nothing. */
const struct sock_fprog *tc_init_filter(const struct tc_init_config *init, struct sock_fprog *own);

enum {
    TC_INIT_REPORT = 3,
    TC_INIT_HANDED,
    TC_INIT_RULESET = TC_INIT_HANDED,
    TC_INIT_TALK = TC_INIT_HANDED
};

/* To PID 1 where it is none: end everything. SIGKILL would end it alone. */
#define TC_INIT_END SIGUSR1

/* What the child says on the report socket: fixed records. */
enum tc_report_kind {
    TC_REPORT_LISTENER = 1, /* carries the seccomp listener */
    TC_REPORT_NETWORK,      /* carries listeners, the first of which has the number in `status` */
    TC_REPORT_TERMINAL,     /* carries the other end of the tool's terminal */
    TC_REPORT_READY,        /* every wall stands; exec comes next */
    TC_REPORT_FAILED,       /* a stage failed: stage, errnum */
    TC_REPORT_EXEC_FAILED,  /* after READY: errnum */
    TC_REPORT_SEGMENTS,     /* more of them than the init config allows: how many bytes, as max_rss
                             */
    TC_REPORT_EXITED,       /* wait status and usage: the tool and all that it started have ended */
};

struct tc_report {
    int32_t kind;
    int32_t stage;
    int32_t errnum;
    int32_t status; /* how the tool ended; of a failed stage: the mount that it was at, or -1 */
    int64_t us;     /* monotonic time */
    int64_t cpu_us, max_rss; /* of everything that PID 1 reaped; bytes */
};

/* The child: never returns. */
_Noreturn void tc_init_enter(const struct tc_init_config *init);
/* The stages alone, for who is no copy of the helper. */
_Noreturn void tc_init_run_stages(const struct tc_init_config *init);
/* PID 1 after every wall stands: starts the tool, forwards signals, reaps, reports. */
_Noreturn void tc_init_main(const struct tc_init_config *init);

/* PID 1 could not start the tool; the tool could not be put under the init config's ruleset. */
enum { TC_INIT_STAGE_FORK = -1, TC_INIT_STAGE_RULESET = -2 };

/* PID 1's exit code when what the tool came to could not be reported; the tool's own is not known
 * then. */
enum { TC_INIT_MUTE = 2 };

/* Its row; of a number that the init config does not know one that says so. */
const struct tc_stage *tc_init_stage(const struct tc_init_config *init, int stage);

#endif
