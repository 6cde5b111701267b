/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a built image has beside packages: the files of images/, put in here by the build. */
#ifndef TC_IMAGE_FILES_H
#define TC_IMAGE_FILES_H

struct tc_image_file {
    const char *name, *text;
};

/* Ends with a NULL name. */
extern const struct tc_image_file tc_image_files[];

#endif
