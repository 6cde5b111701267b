/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The facts about a host on which the isolation of cages depends. */
#ifndef TC_PROOF_HOST_H
#define TC_PROOF_HOST_H

#include <stddef.h>

#include "base/buf.h"

/* Appends one line "NAME<tab>VALUE" for each fact. */
void tc_proof_write_host(struct tc_buf *out);

#endif
