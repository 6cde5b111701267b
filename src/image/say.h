/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the program says on standard error: lines, and on a terminal a bar that moves. */
#ifndef TC_IMAGE_SAY_H
#define TC_IMAGE_SAY_H

#include <stdint.h>

#include "base/error.h"

void tc_image_say(const char *fmt, ...) TC_PRINTF(1, 2);
void tc_image_hint(const char *text);
/* Nothing more of progress. */
void tc_image_quiet(void);

/* How far something is; `total` 0: nobody knows. On a terminal only. */
void tc_image_bar(const char *what, int64_t done, int64_t total);
/* The bar goes, before anything else is said. */
void tc_image_bar_end(void);

#endif
