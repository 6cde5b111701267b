/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The locators of the container engines: somebody has to answer where they listen. */
#include "backend/engine/door.h"
#include "backend/registry.h"

static int look(const struct tc_locator *locator, struct tc_search *search,
                const struct tc_grant *grant, struct toolcage_error **err)
{
    (void)search;
    return tc_engine_door_look(grant, locator->name, locator->name, err);
}

const struct tc_locator tc_podman_locator = {.name = "podman", .tried = true, .look = look};
const struct tc_locator tc_docker_locator = {.name = "docker", .tried = true, .look = look};
const struct tc_locator tc_containerd_locator = {.name = "containerd", .tried = true, .look = look};
