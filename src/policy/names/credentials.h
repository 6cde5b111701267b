/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Names that indicate secrets: one list for the masks in grants, for warnings of `learn` and for
 * the lint. */
#ifndef TC_POLICY_NAMES_CREDENTIALS_H
#define TC_POLICY_NAMES_CREDENTIALS_H

#include <stdbool.h>

/* Credential files and directories, relative to the home directory; ends with NULL. */
extern const char *const tc_credential_places[];

/* Dot directories of a home that stay accessible where the home is granted: those of installed
 * compilers and interpreters, and those of projects. All other dot directories are masked. Ends
 * with NULL. */
extern const char *const tc_home_open[];

/* Directories below closed ones that contain only installed programs; ends with NULL. */
extern const char *const tc_home_programs[];

/* Files of a program's install prefix that may hold passwords for package indexes; ends with
 * NULL. */
extern const char *const tc_prefix_credentials[];

/* May a path of /etc or /var/lib hold credentials, or name people, machines and networks? It is
 * then no part of what every cage shows, even if a package owns it. Text only. */
bool tc_credential_system(const char *path);
/* Does the path look like a secret: at or below a credential path in any home, or with a name
 * typical of secrets? Text only. */
bool tc_credential_path(const char *path);
/* Does the variable's name look like a secret: GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY, …? */
bool tc_credential_variable(const char *name);
/* The secret in a text, by what precedes it ("Bearer ") or by the prefix of a service's tokens
 * ("ghp_"); NULL: none. */
const char *tc_credential_token(const char *text);

#endif
