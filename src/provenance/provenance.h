/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * "May a tool have written this?" has one answer. Whatever toolcage runs, obeys or follows on the
 * host is asked about here: in the places of the present grant, in those of its whole policy, and
 * in those that any tool of this user or of root could write before (record.h). */
#ifndef TC_PROVENANCE_PROVENANCE_H
#define TC_PROVENANCE_PROVENANCE_H

#include "provenance/record.h"

struct tc_provenance {
    struct tc_resolver resolver;
    struct tc_records records;
    const struct tc_strv *places[2];
    char *state; /* owned; what records.state is, unless that was given */
};

/* `places` and `more` are lists of host paths that tools can write, or NULL; `state` is the
 * caller's state directory, or NULL. All are borrowed until tc_provenance_done(). Reads nothing
 * yet. */
void tc_provenance_init(struct tc_provenance *p, uid_t caller, const char *state,
                        const struct tc_strv *places, const struct tc_strv *more);
/* The same for this process: its user, and the state directory of its environment. False: out of
 * memory. */
bool tc_provenance_here(struct tc_provenance *p, const struct tc_strv *places,
                        const struct tc_strv *more);
void tc_provenance_done(struct tc_provenance *p);
#define _autoprovenance_ _auto_(tc_provenance_done)

/* May a tool have written the file at this absolute path, or a directory or link on the way to it?
 * Also where a link on the way belongs to somebody else, and where it cannot be known. What is not
 * there was written by nobody. */
bool tc_provenance_tool(struct tc_provenance *p, const char *path);

/* Notes in this user's record that a tool will be able to write in these host paths and, unless
 * `policy` is NULL, the digest of the policy file that lies in one. What cannot be noted stops no
 * call. False: out of memory. */
bool tc_provenance_note(const struct tc_strv *places, const char *policy, const char *digest);

/* Has the policy file at this path the digest with which a call used it last? It is as that call
 * left it, then, wherever it lies. */
bool tc_provenance_knows(const char *policy, const char *digest);

#endif
