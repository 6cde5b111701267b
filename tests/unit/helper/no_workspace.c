/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A workspace in which nothing was ever committed, held or kept, for jobs that have none. */
#include "workspace/brief.h"
#include "workspace/held.h"
#include "workspace/journal.h"
#include "workspace/session.h"
#include "workspace/workspace.h"

int tc_held_calls(struct tc_outcome *outcome)
{
    (void)outcome;
    return 0;
}

int tc_held_settle(const char *call, enum tc_held_action action, const struct tc_strv *paths,
                   struct tc_outcome *outcome)
{
    (void)call, (void)action, (void)paths, (void)outcome;
    return 0;
}

int tc_session_list(struct tc_outcome *outcome)
{
    (void)outcome;
    return 0;
}

int tc_session_end(const char *name, struct tc_outcome *outcome)
{
    (void)name, (void)outcome;
    return 0;
}

unsigned tc_journal_sweep(void)
{
    return 0;
}

void tc_journal_close(void)
{
}

unsigned tc_journal_forget(void)
{
    return 0;
}

char *tc_journal_cuts(void)
{
    return NULL;
}

int tc_workspace_collect(struct tc_cage *cage, bool commit)
{
    (void)cage, (void)commit;
    return -1;
}

bool tc_workspace_cancel(const struct tc_cage *cage)
{
    (void)cage;
    return false;
}

bool tc_brief_begin(struct tc_cage *cage)
{
    (void)cage;
    return false;
}

void tc_brief_work(struct tc_cage *cage)
{
    (void)cage;
}

bool tc_brief_end(struct tc_cage *cage)
{
    (void)cage;
    return true;
}
