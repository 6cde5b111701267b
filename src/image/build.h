/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An image from Debian's packages, by mmdebstrap. */
#ifndef TC_IMAGE_BUILD_H
#define TC_IMAGE_BUILD_H

#include "base/strv.h"
#include "image/import.h"

struct tc_build {
    const char *suite;  /* NULL: the most settled one whose Node.js runs TypeScript */
    const char *mirror; /* NULL: what this machine's apt uses */
    const char *keyring;
    bool minimal;            /* without the packages that are always there */
    struct tc_strv packages; /* beside them */
    struct tc_strv options;  /* of apt, NAME=VALUE */
};

/* Texts that the build puts in here: build.sh, and the files of images/. Ends with a NULL name. */
struct tc_image_file {
    const char *name, *text;
};
extern const struct tc_image_file tc_image_files[];

int tc_build(const struct tc_import *how, const struct tc_build *build, struct tc_imported *ret,
             struct toolcage_error **err);

#endif
