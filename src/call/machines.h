/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Virtual machines on this machine: what runs them, and what runs in them. */
#ifndef TC_CALL_MACHINES_H
#define TC_CALL_MACHINES_H

#include "base/error.h"
#include "call/kvm.h"
#include "policy/grant.h"

struct toolcage_engine;

/* Is the backend of this name a virtual machine? */
bool tc_machines_run(const char *backend);
/* Names in the grant the monitor, the guest's files and the image's disk, whether the processor or
 * emulation runs it, and where it is kept. */
int tc_machines_find(struct toolcage_engine *engine, const char *backend, struct tc_grant *grant,
                     struct toolcage_error **err);
/* The same of a machine that only has to boot, by "kvm" or "tcg". */
int tc_machines_find_try(const char *backend, const char *accel, struct tc_grant *grant,
                         struct toolcage_error **err);
/* machines_kept.c: where the policy asks for it, names the file that the machine goes on from, or
 * is kept in before its call. `machine` identifies what is the same for every machine. */
int tc_machines_keep(const char *backend, const char *machine, struct tc_grant *grant,
                     struct toolcage_error **err);
/* Is there all that the grant's machine needs but the disk of an image? */
int tc_machines_look(struct toolcage_engine *engine, const char *backend,
                     const struct tc_grant *grant, struct toolcage_error **err);
/* What any machine of the backend would run by here, owned; and what is known of the processor's
 * help (zeroed; the caller's also on failure). */
int tc_machines_tell(struct toolcage_engine *engine, const char *backend, char **ret_how,
                     struct tc_kvm *ret_kvm, struct toolcage_error **err);

#endif
