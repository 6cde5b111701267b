/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The statement of a receipt: what the two records of a call say about it, as an in-toto Statement
 * v1. The same records always give the same bytes. */
#ifndef TC_CLI_AUDIT_RECEIPT_H
#define TC_CLI_AUDIT_RECEIPT_H

#include "audit/evidence.h"
#include "cli/show/failure.h"

/* Writes the statement about a call of the log in `dir`; owned. NULL with the failure: the call has
 * no result, or the log is damaged between its two records. */
char *tc_receipt_statement(int dir, const char *call, size_t *ret_length,
                           struct tc_failure *failure);
/* The same, of a call that began after the log ended at `since`: reads only what follows. */
char *tc_receipt_statement_since(int dir, const char *call, const struct tc_audit_place *since,
                                 size_t *ret_length, struct tc_failure *failure);

#endif
