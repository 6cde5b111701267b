/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which clause is held by what, in words. */
#ifndef TC_CAGE_ENFORCE_H
#define TC_CAGE_ENFORCE_H

#include "cage/cage.h"

/* The words for how a clause is held; NULL when nothing holds it. Static text. */
const char *tc_process_mechanism(const struct tc_process_host *host, enum tc_clause clause,
                                 bool grouped);

#endif
