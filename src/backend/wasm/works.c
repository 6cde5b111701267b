/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of wasm and wasmedge: those of a process cage, whose program is toolcage-wasm. The cage
 * is the process backend's to try; what runs a module is looked for by the library. */
#include "backend/wasm/works.h"

#include "cage/cage.h"
#include "cage/slots.h"

/* What holds a module before the cage has to: it calls our interface, and no kernel. */
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

static int make(struct tc_cage *cage)
{
    int rc = tc_process_lease(cage);
    if (cage->priv)
        TC_PRIV(cage)->inner = inner;
    return rc;
}

#define WORKS(backend)                                                                       \
    .name = (backend), .make = make, .prepare = tc_process_prepare, .start = tc_process_run, \
    .event = tc_process_event, .signal = tc_local_signal, .reap = tc_process_reap,           \
    .usage = tc_local_usage, .collect = tc_process_collect,                                  \
    .cancel_collect = tc_process_cancel_collect, .destroy = tc_local_destroy

const struct tc_works tc_wasm_works = {WORKS("wasm")};
const struct tc_works tc_wasmedge_works = {WORKS("wasmedge")};
