/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Messages on stderr. */
#ifndef TC_IMAGE_SAY_H
#define TC_IMAGE_SAY_H

#include "base/error.h"

void tc_image_say(const char *fmt, ...) TC_PRINTF(1, 2);
void tc_image_hint(const char *text);

#endif
