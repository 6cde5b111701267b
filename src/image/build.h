/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Builds an image from Debian packages with mmdebstrap. */
#ifndef TC_IMAGE_BUILD_H
#define TC_IMAGE_BUILD_H

#include "base/strv.h"
#include "image/import.h"

struct tc_build {
    const char *suite;  /* NULL: the most stable one whose Node.js runs TypeScript */
    const char *mirror; /* NULL: the mirror of this host's apt */
    const char *keyring;
    bool minimal;            /* without the default packages */
    struct tc_strv packages; /* added to the default ones */
    struct tc_strv options;  /* apt options, NAME=VALUE */
};

/* Files embedded at compile time: build.sh and the files of images/. Ends with a NULL name. */
struct tc_image_file {
    const char *name, *text;
};
extern const struct tc_image_file tc_image_files[];

int tc_build(const struct tc_import *how, const struct tc_build *build, struct tc_imported *ret,
             struct toolcage_error **err);

#endif
