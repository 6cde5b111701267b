/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executors of wasm and wasmedge: process cages whose program is toolcage-wasm. They need no
 * probe: the process backend's probe tests the cage, and the library looks for the engine. */
#include "backend/registry.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/task.h"
#include "cage/cage.h"

/* The isolation layer inside the cage: the module calls WASI functions, not the kernel. */
static const char *inner(enum tc_clause clause)
{
    switch ((int)clause) {
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_WRITE:
        return "WASI over the granted paths";
    case TC_CLAUSE_NET_NONE:
        return "WASI that opens no connection";
    case TC_CLAUSE_SYSCALLS:
        return "WASI in place of system calls";
    default:
        return NULL;
    }
}

/* For a call with a fuel limit (`deterministic`): toolcage-wasm reports the fuel that it used. */
struct teller {
    bool killed, heard;
    struct tc_task_fuel told;
};

static struct teller *teller_of(const struct tc_cage *cage)
{
    return cage->priv ? TC_PRIV(cage)->own : NULL;
}

static int make_wasm(struct tc_cage *cage)
{
    struct teller *teller = cage->plan->fuel ? calloc(1, sizeof(*teller)) : NULL;
    if (cage->plan->fuel && !teller)
        return tc_cage_fail_memory(cage, "worker");
    int rc = tc_local_lease(cage, NULL, NULL);
    if (cage->priv) {
        TC_PRIV(cage)->inner = inner;
        TC_PRIV(cage)->own = teller;
    } else {
        free(teller);
    }
    return rc;
}

/* Adds the reported fuel to the outcome. Like the output, the report comes from the cage and may be
 * false. The fuel of a killed call depends on when it was killed, so it is not reported. */
static const char *usage_of_wasm(struct tc_cage *cage)
{
    struct teller *t = teller_of(cage);
    const char *limit = tc_local_usage(cage);
    if (!t)
        return limit;
    int talk = TC_PRIV(cage)->talk;
    if (talk >= 0 && !t->heard)
        t->heard = recv(talk, &t->told, sizeof(t->told), MSG_DONTWAIT) == sizeof(t->told);
    bool whole = t->heard && !t->killed && !limit && t->told.used > 0;
    cage->outcome->fuel = whole ? t->told.used : -1;
    return whole && t->told.spent ? "cpu_time" : limit;
}

static void signal_wasm(struct tc_cage *cage, bool at_once)
{
    struct teller *teller = teller_of(cage);
    if (teller)
        teller->killed = true;
    tc_local_signal(cage, at_once);
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct teller *teller = teller_of(cage);
    if (!tc_local_destroy(cage, may_block))
        return false;
    free(teller);
    return true;
}

#define EXECUTOR(backend)                                                                         \
    .name = (backend), .make = make_wasm, .prepare = tc_process_prepare, .start = tc_process_run, \
    .event = tc_process_event, .signal = signal_wasm, .reap = tc_process_reap,                    \
    .usage = usage_of_wasm, .destroy = destroy

const struct tc_executor tc_wasm_executor = {EXECUTOR("wasm")};
const struct tc_executor tc_wasmedge_executor = {EXECUTOR("wasmedge")};
