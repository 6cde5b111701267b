/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A state directory without journals, held changes or sessions, for jobs that use none. */
#include "workspace/held.h"
#include "workspace/journal.h"
#include "workspace/session.h"

int tc_held_calls(struct tc_outcome *outcome)
{
    (void)outcome;
    return 0;
}

int tc_held_settle(const char *call, enum tc_held_action action, const struct tc_strv *paths,
                   const char *seen, struct tc_outcome *outcome)
{
    (void)call, (void)action, (void)paths, (void)seen, (void)outcome;
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
