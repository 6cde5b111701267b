/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <string.h>

#include "egress/proxy/authority.h"

#define HOST(name) .host = (char *)(uintptr_t)(name)

static char *get[] = {(char *)(uintptr_t) "GET", NULL};

/* Kept for the life of the process, as the proxy's is. */
static struct tc_egress_authority authorities[8];
static size_t used;

static struct tc_egress_authority *open_for(struct tc_net_entry *net, size_t count,
                                            struct tc_egress_stats *stats)
{
    const struct tc_egress_config config = {.net = net, .net_count = count};
    struct tc_egress_authority *a = &authorities[used++];
    if (!tc_egress_authority_open(a, &config, stats))
        skip(); /* a machine that trusts nobody */
    return a;
}

/* What a client thinks that trusts this authority alone. */
static int judge(const struct tc_egress_authority *a, X509 *leaf)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    assert_int_equal(X509_STORE_add_cert(store, a->certificate), 1);
    assert_int_equal(X509_STORE_CTX_init(ctx, store, leaf, NULL), 1);
    X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(ctx), X509_V_FLAG_X509_STRICT);
    (void)X509_verify_cert(ctx);
    int error = X509_STORE_CTX_get_error(ctx);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return error;
}

static int good_for(const struct tc_egress_authority *a, const char *host)
{
    X509 *leaf = tc_egress_authority_leaf(a, host);
    assert_non_null(leaf);
    int error = judge(a, leaf);
    X509_free(leaf);
    return error;
}

static struct tc_egress_stats stats;

static void names_bound_an_authority(void **state)
{
    struct tc_net_entry net[] = {{HOST("api.example"), .port = 443, .methods = {get, 1}},
                                 {HOST("blind.example"), .port = 443},
                                 {HOST("93.184.216.34"), .port = 443, .methods = {get, 1}}};
    const struct tc_egress_authority *a = open_for(net, TC_COUNT(net), &stats);
    assert_int_equal(good_for(a, "api.example"), X509_V_OK);
    assert_int_equal(good_for(a, "93.184.216.34"), X509_V_OK);
    assert_int_equal(good_for(a, "blind.example"), X509_V_ERR_PERMITTED_VIOLATION);
    assert_int_equal(good_for(a, "xapi.example"), X509_V_ERR_PERMITTED_VIOLATION);
    assert_int_equal(good_for(a, "93.184.216.35"), X509_V_ERR_PERMITTED_VIOLATION);
    assert_int_not_equal(good_for(a, "2606:2800::34"), X509_V_OK);
}

/* A kind of name that is not granted is excluded, not left open. */
static void kinds_bound_an_authority(void **state)
{
    struct tc_net_entry names[] = {{HOST("api.example"), .port = 443, .methods = {get, 1}}};
    struct tc_net_entry addresses[] = {{HOST("2606:2800::34"), .port = 443, .methods = {get, 1}}};
    const struct tc_egress_authority *a = open_for(names, 1, &stats), *b;
    b = open_for(addresses, 1, &stats);
    assert_int_equal(good_for(a, "93.184.216.34"), X509_V_ERR_EXCLUDED_VIOLATION);
    assert_int_equal(good_for(a, "2606:2800::34"), X509_V_ERR_EXCLUDED_VIOLATION);
    assert_int_equal(good_for(b, "2606:2800::34"), X509_V_OK);
    assert_int_equal(good_for(b, "api.example"), X509_V_ERR_EXCLUDED_VIOLATION);
    assert_int_equal(good_for(b, "93.184.216.34"), X509_V_ERR_PERMITTED_VIOLATION);
}

static void every_host_is_every_host(void **state)
{
    struct tc_net_entry net[] = {{HOST("*"), .port = 443, .methods = {get, 1}}};
    const struct tc_egress_authority *a = open_for(net, 1, &stats);
    assert_int_equal(good_for(a, "any.example"), X509_V_OK);
    assert_int_equal(good_for(a, "93.184.216.34"), X509_V_OK);
}

static void leaf_of_another_authority_is_refused(void **state)
{
    struct tc_net_entry net[] = {{HOST("api.example"), .port = 443, .methods = {get, 1}}};
    const struct tc_egress_authority *a = open_for(net, 1, &stats), *b = open_for(net, 1, &stats);
    X509 *leaf = tc_egress_authority_leaf(b, "api.example");
    assert_int_not_equal(judge(a, leaf), X509_V_OK);
    X509_free(leaf);
}

static void printed_authority_is_its_certificate(void **state)
{
    struct tc_net_entry net[] = {{HOST("api.example"), .port = 443, .methods = {get, 1}}};
    const struct tc_egress_authority *a = open_for(net, 1, &stats);
    BIO *text = BIO_new_mem_buf(stats.authority, (int)stats.authority_size);
    X509 *read = PEM_read_bio_X509(text, NULL, NULL, NULL);
    assert_non_null(read);
    assert_int_equal(X509_cmp(read, a->certificate), 0);
    assert_null(strstr(stats.authority, "PRIVATE"));
    X509_free(read);
    BIO_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_bound_an_authority),
        cmocka_unit_test(kinds_bound_an_authority),
        cmocka_unit_test(every_host_is_every_host),
        cmocka_unit_test(leaf_of_another_authority_is_refused),
        cmocka_unit_test(printed_authority_is_its_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
