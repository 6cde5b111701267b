/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_HELPER_SERVE_H
#define TC_HELPER_SERVE_H

/* The helper's whole life, on the descriptors of protocol.h. `state` is the directory of the user's
 * state; borrowed; NULL: there is none. */
_Noreturn void tc_helper_serve(const char *state);

#endif
