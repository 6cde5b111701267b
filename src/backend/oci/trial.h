/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The smallest container: our PID 1, which has nothing to do and ends at once. It says whether a
 * platform of runsc works on this machine. */
#ifndef TC_OCI_TRIAL_H
#define TC_OCI_TRIAL_H

#include "backend/backend.h"
#include "backend/oci/runtime.h"

enum tc_oci_finding {
    TC_OCI_UNKNOWN, /* nobody has looked yet */
    TC_OCI_WORKS,
    TC_OCI_FAILS,
    TC_OCI_ABSENT,  /* this runsc does not know it */
    TC_OCI_UNTRIED, /* what kept the container from being tried will meet the call, too */
};

enum { TC_OCI_TRIAL_MS = 5000 };

/* Runs it with the ids of a cage that has its leases, outside of that one's control group. Waits;
 * after the time limit it is killed with all that it started. *ret_why (owned) says why it fails.
 * On any thread: the container dies with that. */
enum tc_oci_finding tc_oci_try(const struct tc_cage *cage, const struct tc_oci_runtime *runtime,
                               const char *path, const char *option, char **ret_why);

#endif
