/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a runtime is given: a private directory with its configuration, its state, its log, and
 * places for the root; our PID 1; and ids. */
#ifndef TC_OCI_BUNDLE_H
#define TC_OCI_BUNDLE_H

#include "cage/cage.h"
#include "cage/init_config.h"

/* A detached tmpfs for a runtime that runs as this id ((uid_t)-1: our own); -1 with errno. */
int tc_oci_bundle(uid_t id, const char *config);
/* A detached mount of the helper's own file, which is PID 1 of a container; -1 with errno. */
int tc_oci_self(void);
/* It is root of its own user namespace, and the cage's id outside of it. */
void tc_oci_root_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init);
/* The last line of a log in the bundle, by its path there; owned, NULL when out of memory. */
char *tc_oci_log_tail(int bundle, const char *log);

/* Of the process in which the runtime runs, whose init config has the tc_oci_template as its `own`;
 * and, on the same report socket, of our PID 1. */
extern const struct tc_stages tc_oci_stages, tc_oci_inner_stages;

#endif
