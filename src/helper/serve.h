/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_HELPER_SERVE_H
#define TC_HELPER_SERVE_H

#include <stdbool.h>
#include <sys/types.h>

struct tc_renewal;

/* Runs the helper until it ends, on the fds of protocol.h. `state` is the user's state directory;
 * borrowed; NULL: none. */
_Noreturn void tc_helper_serve(const char *state);
/* For the helper in a VM guest: the directory and the owner of granted trees that arrive over the
 * stream; renew() makes a restored copy of the VM unique; again() reconnects to the host if the
 * stream was cut between two jobs (NULL: it cannot). */
struct tc_serve_place {
    const char *grants;
    uid_t owner;
    bool (*renew)(const struct tc_renewal *renewal);
    int (*again)(void);
};
/* Runs the helper for a host at the other end of a byte stream (one fd twice, or two fds). Jobs
 * arrive inline, and the helper ends with the stream. Without `place` the helper is not in a VM and
 * accepts no trees. */
_Noreturn void tc_helper_serve_stream(int from, int to, const struct tc_serve_place *place);

/* Resets attributes that every cage would inherit from the caller. */
void tc_inherited_reset(void);

#endif
