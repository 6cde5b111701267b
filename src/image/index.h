/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The image store for its readers: an OCI layout (index.json, blobs/sha256) with the unpacked roots
 * (roots/HEX/rootfs). Only the program toolcage-image modifies it. */
#ifndef TC_IMAGE_INDEX_H
#define TC_IMAGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/image_ref.h"

enum { TC_IMAGE_JSON_MAX = 4 << 20 }; /* maximum size of a JSON document */

struct tc_image_entry {
    char *name;
    char digest[TC_IMAGE_DIGEST_SIZE];
    int64_t size; /* of the manifest */
    bool older;   /* the name now refers to a newer image; found only by digest */
};

struct tc_image_index {
    struct tc_image_entry *items;
    size_t count;
};

/* The path of this user's store; NULL in *ret if it is unknown. False: out of memory. */
bool tc_image_store_path(char **ret);

/* NULL, or the error. The caller always frees *ret. */
const char *tc_image_index_parse(const char *json, size_t length, struct tc_image_index *ret);
/* Reads the index of a store; a missing index is empty. */
int tc_image_index_read(int store, const char *path, struct tc_image_index *ret,
                        struct toolcage_error **err);
/* As JSON, owned; NULL: out of memory. */
char *tc_image_index_text(const struct tc_image_index *index);
const struct tc_image_entry *tc_image_index_find(const struct tc_image_index *index,
                                                 const struct tc_image_ref *ref);
/* Gives the name to this digest; an older image is then found only by its digest. False: out of
 * memory. */
bool tc_image_index_put(struct tc_image_index *index, const char *name, const char *digest,
                        int64_t size);
void tc_image_index_done(struct tc_image_index *index);
#define _autoindex_ _auto_(tc_image_index_done)

/* The root of an image as a path to mount, and a lock fd that prevents its removal (closed by the
 * caller). TOOLCAGE_ENOT_FOUND has a hint how to get the image. */
int tc_image_use(const struct tc_image_ref *ref, char **ret_path, int *ret_lock,
                 struct toolcage_error **err);

#endif
