/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A copied workspace: the tool works on a private copy, and its changes are committed if the call
 * succeeds. The copy is in a tmpfs that no other process can reach, so nothing of it is left
 * behind. */
#ifndef TC_WORKSPACE_COPY_H
#define TC_WORKSPACE_COPY_H

#include "base/wire.h"
#include "linux/walk.h"
#include "workspace/workspace.h"

/* copy.c: copies the item's tree; a detached, writable mount of the copy (kept by the cage), also
 * in item->copy. -1 with the failure written. Links are copied as links; sockets, pipes, devices
 * and denied names are left out. */
int tc_workspace_copy(struct tc_cage *cage, struct tc_item *item);

/* single_file.c: copies single writable files into their private directories, and opens the
 * journals for their commit. 0, or -1 with the failure written. */
int tc_workspace_single_files(struct tc_cage *cage);

bool tc_workspace_denied(const struct tc_cage *cage, const struct tc_item *item,
                         const char *relative);
/* 1: a mounted kernel file system, such as the /proc of a chroot, whose content is not data. 0, or
 * -1 with errno. */
int tc_workspace_kernel_fs(const struct tc_walk_entry *e);
struct tc_version tc_workspace_version(const struct statx *st);
bool tc_time_same(const struct statx_timestamp *a, const struct statx_timestamp *b);
bool tc_version_same(const struct tc_version *a, const struct tc_version *b);
/* Stores or reads one. */
void tc_version_visit(struct tc_wire *w, struct tc_version *v);
/* Copies a file to a new name; follows no link. 0, or -1. */
int tc_workspace_copy_file(int from_dir, const char *from_name, int to_dir, const char *to_name,
                           mode_t mode);
/* The same for an entry: a file with its permissions, or a link. */
int tc_workspace_copy_entry(const struct tc_walk_entry *e, int to_dir, const char *to_name);
/* Copies the access and modification time to a new file or link. */
int tc_workspace_copy_times(int dir, const char *name, const struct statx *st);

/* commit.c: decides about changes one by one, and adds the steps of those that are committed to
 * w->steps. Files that the host changed meanwhile are not overwritten, and steering files are not
 * written. */

/* Once, before the others. */
void tc_commit_begin(struct tc_workspace *w);
/* Before the entries of each item, the removals first; and at each entry of the walk. */
void tc_commit_item(const struct tc_workspace *w);
void tc_commit_enter(const struct tc_workspace *w, int depth);
/* How the tool changed an entry of the copy: "added", "modified", or NULL. */
const char *tc_commit_kind(const struct tc_workspace *w, const struct tc_item *item,
                           const struct tc_walk_entry *e);
/* The commit of this change failed, so the call has failed. */
extern const char tc_commit_undone[];
/* Reasons to stage a change: a conflict, a steering file, approval pending. */
extern const char tc_commit_conflict[], tc_commit_steering[], tc_commit_waits[];
/* The entry when the call began; NULL: it did not exist or is not recorded. */
const struct tc_copied *tc_commit_base(const struct tc_workspace *w, const struct tc_item *item,
                                       const char *relative);
/* Is it a file of the policy, or would it replace a directory above one? */
bool tc_commit_guarded(const struct tc_item *item, const char *relative, unsigned mode);
/* Is it a steering file, which is committed only with a person's approval, or a file of the policy,
 * which never is? */
bool tc_commit_steers(const struct tc_cage *cage, const struct tc_item *item, const char *relative,
                      unsigned mode);
/* Does git trust a file of this name (TC_STEERS_WRITTEN), and has neither the grant named it nor a
 * person approved steering files? */
bool tc_commit_trusted(const struct tc_cage *cage, const struct tc_item *item,
                       const char *relative);
/* Why an entry of this type is never committed (a FIFO, a socket, a device; instead of a single
 * granted file anything but a file), or NULL. */
const char *tc_commit_left_out(const struct tc_item *item, unsigned mode);
/* Decides to commit the entry: NULL, or why not ("conflict", "denied", "steers the host",
 * tc_commit_undone). */
const char *tc_commit_entry(struct tc_cage *cage, const struct tc_item *item,
                            const struct tc_walk_entry *e);

/* Decides about the permissions of the item itself, whose mode was `made` when the call began.
 * NULL, or why not. */
const char *tc_commit_root_mode(const struct tc_cage *cage, const struct tc_item *item,
                                unsigned made, unsigned mode);

/* Decides about the permissions of a committed directory, after its entries. 0, or -1 with errno.
 */
int tc_commit_mode(const struct tc_cage *cage, const struct tc_item *item,
                   const struct tc_walk_entry *e);

enum tc_commit_fate { TC_COMMIT_STAYS, TC_COMMIT_GONE, TC_COMMIT_REPLACED, TC_COMMIT_UNSEEN };
/* Did the tool remove the entry, or replace it by another type? UNSEEN, with errno: unknown. */
enum tc_commit_fate tc_commit_fate(const struct tc_copied *entry);
/* Decides to remove the entry on the host: NULL, or why not. The entries of a directory come before
 * it. */
const char *tc_commit_removal(const struct tc_cage *cage, const struct tc_copied *entry);

#endif
