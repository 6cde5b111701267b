/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What stands in the guest where a cage's egress proxy stands: the first program under the proxy's
 * name, started by the guest's engine and spoken to as egress.h says. It decides nothing and knows
 * no entry and no secret: each connection that arrives at the cage's listeners goes on by the
 * machine's second port to the host, with the address at which it arrived. There it is made
 * again, to the same address, and meets the proxy. */
#ifndef TC_GUEST_RELAY_H
#define TC_GUEST_RELAY_H

/* Until its supervisor ends it. */
_Noreturn void tc_guest_relay(void);

/* A machine's calls to its host, where it has sockets for that and no serial port. */

/* A stream to that port of the host's; -1 with errno. */
int tc_guest_call(unsigned number);

/* The whole life of the guest's first program where a container engine's runtime has made the
 * machine: argv[1] is what the host's kernel calls its boot. */
_Noreturn void tc_guest_contained(int argc, char **argv);

#endif
