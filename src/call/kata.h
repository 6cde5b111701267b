/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Kata Containers on this machine: containers of containerd's, each in a virtual machine of its
 * own. Who has it installed is told what is missing; no call runs in it. */
#ifndef TC_CALL_KATA_H
#define TC_CALL_KATA_H

#include "call/kvm.h"

/* Why no call runs in it here, owned, and what to do, static; `kvm` is what is known of the
 * processor's help. NULL in *ret_reason: Kata is not installed. False: out of memory. */
bool tc_kata_tell(const struct tc_kvm *kvm, char **ret_reason, const char **ret_fix);

#endif
