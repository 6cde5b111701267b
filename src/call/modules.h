/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WebAssembly on this machine: what runs a module, and which module that is. */
#ifndef TC_CALL_MODULES_H
#define TC_CALL_MODULES_H

#include "base/error.h"
#include "policy/grant.h"

/* Does the backend of this name run modules? */
bool tc_modules_run(const char *backend);
/* Names in the grant the module, the program that runs it and the engine. */
int tc_modules_find(struct tc_grant *grant, struct toolcage_error **err);

/* What the engine is and where, as JSON text; with the action "install" after the shared library at
 * `path` was taken over as it. *ret is owned. */
int tc_modules_json(const char *action, const char *path, char **ret, struct toolcage_error **err);

/* The engine's library; owned. */
int tc_modules_engine(char **ret, struct toolcage_error **err);

#endif
