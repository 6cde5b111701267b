/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How our PID 1 reaches the helper out of a kernel of its own, which passes no descriptor on: by a
 * unix socket that the runtime shows in one directory. It is listened on for one connection, PID
 * 1's, which comes before anything of the tool's runs. */
#ifndef TC_OCI_TALK_H
#define TC_OCI_TALK_H

#include <stdbool.h>
#include <sys/types.h>

struct tc_oci_talk {
    int listener;
};
#define TC_OCI_NO_TALK ((struct tc_oci_talk){-1})

/* In the directory "talk" of the bundle, for this id ((uid_t)-1: our own). 0, or -1 with errno. */
int tc_oci_talk_open(struct tc_oci_talk *talk, int bundle, uid_t id);
/* The connection, once; -1: there is none yet. */
int tc_oci_talk_accept(struct tc_oci_talk *talk);
void tc_oci_talk_close(struct tc_oci_talk *talk);

#endif
