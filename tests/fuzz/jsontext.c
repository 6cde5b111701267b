/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/base/jsontext.c and the UTF-8 check. Whatever the bytes are, what is written must be
 * JSON that a strict reader takes; text that was UTF-8 must come back byte for byte. */
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '{');
    tc_json_bytes(&buf, "bytes", "bytes_base64", bytes, size);
    tc_json_key(&buf, "string");
    tc_json_string(&buf, bytes, size);
    tc_buf_addc(&buf, '}');
    INVARIANT(!buf.failed);

    json_t *value = json_loadb(buf.data, buf.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    INVARIANT(value);
    json_t *text = json_object_get(value, "bytes"), *string = json_object_get(value, "string");
    INVARIANT(string && json_is_string(string));
    INVARIANT((text != NULL) == tc_utf8_valid(bytes, size));
    if (text) {
        INVARIANT(json_string_length(text) == size &&
                  memcmp(json_string_value(text), bytes, size) == 0);
        INVARIANT(json_equal(text, string));
    } else {
        json_t *base64 = json_object_get(value, "bytes_base64");
        INVARIANT(base64 && json_string_length(base64) == (size + 2) / 3 * 4);
    }
    json_decref(value);
    return 0;
}
