/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A second filter, for tools that share the machine's namespaces: it refuses what mounts and
 * namespaces stop elsewhere and Landlock does not know. Of two filters the stricter answer counts.
 */
#ifndef TC_LINUX_SECCOMP_SHARED_H
#define TC_LINUX_SECCOMP_SHARED_H

struct sock_fprog;

/* Static, read-only; for tc_seccomp_install() without notifications. */
const struct sock_fprog *tc_seccomp_shared(void);

#endif
