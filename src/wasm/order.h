/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The task of toolcage-wasm. toolcage-wasm runs in a cage, which limits what it can access; the
 * task limits further what the module can access. */
#ifndef TC_WASM_ORDER_H
#define TC_WASM_ORDER_H

#include "base/field.h"

struct tc_wasm_order {
    char *work; /* "run", "edge" (run in WasmEdge), "compile" or "inspect" */
    char *engine, *module, *digest;
    char *code, *code_digest; /* the compiled code of the module; NULL: none */
    char *code_stamp;         /* file stamp of `code` when its digest was checked; NULL: check it */
    int64_t calls;            /* calls that a prestarted worker serves; 0: one */
    int64_t memory;           /* limit of the module's memory in bytes; 0: none */
    int64_t fuel;             /* of a deterministic call; 0: not deterministic */
    int64_t cpu_time;         /* limit of the process, in milliseconds; 0: none */
    bool watched;             /* refused paths are listed as denials */
    /* Fields of the call: */
    struct tc_strv read, write; /* paths of the module; the same outside */
    struct tc_strv env, args;
    /* Set by the worker: */
    bool ahead; /* the call arrives later */
    bool only;  /* this is the last call, whatever `calls` is */
    int root;   /* base of all paths; AT_FDCWD: the process's root */
    char *here; /* base of relative paths; NULL: the process's working directory */
};

/* Flag of fields that belong to a call; the others are the same for all calls of a worker. */
enum { TC_WASM_OF_CALL = 1 };
extern const struct tc_fields tc_wasm_order_fields;

#endif
