/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * In place of read.c where libfyaml was not there when this was built. */
#include "document/yaml/yaml.h"

bool tc_yaml_read(struct tc_document *document, const char *text, size_t len)
{
    document->hint =
        "write the policy as TOML, or build toolcage with libfyaml-dev and -Dyaml=enabled";
    tc_document_fail(document, (struct tc_place){1, 1, 1}, "this toolcage was built without YAML");
    return false;
}
