/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Messages on stderr, and on a terminal a progress bar. */
#ifndef TC_IMAGE_SAY_H
#define TC_IMAGE_SAY_H

#include <stdint.h>

#include "base/error.h"

void tc_image_say(const char *fmt, ...) TC_PRINTF(1, 2);
void tc_image_hint(const char *text);
/* Disables progress messages. */
void tc_image_quiet(void);

/* Shows progress; `total` 0: unknown. On a terminal only. */
void tc_image_bar(const char *what, int64_t done, int64_t total);
/* Removes the bar, before another message. */
void tc_image_bar_end(void);

#endif
