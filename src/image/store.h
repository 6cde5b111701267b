/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The store as the program writes it. Whatever is made is made in a directory "new-…" of its own,
 * locked by who makes it, and gets its place by one rename: who is killed leaves nothing that is
 * found, and the next one clears it away. */
#ifndef TC_IMAGE_STORE_H
#define TC_IMAGE_STORE_H

#include <stdint.h>

#include "image/index.h"

struct tc_store {
    char *path;
    int dir, blobs, roots;
    int lock;       /* shared by who adds; alone by who removes */
    char *own_name; /* "new-…" */
    int own;
};

#define TC_STORE_INIT \
    ((struct tc_store){.dir = -1, .blobs = -1, .roots = -1, .lock = -1, .own = -1})

enum tc_store_use { TC_STORE_READS, TC_STORE_ADDS, TC_STORE_REMOVES };

/* Reading makes nothing: where there is no store, ret->dir is -1. */
int tc_store_open(enum tc_store_use use, struct tc_store *ret, struct toolcage_error **err);
void tc_store_close(struct tc_store *store);
#define _autostore_ _auto_(tc_store_close)

/* A blob from a file or from memory. With `digest` it must be that one (and `size`, unless < 0),
 * else *ret says which it is. */
struct tc_image_blob;
int tc_store_put(struct tc_store *store, int from, const char *name, struct tc_image_blob *blob,
                 struct toolcage_error **err);
int tc_store_put_text(struct tc_store *store, const char *text, struct tc_image_blob *ret,
                      struct toolcage_error **err);
int tc_store_blob(const struct tc_store *store, const char *digest, struct toolcage_error **err);

bool tc_store_has_root(const struct tc_store *store, const char *digest);
/* The directory "root" of our own becomes the root of that manifest. */
int tc_store_keep_root(struct tc_store *store, const char *digest, struct toolcage_error **err);
int tc_store_name(struct tc_store *store, const char *name, const struct tc_image_blob *manifest,
                  struct toolcage_error **err);
/* *ret counts entries, and bytes that came free. */
int tc_store_remove(struct tc_store *store, const struct tc_image_ref *ref, unsigned *ret_count,
                    struct toolcage_error **err);

int tc_store_fail(const struct tc_store *store, const char *what, struct toolcage_error **err);

#endif
