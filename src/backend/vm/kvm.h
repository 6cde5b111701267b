/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Does the processor's virtualisation boot a guest here? That there is a /dev/kvm says little:
 * where it does not work, a machine may hang in it forever. So a guest is booted, in a cage as a
 * call's, for a time that is counted in boots by emulation; the answer is kept until what it
 * depends on changes. */
#ifndef TC_BACKEND_VM_KVM_H
#define TC_BACKEND_VM_KVM_H

#include "plan/backend.h"

/* What is seen without a boot: nothing (true), or a reason. False: it cannot. Out of memory when
 * false and no reason. */
bool tc_kvm_present(struct tc_kvm *ret);
/* By the monitor of that backend; `machine` is what the answer holds for, as the locator identifies
 * it; empty: for this time alone. `again`: a no that is kept does not count. Fills *ret (zeroed),
 * the caller's also on failure; fails where nothing could be tried. */
int tc_kvm_look(const struct tc_search *search, const char *backend, const char *vm, bool again,
                struct tc_kvm *ret, struct toolcage_error **err);

#endif
