/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/kata.h"

#include <unistd.h>

#include "base/strv.h"

/* Where packages put it, and Kata's own archive of a release. */
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

bool tc_kata_tell(const struct tc_kvm *kvm, char **ret_how, char **ret_reason, const char **ret_fix)
{
    const char *shim = first(shims, TC_COUNT(shims), X_OK);
    const char *configuration = first(configurations, TC_COUNT(configurations), R_OK);
    *ret_how = *ret_reason = NULL;
    *ret_fix = "backend = \"qemu\" gives each call a kernel of its own, too";
    if (!shim)
        return true;
    if (!configuration) {
        *ret_reason = tc_format("%s is here, and no configuration.toml for it", shim);
        *ret_fix = "install Kata whole: its configuration.toml belongs into /etc/kata-containers";
    } else if (!kvm->boots) {
        *ret_reason = tc_format("%s is here, but needs the processor's virtualisation (KVM), which "
                                "boots no guest of ours: %s",
                                shim, kvm->reason ? kvm->reason : "it was not tried");
    } else {
        *ret_how = tc_format("%s, configured by %s, for an engine that knows it; never run by "
                             "toolcage's own tests",
                             shim, configuration);
    }
    return *ret_how || *ret_reason;
}
