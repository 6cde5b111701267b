/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend's works: a cage whose PID 1 is the helper's own child. */
#include "backend/process/works.h"

#include "cage/cage.h"
#include "cage/slots.h"
#include "cage/spare.h"

/* Will the tool's next call want the same root? Not where an argument says what is mounted, nor
 * where there is no root. */
static bool comes_again(const struct tc_cage *cage)
{
    for (size_t i = 0; i < cage->plan->mount_count; i++)
        if (cage->plan->mounts[i].bound)
            return false;
    return !TC_PRIV(cage)->shared;
}

/* A clause that nothing holds is found before anything runs. */
static int start(struct tc_cage *cage)
{
    if (tc_process_complete(cage) < 0 || tc_process_enforced(cage) < 0 ||
        tc_process_start(cage) < 0)
        return -1;
    if (comes_again(cage))
        tc_spare_next(TC_PRIV(cage), cage->plan->tool);
    return 0;
}

const struct tc_works tc_process_works = {
    .name = "process",
    .trial = tc_process_trial,
    .probe = tc_process_probe,
    .lease = tc_process_lease,
    .prepare = tc_process_prepare,
    .start = start,
    .event = tc_process_event,
    .notify = tc_process_notify,
    .oomed = tc_local_oomed,
    .signal = tc_local_signal,
    .reap = tc_process_reap,
    .cpu_us = tc_local_cpu_us,
    .shared_bytes = tc_local_shared_bytes,
    .usage = tc_local_usage,
    .collect = tc_process_collect,
    .collected = tc_process_collected,
    .uncollect = tc_process_uncollect,
    .holds_much = tc_local_holds_much,
    .release = tc_local_release,
    .destroy = tc_local_destroy,
};
