/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process backend's works: a cage whose PID 1 is the helper's own child. */
#include "backend/process/works.h"

#include "cage/cage.h"
#include "cage/slots.h"

const struct tc_works tc_process_works = {
    .name = "process",
    .trial = tc_process_trial,
    .probe = tc_process_probe,
    .make = tc_process_lease,
    .prepare = tc_process_prepare,
    .start = tc_process_run,
    .event = tc_process_event,
    .signal = tc_local_signal,
    .reap = tc_process_reap,
    .usage = tc_local_usage,
    .collect = tc_process_collect,
    .cancel_collect = tc_process_cancel_collect,
    .destroy = tc_local_destroy,
};
