/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of locators. */
#include <string.h>

#include "backend/registry.h"

#define LOCATOR(id) &tc_##id##_locator,
#define NONE(id)
static const struct tc_locator *const locators[] = {TC_REGISTRY(NONE, LOCATOR, NONE)};

const struct tc_locator *tc_locator_at(size_t index)
{
    return index < TC_COUNT(locators) ? locators[index] : NULL;
}

const struct tc_locator *tc_locator_find(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(locators); i++)
        if (strcmp(locators[i]->name, name) == 0)
            return locators[i];
    return NULL;
}
