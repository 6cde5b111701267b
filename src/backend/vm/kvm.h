/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whether a guest boots with KVM on this host. The existence of /dev/kvm says little: where KVM
 * does not work, a VM may hang forever. So a guest is booted in a cage like a call's, with a time
 * limit derived from a boot by emulation. The result is stored until anything it depends on
 * changes. */
#ifndef TC_BACKEND_VM_KVM_H
#define TC_BACKEND_VM_KVM_H

#include "plan/backend.h"

/* Checks without a boot: true, or false with a reason in *ret. No reason: out of memory. */
bool tc_kvm_present(struct tc_kvm *ret);
/* Boots a guest with that backend's VMM, or returns the stored result. `vm` identifies the VMM and
 * the guest's files; empty: the result is not stored. `again`: ignores a stored failure. Fills *ret
 * (zeroed by the caller, and freed with tc_kvm_done(), also on failure). 0, or an error if no boot
 * could be tried. */
int tc_kvm_look(const struct tc_search *search, const char *backend, const char *vm, bool again,
                struct tc_kvm *ret, struct toolcage_error **err);

#endif
