/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * File descriptors: whole reads and writes, passing them over sockets. */
#ifndef TC_BASE_FD_H
#define TC_BASE_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* The read end of a pipe that already contains all the bytes, with its write end closed; -1 when
 * they do not fit (a user over the kernel's soft limit gets smaller pipes), or no pipe can be
 * made. */
int tc_filled_pipe(const void *bytes, size_t length);
/* The null device, read-only: the standard input of a tool that has none. -1 with errno; ENODEV:
 * the file with its name is not the null device. */
int tc_open_null(void);
bool tc_is_null(int fd);
/* Writes everything, through EINTR and short writes. 0, or -1 with errno. */
int tc_write_all(int fd, const void *bytes, size_t len);
/* Reads to the end of the file, at most buf->max bytes (then EFBIG). 0, or -1 with errno. */
int tc_read_all(int fd, struct tc_buf *buf);
/* A whole small file by name relative to dirfd. 0, or -1 with errno. */
int tc_read_file(int dirfd, const char *path, struct tc_buf *buf);
/* Makes a directory and its missing parents, accessible to their owner only. 0, also if the
 * directory exists; or -1 with errno. */
int tc_make_directories(const char *path);
/* Writes a whole string into an existing file in one write (for /proc and cgroups). 0, or -1
 * with errno. */
int tc_write_file(int dirfd, const char *path, const char *text);

/* A stream over a directory's fd. Takes ownership of the fd; a failure closes it. NULL with errno.
 * For fd -1, NULL with errno unchanged. */
DIR *tc_take_dir(int fd);
/* A stream over an open directory, from its beginning, with a separate fd and position; NULL with
 * errno. For fd -1, NULL. */
DIR *tc_list_dir(int fd);
/* The next entry except "." and "..": 1, 0 at the end, or -1 with errno. (readdir() returns NULL
 * for both, and a partial listing taken for a whole one would leave the rest unprotected.) */
int tc_next_entry(DIR *dir, struct dirent **ret);

/* Closes these fds; preserves errno. */
void tc_close_all(const int *fds, size_t count);
/* Closes every fd of this process except these; sorts `kept`. */
void tc_close_but(int *kept, size_t count);

enum { TC_FDS_MAX = 64 };

/* Sends one message with up to TC_FDS_MAX fds. 0, or -1 with errno. Never raises SIGPIPE. Waits
 * up to half a second where processes of this user have too many fds in flight. */
int tc_send(int sock, const void *bytes, size_t len, const int *fds, size_t count);
/* The same, but -1 with EAGAIN where the socket is full. */
int tc_send_now(int sock, const void *bytes, size_t len, const int *fds, size_t count);
/* Receives one message. Its length (0: end of file), or -1 with errno; EMSGSIZE when it was
 * truncated. Fds (close-on-exec) beyond `max` are closed. *ret_pid and *ret_uid (may be NULL)
 * are the sender's where the socket has SO_PASSCRED, else -1. */
ssize_t tc_recv(int sock, void *bytes, size_t size, int *fds, size_t max, size_t *ret_count,
                pid_t *ret_pid, uid_t *ret_uid, bool block);
/* A sealed, read-only memory file holding the bytes; -1 with errno. */
int tc_memfd(const char *name, const void *bytes, size_t len);

/* Reserved fds: the helper keeps some free, because it needs them to report the end of a call (its
 * counters, its changes, its outcome). A helper that has no other fds left starts no call. Only the
 * thread of the event loop may call these two. */

/* Frees the reserved fds for use. */
void tc_reserve_open(void);

/* Reserves the fds again. False with errno: not all could be reserved. */
bool tc_reserve_close(void);

#endif
