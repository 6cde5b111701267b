/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Kata Containers on this host: an engine's containers, each in a separate VM. The runtime starts
 * the VM; toolcage only adds toolcage-vm, which connects to the guest. The locator looks for Kata's
 * files but does not test them: an engine may have Kata elsewhere. */
#include <unistd.h>

#include "backend/engine/socket.h"
#include "backend/kata/create.h"
#include "backend/registry.h"
#include "base/path.h"
#include "image/index.h"
#include "policy/settings.h"
#include "spawn/own.h"

/* The directories of packages, and of Kata's own release archive. */
static const char *const shims[] = {"/usr/bin/containerd-shim-kata-v2",
                                    "/usr/local/bin/containerd-shim-kata-v2",
                                    "/opt/kata/bin/containerd-shim-kata-v2"};
static const char *const configurations[] = {
    "/etc/kata-containers/configuration.toml",
    "/opt/kata/share/defaults/kata-containers/configuration.toml",
    "/usr/share/defaults/kata-containers/configuration.toml"};

static const char *first(const char *const *places, size_t count, int mode)
{
    for (size_t i = 0; i < count; i++)
        if (access(places[i], mode) == 0)
            return places[i];
    return NULL;
}

static int fail_missing_part(const char *hint, const char *message, struct toolcage_error **err)
{
    return message ? tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "machine", "kata", hint), "%s", message)
                   : tc_fail_memory(err);
}

static int tell_kata(const struct tc_locator *locator, struct tc_search *search, char **ret_how,
                     struct toolcage_error **err)
{
    const struct tc_kvm *kvm = &search->kvm;
    const char *shim = first(shims, TC_COUNT(shims), X_OK);
    const char *configuration = first(configurations, TC_COUNT(configurations), R_OK);
    _autofree_ char *reason = NULL;
    (void)locator;
    if (!shim)
        return 0;
    if (!configuration) {
        reason = tc_format("%s is here, and no configuration.toml for it", shim);
        return fail_missing_part(
            "install Kata Containers completely: configuration.toml belongs in "
            "/etc/kata-containers",
            reason, err);
    }
    if (!kvm->boots) {
        reason = tc_format("%s is here, but needs KVM, and no test guest booted with it: %s", shim,
                           kvm->reason ? kvm->reason : "it was not tried");
        return fail_missing_part("backend = \"qemu\" gives each call a separate kernel, too",
                                 reason, err);
    }
    *ret_how = tc_format("%s, configured by %s, for an engine that knows it; never run by "
                         "toolcage's own tests",
                         shim, configuration);
    return *ret_how ? 0 : tc_fail_memory(err);
}

/* Checks the engine that must create the container. */
static int look_for_kata(const struct tc_locator *locator, struct tc_search *search,
                         const struct tc_grant *grant, struct toolcage_error **err)
{
    (void)search;
    return tc_engine_socket_look(grant, locator->name, TC_KATA_ENGINE, err);
}

/* The engine opens the image's root by path, so only the image store is allowed: no tool can write
 * there. */
static int check_root(const struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *store = NULL;
    if (!grant->image)
        return 0;
    if (!tc_image_store_path(&store))
        return tc_fail_memory(err);
    if (!store)
        return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "machine", "guest", "set HOME"),
                       "nothing says where this user's images are");
    if (tc_path_within(store, grant->image))
        return 0;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUNENFORCEABLE, "machine", "image",
                          "toolcage image import DIRECTORY NAME, then image = \"NAME\""),
                   "Kata needs an image from the image store; this image is a plain directory");
}

static int locate_kata(const struct tc_locator *locator, struct tc_search *search,
                       struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *worker = NULL;
    (void)locator;
    (void)search;
    int r = check_root(grant, err);
    if (r == 0)
        r = tc_spawn_own_program("toolcage-vm", &worker, err);
    return r < 0 || tc_setting_add(&grant->located, "worker", worker) ? r : tc_fail_memory(err);
}

const struct tc_locator tc_kata_locator = {
    .name = "kata", .find = locate_kata, .look = look_for_kata, .tell = tell_kata};
