/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/receipt/envelope.c and statement.c. Input: an envelope, or a statement. No input is
 * an envelope of a key that was just made; a statement that is signed is opened as it was. */
#include "fuzz.h"

#include <string.h>

#include "receipt/receipt.h"

static struct tc_signing_key key;

static void prepare(void)
{
    _autobuf_ struct tc_buf pem = TC_BUF_INIT;
    INVARIANT(key.pkey || tc_key_make(&key, &pem));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    _autobuf_ struct tc_buf out = TC_BUF_INIT, envelope = TC_BUF_INIT, back = TC_BUF_INIT;
    prepare();
    INVARIANT(tc_envelope_open(&key, text, size, &out));
    if (tc_envelope_seal(&key, text, size, &envelope))
        return 0;
    INVARIANT(!tc_envelope_open(&key, envelope.data, envelope.len, &back));
    INVARIANT(back.len == size && memcmp(back.data, text, size) == 0);
    return 0;
}
