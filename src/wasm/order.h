/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What toolcage-wasm is asked to do. It runs in a cage: what it may reach is decided outside, and
 * it is told what of that the module may have. */
#ifndef TC_WASM_ORDER_H
#define TC_WASM_ORDER_H

#include "base/field.h"

struct tc_wasm_order {
    char *work; /* "run", "edge" (in WasmEdge), "compile" or "inspect" */
    char *engine, *module, *digest;
    char *code, *code_digest; /* what it was compiled to; NULL: it is not */
    char *code_stamp;         /* the state in which it had that digest; NULL: read it */
    int64_t calls;            /* that one worker serves that waits for them; 0: one */
    int64_t memory;           /* bytes of a module's memory; 0: as many as there are */
    int64_t fuel;             /* of a deterministic call; 0: it is none */
    int64_t cpu_time;         /* milliseconds of the whole process; 0: no matter */
    bool watched;             /* the paths that it is refused are to be listed */
    /* Of the call: */
    struct tc_strv read, write; /* what it may see and change, as it is named here */
    struct tc_strv env, args;
    /* The worker's own: */
    bool ahead; /* the call comes later */
    bool only;  /* and none after it, whatever `calls` says */
    int root;   /* of all paths; AT_FDCWD: the process's own */
    char *here; /* where relative paths begin; NULL: in the process's directory */
};

/* Rows with the flag belong to the call; the others are the same for all calls of a worker. */
enum { TC_WASM_OF_CALL = 1 };
extern const struct tc_fields tc_wasm_order_fields;

#endif
