/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A directory as a layer: the same bytes whenever its names, contents and modes are the same. */
#ifndef TC_IMAGE_TREE_H
#define TC_IMAGE_TREE_H

#include <stdint.h>

#include "base/error.h"
#include "image/unpack.h"

/* Owner 0, names in order, set-id bits and devices left out, times of directories `epoch`, others
 * at most that (< 0: as they are, directories 0). `to` gets the compressed layer, ret_diff the
 * digest of what is in it. */
int tc_tree_layer(int dir, const char *name, int64_t epoch, int to,
                  char ret_diff[TC_IMAGE_DIGEST_SIZE], struct tc_unpack_report *ret,
                  struct toolcage_error **err);

#endif
