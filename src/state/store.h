/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A directory of directories that outlive whoever made them: one for each thing that is kept. Who
 * works on one holds a lock on it; what has none and is not whole was left by somebody who died. */
#ifndef TC_STATE_STORE_H
#define TC_STATE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Is it of this type (S_IFREG, S_IFDIR), and the caller's alone? Who could write there could make
 * us remove, report and believe things. Else errno; -1 is fine. */
bool tc_store_own(int fd, mode_t type);
/* One in another, only if it is the caller's alone. -1 with errno. */
int tc_store_enter(int dirfd, const char *name);
/* How many names there are; -1 with errno. */
int tc_store_count(int store);
/* Takes the lock of what is open, a directory or a file. Who has been answered may need a moment to
 * let go of it; a patient caller waits that long. 0, or -1 with errno; EWOULDBLOCK: somebody else
 * has it; ENOENT: who had it has removed what it is on. */
int tc_store_lock(int own, bool patient);
/* Enters the one of this name, made where it is missing and there is room for one more of `most`,
 * and locks it; one that a sweep removes between the two is made again. -1 with errno; EDQUOT:
 * there is no room. */
int tc_store_claim(int store, const char *name, int most);
/* Removes what `left` says is not whole, and nobody works on. How much that was; -1 is empty. */
unsigned tc_store_sweep(int store, bool (*left)(int own, const char *name));

/* A file in place of what has its name: who reads sees the old one or all of the new one. It is not
 * waited for to be on the disk. 0, or -1 with errno and the old one as it was. */
int tc_store_write(int dirfd, const char *name, const void *bytes, size_t len, mode_t mode);

/* Things that are whole, or not there: each is made in a directory "new-…" of its maker's, and gets
 * its place by one rename. Who is killed leaves nothing that is found. */

/* Makes and locks one whose name, *ret_name (owned, also on failure), nobody else has. A
 * descriptor, or -1 with errno. */
int tc_store_begin(int store, char **ret_name);
/* Is it one of those? For a sweep, and for who lists the others; `own` is not looked at. */
bool tc_store_is_begun(int own, const char *name);
/* Gives what is whole the name `as` in `to`. Where something has that already, `replaces` leaves
 * it under the old name; else it stays, as somebody may use it, and so does ours. 0, or -1 with
 * errno. */
int tc_store_place(int from, const char *name, int to, const char *as, bool replaces);
/* Out of sight by one rename into `store`, so that nobody finds half of it, then removed. 0; 1 with
 * errno: not all of it, and a sweep tries again; -1 with errno: it is where it was. */
int tc_store_discard(int from, const char *name, int store);

/* A tree that goes: what a tool left in it is not trusted. */

/* Removes a name with all below it, never through a link. 0, or -1 with errno: something is left.
 */
int tc_remove_tree(int dirfd, const char *name);

/* How large a tree is on its disk: what a tool left in it is not trusted. */

/* What a name and all below it take of their disk, in bytes; never through a link. -1 with errno:
 * not all of it could be looked at. */
int64_t tc_tree_bytes(int dirfd, const char *name);

#endif
