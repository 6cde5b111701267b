/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WebAssembly on this machine: what runs a module, and which module that is. */
#ifndef TC_BACKEND_WASM_MODULES_H
#define TC_BACKEND_WASM_MODULES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "plan/backend.h"
#include "policy/grant.h"

/* Names the module alone, where somebody else has the others. */
int tc_modules_name(struct tc_grant *grant, struct toolcage_error **err);

/* The file that "catalog:NAME" stands for in *path, which is owned; any other path stays. */
int tc_modules_catalog(char **path, struct toolcage_error **err);

/* ---- store.c ---- */

/* What the functions toolcage_wasm_ACTION_json() give; `run` does what needs a cage. *ret is owned.
 */
int tc_modules_json(const char *action, const char *path, tc_errand_fn *run, char **ret,
                    struct toolcage_error **err);

/* ---- fetched.c ---- */

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

/* ---- code.c ---- */

/* Of a module's file; false with errno. */
bool tc_module_digest(const char *path, char out[TC_DIGEST_SIZE]);
/* What the module of this digest was compiled to: "code=/path", "code-digest=…" and "code-mark=…",
 * the state in which that was read, "" when the file has changed too lately to say. 1; or 0:
 * nothing that can be relied on; or TOOLCAGE_EMEMORY. */
int tc_code_find(const char *dir, const char *module, bool deterministic, struct tc_strv *to,
                 struct toolcage_error **err);
/* Keeps it; false with errno. */
bool tc_code_keep(const char *dir, const char *module, bool deterministic,
                  const struct tc_buf *bytes);

/* ---- known.c ---- */

/* Its entries never change, and go with the list: threads read them without a lock. */
struct tc_modules_known {
    _Atomic(struct tc_known_module *) first;
};

/* What was asked for: before it is found, the grant has only that. Borrows. */
struct tc_module_question {
    const char *module, *pin, *state;
    bool deterministic;
};

/* Fills in what was found then. False: nothing is known, or not any more. */
bool tc_modules_recall(const struct tc_modules_known *known, const struct tc_module_question *asked,
                       struct tc_grant *grant);
/* Remembers what the grant says now, if the files have rested for long enough to tell. */
void tc_modules_remember(struct tc_modules_known *known, const struct tc_module_question *asked,
                         const struct tc_grant *grant);
/* As what it was remembered, if it was; it stays until all are forgotten. */
const struct tc_known_module *tc_modules_known_as(const struct tc_modules_known *known,
                                                  const struct tc_grant *grant);
/* Would it be recalled now, by what it was asked for then? */
bool tc_modules_hold(const struct tc_modules_known *known, const struct tc_known_module *module);
void tc_modules_forget(struct tc_modules_known *known);

#endif
