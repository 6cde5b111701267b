/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One connect in the place of a tool, in a process that was made for it and does nothing else. */
#ifndef TC_OBSERVE_CONNECT_H
#define TC_OBSERVE_CONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/resolve.h"

/* How the process ends: it has answered the tool; or not, and says why, or could not even begin. */
enum { TC_CONNECT_ANSWERED, TC_CONNECT_TOLD, TC_CONNECT_FAILED };

/* What it says in shared memory when it does not answer. */
struct tc_connect_said {
    int errnum;
    char target[128]; /* of a unix socket that was refused, with a static hint; else NULL */
    const char *hint;
};

/* Which sockets by path. */
struct tc_connect_rules {
    dev_t *devices; /* file systems that only the cage can write */
    size_t device_count;
    struct tc_file_id *sockets; /* granted */
    size_t socket_count;
    const char **overlays; /* paths in the cage at which the tool works on an overlay */
    size_t overlay_count;
    uid_t uid; /* in the cage's user namespace */
    gid_t gid;
    bool clear_groups;
};

/* The registers of the call, and whom to answer. */
struct tc_connect_ask {
    int listener;
    uint64_t id;
    pid_t tid, parent;
    int fd, len;
    uint64_t at;
    const struct tc_connect_rules *rules;
    struct tc_connect_said *said;
};

_Noreturn void tc_connect_do(struct tc_connect_ask *ask);

#endif
