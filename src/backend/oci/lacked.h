/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system calls that a container's own kernel does not have, as runsc tells of each once. What
 * it writes is believed no further than to be shown: names of the profile, a bounded number of
 * them. */
#ifndef TC_BACKEND_OCI_LACKED_H
#define TC_BACKEND_OCI_LACKED_H

#include "plan/backend.h"

/* What the bundle's file of them says goes into the outcome's denials. */
void tc_oci_list_lacked(struct tc_cage *cage, int bundle);

#endif
