/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_OCI_WORKS_H
#define TC_OCI_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_oci_works, tc_gvisor_works;

#endif
