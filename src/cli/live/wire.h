/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The socket between `toolcage session exec` and the process that owns the live session: packets of
 * one letter and up to TC_WIRE_MAX bytes. Only processes of the same user speak on it. */
#ifndef TC_CLI_LIVE_WIRE_H
#define TC_CLI_LIVE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    TC_WIRE_MAX = 132 << 10,       /* the longest argument of a command is 128 KiB */
    TC_WIRE_REQUEST_MAX = 8 << 20, /* bytes of all packets of one request */
};

/* To the owner. */
enum {
    TC_WIRE_WORD = 'a',     /* an argument of the command */
    TC_WIRE_NARROW = 'n',   /* KEY=VALUE */
    TC_WIRE_INPUT = 's',    /* the command reads standard input */
    TC_WIRE_JSON = 'w',     /* one line of JSON instead of the output */
    TC_WIRE_SHELL = 'h',    /* the argument is text for the session's shell */
    TC_WIRE_DETACH = 'd',   /* the command is detached; its id is the answer */
    TC_WIRE_TERMINAL = 'z', /* "ROWS COLUMNS NAME": its terminal; after RUN: the new size */
    TC_WIRE_RUN = 'r',      /* the request is complete */
    TC_WIRE_FILE = 'b',     /* the same; the arguments are those of a file action */
    TC_WIRE_CANCEL = 'c',   /* SIGTERM, grace period, SIGKILL */
    TC_WIRE_END = 'e',      /* end the session */
    /* of a detached command, by its id */
    TC_WIRE_LOGS = 'l',
    TC_WIRE_FOLLOW = 'f', /* its output, until it has ended */
    TC_WIRE_ATTACH = 't', /* the same, with its result */
    TC_WIRE_WAIT = 'y',   /* its result; without an id, of all */
    TC_WIRE_SIGNAL = 'g', /* and the signal's number */
    TC_WIRE_INFO = 'i',   /* describe the session as a line of JSON */
    TC_WIRE_PORTS = 'o',  /* its published ports as JSON */
};

/* From the owner. */
enum {
    TC_WIRE_PIPE = 'p', /* carries the write end of the command's input, or the action's stream */
    TC_WIRE_OUT = '1',
    TC_WIRE_ERR = '2',
    TC_WIRE_TEXT = 'm', /* messages of toolcage */
    TC_WIRE_EXIT = 'x', /* one byte: the exit code; the last packet */
};

/* Sends a packet, with an fd (-1: none). 0, or -1 with errno; EAGAIN with `now` on a full
 * socket, E2BIG if there are too many bytes. */
int tc_wire_send(int sock, char kind, const void *bytes, size_t length, int fd, bool now);
/* Receives a packet of up to TC_WIRE_MAX bytes after its kind. Its length without the kind; -1 with
 * errno, 0 of which is the end. *ret_fd (may be NULL) is its fd or -1. */
ssize_t tc_wire_receive(int sock, char *ret_kind, char *bytes, int *ret_fd, bool now);

#endif
