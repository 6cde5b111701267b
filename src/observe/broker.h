/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The broker makes the connects of a cage that has unix sockets. The kernel does not continue a
 * notified connect: another thread of the tool could put a different socket under the number, or
 * a different address into the memory, between our check and the kernel's. So the broker takes a
 * copy of the tool's socket, reads the address once, and connects the copy to the checked
 * address. Each connect has its own process, a child of the process that serves the cage's
 * notifications, so a connect that waits blocks no other. That process has the cage's ids,
 * mounts and root and no capability: it resolves paths as the tool would, and a server sees the
 * tool's credentials. */
#ifndef TC_OBSERVE_BROKER_H
#define TC_OBSERVE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/resolve.h"
#include "observe/observe.h"

/* Exit codes of the process: it replied to the tool; it did not, and shared memory has the
 * reason; it failed. */
enum { TC_CONNECT_ANSWERED, TC_CONNECT_TOLD, TC_CONNECT_FAILED };

/* The reason in shared memory when it did not reply. */
struct tc_connect_report {
    int errnum;
    char target[128]; /* a refused unix socket, with a static hint; else NULL */
    const char *hint;
};

/* Which unix sockets by path may be connected to. */
struct tc_connect_rules {
    dev_t *devices; /* file systems that only the cage can write */
    size_t device_count;
    struct tc_file_id *sockets; /* granted */
    size_t socket_count;
    const char **overlays; /* paths in the cage at which the tool works on an overlay */
    size_t overlay_count;
    const struct tc_plan *plan; /* its granted loopback ports are those of this kernel; else NULL */
    uid_t uid;                  /* in the cage's user namespace */
    gid_t gid;
    bool clear_groups;
};

/* The registers of the call, and the notification to reply to. */
struct tc_connect_ask {
    int listener;
    uint64_t id;
    pid_t tid, parent;
    int fd, len;
    uint64_t at;
    const struct tc_connect_rules *rules;
    struct tc_connect_report *said;
};

_Noreturn void tc_connect_do(struct tc_connect_ask *ask);

struct seccomp_notif;
struct pollfd;

enum { TC_BROKER_MAX = 64 }; /* connects under way in one cage; one more is EAGAIN */

/* Functions of the process that serves one cage. */
/* Call while the cage's fds are open. False: no connect can be made. */
bool tc_broker_open(struct tc_cage *cage);
/* Takes a connect that was notified. */
void tc_broker_take(struct tc_cage *cage, int listener, const struct seccomp_notif *n);
/* Fills in the fds to poll in addition to the listener; returns their number, and *ret_ms is the
 * poll timeout. */
size_t tc_broker_waits(struct pollfd *set, int *ret_ms);
/* Checks the connects under way: reports refused ones, ends those whose caller no longer waits. */
void tc_broker_look(struct tc_cage *cage, int listener);

#endif
