/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whether a guest boots with KVM on this host. The existence of /dev/kvm says little: where KVM
 * does not work, a VM may hang forever. So a guest is booted in a cage like a call's, with a time
 * limit: a few seconds, or on a slow host the time of a boot by emulation. The result is stored
 * until anything it depends on changes. */
#ifndef TC_BACKEND_VM_KVM_H
#define TC_BACKEND_VM_KVM_H

#include "plan/backend.h"

/* Checks without a boot: true, or false with a reason in *ret. No reason: out of memory. */
bool tc_kvm_present(struct tc_kvm *ret);
/* Boots with that backend's VMM, or returns the stored result. `machine` identifies the files that
 * the result holds for; empty: the result is not stored. `again`: ignores a stored failure. Fills
 * *ret (zeroed), which the caller frees, also on failure; fails if nothing could be tested. */
int tc_kvm_look(struct tc_search *search, const char *backend, const char *vm, bool again,
                struct tc_kvm *ret, struct toolcage_error **err);

#endif
