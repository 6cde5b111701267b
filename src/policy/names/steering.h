/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which names steer the host: what a program of the user runs or obeys without being asked. A list
 * of them never ends, so a name that begins with a dot steers unless it is known that nothing
 * obeys it; names without a dot are listed. */
#ifndef TC_POLICY_NAMES_STEERING_H
#define TC_POLICY_NAMES_STEERING_H

#include <stdbool.h>

#include "base/strv.h"

enum { TC_OBJECT_ID_SIZE = 65 }; /* an id of git in hexadecimal digits, by SHA-256, and its end */

/* The operator's words, `filesystem.steering`: names to add, and such that are content, which none
 * of toolcage's own ever is. */
struct tc_steering {
    struct tc_strv add, remove;
    bool listed; /* the list alone counts: what an install leaves lies where nobody works */
};

enum tc_steers {
    TC_STEERS_NOT,
    TC_STEERS_RECORD, /* content as a file or directory; as a link it steers: programs write through
                         it */
    TC_STEERS_ROOM,   /* a directory of this name only holds some that do; as anything else it leads
                         elsewhere, and steers */
    TC_STEERS_WRITTEN, /* git trusts it and writes it in normal work: never read-only, but a changed
                          one steers until its content is verified */
    TC_STEERS_HOST,
};

/* Of what lies at `relative` in a directory of the host whose path ends in `context` ("": not
 * known). A name that began in the context steers when it ends below; whoever granted a directory
 * knew its own name. `rules` may be NULL. All borrow; any thread. */
enum tc_steers tc_steers(const struct tc_steering *rules, const char *context,
                         const char *relative);

/* A quick look: may anything but the operator's words make this path, or one whose end it is,
 * steer before a tool wrote there? */
bool tc_steers_may(const char *path);

/* Does this path end as a loose object of git does: objects/ab/38 or 62 hex digits? Its id, or ""
 */
void tc_object_id(const char *path, char ret[TC_OBJECT_ID_SIZE]);

/* By the list alone: the row that stands in this path of the host, or NULL. Static. */
const char *tc_steers_named(const char *path);

/* May a policy write this row? */
bool tc_steering_row(const char *text);

void tc_steering_done(struct tc_steering *rules);
bool tc_steering_copy(struct tc_steering *to, const struct tc_steering *from);

/* ---- steering_names.c: the lists behind it ---- */

/* A row is one component or more, each of which may hold one `*`; it counts from any directory on.
 * Lists end with NULL. */

/* What programs of the host run or obey unasked. Names that begin with a dot steer anyway: here
 * they stand for a grant that begins in the middle of one, for packages, and for the lint. */
extern const char *const tc_steering_names[];

/* Files of a repository that git trusts and writes in normal work: TC_STEERS_WRITTEN. Loose objects
 * and the directories of objects need no row. */
extern const char *const tc_steering_written[];

/* Names with a dot that nothing obeys. */
extern const char *const tc_steering_spared[];

/* Directories of what a package manager unpacked: their names with a dot are no more than the code
 * beside them. */
extern const char *const tc_steering_packages[];

#endif
