/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A workspace without changes to collect, for jobs that have none. */
#include "workspace/inline_collect.h"
#include "workspace/workspace.h"

int tc_workspace_collect(struct tc_cage *cage, bool commit)
{
    (void)cage, (void)commit;
    return -1;
}

int64_t tc_workspace_collected(const struct tc_cage *cage)
{
    (void)cage;
    return -1;
}

char *tc_workspace_explain(const struct tc_cage *cage, const char *output, size_t length)
{
    (void)cage, (void)output, (void)length;
    return NULL;
}

bool tc_workspace_cancel(const struct tc_cage *cage)
{
    (void)cage;
    return false;
}

bool tc_inline_collect_begin(struct tc_cage *cage)
{
    (void)cage;
    return false;
}

void tc_inline_collect_work(struct tc_cage *cage)
{
    (void)cage;
}

bool tc_inline_collect_end(struct tc_cage *cage)
{
    (void)cage;
    return true;
}
