/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A copied workspace: the tool works on a private copy, and what it changed comes back when the
 * call succeeds. The copy lives in a tmpfs that nobody else can reach, so nothing of it can be left
 * behind. */
#ifndef TC_WORKSPACE_COPY_H
#define TC_WORKSPACE_COPY_H

#include "linux/walk.h"
#include "workspace/workspace.h"

/* copy.c: copies the item's tree; a detached, writable mount of the copy (kept by the cage),
 * also in item->copy. -1 with the failure written. Links are copied as links; sockets, pipes and
 * devices are left out, and so are denied names. */
int tc_workspace_copy(struct tc_cage *cage, struct tc_item *item);

/* single_file.c: copies the files that are granted writable by themselves into private directories,
 * and opens the journals of what comes back. 0, or -1 with the failure written. */
int tc_workspace_single_files(struct tc_cage *cage);

bool tc_workspace_denied(const struct tc_cage *cage, const struct tc_item *item,
                         const char *relative);
/* The /proc of a chroot, say: a directory on the way, with nothing below it that is data. */
int tc_workspace_kernel_fs(const struct tc_walk_entry *e);
struct tc_version tc_workspace_version(const struct statx *st);
bool tc_version_same(const struct tc_version *a, const struct tc_version *b);
/* New files, made from old ones; never through a link. 0, or -1. */
int tc_workspace_copy_file(int from_dir, const char *from_name, int to_dir, const char *to_name,
                           mode_t mode);
/* The same of an entry, a file with its rights or a link. */
int tc_workspace_copy_entry(const struct tc_walk_entry *e, int to_dir, const char *to_name);
/* When it was read and written last, for a new file or link. */
int tc_workspace_copy_times(int dir, const char *name, const struct statx *st);

/* commit.c: brings changes back one by one, each file atomically. What the host changed in the
 * meantime is not touched, and what steers the host is held back. */

/* Once, before the others. */
void tc_commit_begin(struct tc_workspace *w);
/* What the tool did to an entry of the copy: "added", "modified", or NULL: nothing. */
const char *tc_commit_kind(const struct tc_workspace *w, const struct tc_item *item,
                           const struct tc_walk_entry *e);
/* What could not be brought back for no fault of anybody: then the call has failed. */
extern const char tc_commit_undone[];
/* What may be kept for a person to decide: these two, and what only waits for that. */
extern const char tc_commit_conflict[], tc_commit_steering[], tc_commit_waits[];
/* What stood there when the call began; NULL: nothing, or nobody asked. */
const struct tc_copied *tc_commit_base(const struct tc_workspace *w, const struct tc_item *item,
                                       const char *relative);
/* Is it what the policy is made from, or would a directory that leads there be none? */
bool tc_commit_guarded(const struct tc_item *item, const char *relative, unsigned mode);
/* Does git trust a file of this name (TC_STEERS_WRITTEN), which the grant does not name? */
bool tc_commit_trusted(const struct tc_cage *cage, const struct tc_item *item,
                       const char *relative);
/* Why an entry with this type is never written back (a FIFO, a socket, a device; in the place of a
 * single file all but a file), or NULL. */
const char *tc_commit_left_out(const struct tc_item *item, unsigned mode);
/* Brings it back: NULL, or why not ("conflict", "denied", "steers the host", tc_commit_undone). */
const char *tc_commit_entry(struct tc_cage *cage, const struct tc_item *item,
                            const struct tc_walk_entry *e);

/* A directory that was brought back gets its rights, when all that it holds is there. 0, or -1 with
 * errno. */
int tc_commit_mode(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e);

enum tc_commit_fate { TC_COMMIT_STAYS, TC_COMMIT_GONE, TC_COMMIT_REPLACED, TC_COMMIT_UNSEEN };
/* Did the tool remove what it was given, or put something of another type in its place? UNSEEN,
 * with errno: that cannot be told. */
enum tc_commit_fate tc_commit_fate(const struct tc_copied *entry);
/* Removes it on the host: NULL, or why not. Names below a directory go before it. */
const char *tc_commit_removal(const struct tc_cage *cage, const struct tc_copied *entry);

#endif
