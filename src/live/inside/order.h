/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The messages between the helper and PID 1 of a live session. The helper sends words over the
 * session's socket; each command has a socket for its reports and signals, too. A command's
 * arguments are in a sealed memory file, so that PID 1, which cannot allocate, maps them. */
#ifndef TC_LIVE_INSIDE_ORDER_H
#define TC_LIVE_INSIDE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Commands of one session at the same time; bytes of one command's order. */
enum { TC_LIVE_COMMANDS_MAX = 64, TC_LIVE_ORDER_MAX = 16 << 20 };

enum tc_live_word_kind {
    TC_LIVE_RUN = 1,   /* carries the fds of enum tc_live_fd, TC_LIVE_IN only with input */
    TC_LIVE_TERMINATE, /* SIGTERM for every process; the session ends when all have ended */
    TC_LIVE_END,       /* kill every process and end */
    TC_LIVE_FILE,      /* like RUN, but the arguments are a file action (live/files) */
    TC_LIVE_SOCKETS,   /* carries a socket, on which PID 1 makes sockets (sockets.h) */
};

enum tc_live_fd {
    TC_LIVE_ORDER, /* the memory file */
    TC_LIVE_REPLY, /* PID 1's end of the command's socket */
    TC_LIVE_LIFE,  /* closed when the command has ended, after its last report */
    TC_LIVE_OUT,   /* this one and the next two are absent with a terminal */
    TC_LIVE_ERR,
    TC_LIVE_IN,
    TC_LIVE_FDS
};

/* Over a command's socket, to PID 1: one of these, or the number of a signal. PID 1 also kills the
 * command when the socket is closed. */
enum { TC_LIVE_SIGNAL_TERM = 't', TC_LIVE_SIGNAL_KILL = 'k', TC_LIVE_SIGNAL_MAX = 64 };

enum tc_live_report_kind {
    TC_LIVE_READY = 1,   /* exec comes next */
    TC_LIVE_FAILED,      /* it could not be started: step, errnum */
    TC_LIVE_EXEC_FAILED, /* after READY: errnum */
    TC_LIVE_EXITED,      /* wait status and usage */
    TC_LIVE_TERMINAL,    /* before READY: carries the other end of the command's terminal */
};

enum tc_live_step { TC_LIVE_AT_ORDER, TC_LIVE_AT_FORK, TC_LIVE_AT_STREAMS, TC_LIVE_AT_CWD };

/* Fixed size, from PID 1 and from the command's process before its exec. */
struct tc_live_report {
    int32_t kind, step, errnum;
    int32_t status; /* READY: 1 if other commands cannot trace it; EXITED: the wait status */
    int64_t cpu_us, max_rss; /* EXITED: of the process and of the children that it reaped; bytes */
};

/* The lists of an order; NULL-terminated. Borrowed. */
struct tc_live_lists {
    const char *const *argv, *const *envp, *const *programs, *const *directories;
    struct tc_live_extras {
        uint16_t rows, columns; /* of the command's terminal; 0: it has pipes */
        uint32_t shell;         /* it gets the session's shell state (shell_state.h) */
    } extras;
};

/* The helper's side: a sealed memory file with the lists. -1 with errno. */
int tc_live_order_make(const struct tc_live_lists *lists);
/* PID 1's side: maps the file and points to its lists; false: it has no such lists. munmap()
 * *ret_map with *ret_size when they are no longer used. Allocates nothing. */
bool tc_live_order_open(int fd, struct tc_live_lists *ret, void **ret_map, size_t *ret_size);

#endif
