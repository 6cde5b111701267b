/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fronts of the container engines. What holds the tool is held in a container of theirs by the
 * same walls as in a process cage. */
#include <string.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "backend/engine/door.h"
#include "cage/lower.h"
#include "policy/settings.h"

static int lower_podman(const struct tc_grant *grant, struct tc_plan *ret,
                        struct toolcage_error **err)
{
    int r = tc_image_denies(grant, err);
    return r < 0 ? r : tc_local_lower(grant, "podman", ret, err);
}

static int lower_docker(const struct tc_grant *grant, struct tc_plan *ret,
                        struct toolcage_error **err)
{
    int r = tc_image_denies(grant, err);
    return r < 0 ? r : tc_local_lower(grant, "docker", ret, err);
}

static int lower_containerd(const struct tc_grant *grant, struct tc_plan *ret,
                            struct toolcage_error **err)
{
    int r = tc_image_denies(grant, err);
    return r < 0 ? r : tc_local_lower(grant, "containerd", ret, err);
}

/* The engine listens where the policy's settings say, or in its usual place. */
static char *absent(const struct tc_grant *grant, const char *engine)
{
    _autostrv_ struct tc_strv own = {0};
    struct tc_engine_door door;
    struct tc_engine_lack lack = {.text = "the path of its socket is too long"};
    for (size_t i = 0; i < grant->settings.count; i++) {
        const char *one = tc_setting_of(grant->settings.items[i], engine);
        if (one && !tc_strv_add(&own, one))
            return NULL;
    }
    if (tc_engine_door_path(engine, &own, geteuid(), &door) &&
        tc_engine_door_open(engine, geteuid(), &door, &lack)) {
        (void)close(door.fd);
        return NULL;
    }
    return strdup(lack.text);
}

static char *absent_podman(const struct tc_grant *grant)
{
    return absent(grant, "podman");
}

static char *absent_docker(const struct tc_grant *grant)
{
    return absent(grant, "docker");
}

static char *absent_containerd(const struct tc_grant *grant)
{
    return absent(grant, "containerd");
}

/* Not PATHS: a rootless engine's container stands in a user namespace in which the helper has no
 * right to look at the tool's memory. */
#define HAS                                                                      \
    (TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SYSCALLS) | TC_FEATURE_BIT(COPY) |   \
     TC_FEATURE_BIT(OVERLAY) | TC_FEATURE_BIT(BYTES) | TC_FEATURE_BIT(SESSION) | \
     TC_FEATURE_BIT(INSTALL))

const struct tc_front tc_podman_front = {
    .name = "podman",
    .summary = "a container of podman's, and in it the walls of a process cage",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_podman,
    .absent = absent_podman,
};

const struct tc_front tc_docker_front = {
    .name = "docker",
    .summary = "a container of docker's, and in it the walls of a process cage",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_docker,
    .absent = absent_docker,
};

const struct tc_front tc_containerd_front = {
    .name = "containerd",
    .summary = "a container of containerd's, and in it the walls of a process cage",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_containerd,
    .absent = absent_containerd,
};
