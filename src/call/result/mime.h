/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_CALL_RESULT_MIME_H
#define TC_CALL_RESULT_MIME_H

#include <stddef.h>

/* The media type of a file that a tool made: what its name says, if its first bytes do not say
 * otherwise; for names that say nothing, what the bytes say. `content` NULL: they are not known,
 * and the name alone has to do. Static text. Bytes are compared and never parsed, because whoever
 * wrote them may be hostile. */
const char *tc_mime_of(const char *path, const char *content, size_t len);

#endif
