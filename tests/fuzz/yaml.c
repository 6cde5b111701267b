/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/document/yaml, and libyaml behind it. Input: a text. What is read is read alike
 * twice; its canonical form, which is JSON and so YAML, means the same; and a finding has a place
 * in the text.
 */
#include "fuzz.h"

#include <string.h>

#include "base/strv.h"
#include "document/yaml/yaml.h"
#include "policy/policy.h"

/* Owned; NULL when there is a finding. */
static char *canonical(const char *text, size_t len)
{
    _auto_(tc_document_done) struct tc_document document = {0};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (tc_yaml_read(&document, text, len)) {
        INVARIANT(!document.error && document.root.kind == TC_NODE_TABLE);
        tc_node_canonical(&document.root, &out);
        return tc_buf_steal(&out);
    }
    INVARIANT(document.memory || (document.error && document.error[0] && document.hint));
    INVARIANT(document.memory || (document.error_at.line && document.error_at.column));
    INVARIANT(document.error_at.line <= len + 1 && document.error_at.column <= len + 1);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    _autofree_ char *once = canonical(text, size), *twice = canonical(text, size);
    INVARIANT(tc_streq(once, twice));
    _autofree_ char *again = once ? canonical(once, strlen(once)) : NULL;
    INVARIANT(!again || tc_streq(once, again));
    int rc = tc_policy_compile_by(tc_yaml_read, text, size, "fuzz.yaml", "/srv/p", "/home/me",
                                  &policy, &err);
    INVARIANT(rc == 0 || strstr(tc_error_report(err), ": error: "));
    INVARIANT(rc != 0 || once || size == 0);
    tc_error_free(err);
    (void)tc_policy_unref(policy);
    return 0;
}
