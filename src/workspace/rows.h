/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The changes of a call while they are collected, and their rows in the result. */
#ifndef TC_WORKSPACE_ROWS_H
#define TC_WORKSPACE_ROWS_H

#include "linux/walk.h"
#include "workspace/held.h"
#include "workspace/reading.h"
#include "workspace/session.h"
#include "workspace/trusted.h"
#include "workspace/workspace.h"

struct tc_gathering {
    struct tc_cage *cage;
    const struct tc_item *item;
    struct tc_outcome *found;
    bool commit;   /* copies are committed */
    size_t undone; /* commits that failed; the path and errno of the first: */
    char *undone_path;
    int undone_errno;
    bool asks; /* nothing is committed without approval */
    bool full; /* nothing could be committed: all of it is staged, caches, too */
    struct tc_keeping keeping;
    struct tc_session_keeping session;
    struct tc_reader reader;
    struct tc_trusted trusted;
    bool looked;     /* `doubted` is set */
    bool doubted;    /* the item has a new object that is not verified */
    size_t steering; /* listed changes of steering files, which have a separate limit */
    /* by depth: is a change listed in this directory that explains why its time changed? */
    bool told[TC_WALK_DEEPEST + 2];
    /* by depth: does the directory get its permissions after its entries? */
    bool sets_mode[TC_WALK_DEEPEST + 2];
};

/* How an entry changed, and why the change was not applied on the host; NULL: it was. */
struct tc_row {
    const char *kind, *held;
    bool by_time; /* found by time: another process may have made it */
    bool steers;  /* it is a steering file */
    size_t cache; /* how many bytes of the name make it a cache */
    bool checked; /* git trusts the file, and its content was verified */
};

/* What a row says about an entry, read before a commit moves it away. */
struct tc_row_look {
    bool wanted; /* `collect` names it */
    bool steers;
    char *target; /* of a link */
    struct tc_reading reading;
};

/* The entry's path in the cage; owned, NULL: out of memory. */
char *tc_row_path(const struct tc_item *item, const char *relative);
/* Type and permissions before the call, which are known in a private workspace. */
int64_t tc_row_mode_before(const struct tc_gathering *g, const char *relative);
/* Does git trust a file of this name, and is its content verified? Only the end of a call verifies
 * content, and only in a separate process. */
bool tc_row_checked(struct tc_gathering *g, const struct tc_walk_entry *e);

/* Adds a row. NULL: too many rows, or out of memory; a row without a path would be useless. */
struct tc_change *tc_row_list(struct tc_gathering *g, const char *relative,
                              const struct tc_row *row);
/* Adds a row for an entry that stays where it is, and the file if `collect` names it. */
void tc_row_note(struct tc_gathering *g, const struct tc_walk_entry *e, const struct tc_row *said);
/* The same in two steps: an entry is read before a commit moves it away, and listed afterwards. */
void tc_row_look_at(struct tc_gathering *g, const struct tc_walk_entry *e, const struct tc_row *row,
                    struct tc_row_look *ret);
void tc_row_add(struct tc_gathering *g, const struct tc_walk_entry *e, struct tc_row *row,
                struct tc_row_look *look);
void tc_row_look_done(struct tc_row_look *look);

/* ---- carry.c: the commit of what the walk has decided ---- */

/* Counts a change whose commit failed (tc_commit_undone), with errno. */
void tc_carry_undone(struct tc_gathering *g, const char *relative, const char *held);
/* The number of the next step; and the steps from `first` on belong to the last row. */
size_t tc_carry_next(const struct tc_gathering *g);
void tc_carry_link(struct tc_gathering *g, size_t first);
enum tc_commit_end {
    TC_COMMIT_DONE,
    TC_COMMIT_WAITS, /* for a sweep, which takes the remaining steps */
    TC_COMMIT_NONE,  /* the new versions or the list could not be written: see steps->errnum */
};
enum tc_commit_end tc_carry_out(struct tc_gathering *g);
#endif
