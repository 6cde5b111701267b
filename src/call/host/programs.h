/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Objects of this host that a grant names: programs outside the system directories with the
 * files that they need, and images. */
#ifndef TC_CALL_HOST_PROGRAMS_H
#define TC_CALL_HOST_PROGRAMS_H

#include "base/error.h"
#include "policy/policy.h"

/* Makes the install prefix of every program that the grant names readable, and of a bare
 * command's program where there is no policy file; puts their directories first in the cage's
 * PATH. A bare command's PATH also has the directories of the caller's PATH that every cage
 * shows. */
int tc_programs_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                       struct tc_grant *grant, struct toolcage_error **err);

/* The path of the program `name` on a PATH (a version manager's shim is already resolved to its
 * program), or NULL with errno ENOENT or ENOMEM. Owned. */
char *tc_program_find(const char *path, const char *name);

/* The path to grant for a program: its install prefix (the parent of its bin directory), or the
 * file alone if it is in no bin directory or the prefix is too wide (a home, for example). Makes no
 * system call; `home` may be NULL. Owned; NULL when out of memory. */
char *tc_program_prefix(const char *home, const char *file);

/* Replaces an image's name with the path of its current root, once the backend is chosen.
 * *ret_lock keeps the root from being removed while the call lives; -1 where there is none.
 * `explain`: a missing image keeps its name. */
int tc_image_extend(const struct toolcage_policy *policy, bool explain, struct tc_grant *grant,
                    int *ret_lock, struct toolcage_error **err);

#endif
