/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * YAML as a second form of a policy: the same generic tree as of TOML. The library behind it is
 * loaded when the first such text comes, and let go after it, so that nobody who has no YAML pays
 * for it or needs it. */
#ifndef TC_DOCUMENT_YAML_YAML_H
#define TC_DOCUMENT_YAML_YAML_H

#include "document/document.h"

/* A tc_document_reader. Without the library the finding says what to install. */
bool tc_yaml_read(struct tc_document *document, const char *text, size_t len);

#endif
