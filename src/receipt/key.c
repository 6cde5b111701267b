/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Ed25519 keys, with OpenSSL. */
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <stdio.h>

#include "receipt/receipt.h"

static void free_bio(BIO **bio)
{
    (void)BIO_free(*bio);
}
#define _autobio_ __attribute__((cleanup(free_bio)))

/* Without it OpenSSL would ask at the terminal. */
static int no_password(char *to, int size, int writes, void *context)
{
    (void)to;
    (void)size;
    (void)writes;
    (void)context;
    return -1;
}

static bool name_key(struct tc_signing_key *key)
{
    unsigned char *der = NULL, digest[SHA256_DIGEST_LENGTH];
    int length = i2d_PUBKEY(key->pkey, &der);
    if (length <= 0)
        return false;
    (void)SHA256(der, (size_t)length, digest);
    OPENSSL_free(der);
    for (size_t i = 0; i < sizeof(digest); i++)
        (void)snprintf(key->id + 2 * i, 3, "%02x", digest[i]);
    return true;
}

const char *tc_key_read(struct tc_signing_key *key, const char *pem, size_t length, bool secret)
{
    _autobio_ BIO *bio = BIO_new_mem_buf(pem, (int)length);
    if (!bio)
        return "cannot be read: out of memory";
    key->pkey = secret ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL)
                       : PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
    if (!key->pkey)
        return secret ? "is not a private key in PEM without a password"
                      : "is not a public key in PEM";
    if (EVP_PKEY_is_a(key->pkey, "ED25519") && name_key(key))
        return NULL;
    tc_key_done(key);
    return "is not an Ed25519 key";
}

bool tc_key_make(struct tc_signing_key *key, struct tc_buf *pem)
{
    _autobio_ BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    key->pkey = bio ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") : NULL;
    if (!key->pkey || !name_key(key) ||
        !PEM_write_bio_PKCS8PrivateKey(bio, key->pkey, NULL, NULL, 0, NULL, NULL))
        return false;
    long length = BIO_get_mem_data(bio, &text);
    tc_buf_add(pem, text, (size_t)length);
    OPENSSL_cleanse(text, (size_t)length);
    return !pem->failed;
}

bool tc_key_show(const struct tc_signing_key *key, struct tc_buf *pem)
{
    _autobio_ BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (!bio || !PEM_write_bio_PUBKEY(bio, key->pkey))
        return false;
    long length = BIO_get_mem_data(bio, &text);
    tc_buf_add(pem, text, (size_t)length);
    return !pem->failed;
}

bool tc_key_sign(const struct tc_signing_key *key, const char *bytes, size_t length,
                 unsigned char ret[TC_SIGNATURE_BYTES])
{
    size_t size = TC_SIGNATURE_BYTES;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool fine = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
                EVP_DigestSign(ctx, ret, &size, (const unsigned char *)bytes, length) == 1 &&
                size == TC_SIGNATURE_BYTES;
    EVP_MD_CTX_free(ctx);
    return fine;
}

bool tc_key_verify(const struct tc_signing_key *key, const char *bytes, size_t length,
                   const unsigned char signature[TC_SIGNATURE_BYTES])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool fine = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
                EVP_DigestVerify(ctx, signature, TC_SIGNATURE_BYTES, (const unsigned char *)bytes,
                                 length) == 1;
    EVP_MD_CTX_free(ctx);
    return fine;
}

void tc_key_done(struct tc_signing_key *key)
{
    EVP_PKEY_free(key->pkey);
    key->pkey = NULL;
}
