/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/inner.h"

#include <stdlib.h>

enum { LIMITS_MAX = 16 };

static void visit_limit(struct tc_wire *w, struct tc_inner_limit *l)
{
    tc_wire_i64(w, &l->resource);
    tc_wire_i64(w, &l->value);
}

void tc_inner_visit(struct tc_wire *w, struct tc_inner *inner)
{
    tc_wire_strv(w, &inner->directories);
    tc_wire_strv(w, &inner->deny);
    TC_WIRE_EACH(w, inner->limits, inner->limit_count, LIMITS_MAX, visit_limit);
    int64_t *numbers[] = {&inner->uid, &inner->gid, &inner->left_us, &inner->segments};
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        tc_wire_i64(w, numbers[i]);
}

void tc_inner_done(struct tc_inner *inner)
{
    tc_strv_done(&inner->directories);
    tc_strv_done(&inner->deny);
    free(inner->limits);
    *inner = (struct tc_inner){0};
}
