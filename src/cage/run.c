/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From a prepared cage to one in which the program runs. */
#include "cage/cage.h"
#include "cage/slots.h"
#include "cage/spare.h"
#include "cage/worker.h"

/* Will the tool's next call want the same root? Not where an argument says what is mounted. */
static bool comes_again(const struct tc_cage *cage)
{
    for (size_t i = 0; i < cage->plan->mount_count; i++)
        if (cage->plan->mounts[i].bound)
            return false;
    return true;
}

/* A clause that nothing holds is found before anything runs. */
int tc_process_run(struct tc_cage *cage)
{
    if (tc_process_complete(cage) < 0 || tc_process_enforced(cage) < 0 ||
        tc_process_start(cage) < 0)
        return -1;
    if (!tc_worker_next(cage) && comes_again(cage))
        tc_spare_next(TC_PRIV(cage), cage->plan->tool);
    return 0;
}
