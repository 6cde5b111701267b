/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parsers of foreign image documents: index, manifest, configuration, and Docker's manifest.json.
 * All are untrusted: every value is bounded and checked here. */
#ifndef TC_IMAGE_FORM_H
#define TC_IMAGE_FORM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/image_ref.h"

enum { TC_IMAGE_LAYERS_MAX = 256 };

struct tc_image_blob {
    char digest[TC_IMAGE_DIGEST_SIZE];
    int64_t size;
};

struct tc_image_manifest {
    struct tc_image_blob config;
    struct tc_image_blob layers[TC_IMAGE_LAYERS_MAX];
    size_t count;
};

/* What an index refers to: a manifest, or another index. */
struct tc_image_choice {
    struct tc_image_blob blob;
    bool index;
    char name[TC_IMAGE_NAME_SIZE]; /* "": none, or not a valid name */
};

/* From a configuration: the digests of the uncompressed layers. */
struct tc_image_config {
    char diff_ids[TC_IMAGE_LAYERS_MAX][TC_IMAGE_DIGEST_SIZE];
    size_t count;
};

struct tc_image_docker {
    char config[PATH_MAX];
    char (*layers)[PATH_MAX]; /* owned */
    size_t count;
    char name[TC_IMAGE_NAME_SIZE];
};

/* Each returns NULL, or the error. `architecture` is the wanted one, in OCI's terms. */
const char *tc_image_read_choice(const char *json, size_t length, const char *architecture,
                                 struct tc_image_choice *ret);
const char *tc_image_read_manifest(const char *json, size_t length, struct tc_image_manifest *ret);
const char *tc_image_read_config(const char *json, size_t length, const char *architecture,
                                 struct tc_image_config *ret);
/* The caller always frees ret->layers. */
const char *tc_image_read_docker(const char *json, size_t length, struct tc_image_docker *ret);

/* This host's architecture in OCI's terms; NULL: unknown. */
const char *tc_image_architecture(void);

#endif
