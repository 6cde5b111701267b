/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A machine's calls to its host, where it has sockets for that and no serial port. */
#ifndef TC_GUEST_HOST_H
#define TC_GUEST_HOST_H

/* A stream to that port of the host's; -1 with errno. */
int tc_guest_call(unsigned number);

#endif
