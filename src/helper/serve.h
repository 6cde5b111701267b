/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_HELPER_SERVE_H
#define TC_HELPER_SERVE_H

#include <stdbool.h>
#include <sys/types.h>

struct tc_renewal;

/* The helper's whole life, on the descriptors of protocol.h. `state` is the directory of the user's
 * state; borrowed; NULL: there is none. */
_Noreturn void tc_helper_serve(const char *state);
/* Of a machine's guest: where granted trees go that come over the stream, and whom they are given
 * to; what to do where a copy of a machine shall be like no other; and how to call the host again
 * where the stream was cut between two jobs (NULL: it cannot be). */
struct tc_serve_place {
    const char *grants;
    uid_t owner;
    bool (*renew)(const struct tc_renewal *renewal);
    int (*again)(void);
};
/* The same for a host at the other end of a stream of bytes (one descriptor twice, or two): the
 * jobs come inline, and the life ends with the stream. Without a place (NULL) no trees are taken,
 * and it is no machine's.
 */
_Noreturn void tc_helper_serve_stream(int from, int to, const struct tc_serve_place *place);

/* Puts away what the helper has from its host and would hand on to every cage. */
void tc_inherited_reset(void);

#endif
