/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine has found out about modules, so that their next calls need not read and digest the
 * same files again: it holds as long as each of these files is in the state that was looked at. */
#ifndef TC_BACKEND_WASM_KNOWN_H
#define TC_BACKEND_WASM_KNOWN_H

#include <stdatomic.h>

#include "policy/grant.h"

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
