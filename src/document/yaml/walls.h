/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What libfyaml must not see, found without knowing YAML: with each of these the library takes time
 * that grows with the square of the text, or a gigabyte of memory. No policy needs any of them. */
#ifndef TC_DOCUMENT_YAML_WALLS_H
#define TC_DOCUMENT_YAML_WALLS_H

#include <stddef.h>

struct tc_yaml_wall {
    const char *message, *hint; /* message NULL: nothing was found */
    size_t offset;
};

struct tc_yaml_wall tc_yaml_walls(const char *text, size_t len);

#endif
