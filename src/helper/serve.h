/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_HELPER_SERVE_H
#define TC_HELPER_SERVE_H

#include <sys/types.h>

/* The helper's whole life, on the descriptors of protocol.h. `state` is the directory of the user's
 * state; borrowed; NULL: there is none. */
_Noreturn void tc_helper_serve(const char *state);
/* Where granted trees go that come over a stream, and whom they are given to. */
struct tc_serve_place {
    const char *grants;
    uid_t owner;
};
/* The same for a host at the other end of a stream of bytes (one descriptor twice, or two): the
 * jobs come inline, and the life ends with the stream. Without a place (NULL) no trees are taken.
 */
_Noreturn void tc_helper_serve_stream(int from, int to, const struct tc_serve_place *place);

#endif
