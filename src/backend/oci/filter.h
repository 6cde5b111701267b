/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The runtime's list of system calls as a program, for crun: to compile the same list takes
 * libseccomp a quarter of all that crun does for a container. */
#ifndef TC_OCI_FILTER_H
#define TC_OCI_FILTER_H

#include "base/strv.h"
#include "linux/bpf.h"

/* The answers of tc_oci_seccomp(), by number; of a call that has none here, the list's own. */
void tc_oci_filter(struct tc_bpf *ret, const struct tc_strv *allowed);
/* The configuration with that program in it, in the annotation that crun takes one from; the list
 * stays there for versions that do not know it. Owned; NULL: out of memory. */
char *tc_oci_with_filter(const char *config, const struct tc_strv *allowed);

#endif
