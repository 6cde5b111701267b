/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Descriptors: whole reads and writes, passing them over sockets. */
#ifndef TC_BASE_FD_H
#define TC_BASE_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* The end to read from of a pipe that holds all the bytes already, and whose other end is closed;
 * -1 when they do not fit (a user over the kernel's soft limit gets smaller pipes), or there is
 * none to be had. */
int tc_filled_pipe(const void *bytes, size_t length);
/* Writes everything, through EINTR and short writes. 0, or -1 with errno. */
int tc_write_all(int fd, const void *bytes, size_t len);
/* Reads to the end of the file, at most buf->max bytes (then EFBIG). 0, or -1 with errno. */
int tc_read_all(int fd, struct tc_buf *buf);
/* A whole small file by name relative to dirfd. 0, or -1 with errno. */
int tc_read_file(int dirfd, const char *path, struct tc_buf *buf);
/* Makes a directory, and those that lead to it, for their owner alone; fine where they are there.
 * 0, or -1 with errno. */
int tc_make_directories(const char *path);
/* One write of a whole text into an existing file (for /proc and control groups). 0, or -1 with
 * errno. */
int tc_write_file(int dirfd, const char *path, const char *text);

/* A stream over a directory's descriptor, which it takes, also on failure: closed then, NULL with
 * errno. -1 is fine. */
DIR *tc_take_dir(int fd);
/* A stream of its own over an open directory, from its begin; NULL with errno. -1 is fine. */
DIR *tc_list_dir(int fd);
/* The next entry but "." and "..": 1, 0 at the end, or -1 with errno. (readdir() says NULL for
 * both, and half a directory taken for a whole one would leave the rest unprotected.) */
int tc_next_entry(DIR *dir, struct dirent **ret);

/* Leaves errno as it is. */
void tc_close_all(const int *fds, size_t count);
/* Closes every descriptor but these, which are put in order. */
void tc_close_but(int *kept, size_t count);

enum { TC_FDS_MAX = 64 };

/* One message with up to TC_FDS_MAX descriptors. 0, or -1 with errno. Never raises SIGPIPE. Waits
 * up to half a second where other processes of this user have too many descriptors on their way. */
int tc_send(int sock, const void *bytes, size_t len, const int *fds, size_t count);
/* The same, but -1 with EAGAIN where the peer has not read enough yet. */
int tc_send_now(int sock, const void *bytes, size_t len, const int *fds, size_t count);
/* One message. Its length (0: end of file), or -1 with errno; EMSGSIZE when it was cut. Descriptors
 * (close-on-exec) beyond `max` are closed. *ret_pid and *ret_uid (may be NULL) are the sender's
 * where the socket has SO_PASSCRED, else -1. */
ssize_t tc_recv(int sock, void *bytes, size_t size, int *fds, size_t max, size_t *ret_count,
                pid_t *ret_pid, uid_t *ret_uid, bool block);
/* A sealed, read-only memory file holding the bytes; -1 with errno. */
int tc_memfd(const char *name, const void *bytes, size_t len);

/* Descriptors that are kept back. To say how a call ended takes some: its counters, its changes,
 * its outcome. A helper that has no more than these begins no call. Its one thread's alone. */

/* Gives them free for what comes next. */
void tc_reserve_open(void);

/* Takes them back; false with errno: not all. */
bool tc_reserve_close(void);

#endif
