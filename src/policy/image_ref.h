/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * References to images of the store: NAME or NAME:TAG, optionally with @sha256:…, which pins the
 * content. */
#ifndef TC_POLICY_IMAGE_REF_H
#define TC_POLICY_IMAGE_REF_H

#include <stdbool.h>

enum {
    TC_IMAGE_NAME_SIZE = 256,
    TC_IMAGE_DIGEST_SIZE = 7 + 64 + 1, /* "sha256:" + hex + NUL */
};

/* Not an image: the host's own system directories. */
#define TC_IMAGE_SYSTEM "system"
/* The image of a policy that names none. */
#define TC_IMAGE_DEFAULT "default"

struct tc_image_ref {
    char name[TC_IMAGE_NAME_SIZE];     /* with its tag */
    char digest[TC_IMAGE_DIGEST_SIZE]; /* "": the content that the name refers to now */
};

/* NULL, or what is wrong with the text; then *ret must not be used. */
const char *tc_image_ref_parse(const char *text, struct tc_image_ref *ret);

#endif
