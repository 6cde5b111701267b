/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The OCI bundle of a runtime: a private directory with the runtime's configuration, state and log,
 * and with mount points for the root. Also toolcage's PID 1 and the ids of the container. */
#ifndef TC_OCI_BUNDLE_H
#define TC_OCI_BUNDLE_H

#include "cage/cage.h"
#include "cage/init_config.h"

/* A detached tmpfs for a runtime that runs with this id ((uid_t)-1: the helper's id); -1 with
 * errno. */
int tc_oci_bundle(uid_t id, const char *config);
/* A detached mount of the helper's executable, which is PID 1 of containers; -1 with errno. */
int tc_oci_self(void);
/* Maps root of the container's user namespace to the cage's id on the host. */
void tc_oci_root_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init);
/* The last line of the log at this path in the bundle; owned, NULL when out of memory. */
char *tc_oci_log_tail(int bundle, const char *log);

/* The stages of the process that becomes the runtime (its init config has the tc_oci_template as
 * `own`), and of PID 1 in the container. Both use the same report socket. */
extern const struct tc_stages tc_oci_stages, tc_oci_inner_stages;

#endif
