/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a program of ours is told its work: one message on a socket of packets, which has the fields
 * of a struct and the descriptors among them. What is larger than a packet should be travels in a
 * sealed memory file, as the first descriptor. Both sides are of one build. */
#ifndef TC_BASE_TASK_H
#define TC_BASE_TASK_H

#include "base/field.h"

enum { TC_TASK_INSIDE_MAX = 32 << 10, TC_TASK_BYTES_MAX = 64 << 20, TC_TASK_FDS_MAX = 16384 };

/* All fields of the table. 0, or -1 with errno; the descriptors stay the caller's. */
int tc_task_send(int sock, const struct tc_fields *fields, const void *it);
/* Waits for one, and fills a zeroed struct: the descriptors are close-on-exec and the caller's.
 * False: nobody will send it, or it is not exactly such a struct; then its descriptors are closed,
 * and tc_fields_done() frees what is there. */
bool tc_task_receive(int sock, const struct tc_fields *fields, void *ret);

/* The socket of a program in a cage, beside its three streams. */
enum { TC_TASK_SOCKET = 4 };

/* The message to a program in a cage. One that is started for its call gets both parts at once; one
 * that waits for its call gets the second later, with what the call has. */
struct tc_task_message {
    char *program; /* what it is for, the same for all its calls: fields of its own table */
    size_t program_len;
    char *call; /* NULL: it comes later */
    size_t call_len;
    char *cwd;         /* of a call that comes later */
    int in, out, err;  /* of such a call: its streams, in place of the program's */
    int root;          /* the directory that its paths begin at */
    int wall;          /* a Landlock ruleset to enter; -1: none */
    int port, console; /* the lines of a machine that another program has started */
    int file;          /* to keep a machine in */
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

/* What a program that serves call after call says of each. */
struct tc_task_end {
    int32_t code;
    int32_t last;          /* it serves no more */
    int64_t cpu_us, bytes; /* that it took for the call; the most memory that it had until now */
};
/* One that somebody took over says what it likes: no more than a kernel could have said of it. */
void tc_task_bound(struct tc_task_end *end);

/* What a deterministic program says at its end. */
struct tc_task_fuel {
    int64_t used;
    int64_t spent; /* there was no more, and that is why it ended */
};

/* The program's side: waits for a message to fill a zeroed struct from, and reads its parts into
 * `it`, those with the flag from the call. False: as above. */
bool tc_task_take(struct tc_task_message *ret, const struct tc_fields *fields, void *it,
                  unsigned of_call);
/* The program's side of a call that comes later: its streams are put in place of the program's. */
bool tc_task_place_streams(const struct tc_task_message *task);

#endif
