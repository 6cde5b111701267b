/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Kata Containers on this machine: containers of an engine's, each in a virtual machine of its own.
 * What is here of it is looked for, and not tried: an engine may have it elsewhere. */
#ifndef TC_CALL_KATA_H
#define TC_CALL_KATA_H

#include "call/kvm.h"

/* What was found, owned: *ret_how, or *ret_reason why it does not run, and what to do, static;
 * `kvm` is what is known of the processor's help. Both NULL: Kata is not installed. False: out of
 * memory. */
bool tc_kata_tell(const struct tc_kvm *kvm, char **ret_how, char **ret_reason,
                  const char **ret_fix);

#endif
