/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches the wire codec and tc_outcome_visit: what the library reads from the helper. Any bytes
 * must end in success or failure without a leak or a read past the end; what decodes must survive a
 * round trip. */
#include "fuzz.h"

#include <string.h>

#include "plan/outcome.h"

static void encode(struct tc_outcome *outcome, struct tc_buf *ret)
{
    struct tc_wire put = TC_WIRE_PUT_INIT;
    tc_outcome_visit(&put, outcome);
    INVARIANT(!put.failed);
    *ret = put.out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_outcome first = {0}, second = {0};
    struct tc_wire get = TC_WIRE_GET_INIT((const char *)data, size);
    tc_outcome_visit(&get, &first);
    if (!get.failed) {
        _autobuf_ struct tc_buf one = {0}, two = {0};
        encode(&first, &one);
        struct tc_wire again = TC_WIRE_GET_INIT(one.data, one.len);
        tc_outcome_visit(&again, &second);
        INVARIANT(!again.failed && again.left == 0);
        encode(&second, &two);
        INVARIANT(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    }
    tc_outcome_done(&first);
    tc_outcome_done(&second);
    return 0;
}
