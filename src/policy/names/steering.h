/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Steering files: files that the user's programs load or run automatically. No list of them can be
 * complete, so every name that begins with a dot is one, unless no program is known to load or run
 * it; names without a dot are listed. */
#ifndef TC_POLICY_NAMES_STEERING_H
#define TC_POLICY_NAMES_STEERING_H

#include <stdbool.h>

#include "base/strv.h"

enum { TC_OBJECT_ID_SIZE = 65 }; /* a git object id in hexadecimal digits, SHA-256, with its NUL */

/* The operator's settings (`filesystem.steering`): names to add to the built-in ones, and names to
 * treat as content. No built-in steering name can be removed. */
struct tc_steering {
    struct tc_strv add, remove;
    bool listed; /* only the listed names steer: an install's files are not in a directory where
                    users work */
};

enum tc_steers {
    TC_STEERS_NOT,
    TC_STEERS_RECORD, /* content as a file or directory; steering as a link, because programs write
                         through it */
    TC_STEERS_ROOM, /* a directory with this name may contain steering files; anything else with it
                       is a link to another location, and steers */
    TC_STEERS_WRITTEN, /* git trusts it and writes it in normal work: never read-only; a changed one
                          steers until its content is verified */
    TC_STEERS_HOST,
};

/* Classifies the path `relative` in a host directory whose path ends in `context` ("": unknown). A
 * name that begins in the context steers if it ends in `relative`; whoever granted a directory knew
 * its name. `rules` may be NULL. Borrows all; thread-safe. */
enum tc_steers tc_steers(const struct tc_steering *rules, const char *context,
                         const char *relative);

/* Is it a directory of a repository: .git, or that of a submodule or a linked work tree in it? Its
 * steering files are known by name. As tc_steers(). */
bool tc_steers_git(const char *context, const char *relative);

/* Is it below a directory of packages (node_modules and the like)? Then its removal does not steer
 * the host: the packages are installed again. As tc_steers(). */
bool tc_steers_packaged(const char *context, const char *relative);

/* Is it one of toolcage's own files, which decide what later calls may do? */
bool tc_steers_own(const char *context, const char *relative);

/* A fast check: apart from the operator's rules, can this path, or a path that ends in it, steer
 * before a tool writes there? */
bool tc_steers_may(const char *path);

/* The id of a loose git object's path (it ends in objects/ab/ and 38 or 62 hex digits), or "". */
void tc_object_id(const char *path, char ret[TC_OBJECT_ID_SIZE]);

/* The built-in row that matches in this host path, or NULL. Static. */
const char *tc_steers_named(const char *path);

/* Is it a valid row for a policy? */
bool tc_steering_row(const char *text);

void tc_steering_done(struct tc_steering *rules);
bool tc_steering_copy(struct tc_steering *to, const struct tc_steering *from);

/* ---- steering_names.c: the lists for it ---- */

/* A row is one or more components, each with at most one `*`; it matches from any directory on.
 * Lists end with NULL. */

/* Files that host programs load or run automatically. Names with a leading dot steer anyway; here
 * they are for grants that begin inside one, for packages, and for the lint. */
extern const char *const tc_steering_names[];

/* Files of a repository that git trusts and writes in normal work: TC_STEERS_WRITTEN. Loose objects
 * and their directories need no row. */
extern const char *const tc_steering_written[];

/* Dot names that no program loads or runs. */
extern const char *const tc_steering_spared[];

/* Directories of unpacked packages: a dot name in one is no more dangerous than the package's
 * code. */
extern const char *const tc_steering_packages[];

#endif
