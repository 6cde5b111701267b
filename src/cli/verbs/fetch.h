/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Python packages, downloaded and unpacked by pip and zipfile of python3. */
#ifndef TC_CLI_VERBS_FETCH_H
#define TC_CLI_VERBS_FETCH_H

#include "cli/show/failure.h"

/* Downloads the wheel of a requirement with its hash ("NAME==VERSION --hash=…") into an empty
 * directory, given as an absolute path. *ret is the wheel's path, owned. */
int tc_fetch_wheel(const char *dir, const char *requirement, char **ret,
                   struct tc_failure *failure);
/* Unpacks a wheel into the directory; both are absolute paths. */
int tc_fetch_unpack(const char *dir, const char *wheel, struct tc_failure *failure);

#endif
