/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * DSSE envelopes (https://github.com/secure-systems-lab/dsse), with exactly one signature. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/jsontext.h"
#include "receipt/receipt.h"
#include "text/base64.h"

#define TYPE "application/vnd.in-toto+json"

static const char no_memory[] = "cannot be processed: out of memory";

/* What is signed: type and statement, each with its length. */
static void encode(struct tc_buf *out, const char *statement, size_t length)
{
    tc_buf_addf(out, "DSSEv1 %zu %s %zu ", strlen(TYPE), TYPE, length);
    tc_buf_add(out, statement, length);
}

/* Appends the bytes of base64 with padding. False: it has another form than toolcage writes. */
static bool decode(const char *text, size_t length, struct tc_buf *out)
{
    if (length % 4)
        return false;
    for (size_t at = 0; at < length; at += 4) {
        unsigned long bits = 0;
        int digits = 4, pad = 0;
        if (at + 4 == length)
            pad = text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
        digits -= pad;
        for (int i = 0; i < 4; i++) {
            int value = i < digits ? tc_base64_value(text[at + (size_t)i]) : 0;
            if (value < 0)
                return false;
            bits = bits << 6 | (unsigned long)value;
        }
        const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        if (pad && (bits & (pad == 2 ? 0xffff : 0xff)))
            return false;
        tc_buf_add(out, bytes, (size_t)(3 - pad));
    }
    return true;
}

const char *tc_envelope_seal(const struct tc_signing_key *key, const char *statement, size_t length,
                             struct tc_buf *out)
{
    _autobuf_ struct tc_buf pae = TC_BUF_INIT;
    unsigned char signature[TC_SIGNATURE_BYTES];
    const char *wrong = tc_statement_check(statement, length);
    if (wrong)
        return wrong;
    encode(&pae, statement, length);
    if (pae.failed || !tc_key_sign(key, pae.data, pae.len, signature))
        return no_memory;
    tc_buf_adds(out, "{\"payloadType\":\"" TYPE "\",\"payload\":\"");
    tc_json_base64(out, statement, length);
    tc_buf_addf(out, "\",\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"", key->id);
    tc_json_base64(out, signature, sizeof(signature));
    tc_buf_adds(out, "\"}]}\n");
    return out->failed ? no_memory : NULL;
}

/* The signature verifies `statement`. NULL, or what is wrong. */
static const char *check_signature(const struct tc_signing_key *key, const json_t *signature,
                                   const struct tc_buf *statement)
{
    _autobuf_ struct tc_buf pae = TC_BUF_INIT, bytes = TC_BUF_INIT;
    const json_t *sig = json_object_get(signature, "sig");
    const char *id = json_string_value(json_object_get(signature, "keyid"));
    if (!json_is_string(sig) || !decode(json_string_value(sig), json_string_length(sig), &bytes) ||
        bytes.len != TC_SIGNATURE_BYTES)
        return "has a signature that is not one of Ed25519";
    encode(&pae, statement->data, statement->len);
    if (pae.failed || bytes.failed)
        return no_memory;
    if (tc_key_verify(key, pae.data, pae.len, (const unsigned char *)bytes.data))
        return NULL;
    return id && strcmp(id, key->id) != 0
               ? "was not signed with this key: it names another one"
               : "was changed, or was not signed with this key: the signature is wrong";
}

static const char *open_envelope(const struct tc_signing_key *key, const json_t *envelope,
                                 struct tc_buf *out)
{
    const char *type = json_string_value(json_object_get(envelope, "payloadType"));
    const json_t *payload = json_object_get(envelope, "payload");
    const json_t *signatures = json_object_get(envelope, "signatures");
    if (!type || !json_is_string(payload) || !json_is_array(signatures))
        return "is not a DSSE envelope";
    if (strcmp(type, TYPE) != 0)
        return "has a payload of another type than " TYPE;
    if (json_array_size(signatures) != 1)
        return "does not have exactly one signature";
    if (!decode(json_string_value(payload), json_string_length(payload), out))
        return "has a payload that is not base64";
    return check_signature(key, json_array_get(signatures, 0), out);
}

const char *tc_envelope_open(const struct tc_signing_key *key, const char *text, size_t length,
                             struct tc_buf *out)
{
    json_t *envelope = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *wrong = envelope ? open_envelope(key, envelope, out)
                                 : "is not a DSSE envelope: it is not JSON, or has a member twice";
    json_decref(envelope);
    if (!wrong && out->failed)
        wrong = no_memory;
    return wrong ? wrong : tc_statement_check(out->data, out->len);
}
