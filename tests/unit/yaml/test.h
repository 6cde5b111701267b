/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the tests of YAML share: a text's tree, in canonical form. */
#ifndef TC_TEST_YAML_H
#define TC_TEST_YAML_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/strv.h"
#include "document/yaml/yaml.h"

/* Owned; the finding as "LINE:COLUMN: MESSAGE" when there is one. */
static inline char *canonical(tc_document_reader *reader, const char *text, size_t len)
{
    _auto_(tc_document_done) struct tc_document document = {0};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (reader(&document, text, len)) {
        tc_node_canonical(&document.root, &out);
    } else {
        assert_false(document.memory);
        assert_non_null(document.error);
        assert_non_null(document.hint);
        assert_true(document.error_at.line > 0 && document.error_at.column > 0);
        tc_buf_addf(&out, "%u:%u: %s", document.error_at.line, document.error_at.column,
                    document.error);
    }
    return tc_buf_steal(&out);
}

#endif
