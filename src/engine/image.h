/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The image of our containers as a tar: one program, and places for what engines mount. */
#ifndef TC_ENGINE_IMAGE_H
#define TC_ENGINE_IMAGE_H

#include <stdbool.h>

#include "engine/http.h"

/* Of the program behind this descriptor, which stays open as long as the source is used. False with
 * errno. */
bool tc_engine_image(int program, struct tc_http_source *ret);
void tc_engine_image_done(struct tc_http_source *source);

#endif
