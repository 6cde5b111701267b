/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A directory of directories that outlive whoever made them: one for each thing that is kept. Who
 * works on one holds a lock on it; what has none and is not whole was left by somebody who died. */
#ifndef TC_STATE_STORE_H
#define TC_STATE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Is it of this type (S_IFREG, S_IFDIR), and the caller's alone? Who could write there could make
 * us remove, report and believe things. Else errno; -1 is fine. */
bool tc_store_own(int fd, mode_t type);
/* One in another, only if it is the caller's alone. -1 with errno. */
int tc_store_enter(int dirfd, const char *name);
/* How many names there are; -1 with errno. */
int tc_store_count(int store);
/* Takes the lock. Who has been answered may need a moment to let go of it; a patient caller waits
 * that long. 0, or -1 with errno. */
int tc_store_lock(int own, bool patient);
/* Enters the one of this name, made where it is missing and there is room for one more of `most`,
 * and locks it; one that a sweep removes between the two is made again. -1 with errno; EDQUOT:
 * there is no room. */
int tc_store_claim(int store, const char *name, int most);
/* Removes what `left` says is not whole, and nobody works on. How much that was; -1 is empty. */
unsigned tc_store_sweep(int store, bool (*left)(int own, const char *name));

/* A tree that goes: what a tool left in it is not trusted. */

/* Removes a name with all below it, never through a link. 0, or -1 with errno: something is left.
 */
int tc_remove_tree(int dirfd, const char *name);

/* How large a tree is on its disk: what a tool left in it is not trusted. */

/* What a name and all below it take of their disk, in bytes; never through a link. -1 with errno:
 * not all of it could be looked at. */
int64_t tc_tree_bytes(int dirfd, const char *name);

#endif
