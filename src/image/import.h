/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From what others made, in any of its forms, to an image of the store. */
#ifndef TC_IMAGE_IMPORT_H
#define TC_IMAGE_IMPORT_H

#include "image/store.h"
#include "image/unpack.h"

struct tc_import {
    struct tc_images *store;
    const char *name; /* NULL: the one that it brings along */
    struct tc_unpack_limits limits;
    int64_t epoch; /* of a directory's times; < 0: as they are */
};

struct tc_imported {
    char name[TC_IMAGE_NAME_SIZE];
    char digest[TC_IMAGE_DIGEST_SIZE];
    int64_t bytes, files; /* of the root */
    int64_t left_out, cleared;
};

/* `source` is a path or has one of their prefixes: docker-archive:, oci-archive:, oci:, directory:,
 * and those that skopeo serves. */
int tc_import(const struct tc_import *how, const char *source, struct tc_imported *ret,
              struct toolcage_error **err);
/* An open directory that is a root. */
int tc_import_root(const struct tc_import *how, int dir, const char *from, struct tc_imported *ret,
                   struct toolcage_error **err);

/* ---- fetch.c ---- */

/* Into an OCI layout `name` in the store's own directory, of at most how->limits.bytes and a little
 * more for its documents. */
int tc_fetch(const struct tc_import *how, const char *source, const char *name,
             struct toolcage_error **err);

/* ---- tree.c ---- */

/* Owner 0, names in order, set-id bits and devices left out, times of directories `epoch`, others
 * at most that (< 0: as they are, directories 0). `to` gets the compressed layer, ret_diff the
 * digest of what is in it. */
int tc_tree_layer(int dir, const char *name, int64_t epoch, int to,
                  char ret_diff[TC_IMAGE_DIGEST_SIZE], struct tc_unpack_report *ret,
                  struct toolcage_error **err);

#endif
