/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WebAssembly on this host: the program that runs modules, and the modules. */
#ifndef TC_BACKEND_WASM_MODULES_H
#define TC_BACKEND_WASM_MODULES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "plan/backend.h"
#include "policy/grant.h"

/* Resolves only the module, for backends that bring their own engine (a VM's guest). */
int tc_modules_name(struct tc_grant *grant, struct toolcage_error **err);

/* Replaces "catalog:NAME" in *path (owned) by the module's file; other paths are unchanged. */
int tc_modules_catalog(char **path, struct toolcage_error **err);

/* ---- store.c ---- */

/* The results of toolcage_wasm_ACTION_json(); `run` does the work that needs a cage. *ret is owned.
 */
int tc_modules_json(const char *action, const char *path, tc_errand_fn *run, char **ret,
                    struct toolcage_error **err);

/* ---- fetched.c ---- */

/* A catalog module that is not distributed with toolcage. */
struct tc_fetched {
    const char *name;        /* in the catalog */
    const char *requirement; /* pip requirement of the package that contains it, with the package's
                                digest */
    const char *file;        /* path in that package */
    const char *digest;      /* of the module */
};

/* The row for `module`; NULL: it is not a fetched module. */
const struct tc_fetched *tc_fetched_find(const char *module);
/* The row with this digest; NULL: none. */
const struct tc_fetched *tc_fetched_of(const char *digest);
/* The module's path in `dir`, a directory of the user's state; owned. */
char *tc_fetched_path(const struct tc_fetched *module, const char *dir);
/* Stores the path in *ret, owned, if the module is installed. */
int tc_fetched_use(const struct tc_fetched *module, char **ret, struct toolcage_error **err);
/* Sets the digest, or compares it with the one in the policy. */
int tc_fetched_pin(const struct tc_fetched *module, char **digest, struct toolcage_error **err);
/* Fails: the module must be compiled first. */
int tc_fetched_uncompiled(const struct tc_fetched *module, bool deterministic,
                          struct toolcage_error **err);

/* ---- code.c ---- */

/* The digest of a module's file; false with errno. */
bool tc_module_digest(const char *path, char out[TC_DIGEST_SIZE]);
/* The compiled code of the module with this digest: adds "code=/path", "code-digest=…" and
 * "code-stamp=…", the stamp when the code was checked ("": it changed too recently). Returns 1; 0:
 * no valid code; or TOOLCAGE_EMEMORY. */
int tc_code_find(const char *dir, const char *module, bool deterministic, struct tc_strv *to,
                 struct toolcage_error **err);
/* Stores compiled code; false with errno. */
bool tc_code_keep(const char *dir, const char *module, bool deterministic,
                  const struct tc_buf *bytes);

/* ---- known.c ---- */

/* Entries are immutable and freed only with the list: threads read them without a lock. */
struct tc_modules_known {
    _Atomic(struct tc_known_module *) first;
};

/* The key of an entry: the grant's values before the search. Borrowed. */
struct tc_module_question {
    const char *module, *pin, *state;
    bool deterministic;
};

/* Fills the grant from a valid entry. False: there is none. */
bool tc_modules_recall(const struct tc_modules_known *known, const struct tc_module_question *asked,
                       struct tc_grant *grant);
/* Adds an entry for the grant, if the files' stamps are reliable (no recent write). */
void tc_modules_remember(struct tc_modules_known *known, const struct tc_module_question *asked,
                         const struct tc_grant *grant);
/* The entry equal to the grant, if any; it exists until tc_modules_forget(). */
const struct tc_known_module *tc_modules_known_as(const struct tc_modules_known *known,
                                                  const struct tc_grant *grant);
/* Whether tc_modules_recall() would return this entry now. */
bool tc_modules_hold(const struct tc_modules_known *known, const struct tc_known_module *module);
void tc_modules_forget(struct tc_modules_known *known);

#endif
