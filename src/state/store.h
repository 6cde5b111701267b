/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A directory of directories that outlive their creators, one for each stored object. A process
 * that uses one holds a lock on it; an unlocked and incomplete one was left by a dead process. */
#ifndef TC_STATE_STORE_H
#define TC_STATE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Is it of this type (S_IFREG, S_IFDIR), and writable by the caller alone? Another writer could
 * make toolcage remove, report or trust the wrong data. If not, false with errno; fd may be -1. */
bool tc_store_own(int fd, mode_t type);
/* Opens a subdirectory, only if it is writable by the caller alone. -1 with errno. */
int tc_store_enter(int dirfd, const char *name);
/* Opens a directory of this user's state directory; only the caller may write either. `make`:
 * creates what is missing. -1 with errno and in *ret_path (owned) what cannot be used; ENXIO: the
 * environment names no state directory; *ret_path is NULL then, and if memory is exhausted. */
int tc_store_open(const char *name, bool make, char **ret_path);
/* How many entries there are; -1 with errno. */
int tc_store_count(int store);
/* Locks an open directory or file. A process that has just replied may need a moment to unlock it;
 * a patient caller waits for that. 0, or -1 with errno; EWOULDBLOCK: another process has the lock;
 * ENOENT: it was removed by the process that had the lock. */
int tc_store_lock(int own, bool patient);
/* Locks an open directory or file, LOCK_SH or LOCK_EX, and waits so long for another program: a
 * stopped one must not stop all others for good. 0, or -1 with errno. */
int tc_store_wait(int fd, int how, int64_t most_us);
/* The same for a directory, alone, by an fd of its own, which is returned: closing it unlocks. -1
 * with errno. */
int tc_store_hold(int dir, int64_t most_us);
/* Opens and locks the directory of this name, created if missing and if there are fewer than
 * `most`; creates it again if a sweep removes it before it is locked. -1 with errno; EDQUOT: there
 * are `most` already. */
int tc_store_claim(int store, const char *name, int most);
/* Removes the unlocked directories that are incomplete according to `left`; returns how many.
 * `store` may be -1. */
unsigned tc_store_sweep(int store, bool (*left)(int own, const char *name));

/* Replaces a file: a reader sees the old one or all of the new one. Does not flush it to the disk.
 * 0, or -1 with errno and the old file unchanged. */
int tc_store_write(int dirfd, const char *name, const void *bytes, size_t len, mode_t mode);

/* Objects that are complete or do not exist: each is created in a private directory "new-…", and
 * gets its name by one rename. A killed process leaves nothing under a final name. */

/* Creates and locks a directory with a unique name, in *ret_name (owned, also on failure). An fd,
 * or -1 with errno. */
int tc_store_begin(int store, char **ret_name);
/* Is this one of those directories? For a sweep, and to skip them in a list; `own` is unused. */
bool tc_store_is_begun(int own, const char *name);
/* Renames a complete object to `as` in `to`. If that name is taken, `replaces` exchanges the two;
 * otherwise both stay where they are, as the existing one may be in use. 0, or -1 with errno. */
int tc_store_place(int from, const char *name, int to, const char *as, bool replaces);
/* Moves the object into `store` by one rename, so that no process finds half of it, and removes it.
 * 0; 1 with errno: a rest is left for a sweep; -1 with errno: it was not moved. */
int tc_store_discard(int from, const char *name, int store);

/* Removing a tree: its content may be a tool's and is not trusted. */

/* Removes a name with everything below it; follows no link. 0, or -1 with errno: something is
 * left. */
int tc_remove_tree(int dirfd, const char *name);

/* The size of a tree on its disk: its content may be a tool's and is not trusted. */

/* The bytes that a name and everything below it use on their disk; follows no link. -1 with errno:
 * not all of it could be examined. */
int64_t tc_tree_bytes(int dirfd, const char *name);

#endif
