/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The box: everything the child of a process cage needs, computed beforehand in the helper. The
 * child is a copy of the helper's memory, so it reads this in place; it computes nothing and
 * allocates nothing. */
#ifndef TC_PROCESS_BOX_H
#define TC_PROCESS_BOX_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "linux/landlock_rules.h"
#include "linux/userns.h"

/* A detached mount and where it goes, in the order of attaching (parents first). */
struct tc_box_mount {
    int fd;           /* -1: the tree is part of the root already */
    const char *path; /* relative to the new root */
    /* What must be found at the path, for places inside a tree that others can change; dev 0: no
     * matter. */
    dev_t dev;
    ino_t ino;
    enum tc_landlock_kind rights;
    bool no_rule; /* covered by the rule of a mount above */
    /* names below that a read-only tree must not show, relative to it, NULL-terminated: an overlay
     * of whiteouts goes over the tree. NULL: none. */
    const char *const *hide;
};

struct tc_box_limit {
    int resource;
    struct rlimit value;
};

struct tc_box {
    int report;         /* our end of the report socket */
    bool wait_for_maps; /* a privileged helper writes the id maps; else we write them ourselves */
    char uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    uid_t uid;
    gid_t gid;
    int root; /* the prepared root, detached */
    const struct tc_box_mount *mounts;
    size_t mount_count;
    const struct tc_box_limit *limits;
    size_t limit_count;
    int in, out, err; /* the tool's ends */
    int landlock_abi; /* 0: the kernel has none */
    const struct sock_fprog *filter;
    bool notify;
    const char *const *directories; /* working directories to try, NULL-terminated */
    const char *const *programs;    /* paths to execute, in order, NULL-terminated */
    char *const *argv;
    char *const *envp;
    /* Monotonic; 0: none. When the cage ends itself, should the helper be kept from ending it. */
    int64_t last_us;
};

/* What the child says on the report socket: fixed records. */
enum tc_report_kind {
    TC_REPORT_LISTENER = 1, /* carries the seccomp listener */
    TC_REPORT_READY,        /* every wall stands; exec comes next */
    TC_REPORT_FAILED,       /* a stage failed: stage, errnum */
    TC_REPORT_EXEC_FAILED,  /* after READY: errnum */
    TC_REPORT_EXITED,       /* wait status of the tool */
};

struct tc_report {
    int32_t kind;
    int32_t stage;
    int32_t errnum;
    int32_t status;
    int64_t us; /* monotonic time */
};

/* The child: never returns. */
_Noreturn void tc_box_enter(const struct tc_box *box);
/* PID 1 after every wall stands: starts the tool, forwards signals, reaps, reports. */
_Noreturn void tc_box_init(const struct tc_box *box);

enum { TC_BOX_STAGE_FORK = -1 }; /* PID 1 could not start the tool */

/* Name of a stage, for messages; the clause it serves, or -1. */
const char *tc_box_stage_name(int stage);
int tc_box_stage_clause(int stage);

#endif
