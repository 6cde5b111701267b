/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fronts, by index and by name. */
#include <string.h>

#include "backend/registry.h"

#define FRONT(id) &tc_##id##_front,
#define NONE(id)
static const struct tc_front *const fronts[] = {TC_REGISTRY(FRONT, FRONT, NONE)};

const struct tc_front *tc_front_at(size_t index)
{
    return index < TC_COUNT(fronts) ? fronts[index] : NULL;
}

const struct tc_front *tc_front_find(const char *name)
{
    for (size_t i = 0; name && i < TC_COUNT(fronts); i++)
        if (strcmp(fronts[i]->name, name) == 0)
            return fronts[i];
    return NULL;
}

char *tc_front_names(void)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(fronts); i++)
        tc_buf_addf(&buf, "%s%s", i ? ", " : "", fronts[i]->name);
    return tc_buf_steal(&buf);
}
