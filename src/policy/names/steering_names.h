/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The lists behind policy/names/steering.h. A row is one component or more, each of which may hold
 * one
 * `*`; it counts from any directory on. Lists end with NULL. */
#ifndef TC_POLICY_NAMES_STEERING_NAMES_H
#define TC_POLICY_NAMES_STEERING_NAMES_H

/* What programs of the host run or obey unasked. Names that begin with a dot steer anyway: here
 * they stand for a grant that begins in the middle of one, for packages, and for the lint. */
extern const char *const tc_steering_names[];

/* Files of a repository that git trusts and writes in normal work: TC_STEERS_WRITTEN. Loose objects
 * and the directories of objects need no row. */
extern const char *const tc_steering_written[];

/* Names with a dot that nothing obeys. */
extern const char *const tc_steering_spared[];

/* Directories of what a package manager unpacked: their names with a dot are no more than the code
 * beside them. */
extern const char *const tc_steering_packages[];

#endif
