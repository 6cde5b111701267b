/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Synthetic addresses and their names, as supervisor and proxy see them, and the configuration that
 * goes between the two. */
#include "test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "egress/read/names.h"
#include "policy/endpoint.h"

#define NET(name, number)                                   \
    {                                                       \
        .host = (char *)(uintptr_t)(name), .port = (number) \
    }

static struct tc_net_entry net[] = {NET("b.example", 443), NET("*", 80),   NET("10.0.0.1", 80),
                                    NET("b.example", 80),  NET("::1", 80), NET("a.example", 443)};
static const struct tc_egress_config config = {.net = net, .net_count = 6, .connections = 1};

static void numbers_follow_the_grant(void **state)
{
    _auto_(tc_egress_names_done) struct tc_egress_names names;
    assert_true(tc_egress_names_open(&names, &config));
    assert_int_equal(tc_synthetic_number(net, 6, "b.example"), 2);
    assert_int_equal(tc_synthetic_number(net, 6, "a.example"), 3);
    assert_int_equal(tc_synthetic_number(net, 6, "*"), 0);
    assert_int_equal(tc_synthetic_number(net, 6, "10.0.0.1"), 0);
    assert_string_equal(tc_synthetic_name(net, 6, 3), "a.example");
    assert_null(tc_synthetic_name(net, 6, 1));
    assert_null(tc_synthetic_name(net, 6, 4));
    assert_int_equal(tc_egress_names_number(&names, "b.example"), 2);
    assert_int_equal(tc_egress_names_number(&names, "a.example"), 3);
    assert_int_equal(tc_egress_names_number(&names, "c.example"), 4);
    assert_int_equal(tc_egress_names_number(&names, "c.example"), 4);
    assert_string_equal(tc_egress_names_name(&names, 4), "c.example");
    assert_null(tc_egress_names_name(&names, 5));
    assert_null(tc_egress_names_name(&names, 1));
    assert_null(tc_egress_names_name(&names, 0));
}

static void numbers_run_out(void **state)
{
    _auto_(tc_egress_names_done) struct tc_egress_names names;
    char name[32];
    uint32_t last = 3;
    assert_true(tc_egress_names_open(&names, &config));
    for (unsigned i = 0; i < TC_SYNTHETIC_MAX; i++) {
        (void)snprintf(name, sizeof(name), "n%u.example", i);
        uint32_t number = tc_egress_names_number(&names, name);
        assert_true(number ? number == last + 1 : last == TC_SYNTHETIC_MAX - 1);
        last = number ? number : last;
    }
    assert_int_equal(last, TC_SYNTHETIC_MAX - 1);
    assert_int_equal(tc_egress_names_number(&names, "n0.example"), 4);
}

static void grant_without_numbers_adds_no_name(void **state)
{
    const struct tc_egress_config one = {.net = net, .net_count = 1, .connections = 1};
    _auto_(tc_egress_names_done) struct tc_egress_names names;
    assert_true(tc_egress_names_open(&names, &one));
    assert_int_equal(tc_egress_names_number(&names, "c.example"), 0);
}

static void addresses_have_numbers(void **state)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr v4 = tc_synthetic_v4(257);
    struct in6_addr v6 = tc_synthetic_v6(257);
    assert_string_equal(inet_ntop(AF_INET, &v4, text, sizeof(text)), "198.18.1.1");
    assert_string_equal(inet_ntop(AF_INET6, &v6, text, sizeof(text)), "2001:2::101");
    for (uint32_t i = 1; i < TC_SYNTHETIC_MAX; i++) {
        v4 = tc_synthetic_v4(i);
        v6 = tc_synthetic_v6(i);
        assert_int_equal(tc_synthetic_of_v4(v4), i);
        assert_int_equal(tc_synthetic_of_v6(&v6), i);
    }
    static const char *const others[] = {"198.18.0.0", "198.19.0.0", "198.17.255.255", "0.0.0.0"};
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        assert_int_equal(inet_pton(AF_INET, others[i], &v4), 1);
        assert_int_equal(tc_synthetic_of_v4(v4), 0);
    }
    static const char *const others6[] = {"2001:2::", "2001:2::1:0", "2001:2:0:1::1", "::1"};
    for (size_t i = 0; i < TC_COUNT(others6); i++) {
        assert_int_equal(inet_pton(AF_INET6, others6[i], &v6), 1);
        assert_int_equal(tc_synthetic_of_v6(&v6), 0);
    }
}

static void a_configuration_travels(void **state)
{
    struct tc_egress_config from = config;
    size_t len = 0;
    from.tool = (char *)(uintptr_t) "fetch";
    from.ipv6 = true;
    from.values_file = from.exchanges = from.sockets = -1;
    assert_true(tc_egress_config_fine(&from));
    _autofree_ char *bytes = tc_fields_put(&tc_egress_config_fields, &from, 0, 0, &len);
    assert_non_null(bytes);
    for (size_t some = 0; some <= len; some++) {
        struct tc_egress_config to = {0};
        bool whole = tc_fields_get(&tc_egress_config_fields, &to, 0, 0, bytes, some);
        assert_int_equal(whole, some == len);
        if (whole) {
            assert_true(tc_egress_config_fine(&to));
            assert_int_equal(to.net_count, 6);
            assert_string_equal(to.net[5].host, "a.example");
            assert_string_equal(to.tool, "fetch");
            assert_true(to.ipv6);
        }
        tc_fields_done(&tc_egress_config_fields, &to);
    }
}

static void a_configuration_beyond_its_bounds_is_refused(void **state)
{
    static char host[] = "a.example", none[] = "", name[] = "KEY", header[] = "X-Key: {secret}";
    static char no_colon[] = "X-Key {secret}", no_place[] = "X-Key: ", *values[] = {name, NULL};
    char long_host[255];
    memset(long_host, 'a', sizeof(long_host));
    long_host[254] = '\0';
    struct tc_net_entry entry = {.host = host, .port = 443};
    struct tc_secret secret = {.name = name, .header = header};
    struct tc_egress_config c = {.net = &entry,
                                 .net_count = 1,
                                 .secrets = &secret,
                                 .secret_count = 1,
                                 .upstream = {.host = host, .port = 3128},
                                 .connections = 1,
                                 .exchanges = -1};
#define REFUSED_WITH(member, value)              \
    do {                                         \
        __typeof__(member) before = (member);    \
        assert_true(tc_egress_config_fine(&c));  \
        (member) = (value);                      \
        assert_false(tc_egress_config_fine(&c)); \
        (member) = before;                       \
    } while (0)
    REFUSED_WITH(entry.host, NULL);
    REFUSED_WITH(entry.host, none);
    REFUSED_WITH(entry.host, long_host);
    REFUSED_WITH(entry.port, (uint32_t)TC_PORT_UDP);
    REFUSED_WITH(entry.port, (uint32_t)TC_PORT_UDP | 53); /* by an upstream */
    REFUSED_WITH(entry.port, (uint32_t)TC_PORT_UDP << 1);
    REFUSED_WITH(entry.methods.count, (size_t)1025);
    REFUSED_WITH(entry.paths.count, (size_t)1025);
    REFUSED_WITH(secret.name, NULL);
    REFUSED_WITH(secret.header, NULL);
    REFUSED_WITH(secret.header, no_colon);
    REFUSED_WITH(secret.header, no_place);
    REFUSED_WITH(c.upstream.host, none);
    REFUSED_WITH(c.upstream.host, long_host);
    REFUSED_WITH(c.upstream.port, 0);
    REFUSED_WITH(c.connections, 0);
    REFUSED_WITH(c.transfer, -1);
    REFUSED_WITH(c.bandwidth, -1);
    REFUSED_WITH(c.bandwidth, TC_BANDWIDTH_MAX + 1);
    REFUSED_WITH(c.replays, true); /* without a file */
    REFUSED_WITH(c.values, ((struct tc_strv){.items = values, .count = 1}));
    REFUSED_WITH(c.lines, ((struct tc_strv){.items = values, .count = 1}));
#undef REFUSED_WITH
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_the_grant),
        cmocka_unit_test(numbers_run_out),
        cmocka_unit_test(grant_without_numbers_adds_no_name),
        cmocka_unit_test(addresses_have_numbers),
        cmocka_unit_test(a_configuration_travels),
        cmocka_unit_test(a_configuration_beyond_its_bounds_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
