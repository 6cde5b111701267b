/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints the master table of keys as JSON, for tools/policy-pages. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsontext.h"
#include "policy/parse/keys.h"

static void add_key(struct tc_buf *out, const struct tc_key *key)
{
    char range[256];
    tc_key_range(key, range, sizeof(range));
    tc_buf_adds(out, "{\"in\":[");
    for (unsigned scope = 0, any = 0; scope < TC_SCOPE_COUNT; scope++) {
        const char *title = tc_scope_title((enum tc_scope)scope);
        if (!(key->scopes & TC_SCOPE_BIT(scope)))
            continue;
        tc_buf_adds(out, any++ ? "," : "");
        tc_json_string(out, title, strlen(title));
    }
    tc_buf_addf(out, "],\"provided\":%s", key->set ? "true" : "false");
    tc_json_member(out, "name", key->name);
    tc_json_member(out, "text", key->text);
    tc_json_member(out, "type", key->type ? key->type : "");
    tc_json_member(out, "range", range);
    tc_json_member(out, "absent", key->fallback ? key->fallback : "");
    tc_json_member(out, "example", key->example ? key->example : "");
    tc_buf_adds(out, "}");
}

int main(void)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (const struct tc_key *key = tc_keys; key->name; key++) {
        tc_buf_adds(&out, key == tc_keys ? "[" : ",\n");
        add_key(&out, key);
    }
    tc_buf_adds(&out, "]\n");
    return !out.failed && fwrite(out.data, 1, out.len, stdout) == out.len && !fflush(stdout) ? 0
                                                                                             : 1;
}
