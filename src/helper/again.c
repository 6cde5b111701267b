/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Another attempt at a cage that could not be built: other processes changed granted paths
 * meanwhile, a bind needs too many mounts, or an overlay cannot be made. No tool has run, so the
 * caller notices only the time. The last attempts at a bind use an overlay, which needs no mount
 * for each steering file. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "helper/job.h"

enum { ATTEMPTS = 40, BIND_ATTEMPTS = 8 };

static bool writes(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == TC_MOUNT_WRITE)
            return true;
    return false;
}

static bool keep(int fd, int *ret)
{
    *ret = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return fd < 0 || *ret >= 0;
}

void tc_again_keep(struct tc_job_record *j)
{
    struct tc_again *a = &j->again;
    a->possible = writes(&j->plan) && keep(j->cage.stdin_fd, &a->input) &&
                  keep(j->cage.secrets_fd, &a->secrets) &&
                  keep(j->cage.exchanges_fd, &a->exchanges);
}

void tc_again_drop(struct tc_job_record *j)
{
    int *fds[] = {&j->again.input, &j->again.secrets, &j->again.exchanges};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (*fds[i] >= 0)
            (void)close(TAKE_FD(*fds[i]));
    j->again.possible = false;
}

static bool changes_for(struct tc_job_record *j, const char *why)
{
    tc_strcopy(j->again.why, sizeof(j->again.why), why ? why : "");
    return true;
}

/* Decides what changes: nothing, a bind becomes an overlay, or an overlay the bind that the plan
 * accepts instead. False: nothing may help. */
static bool adjust(struct tc_job_record *j)
{
    static const char moving[] =
        "its steering files were replaced again and again while the cage was built";
    const char *unbound = j->cage.unbound;
    if ((unbound || j->again.count >= BIND_ATTEMPTS) && tc_plan_overlay(&j->plan))
        return changes_for(j, unbound ? unbound : moving);
    if (j->cage.unlayered && tc_plan_bind(&j->plan))
        return changes_for(j, j->outcome.failure.message);
    return j->cage.changed;
}

static bool in_time(const struct tc_job_record *j)
{
    int64_t timeout_ms = j->plan.limits.timeout_ms;
    return !timeout_ms || tc_now_us() < j->begun_us + tc_us_of_ms(timeout_ms);
}

bool tc_again_wanted(struct tc_job_record *j)
{
    if (!j->again.possible || j->state != TC_IS_ENDED || j->reason != TC_FOR_NOTHING ||
        j->again.count >= ATTEMPTS || !in_time(j) || !adjust(j)) {
        tc_again_drop(j);
        return false;
    }
    j->again.count++;
    j->again.due = true;
    return true;
}

void tc_again_reset(struct tc_job_record *j)
{
    const struct tc_executor *executor = j->cage.executor;
    struct tc_again *a = &j->again;
    tc_outcome_done(&j->outcome);
    j->outcome = (struct tc_outcome){.exit_code = -1, .failure.clause = -1};
    for (size_t i = 0; i < TC_COUNT(j->flows); i++) {
        tc_output_done(&j->flows[i].read);
        j->flows[i] = (struct tc_flow){0};
    }
    j->limit = NULL;
    j->cage = tc_cage_empty(&j->plan, &j->outcome);
    j->cage.executor = executor;
    j->cage.stdin_fd = TAKE_FD(a->input);
    j->cage.secrets_fd = TAKE_FD(a->secrets);
    j->cage.exchanges_fd = TAKE_FD(a->exchanges);
    j->cage.instead_because = a->why[0] ? a->why : NULL;
}
