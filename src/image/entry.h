/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Names of archive entries. */
#ifndef TC_IMAGE_ENTRY_H
#define TC_IMAGE_ENTRY_H

#include <limits.h>
#include <stdbool.h>

enum { TC_ENTRY_DEEPEST = 128 };

/* Makes the name relative, without "." and doubled slashes; "" is the root. False: the name is
 * absolute, has "..", or is too long or deep for a file. */
bool tc_entry_clean(const char *name, char ret[PATH_MAX]);

enum tc_entry_kind {
    TC_ENTRY_PLAIN,
    TC_ENTRY_WHITEOUT, /* removes the name after ".wh." */
    TC_ENTRY_OPAQUE,   /* removes the directory's content from lower layers */
    TC_ENTRY_IGNORED,  /* an internal file of a storage driver */
    TC_ENTRY_BAD,      /* a whiteout of an empty name, "." or ".." */
};
/* The kind of a clean name in a layer; *ret_name is the last component, without ".wh." (borrowed).
 */
enum tc_entry_kind tc_entry_kind(const char *name, const char **ret_name);

#endif
