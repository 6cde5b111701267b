/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where live sessions are found: a directory in the user's state, which no cage shows, with a lock
 * and a socket for each session. A session lives while its lock is held. */
#ifndef TC_CLI_LIVE_PLACE_H
#define TC_CLI_LIVE_PLACE_H

#include "cli/show/failure.h"

/* The name as for stored sessions. 0, or -1 with the failure. */
int tc_place_check(const char *name, struct tc_failure *failure);
/* The owner's part: locks the name and listens. The fds, close-on-exec, or -1 with the failure: a
 * session with this name lives, or the directory cannot be used. */
int tc_place_listen(const char *name, int *ret_lock, int *ret_listener, struct tc_failure *failure);
/* Accepts a client of the same user, close-on-exec; -1: none. */
int tc_place_accept(int listener);
/* Connects to the session's owner, a process of the same user; -1 with the failure. ENOENT in
 * errno: no session of this name lives. */
int tc_place_connect(const char *name, struct tc_failure *failure);
/* Removes the session's socket. */
void tc_place_leave(const char *name);
/* The names of all sessions that live, NULL-terminated, owned with its elements; NULL with the
 * failure. */
char **tc_place_list(struct tc_failure *failure);
void tc_place_list_free(char **names);

#endif
