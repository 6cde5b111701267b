/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Imports images and directories of any supported form into the store. */
#ifndef TC_IMAGE_IMPORT_H
#define TC_IMAGE_IMPORT_H

#include "image/store.h"
#include "image/unpack.h"

struct tc_import {
    struct tc_images *store;
    const char *name; /* NULL: the name in the source */
    struct tc_unpack_limits limits;
    int64_t epoch; /* timestamps of a directory's layer; < 0: unchanged */
};

struct tc_imported {
    char name[TC_IMAGE_NAME_SIZE];
    char digest[TC_IMAGE_DIGEST_SIZE];
    int64_t bytes, files; /* of the root */
    int64_t left_out, cleared;
};

/* `source` is a path, or starts with docker-archive:, oci-archive:, oci:, directory:, or a
 * transport of skopeo. */
int tc_import(const struct tc_import *how, const char *source, struct tc_imported *ret,
              struct toolcage_error **err);
/* Imports an open root directory. */
int tc_import_root(const struct tc_import *how, int dir, const char *from, struct tc_imported *ret,
                   struct toolcage_error **err);

/* ---- fetch.c ---- */

/* Fetches into an OCI layout `name` in the store's working directory, of at most how->limits.bytes
 * plus some for its documents. */
int tc_fetch(const struct tc_import *how, const char *source, const char *name,
             struct toolcage_error **err);

/* ---- tree.c ---- */

/* Packs a directory as a compressed layer into `to`: owner 0, sorted names, no set-id bits or
 * devices; timestamps of directories are `epoch`, others at most `epoch` (< 0: unchanged,
 * directories 0). ret_diff gets the digest of the uncompressed layer. */
int tc_tree_layer(int dir, const char *name, int64_t epoch, int to,
                  char ret_diff[TC_IMAGE_DIGEST_SIZE], struct tc_unpack_report *ret,
                  struct toolcage_error **err);

#endif
