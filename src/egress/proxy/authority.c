/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/proxy/authority.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "egress/egress.h"
#include "egress/read/rules.h"
#include "policy/endpoint.h"

/* A cage may run for weeks, as a server does; a leaf is created for each connection. */
enum { CA_SECONDS = 30 * 86400, LEAF_SECONDS = 3600, EARLIER_SECONDS = 300 };
enum { BUNDLE_MAX = 8 << 20 };

/* ---- names ---- */

static GENERAL_NAME *general_name(int type, const void *bytes, size_t len)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *text =
        ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING);
    if (!name || !text || !ASN1_STRING_set(text, bytes, (int)len)) {
        GENERAL_NAME_free(name);
        ASN1_STRING_free(text);
        return NULL;
    }
    GENERAL_NAME_set0_value(name, type, text);
    return name;
}

/* The length of the address; 0: the host is a name. */
static size_t address_of(const char *host, unsigned char out[16])
{
    if (inet_pton(AF_INET, host, out) == 1)
        return 4;
    return inet_pton(AF_INET6, host, out) == 1 ? 16 : 0;
}

static bool add_subtree(STACK_OF(GENERAL_SUBTREE) * *to, int type, const void *bytes, size_t len)
{
    GENERAL_SUBTREE *subtree = GENERAL_SUBTREE_new();
    GENERAL_NAME *name = general_name(type, bytes, len);
    if (!*to)
        *to = sk_GENERAL_SUBTREE_new_null();
    if (subtree && name && *to) {
        GENERAL_NAME_free(subtree->base);
        subtree->base = name;
        if (sk_GENERAL_SUBTREE_push(*to, subtree))
            return true;
        name = NULL;
    }
    GENERAL_NAME_free(name);
    GENERAL_SUBTREE_free(subtree);
    return false;
}

static bool permit(NAME_CONSTRAINTS *all, const char *host, bool *ret_v4, bool *ret_v6,
                   bool *ret_name)
{
    unsigned char bytes[32];
    size_t len = address_of(host, bytes);
    *ret_v4 |= len == 4;
    *ret_v6 |= len == 16;
    *ret_name |= !len;
    if (!len)
        return add_subtree(&all->permittedSubtrees, GEN_DNS, host, strlen(host));
    memset(bytes + len, 0xff, len);
    return add_subtree(&all->permittedSubtrees, GEN_IPADD, bytes, 2 * len);
}

/* Constraints on one kind of name do not limit another kind, so each kind without a permitted name
 * is excluded completely. */
static bool exclude_others(NAME_CONSTRAINTS *all, bool v4, bool v6, bool name)
{
    static const unsigned char everything[32] = {0};
    return (v4 || add_subtree(&all->excludedSubtrees, GEN_IPADD, everything, 8)) &&
           (v6 || add_subtree(&all->excludedSubtrees, GEN_IPADD, everything, 32)) &&
           (name || add_subtree(&all->excludedSubtrees, GEN_DNS, "", 0));
}

/* Where the grant has every host inspected, the CA is unconstrained. */
static bool constrain(X509 *certificate, const struct tc_egress_config *config)
{
    NAME_CONSTRAINTS *all = NAME_CONSTRAINTS_new();
    bool v4 = false, v6 = false, name = false, any = false, fine = all != NULL;
    for (size_t i = 0; fine && i < config->net_count; i++) {
        const struct tc_net_entry *entry = &config->net[i];
        if (!tc_net_entry_inspected(entry))
            continue;
        any |= tc_streq(entry->host, "*");
        fine = any || permit(all, entry->host, &v4, &v6, &name);
    }
    fine = fine && (any || (exclude_others(all, v4, v6, name) &&
                            X509_add1_ext_i2d(certificate, NID_name_constraints, all, 1, 0) == 1));
    NAME_CONSTRAINTS_free(all);
    return fine;
}

/* ---- certificates ---- */

static bool set_serial(X509 *certificate)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f;
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool fine = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return fine;
}

static bool set_name(X509 *certificate, const char *text)
{
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)text, -1, -1,
                                      0) == 1;
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_nconf_nid(NULL, &ctx, nid, value);
    bool fine = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return fine;
}

static X509 *new_certificate(EVP_PKEY *key, const char *name, long seconds)
{
    X509 *certificate = X509_new();
    if (certificate && X509_set_version(certificate, X509_VERSION_3) == 1 &&
        set_serial(certificate) && set_name(certificate, name) &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -EARLIER_SECONDS) &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), seconds) &&
        X509_set_pubkey(certificate, key) == 1)
        return certificate;
    X509_free(certificate);
    return NULL;
}

/* Each cage has its own root: a leaf of one cage is worthless in another. */
static bool make_root(struct tc_egress_authority *a, const struct tc_egress_config *config)
{
    unsigned char bytes[8];
    char name[64];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    (void)snprintf(name, sizeof(name),
                   "toolcage egress of one cage %02x%02x%02x%02x%02x%02x%02x%02x", bytes[0],
                   bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
    X509 *root = a->certificate = new_certificate(a->key, name, CA_SECONDS);
    return root && X509_set_issuer_name(root, X509_get_subject_name(root)) == 1 &&
           add_extension(root, root, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(root, root, NID_key_usage, "critical,keyCertSign") &&
           add_extension(root, root, NID_subject_key_identifier, "hash") &&
           constrain(root, config) && X509_sign(root, a->key, EVP_sha256()) > 0;
}

static bool add_host(X509 *leaf, const char *host)
{
    unsigned char bytes[16];
    size_t len = address_of(host, bytes);
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *name =
        len ? general_name(GEN_IPADD, bytes, len) : general_name(GEN_DNS, host, strlen(host));
    bool pushed = names && name && sk_GENERAL_NAME_push(names, name) > 0;
    bool fine = pushed && X509_add1_ext_i2d(leaf, NID_subject_alt_name, names, 0, 0) == 1;
    if (!pushed)
        GENERAL_NAME_free(name);
    GENERAL_NAMES_free(names);
    return fine;
}

X509 *tc_egress_authority_leaf(const struct tc_egress_authority *a, const char *host)
{
    X509 *leaf = new_certificate(a->leaf, "toolcage egress", LEAF_SECONDS);
    if (leaf && X509_set_issuer_name(leaf, X509_get_subject_name(a->certificate)) == 1 &&
        add_extension(leaf, a->certificate, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(leaf, a->certificate, NID_key_usage, "critical,digitalSignature") &&
        add_extension(leaf, a->certificate, NID_ext_key_usage, "serverAuth") &&
        add_extension(leaf, a->certificate, NID_authority_key_identifier, "keyid:always") &&
        add_host(leaf, host) && X509_sign(leaf, a->key, EVP_sha256()) > 0)
        return leaf;
    X509_free(leaf);
    return NULL;
}

static bool write_down(const struct tc_egress_authority *a, struct tc_egress_stats *stats)
{
    BIO *text = BIO_new(BIO_s_mem());
    char *at = NULL;
    long len =
        text && PEM_write_bio_X509(text, a->certificate) == 1 ? BIO_get_mem_data(text, &at) : 0;
    bool fine = len > 0 && len <= TC_EGRESS_AUTHORITY_MAX;
    if (fine) {
        memcpy(stats->authority, at, (size_t)len);
        atomic_store(&stats->authority_size, (uint32_t)len);
    }
    BIO_free(text);
    return fine;
}

/* ---- TLS settings ---- */

static const unsigned char protocols[] = "\x08http/1.1";

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
    (void)ssl;
    (void)ctx;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, out_len, protocols, sizeof(protocols) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* No session cache and no tickets: nothing of a connection is kept for another. */
static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
        return NULL;
    (void)SSL_CTX_set_options(ctx,
                              SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

static bool speak_to_clients(struct tc_egress_authority *a)
{
    a->client = new_context(TLS_server_method());
    if (!a->client || SSL_CTX_set_num_tickets(a->client, 0) != 1)
        return false;
    SSL_CTX_set_alpn_select_cb(a->client, choose_protocol, NULL);
    return true;
}

static bool read_system(struct tc_buf *to)
{
    to->max = BUNDLE_MAX;
    for (const char *const *place = tc_bundle_places; *place; place++)
        if (access(*place, R_OK) == 0)
            return tc_read_file(AT_FDCWD, *place, to) == 0 && to->len > 0;
    return false;
}

/* Skips certificates that cannot be parsed: a bundle may use algorithms unknown to OpenSSL. */
bool tc_egress_authority_trust(struct tc_egress_authority *a)
{
    X509_STORE *store = SSL_CTX_get_cert_store(a->server);
    BIO *text = BIO_new_mem_buf(a->bundle.data, (int)a->bundle.len);
    size_t count = 0;
    bool more = text != NULL;
    while (more) {
        X509 *one = PEM_read_bio_X509(text, NULL, NULL, NULL);
        more = one || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
        count += one && X509_STORE_add_cert(store, one) == 1;
        X509_free(one);
        ERR_clear_error();
    }
    BIO_free(text);
    tc_buf_done(&a->bundle);
    return count > 0;
}

static bool speak_to_servers(struct tc_egress_authority *a)
{
    a->server = new_context(TLS_client_method());
    if (!a->server || SSL_CTX_set_alpn_protos(a->server, protocols, sizeof(protocols) - 1) != 0)
        return false;
    SSL_CTX_set_verify(a->server, SSL_VERIFY_PEER, NULL);
    return read_system(&a->bundle);
}

bool tc_egress_authority_open(struct tc_egress_authority *a, const struct tc_egress_config *config,
                              struct tc_egress_stats *stats)
{
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
        return false;
    a->key = EVP_EC_gen("P-256");
    a->leaf = EVP_EC_gen("P-256");
    return a->key && a->leaf && make_root(a, config) && write_down(a, stats) &&
           speak_to_clients(a) && speak_to_servers(a);
}
