/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a freshly started helper finds, as the reporting program tells it over the engine's socket.
 */
#ifndef TC_TESTS_UNIT_CALL_BIRTH_H
#define TC_TESTS_UNIT_CALL_BIRTH_H

#include <stdint.h>

struct birth {
    int32_t argc, environment; /* how many of each */
    int32_t null_descriptors;  /* how many of 0, 1, 2 are /dev/null */
    int32_t other_descriptors; /* open ones above 4 */
    int32_t host_is_pidfd;     /* descriptor 4 */
    int32_t blocked, ignored;  /* signals */
    int32_t leads_session;
    int32_t in_root; /* working directory */
    int32_t parent;
    int32_t pid;
};

#endif
