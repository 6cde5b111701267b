/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/proxy/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "policy/endpoint.h"

struct tc_egress_tls {
    SSL *ssl;
    BIO *in, *out; /* owned by the SSL */
    bool ended;
};

static struct tc_egress_tls *new_end(SSL_CTX *ctx)
{
    struct tc_egress_tls *tls = calloc(1, sizeof(*tls));
    if (!tls)
        return NULL;
    tls->ssl = SSL_new(ctx);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (!tls->ssl || !tls->in || !tls->out) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        SSL_free(tls->ssl);
        free(tls);
        return NULL;
    }
    (void)BIO_set_mem_eof_return(tls->in, -1);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    return tls;
}

void tc_egress_tls_free(struct tc_egress_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    free(tls);
}

struct tc_egress_tls *tc_egress_tls_accept(const struct tc_egress_authority *a, const char *host)
{
    struct tc_egress_tls *tls = new_end(a->client);
    X509 *leaf = tls ? tc_egress_authority_leaf(a, host) : NULL;
    bool fine = leaf && SSL_use_certificate(tls->ssl, leaf) == 1 &&
                SSL_use_PrivateKey(tls->ssl, a->leaf) == 1;
    X509_free(leaf);
    if (!fine) {
        tc_egress_tls_free(tls);
        return NULL;
    }
    SSL_set_accept_state(tls->ssl);
    return tls;
}

static bool expect_host(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (tc_host_is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tc_egress_tls *tc_egress_tls_connect(const struct tc_egress_authority *a, const char *host)
{
    struct tc_egress_tls *tls = new_end(a->server);
    if (tls && expect_host(tls->ssl, host)) {
        SSL_set_connect_state(tls->ssl);
        return tls;
    }
    tc_egress_tls_free(tls);
    return NULL;
}

bool tc_egress_tls_take(struct tc_egress_tls *tls, const char *bytes, size_t len)
{
    return len <= INT_MAX && BIO_write(tls->in, bytes, (int)len) == (int)len;
}

enum tc_egress_tls_stream tc_egress_tls_shake(struct tc_egress_tls *tls)
{
    ERR_clear_error();
    int rc = SSL_do_handshake(tls->ssl);
    if (rc == 1)
        return TC_EGRESS_TLS_UP;
    return SSL_get_error(tls->ssl, rc) == SSL_ERROR_WANT_READ ? TC_EGRESS_TLS_MORE
                                                              : TC_EGRESS_TLS_BROKEN;
}

bool tc_egress_tls_is_up(const struct tc_egress_tls *tls)
{
    return SSL_is_init_finished(tls->ssl);
}

ssize_t tc_egress_tls_read(struct tc_egress_tls *tls, char *to, size_t size)
{
    size_t n = 0;
    ERR_clear_error();
    if (SSL_read_ex(tls->ssl, to, size, &n) == 1)
        return (ssize_t)n;
    int error = SSL_get_error(tls->ssl, 0);
    tls->ended = tls->ended || error == SSL_ERROR_ZERO_RETURN;
    return tls->ended || error == SSL_ERROR_WANT_READ ? 0 : -1;
}

bool tc_egress_tls_has_ended(const struct tc_egress_tls *tls)
{
    return tls->ended;
}

bool tc_egress_tls_write(struct tc_egress_tls *tls, const char *bytes, size_t len)
{
    ERR_clear_error();
    for (size_t n = 0; len; bytes += n, len -= n)
        if (SSL_write_ex(tls->ssl, bytes, len, &n) != 1)
            return false;
    return true;
}

void tc_egress_tls_end(struct tc_egress_tls *tls)
{
    ERR_clear_error();
    if (tc_egress_tls_is_up(tls))
        (void)SSL_shutdown(tls->ssl);
}

size_t tc_egress_tls_out(struct tc_egress_tls *tls, const char **ret_at)
{
    char *at = NULL;
    long len = BIO_get_mem_data(tls->out, &at);
    *ret_at = at;
    return len > 0 ? (size_t)len : 0;
}

void tc_egress_tls_out_gone(struct tc_egress_tls *tls)
{
    (void)BIO_reset(tls->out);
}

const char *tc_egress_tls_why(const struct tc_egress_tls *tls)
{
    long verified = SSL_get_verify_result(tls->ssl);
    return verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                 : "the TLS handshake failed; TLS 1.2 or 1.3 is required";
}
