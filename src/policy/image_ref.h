/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How an image of the store is called: NAME, NAME:TAG, and either with @sha256:… behind it, which
 * holds it to that content. */
#ifndef TC_POLICY_IMAGE_REF_H
#define TC_POLICY_IMAGE_REF_H

#include <stdbool.h>

enum {
    TC_IMAGE_NAME_SIZE = 256,
    TC_IMAGE_DIGEST_SIZE = 7 + 64 + 1, /* "sha256:" + hex + NUL */
};

/* The host's own system directories in the place of an image: no name of one. */
#define TC_IMAGE_SYSTEM "system"
/* What a policy that names none means. */
#define TC_IMAGE_DEFAULT "default"

struct tc_image_ref {
    char name[TC_IMAGE_NAME_SIZE];     /* with its tag */
    char digest[TC_IMAGE_DIGEST_SIZE]; /* "": whatever has the name now */
};

/* NULL, or what is wrong with the text; then *ret is not to be used. */
const char *tc_image_ref_parse(const char *text, struct tc_image_ref *ret);

/* "sha256:" and 64 lower-case hexadecimal digits, and nothing else? */
bool tc_image_digest_valid(const char *text);

#endif
