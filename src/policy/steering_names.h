/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of files that programs of the host run or obey unasked. The cages protect them in
 * writable paths, and the lint speaks where a policy names them as writable: one list. */
#ifndef TC_POLICY_STEERING_NAMES_H
#define TC_POLICY_STEERING_NAMES_H

/* Relative to a directory, which may be any; a bare repository's own names are told apart by its
 * layout. Ends with NULL. */
extern const char *const tc_steering_names[];

#endif
