/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Connects of a cage that has unix sockets. None is told to go on: another thread of the tool could
 * put a different socket under the number, or a different address into the memory, between our look
 * and the kernel's. So the socket itself is taken out of the tool, the address is read once, and
 * the connect is done here on what was looked at. That is a process for each connect, a child of
 * the one that serves the cage's notifications: one that waits holds up nobody. It has the cage's
 * ids, mounts and root and no capability, so that it finds what the tool would find, and a server
 * sees whom it would see. */
#ifndef TC_OBSERVE_BROKER_H
#define TC_OBSERVE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/resolve.h"
#include "observe/observe.h"

/* How the process ends: it has answered the tool; or not, and says why, or could not even begin. */
enum { TC_CONNECT_ANSWERED, TC_CONNECT_TOLD, TC_CONNECT_FAILED };

/* What it says in shared memory when it does not answer. */
struct tc_connect_report {
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
    struct tc_connect_report *said;
};

_Noreturn void tc_connect_do(struct tc_connect_ask *ask);

struct seccomp_notif;
struct pollfd;

enum { TC_BROKER_MAX = 64 }; /* connects under way in one cage; one more is EAGAIN */

/* In the process that serves one cage. */
/* While the cage's descriptors are open. False: no connect can be done. */
bool tc_broker_open(struct tc_cage *cage);
/* Takes a connect that was notified. */
void tc_broker_take(struct tc_cage *cage, int listener, const struct seccomp_notif *n);
/* Fills in what to wait for beside the listener, how many there are, and how long at most. */
size_t tc_broker_waits(struct pollfd *set, int *ret_ms);
/* Goes through those under way: tells what was refused, ends those that nobody waits for. */
void tc_broker_look(struct tc_cage *cage, int listener);

#endif
