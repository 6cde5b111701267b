/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_GUEST_CONTAINED_H
#define TC_GUEST_CONTAINED_H

/* The whole life of the guest's first program where a container engine's runtime has made the
 * machine: argv[1] is what the host's kernel calls its boot. */
_Noreturn void tc_guest_contained(int argc, char **argv);

#endif
