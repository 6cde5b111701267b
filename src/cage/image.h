/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The root file system that a policy names in place of the host's system directories. */
#ifndef TC_CAGE_IMAGE_H
#define TC_CAGE_IMAGE_H

#include "plan/backend.h"

/* The directory of the plan's image, as an O_PATH descriptor; -1 with the failure written. */
int tc_image_find(struct tc_cage *cage);
/* It could not be mounted: writes that, returns -1. */
int tc_image_unmounted(struct tc_cage *cage);
/* The plan's image as a detached mount, which the cage keeps. 0, or -1 with the failure written. */
int tc_image_open(struct tc_cage *cage, int *ret);

#endif
