/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a runtime says of its version, for the doctor: asked while the trial container runs, so that
 * nobody waits for it. */
#ifndef TC_OCI_VERSION_H
#define TC_OCI_VERSION_H

#include <sys/types.h>

struct tc_oci_asked {
    pid_t pid; /* 0: nobody was asked */
    int pidfd, out;
};
#define TC_OCI_NOT_ASKED ((struct tc_oci_asked){0, -1, -1})

void tc_oci_ask(struct tc_oci_asked *asked, const char *path);
/* "crun 1.8.1", owned; NULL: it has not said. Whoever was asked is gone then. */
char *tc_oci_version(struct tc_oci_asked *asked, const char *name);

#endif
