/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parts of toolcage-receipt: it signs statements about calls as DSSE envelopes, and verifies
 * such envelopes. */
#ifndef TC_RECEIPT_RECEIPT_H
#define TC_RECEIPT_RECEIPT_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "receipt/protocol.h"

/* ---- confine.c ---- */

/* False: not everything could be given up. */
bool tc_receipt_confine(void);

/* ---- key.c ---- */

enum { TC_SIGNATURE_BYTES = 64, TC_KEYID_SIZE = 64 + 1 };

/* An Ed25519 key. */
struct tc_signing_key {
    EVP_PKEY *pkey;         /* NULL: not read yet */
    char id[TC_KEYID_SIZE]; /* SHA-256 of the public key (SubjectPublicKeyInfo in DER) */
};

/* Reads a key from PEM. NULL, or what is wrong (static text). */
const char *tc_key_read(struct tc_signing_key *key, const char *pem, size_t length, bool secret);
/* Makes a key, and appends it to `pem` as PKCS #8. False: it cannot be made. */
bool tc_key_make(struct tc_signing_key *key, struct tc_buf *pem);
/* Appends the public key in PEM. */
bool tc_key_show(const struct tc_signing_key *key, struct tc_buf *pem);
bool tc_key_sign(const struct tc_signing_key *key, const char *bytes, size_t length,
                 unsigned char ret[TC_SIGNATURE_BYTES]);
bool tc_key_verify(const struct tc_signing_key *key, const char *bytes, size_t length,
                   const unsigned char signature[TC_SIGNATURE_BYTES]);
void tc_key_done(struct tc_signing_key *key);

/* ---- statement.c ---- */

/* Is it a statement of toolcage about one call? NULL, or what is wrong (static text). */
const char *tc_statement_check(const char *text, size_t length);

/* ---- envelope.c ---- */

/* Signs the statement, and appends the envelope to `out`. NULL, or what is wrong. */
const char *tc_envelope_seal(const struct tc_signing_key *key, const char *statement, size_t length,
                             struct tc_buf *out);
/* Verifies the envelope, and appends the statement to `out`: the bytes that were signed, which are
 * read only after that. NULL, or what is wrong (static text). */
const char *tc_envelope_open(const struct tc_signing_key *key, const char *text, size_t length,
                             struct tc_buf *out);

#endif
