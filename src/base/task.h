/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a toolcage program receives its work: one message on a SOCK_SEQPACKET socket, with the
 * fields of a struct and its fds. A message that is too large for a packet is sent in a sealed
 * memory file, as the first fd. Both sides are of one build. */
#ifndef TC_BASE_TASK_H
#define TC_BASE_TASK_H

#include "base/field.h"

enum { TC_TASK_INSIDE_MAX = 32 << 10, TC_TASK_BYTES_MAX = 64 << 20, TC_TASK_FDS_MAX = 16384 };

/* Sends all fields of the table. 0, or -1 with errno; the fds stay the caller's. */
int tc_task_send(int sock, const struct tc_fields *fields, const void *it);
/* Waits for a message and fills a zeroed struct: the fds are close-on-exec and owned by the
 * caller. False: the peer closed the socket, or the message is not exactly such a struct; then
 * its fds are closed, and tc_fields_done() frees what was read. */
bool tc_task_receive(int sock, const struct tc_fields *fields, void *ret);

/* The socket of a program in a cage, in addition to its three streams. */
enum { TC_TASK_SOCKET = 4 };

/* The message to a program in a cage. A program started for a call gets both parts at once; a
 * prestarted program gets the second later, with the call. */
struct tc_task_message {
    char *program; /* the part that is the same for all its calls: fields of the program's table */
    size_t program_len;
    char *call; /* NULL: sent later */
    size_t call_len;
    char *cwd;         /* of a call that is sent later */
    int in, out, err;  /* streams of such a call, which replace the program's */
    int root;          /* the root directory for its paths */
    int wall;          /* a Landlock ruleset to apply; -1: none */
    int port, console; /* ports of a VM that another program has started */
    int file;          /* to store a VM's snapshot in */
};
extern const struct tc_fields tc_task_fields;
#define TC_TASK_NONE                         \
    ((struct tc_task_message){.in = -1,      \
                              .out = -1,     \
                              .err = -1,     \
                              .root = -1,    \
                              .wall = -1,    \
                              .port = -1,    \
                              .console = -1, \
                              .file = -1})

/* The report of a program that serves many calls, after each call. */
struct tc_task_end {
    int32_t code;
    int32_t last;          /* it serves no more calls */
    int64_t cpu_us, bytes; /* CPU time of the call; peak memory so far */
};
/* Clamps the values to what a kernel could report: a compromised program may send any. */
void tc_task_bound(struct tc_task_end *end);

/* The final report of a deterministic program. */
struct tc_task_fuel {
    int64_t used;
    int64_t spent; /* it ended because no fuel was left */
};

/* The program's side: waits for a message, fills a zeroed struct, and reads the parts into `it`,
 * fields with the flag from the call part. False: as above. */
bool tc_task_take(struct tc_task_message *ret, const struct tc_fields *fields, void *it,
                  unsigned of_call);
/* The program's side of a call that is sent later: the call's streams replace the program's. */
bool tc_task_place_streams(const struct tc_task_message *task);

#endif
