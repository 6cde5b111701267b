/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The platforms of runsc: by what it stops the tool's system calls. Which of them works on a
 * machine is known when a container has run on it, and one may hang. So each is tried once in a
 * helper's life, under a time limit, when a call comes that could use it. ptrace needs nothing of
 * the machine: there the call's own container is the trial. */
#ifndef TC_OCI_PLATFORM_H
#define TC_OCI_PLATFORM_H

#include "backend/oci/trial.h"

enum tc_oci_platform {
    TC_OCI_PTRACE,
    TC_OCI_SYSTRAP,
    TC_OCI_KVM,
    TC_OCI_PLATFORMS,
};

struct tc_oci_choice {
    enum tc_oci_act { TC_OCI_USE, TC_OCI_TRY, TC_OCI_REFUSE } act;
    enum tc_oci_platform platform;
};

/* For a policy's word (NULL: it says none), when this much is known of each platform; pure. */
struct tc_oci_choice tc_oci_choose(const char *wish, const enum tc_oci_finding *findings);
/* May the program know this platform? */
bool tc_oci_may_know(const char *program, const char *platform);

/* Is it known already what a call with this wish gets? */
bool tc_oci_settled(const char *wish);
/* Chooses for a cage that has its leases, after trials where they are needed: on a worker, unless
 * it is settled. The platform's name, or NULL with the failure written. */
const char *tc_oci_settle(struct tc_cage *cage, const struct tc_oci_runtime *runtime,
                          const char *path);
/* Forgets what is noted of all; how many notes went. */
unsigned tc_oci_forget_all(void);
/* Why not the one that would be preferred; NULL: that was not found out. */
const char *tc_oci_instead(const char *option);

#endif
