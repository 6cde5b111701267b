/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The memory budget of all VMs of one user, in all processes. */
#include "backend/vm/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "cage/worker.h"
#include "policy/settings.h"
#include "state/shares.h"
#include "workspace/state.h"

enum { UNIT = 1 << 20 };

/* The policy's value; else three quarters of the host's memory. */
static int64_t all_units(const struct tc_plan *plan)
{
    const char *said = tc_setting(&plan->settings, "at_once");
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t bytes = said ? strtoll(said, NULL, 10) : pages / 4 * 3 * page;
    return bytes < UNIT ? 1 : bytes / UNIT;
}

static int fail_memory_budget(struct tc_cage *cage, int64_t wanted, int64_t free, int64_t all)
{
    bool said = strcmp(cage->executor->name, "qemu") == 0;
    return tc_cage_fail(cage,
                        TC_WHY(TOOLCAGE_EUNENFORCEABLE, "machine", "memory",
                               said ? "wait until one of the running machines has ended, lower the "
                                      "tool's memory, or raise [backend.qemu] at_once"
                                    : "wait until one of the running machines has ended, or lower "
                                      "the tool's memory"),
                        TC_CLAUSE_LIMIT_MEMORY,
                        "of the %" PRId64 " MiB that virtual machines may use at once, %" PRId64
                        " MiB are free, and this one may grow to %" PRId64 " MiB",
                        all, free, wanted);
}

static int64_t wanted_units(const struct tc_plan *plan)
{
    return plan->limits.memory / UNIT;
}

/* -1 with errno; EAGAIN: less than `wanted` is free, namely *ret_free. */
static int take_memory(int64_t most, int64_t wanted, int64_t *ret_free)
{
    _autofd_ int dir = tc_state_open("room", NULL);
    _autofd_ int fd =
        dir < 0 ? -1 : openat(dir, "units", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && tc_shares_take(fd, most, wanted, ret_free) == 0 ? TAKE_FD(fd) : -1;
}

int tc_vm_memory_hold(const struct tc_cage *cage)
{
    int64_t free = 0;
    return take_memory(all_units(cage->plan) / 2, wanted_units(cage->plan), &free);
}

/* A VM larger than the budget may run alone. Prestarted VMs are ended to free their shares. */
int tc_vm_memory_take(struct tc_cage *cage, int *ret)
{
    int64_t all = all_units(cage->plan), wanted = wanted_units(cage->plan), free = 0;
    int64_t most = wanted < all ? wanted : all;
    do {
        *ret = take_memory(all, most, &free);
    } while (*ret < 0 && errno == EAGAIN && tc_worker_yield());
    if (*ret >= 0)
        return 0;
    if (errno == EAGAIN)
        return fail_memory_budget(cage, wanted, free, all);
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "machine", "room", errno,
                                     "see whether the state directory can be written"),
                        -1, "cannot count the memory of virtual machines");
}

void tc_vm_memory_give(int room)
{
    if (room < 0)
        return;
    tc_shares_give(room);
    (void)close(room);
}
