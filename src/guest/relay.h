/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The guest's replacement for a cage's egress proxy: the guest program under the proxy's name,
 * started by the guest's engine, with the protocol of egress.h. It makes no decisions and has no
 * entries or secrets. It forwards each connection to the cage's listeners through the VM's second
 * port to the host, with the original destination address. On the host, toolcage-vm connects to the
 * same address, where the egress proxy decides. */
#ifndef TC_GUEST_RELAY_H
#define TC_GUEST_RELAY_H

/* Runs until the supervisor ends it. */
_Noreturn void tc_guest_relay(void);

/* Connections of a VM with vsock to its host. */

/* Connects to that port of the host; -1 with errno. */
int tc_guest_call(unsigned number);

/* PID 1 in a container whose runtime started the VM; argv[1] is the boot id of the host's kernel.
 */
_Noreturn void tc_guest_contained(int argc, char **argv);

#endif
