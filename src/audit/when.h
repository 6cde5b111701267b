/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Times that a person writes, in the form of the audit log. */
#ifndef TC_AUDIT_WHEN_H
#define TC_AUDIT_WHEN_H

#include <stdbool.h>
#include <stddef.h>

/* A time as the log writes it, or the beginning of one, or "2h": as long ago. False: it is none. */
bool tc_audit_when(const char *said, char *to, size_t size);

#endif
