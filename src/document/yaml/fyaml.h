/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is used of libfyaml, as a table: filled from a loaded library (load.c), or by the linker in
 * a program that cannot load one (linked.c). */
#ifndef TC_DOCUMENT_YAML_FYAML_H
#define TC_DOCUMENT_YAML_FYAML_H

#include <libfyaml.h>

#define TC_FYAML_FUNCTIONS(X)     \
    X(fy_diag_cfg_default)        \
    X(fy_diag_create)             \
    X(fy_diag_destroy)            \
    X(fy_diag_errors_iterate)     \
    X(fy_diag_set_collect_errors) \
    X(fy_event_get_token)         \
    X(fy_event_start_mark)        \
    X(fy_parser_create)           \
    X(fy_parser_destroy)          \
    X(fy_parser_event_free)       \
    X(fy_parser_parse)            \
    X(fy_parser_set_string)       \
    X(fy_token_end_mark)          \
    X(fy_token_get_text)          \
    X(fy_token_scalar_style)      \
    X(fy_token_start_mark)

struct tc_fyaml {
    void *library; /* load.c's own */
#define TC_FYAML_MEMBER(name) __typeof__(name) *name;
    TC_FYAML_FUNCTIONS(TC_FYAML_MEMBER)
#undef TC_FYAML_MEMBER
};

/* False when there is no library, or one that lacks something. */
bool tc_fyaml_open(struct tc_fyaml *fyaml);
void tc_fyaml_close(struct tc_fyaml *fyaml);

#endif
