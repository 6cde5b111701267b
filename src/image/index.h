/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The store of images as who uses one sees it: an OCI layout (index.json, blobs/sha256) with the
 * unpacked roots beside (roots/HEX/rootfs). It changes in the program toolcage-image alone. */
#ifndef TC_IMAGE_INDEX_H
#define TC_IMAGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/image_ref.h"

enum { TC_IMAGE_JSON_MAX = 4 << 20 }; /* bytes of any document of an image */

struct tc_image_entry {
    char *name;
    char digest[TC_IMAGE_DIGEST_SIZE];
    int64_t size; /* of the manifest */
    bool older;   /* the name has gone to another one since; a digest still finds it */
};

struct tc_image_index {
    struct tc_image_entry *items;
    size_t count;
};

/* Where this user's images are; NULL in *ret when nothing says so. False: out of memory. */
bool tc_image_store_path(char **ret);

/* NULL, or what is wrong with the text. The caller frees *ret in either case. */
const char *tc_image_index_parse(const char *json, size_t length, struct tc_image_index *ret);
/* The same of the store; where there is no index there are no images. */
int tc_image_index_read(int store, const char *path, struct tc_image_index *ret,
                        struct toolcage_error **err);
/* As JSON, owned; NULL without memory. */
char *tc_image_index_text(const struct tc_image_index *index);
const struct tc_image_entry *tc_image_index_find(const struct tc_image_index *index,
                                                 const struct tc_image_ref *ref);
/* The newest of that name gets it; an older one is found by its digest. False: out of memory. */
bool tc_image_index_put(struct tc_image_index *index, const char *name, const char *digest,
                        int64_t size);
void tc_image_index_done(struct tc_image_index *index);
#define _autoindex_ _auto_(tc_image_index_done)

/* The root of an image, as a path to mount, and a lock that keeps it from being removed (closed by
 * the caller). TOOLCAGE_ENOT_FOUND says how to get it. */
int tc_image_use(const struct tc_image_ref *ref, char **ret_path, int *ret_lock,
                 struct toolcage_error **err);

#endif
