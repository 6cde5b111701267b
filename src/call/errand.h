/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The calls by which backends look at what this host has. */
#ifndef TC_CALL_ERRAND_H
#define TC_CALL_ERRAND_H

#include "plan/backend.h"

/* As tc_errand_fn; without an engine (NULL) it makes one of its own. */
int tc_errand_run(struct toolcage_engine *engine, const struct tc_errand *errand,
                  struct tc_errand_end *ret, struct toolcage_error **err);

/* What locators look by; its kvm is the caller's. Borrows. */
struct tc_search tc_errand_search(struct toolcage_engine *engine);

#endif
