/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Images that another program fetches, from a registry or a store. The registry is not trusted: it
 * says how large an image is before anything is fetched, and a lie about that fills no disk. */
#ifndef TC_IMAGE_FETCH_H
#define TC_IMAGE_FETCH_H

#include "image/import.h"

/* Into an OCI layout `name` in the store's own directory, of at most how->limits.bytes and a little
 * more for its documents. */
int tc_fetch(const struct tc_import *how, const char *source, const char *name,
             struct toolcage_error **err);

#endif
