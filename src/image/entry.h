/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Names in an archive. */
#ifndef TC_IMAGE_ENTRY_H
#define TC_IMAGE_ENTRY_H

#include <limits.h>
#include <stdbool.h>

enum { TC_ENTRY_DEEPEST = 128 };

/* Relative, without "." and doubled slashes; "" is the root itself. False: it is absolute, has
 * "..", or is longer or deeper than any file may be. */
bool tc_entry_clean(const char *name, char ret[PATH_MAX]);

enum tc_entry_kind {
    TC_ENTRY_PLAIN,
    TC_ENTRY_WHITEOUT, /* the name behind .wh. goes */
    TC_ENTRY_OPAQUE,   /* all that lower layers have in this directory goes */
    TC_ENTRY_IGNORED,  /* what a storage driver left for itself */
    TC_ENTRY_BAD,      /* a whiteout of nothing, of "." or of ".." */
};
/* Of a clean name in a layer; *ret_name is the last component of what is meant (borrowed). */
enum tc_entry_kind tc_entry_kind(const char *name, const char **ret_name);

#endif
