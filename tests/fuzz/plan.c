/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches the wire codec and tc_plan_visit: what the helper reads from the library. Any bytes must
 * end in success or failure without a leak or a read past the end; what decodes must survive a
 * round trip. */
#include "fuzz.h"

#include <string.h>

#include "plan/plan.h"

static void encode(struct tc_plan *plan, struct tc_buf *ret)
{
    struct tc_wire put = TC_WIRE_PUT_INIT;
    tc_plan_visit(&put, plan);
    INVARIANT(!put.failed);
    *ret = put.out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_plan first = {0}, second = {0};
    struct tc_wire get = TC_WIRE_GET_INIT((const char *)data, size);
    tc_plan_visit(&get, &first);
    if (!get.failed) {
        _autobuf_ struct tc_buf one = {0}, two = {0};
        encode(&first, &one);
        struct tc_wire again = TC_WIRE_GET_INIT(one.data, one.len);
        tc_plan_visit(&again, &second);
        INVARIANT(!again.failed && again.left == 0);
        encode(&second, &two);
        INVARIANT(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    }
    tc_plan_done(&first);
    tc_plan_done(&second);
    return 0;
}
