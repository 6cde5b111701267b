/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * "May a tool have written this?" has one answer. Whatever toolcage runs, obeys or follows on the
 * host is asked about here: in the places of the present grant, in those of its whole policy, and
 * in those that any tool of this user or of root could write before (record.c). */
#ifndef TC_PROVENANCE_PROVENANCE_H
#define TC_PROVENANCE_PROVENANCE_H

#include "base/strv.h"
#include "linux/resolve.h"

/* ---- record.c ---- */

/* Where the records are, borrowed: the caller's state directories, of which there are two where
 * $XDG_STATE_HOME names another one than the usual (a program that is started without that variable
 * knows the usual one alone); and the directory of root's record. */
struct tc_records {
    const struct tc_strv *states;
    const char *root;
};

#define TC_RECORDS_ROOT "/var/lib/toolcage"

/* Adds the entries of all records to the resolver. A record that is not there has none. 0, or -1
 * with errno: one cannot be read. */
int tc_provenance_record_learn(const struct tc_records *records, struct tc_resolver *r);

/* Notes these host paths, as they are now, before a tool can write there; and, unless `file` is
 * NULL, that it has this digest. What cannot be noted stops no call: links in the policy's own
 * places are not followed anyway. False: out of memory. */
bool tc_provenance_record_note(const struct tc_records *records, const struct tc_strv *places,
                               const char *file, const char *digest);

/* Is this the digest that the caller's own record has last for the file? */
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
/* The same for this process: its user, and the state directories of its environment. False: out of
 * memory. */
bool tc_provenance_here(struct tc_provenance *p, const struct tc_strv *places,
                        const struct tc_strv *more);
/* Those directories; appends. False: out of memory. */
bool tc_provenance_states(struct tc_strv *ret);
void tc_provenance_done(struct tc_provenance *p);
#define _autoprovenance_ _auto_(tc_provenance_done)

/* May a tool have written the file at this absolute path, or a directory or link on the way to it?
 * Also where a link on the way belongs to somebody else, and where it cannot be known. What is not
 * there was written by nobody. */
bool tc_provenance_tool(struct tc_provenance *p, const char *path);

/* As tc_provenance_record_note() and tc_provenance_record_knows(), in the records of this process.
 */
bool tc_provenance_note(const struct tc_strv *places, const char *file, const char *digest);
bool tc_provenance_knows(const char *file, const char *digest);

#endif
