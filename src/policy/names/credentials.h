/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What holds secrets, by name: the one list that masks them in grants, that warns while a policy is
 * learnt, and that the lint asks. */
#ifndef TC_POLICY_NAMES_CREDENTIALS_H
#define TC_POLICY_NAMES_CREDENTIALS_H

#include <stdbool.h>

/* Where a caller's credentials are, below the home directory; ends with NULL. */
extern const char *const tc_credential_places[];

/* Directories of a home that stay open where the home is granted: what installs and runs compilers
 * and interpreters, and what belongs to a project. Every other one with a dot is closed. Ends with
 * NULL. */
extern const char *const tc_home_open[];

/* Does the path look as if it held secrets: is it such a place or below one, in anybody's home, or
 * has it a name that secrets have? Text only. */
bool tc_credential_path(const char *path);
/* The same of a variable's name: GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY, … */
bool tc_credential_variable(const char *name);

#endif
