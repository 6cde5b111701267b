/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of executors, and their shared state. */
#include <string.h>

#include "backend/registry.h"
#include "cage/cage.h"

#define EXECUTOR(id) &tc_##id##_executor,
static const struct tc_executor *const all[] = {TC_REGISTRY(EXECUTOR, EXECUTOR, EXECUTOR)};

const struct tc_host_ops *const tc_host_ops = &tc_local_host_ops;

const struct tc_executor *tc_executor_at(size_t index)
{
    return index < TC_COUNT(all) ? all[index] : NULL;
}

const struct tc_executor *tc_executor_find(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}
