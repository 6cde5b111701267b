/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The unix socket on which toolcage serve listens. */
#ifndef TC_CLI_CALL_LOCAL_H
#define TC_CLI_CALL_LOCAL_H

#include "cli/show/failure.h"

/* The default path, owned; NULL with the failure. */
char *tc_local_path(struct tc_failure *failure);
/* The listening unix socket that a service manager passed (sd_listen_fds(3)). -1: none; -2 with the
 * failure: it is something else. */
int tc_local_passed(struct tc_failure *failure);
/* Listens on a socket at `path` that only this user can connect to. One that a server left which
 * was killed is replaced; one with a server is not. The fd, or -1 with the failure. */
int tc_local_listen(const char *path, struct tc_failure *failure);

#endif
