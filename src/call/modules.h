/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WebAssembly on this machine: what runs a module, and which module that is. */
#ifndef TC_CALL_MODULES_H
#define TC_CALL_MODULES_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "call/modules_known.h"
#include "policy/grant.h"

/* Does the backend of this name run modules? */
bool tc_modules_run(const char *backend);
/* Names in the grant the module, the program that runs it and the engine of this backend; with a
 * lock, which the caller closes after the call, where the engine stands in an image. */
int tc_modules_find(struct tc_modules_known *known, struct tc_grant *grant, const char *backend,
                    int *ret_lock, struct toolcage_error **err);

/* Names the module alone, where somebody else has the others. */
int tc_modules_name(struct tc_grant *grant, struct toolcage_error **err);

/* What the engine is and where, as JSON text; with the action "install" after the shared library at
 * `path` was taken over as it. *ret is owned. */
int tc_modules_json(const char *action, const char *path, char **ret, struct toolcage_error **err);

/* The file that "catalog:NAME" stands for in *path, which is owned; any other path stays. */
int tc_modules_catalog(char **path, struct toolcage_error **err);
/* The backend's engine: Wasmtime's library, the directory of WasmEdge's; owned. */
int tc_modules_engine(const char *backend, char **ret, struct toolcage_error **err);
/* modules_edge.c: the directory of WasmEdge, and a lock on the image that it is in. */
int tc_modules_edge(char **ret, int *ret_lock, struct toolcage_error **err);

/* The directory of it all in the user's state, made where it is missing; owned. */
int tc_modules_directory(char **ret, struct toolcage_error **err);

/* ---- modules_work.c ---- */

/* Does "compile" or "inspect" with the module in a cage of its own, and gives what that printed. */
int tc_modules_work(const char *work, const char *path, bool deterministic, struct tc_buf *out,
                    struct toolcage_error **err);

/* ---- modules_fetched.c ---- */

/* A module of the catalog that does not come with toolcage. */
struct tc_fetched {
    const char *name;        /* in the catalog */
    const char *requirement; /* the package that has it, with its digest, as pip takes it */
    const char *file;        /* where in that */
    const char *digest;      /* of the module */
};

/* Which one `module` names; NULL: none of these. */
const struct tc_fetched *tc_fetched_find(const char *module);
/* Whose digest this is; NULL: nobody's. */
const struct tc_fetched *tc_fetched_of(const char *digest);
/* Where it is kept in the directory of the user's state; owned. */
char *tc_fetched_path(const struct tc_fetched *module, const char *dir);
/* The same in *ret, owned, when it is there. */
int tc_fetched_use(const struct tc_fetched *module, char **ret, struct toolcage_error **err);
/* Sets the digest that a policy may have said already. */
int tc_fetched_pin(const struct tc_fetched *module, char **digest, struct toolcage_error **err);
/* Says that it has to be compiled first. */
int tc_fetched_uncompiled(const struct tc_fetched *module, bool deterministic,
                          struct toolcage_error **err);

/* ---- modules_code.c ---- */

/* Of a module's file; false with errno. */
bool tc_module_digest(const char *path, char out[TC_DIGEST_SIZE]);
/* What a module was compiled to: the file, its digest, and the state in which that was read; ""
 * when the file has changed too lately to say. */
struct tc_code {
    char *path, *digest, *mark;
};
/* Of the module of this digest; owned. False: nothing that can be relied on. */
bool tc_code_find(const char *dir, const char *module, bool deterministic, struct tc_code *ret);
/* A whole file under this name, or nothing; -1 with errno. */
int tc_modules_write(const char *path, const struct tc_buf *bytes);
/* Keeps it; false with errno. */
bool tc_code_keep(const char *dir, const char *module, bool deterministic,
                  const struct tc_buf *bytes);

#endif
