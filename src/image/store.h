/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The image store for its writer. Every object is created in a locked working directory "new-…" and
 * moved to its final path by one rename. A killed process thus leaves no partial object, and the
 * next one removes its working directory. */
#ifndef TC_IMAGE_STORE_H
#define TC_IMAGE_STORE_H

#include <stdint.h>

#include "image/index.h"

struct tc_images {
    char *path;
    int dir, blobs, roots;
    int lock;       /* shared while adding; exclusive while removing */
    char *own_name; /* "new-…" */
    int own;
};

#define TC_IMAGES_INIT \
    ((struct tc_images){.dir = -1, .blobs = -1, .roots = -1, .lock = -1, .own = -1})

enum tc_images_use { TC_IMAGES_READS, TC_IMAGES_ADDS, TC_IMAGES_REMOVES };

/* Reading creates nothing: without a store, ret->dir is -1. */
int tc_images_open(enum tc_images_use use, struct tc_images *ret, struct toolcage_error **err);
void tc_images_close(struct tc_images *store);
#define _autoimages_ _auto_(tc_images_close)

/* Adds a blob from a file or from memory. If blob->digest is set, the content must match it (and
 * `size`, unless < 0); otherwise the blob gets its digest and size. */
struct tc_image_blob;
int tc_images_put(struct tc_images *store, int from, const char *name, struct tc_image_blob *blob,
                  struct toolcage_error **err);
int tc_images_put_text(struct tc_images *store, const char *text, struct tc_image_blob *ret,
                       struct toolcage_error **err);
int tc_images_blob(const struct tc_images *store, const char *digest, struct toolcage_error **err);

bool tc_images_has_root(const struct tc_images *store, const char *digest);
/* Moves "root" in the working directory to the root of that manifest. */
int tc_images_keep_root(struct tc_images *store, const char *digest, struct toolcage_error **err);
int tc_images_name(struct tc_images *store, const char *name, const struct tc_image_blob *manifest,
                   struct toolcage_error **err);
/* *ret_count: removed entries. */
int tc_images_remove(struct tc_images *store, const struct tc_image_ref *ref, unsigned *ret_count,
                     struct toolcage_error **err);

int tc_images_fail(const struct tc_images *store, const char *what, struct toolcage_error **err);

#endif
