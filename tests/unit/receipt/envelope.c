/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Envelopes and keys of receipts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "receipt/receipt.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define RECORD "{\"seq\":1,\"hash\":\"sha256:" HASH "\"}"
#define HEAD \
    "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicateType\":\"" TC_RECEIPT_PREDICATE "\""
#define SUBJECT ",\"subject\":[{\"name\":\"x\",\"digest\":{\"sha256\":\"" HASH "\"}}]"
#define PARTS "\"requested\":{},\"granted\":{},\"enforced\":{},\"observed\":{}"
#define CALL "\"call\":\"01JD8XKQ7PZ3T5V9WYB2C4D6E8\""
#define LOG "\"log\":{\"decision\":" RECORD ",\"result\":" RECORD "}"

static const char good[] = HEAD SUBJECT ",\"predicate\":{" CALL "," LOG "," PARTS "}}";

static void statements_need_every_part(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        HEAD "}",
        HEAD ",\"subject\":[],\"predicate\":{" CALL "," LOG "," PARTS "}}",
        HEAD ",\"subject\":[{\"name\":\"x\"}],\"predicate\":{" CALL "," LOG "," PARTS "}}",
        HEAD SUBJECT ",\"predicate\":{" LOG "," PARTS "}}",
        HEAD SUBJECT ",\"predicate\":{\"call\":\"x\"," LOG "," PARTS "}}",
        HEAD SUBJECT ",\"predicate\":{" CALL "," PARTS "}}",
        HEAD SUBJECT ",\"predicate\":{" CALL ",\"log\":{\"decision\":" RECORD "}," PARTS "}}",
        HEAD SUBJECT ",\"predicate\":{" CALL "," LOG ",\"requested\":{}}}",
        HEAD SUBJECT ",\"predicate\":{" CALL "," CALL "," LOG "," PARTS "}}",
    };
    (void)state;
    assert_null(tc_statement_check(good, strlen(good)));
    assert_non_null(tc_statement_check(good, sizeof(good))); /* a NUL follows */
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        assert_non_null(tc_statement_check(bad[i], strlen(bad[i])));
}

static void make_key(struct tc_signing_key *key)
{
    _autobuf_ struct tc_buf pem = TC_BUF_INIT;
    assert_true(tc_key_make(key, &pem));
}

static void sealed_statement_is_opened(void **state)
{
    struct tc_signing_key key = {0}, other = {0};
    _autobuf_ struct tc_buf envelope = TC_BUF_INIT, out = TC_BUF_INIT, none = TC_BUF_INIT;
    (void)state;
    make_key(&key);
    make_key(&other);
    assert_string_equal(tc_envelope_seal(&key, "{}", 2, &none), "is not an in-toto statement");
    assert_int_equal(none.len, 0);
    assert_null(tc_envelope_seal(&key, good, strlen(good), &envelope));
    assert_null(tc_envelope_open(&key, envelope.data, envelope.len, &out));
    assert_string_equal(out.data, good);
    assert_non_null(strstr(tc_envelope_open(&other, envelope.data, envelope.len, &none),
                           "it names another one"));
    tc_key_done(&key);
    tc_key_done(&other);
}

/* Opens the envelope with one text in it replaced by another of the same length. */
static const char *open_changed(const struct tc_signing_key *key, const struct tc_buf *envelope,
                                const char *from, const char *to)
{
    _autobuf_ struct tc_buf copy = TC_BUF_INIT, out = TC_BUF_INIT;
    tc_buf_add(&copy, envelope->data, envelope->len);
    char *at = strstr(copy.data, from);
    assert_non_null(at);
    memcpy(at, to, strlen(from));
    return tc_envelope_open(key, copy.data, copy.len, &out);
}

static void changed_envelope_is_refused(void **state)
{
    struct tc_signing_key key = {0};
    _autobuf_ struct tc_buf envelope = TC_BUF_INIT;
    (void)state;
    make_key(&key);
    assert_null(tc_envelope_seal(&key, good, strlen(good), &envelope));
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        {"\"payload\":\"ey", "\"payload\":\"fy", "signature is wrong"},
        {"\"payload\":\"ey", "\"payload\":\"=y", "not base64"},
        {"\"payload\":\"ey", "\"payload\":\"-y", "not base64"},
        {"in-toto+json", "in-toto+yaml", "another type"},
        {"\"signatures\"", "\"signature_\"", "not a DSSE envelope"},
        {"\"sig\"", "\"sIg\"", "not one of Ed25519"},
        {"}]}", "}] ", "not a DSSE envelope"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        assert_non_null(
            strstr(open_changed(&key, &envelope, rows[i].from, rows[i].to), rows[i].words));
    tc_key_done(&key);
}

static void only_ed25519_keys_in_pem_are_read(void **state)
{
    struct tc_signing_key key = {0}, again = {0};
    _autobuf_ struct tc_buf secret = TC_BUF_INIT, public = TC_BUF_INIT;
    (void)state;
    assert_true(tc_key_make(&key, &secret));
    assert_true(tc_key_show(&key, &public));
    assert_null(tc_key_read(&again, secret.data, secret.len, true));
    assert_string_equal(key.id, again.id);
    tc_key_done(&again);
    assert_null(tc_key_read(&again, public.data, public.len, false));
    assert_string_equal(key.id, again.id);
    tc_key_done(&again);
    assert_non_null(tc_key_read(&again, public.data, public.len, true));
    assert_non_null(tc_key_read(&again, secret.data, secret.len, false));
    assert_non_null(tc_key_read(&again, "x", 1, false));
    assert_null(again.pkey);
    tc_key_done(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_need_every_part),
        cmocka_unit_test(sealed_statement_is_opened),
        cmocka_unit_test(changed_envelope_is_refused),
        cmocka_unit_test(only_ed25519_keys_in_pem_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
