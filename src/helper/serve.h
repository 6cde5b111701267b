/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_HELPER_SERVE_H
#define TC_HELPER_SERVE_H

/* The helper's whole life, on the descriptors of protocol.h. `state` is the directory of the user's
 * state; borrowed; NULL: there is none. */
_Noreturn void tc_helper_serve(const char *state);
/* The same for a host at the other end of a stream of bytes (one descriptor twice, or two): the
 * jobs come inline, and the life ends with the stream. */
_Noreturn void tc_helper_serve_stream(int from, int to, const char *state);

#endif
