/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where systems keep the certificates that they trust, all in one file. */
#ifndef TC_EGRESS_DOOR_BUNDLE_H
#define TC_EGRESS_DOOR_BUNDLE_H

/* The first that is there is taken; ends with NULL. */
extern const char *const tc_bundle_places[];

/* Where a cage shows them with its proxy's own beside them, whatever its system looks like. */
#define TC_BUNDLE_OWN "/etc/toolcage-ca.pem"

#endif
