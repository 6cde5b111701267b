/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only place that answers: could a tool have written this file? Asked before toolcage runs,
 * loads or follows anything on the host. The answer covers the paths of the current grant, of its
 * whole policy, and all that a tool of this user or of root could write earlier (record.c). */
#ifndef TC_PROVENANCE_PROVENANCE_H
#define TC_PROVENANCE_PROVENANCE_H

#include "base/strv.h"
#include "linux/resolve.h"

/* ---- record.c ---- */

/* The directories of the records, borrowed. `states` are the caller's state directories: two if
 * $XDG_STATE_HOME names another one than the default, because a program that is started without
 * that variable uses the default. `root` holds root's record. */
struct tc_records {
    const struct tc_strv *states;
    const char *root;
};

#define TC_RECORDS_ROOT "/var/lib/toolcage"

/* Adds the entries of all records to the resolver; a missing record has none. 0, or -1 with errno:
 * one cannot be read. */
int tc_provenance_record_learn(const struct tc_records *records, struct tc_resolver *r);

/* Records these host paths before a tool can write there; and the digest of `file`, unless it is
 * NULL. A failed write does not stop the call: links in the policy's own paths are not followed
 * anyway. False: out of memory. */
bool tc_provenance_record_note(const struct tc_records *records, const struct tc_strv *places,
                               const char *file, const char *digest);

/* Is this the last digest of the file in the caller's own record? */
bool tc_provenance_record_knows(const struct tc_records *records, const char *file,
                                const char *digest);

/* ---- provenance.c ---- */

struct tc_provenance {
    struct tc_resolver resolver;
    struct tc_records records;
    const struct tc_strv *places[2];
    struct tc_strv own; /* owned: the state directories of this process */
};

/* `places` and `more` are lists of host paths that tools can write, or NULL; `states` are the
 * caller's state directories. All are borrowed until tc_provenance_done(). Reads nothing yet. */
void tc_provenance_init(struct tc_provenance *p, uid_t caller, const struct tc_strv *states,
                        const struct tc_strv *places, const struct tc_strv *more);
/* The same for this process's user and environment. False: out of memory. */
bool tc_provenance_here(struct tc_provenance *p, const struct tc_strv *places,
                        const struct tc_strv *more);
/* Appends the state directories of this process. False: out of memory. */
bool tc_provenance_states(struct tc_strv *ret);
void tc_provenance_done(struct tc_provenance *p);
#define _autoprovenance_ _auto_(tc_provenance_done)

/* Could a tool have written the file at this absolute path, or a directory or link on the way to
 * it? Also true if a link on the way belongs to another user, or if it cannot be determined. False
 * for a missing file. */
bool tc_provenance_tool(struct tc_provenance *p, const char *path);

/* Like tc_provenance_record_note() and tc_provenance_record_knows(), for the records of this
 * process. */
bool tc_provenance_note(const struct tc_strv *places, const char *file, const char *digest);
bool tc_provenance_knows(const char *file, const char *digest);

#endif
