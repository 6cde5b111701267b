/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a grant names and this host has: programs that live outside the system directories, and what
 * a cage must see of them; images. */
#ifndef TC_CALL_HOST_PROGRAMS_H
#define TC_CALL_HOST_PROGRAMS_H

#include "base/error.h"
#include "policy/policy.h"

/* Makes the install prefix of every program that the grant names readable, and of a bare command's
 * own program where there is no policy file; puts their directories first in the cage's PATH. */
int tc_programs_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                       struct tc_grant *grant, struct toolcage_error **err);

/* What `name` is on a PATH: its place there (a shim of a version manager already followed to what
 * it stands for), or NULL with errno ENOENT or ENOMEM. Owned. */
char *tc_program_find(const char *path, const char *name);

/* What to grant for the sake of a program: its install prefix (the parent of its bin), or the file
 * where that would be too much. Text only; `home` may be NULL. Owned; NULL when out of memory. */
char *tc_program_prefix(const char *home, const char *file);

/* The name of an image becomes the root that has it now, when the backend is chosen. *ret_lock
 * keeps the root from being removed while the call lives; -1 where there is none. `explain`: an
 * image that is missing keeps its name. */
int tc_image_extend(const struct toolcage_policy *policy, bool explain, struct tc_grant *grant,
                    int *ret_lock, struct toolcage_error **err);

#endif
