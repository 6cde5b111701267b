/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The stages of a container's start, in the order in which they are told. */
#ifndef TC_OCI_STAGES_H
#define TC_OCI_STAGES_H

#include "cage/box.h"

/* Of the process in which the runtime runs; and, on the same report socket, of our PID 1. */
extern const struct tc_stages tc_oci_stages, tc_oci_inner_stages;

#endif
