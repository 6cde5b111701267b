/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <arpa/inet.h>
#include <string.h>

#include "egress/read/rules.h"

#define HOST(name) .host = (char *)(uintptr_t)(name)

static char *gets_and_heads[] = {(char *)(uintptr_t) "GET", (char *)(uintptr_t) "HEAD", NULL};
static char *below_v1[] = {(char *)(uintptr_t) "/v1", NULL};

static struct tc_net_entry net[] = {
    {HOST("a.example"), .port = 443},
    {HOST("b.example"), .port = 80, .methods = {gets_and_heads, 2}},
    {HOST("b.example"), .port = 80, .paths = {below_v1, 1}},
    {HOST("10.0.0.1"), .port = 80},
    {HOST("localhost"), .port = 5432},
    {HOST("*"), .port = 8080},
    {HOST("::1"), .port = 22},
};
static const struct tc_egress_config config = {.net = net, .net_count = TC_COUNT(net)};

static void streams_need_a_plain_entry(void **state)
{
    assert_true(tc_egress_may_stream(&config, "a.example", 443));
    assert_false(tc_egress_may_stream(&config, "a.example", 80));
    assert_false(tc_egress_may_stream(&config, "x.a.example", 443));
    assert_true(tc_egress_may_some(&config, "b.example", 80));
    assert_false(tc_egress_may_stream(&config, "b.example", 80));
    assert_true(tc_egress_may_stream(&config, "any.example", 8080));
    assert_true(tc_egress_may_stream(&config, "93.184.216.34", 8080));
    assert_false(tc_egress_may_stream(&config, "10.0.0.1", 8080));
    assert_true(tc_egress_may_stream(&config, "10.0.0.1", 80));
    assert_false(tc_egress_may_stream(&config, "169.254.169.254", 8080));
    /* what localhost is */
    assert_true(tc_egress_may_stream(&config, "127.0.0.1", 5432));
    assert_true(tc_egress_may_stream(&config, "::1", 5432));
    assert_false(tc_egress_may_stream(&config, "127.0.0.2", 5432));
    assert_false(tc_egress_may_stream(&config, "127.0.0.1", 8080));
}

static int judge(const char *host, unsigned port, const char *method, const char *path,
                 bool websocket)
{
    struct tc_egress_http_head head = {
        .method = {method, strlen(method)}, .path = {path, strlen(path)}, .websocket = websocket};
    const char *why;
    int reason = tc_egress_judge_request(&config, host, port, &head, &why);
    assert_true(!why || reason);
    return reason;
}

static bool may(const char *host, unsigned port, const char *method, const char *path)
{
    return judge(host, port, method, path, false) == 0;
}

static void requests_are_held_to_their_rule(void **state)
{
    assert_true(may("b.example", 80, "GET", "/"));
    assert_false(may("b.example", 80, "get", "/"));
    assert_false(may("b.example", 80, "POST", "/"));
    assert_true(may("b.example", 80, "POST", "/v1"));
    assert_true(may("b.example", 80, "POST", "/v1/x?y=/../"));
    assert_true(may("b.example", 80, "POST", "/v1/x/"));
    assert_true(may("b.example", 80, "POST", "/v1?x"));
    assert_false(may("b.example", 80, "POST", "/v10"));
    static const char *const unclear[] = {"/v1/../admin", "/v1/..",   "/v1/%2E%2e/x", "/v1//x",
                                          "/v1/./x",      "/v1/%2fx", "/v1/;x",       "/v1/%5c.."};
    for (size_t i = 0; i < TC_COUNT(unclear); i++)
        assert_false(may("b.example", 80, "POST", unclear[i]));
    assert_true(may("a.example", 443, "DELETE", "/../x"));
    assert_false(may("c.example", 443, "GET", "/"));
}

/* Any entry of the host may allow it; who is not heard is told why. */
static void refusals_have_their_reason(void **state)
{
    assert_int_equal(judge("c.example", 443, "GET", "/", false), TC_EGRESS_NOT_NAMED);
    assert_int_equal(judge("b.example", 80, "POST", "/v2", false), TC_EGRESS_NOT_REQUEST);
    assert_int_equal(judge("b.example", 80, "POST", "/v1/..", false), TC_EGRESS_UNCLEAR);
    assert_int_equal(judge("b.example", 80, "POST", "*", false), TC_EGRESS_UNCLEAR);
    assert_int_equal(judge("b.example", 80, "GET", "/v1/..", false), 0);
    assert_int_equal(judge("b.example", 80, "GET", "/v1", true), TC_EGRESS_NOT_REQUEST);
    assert_int_equal(judge("a.example", 443, "GET", "/", true), 0);
}

static bool reach(const char *host, unsigned port, const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return tc_egress_may_reach(&config, host, port, (struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return tc_egress_may_reach(&config, host, port, (struct sockaddr *)&v6);
}

static void names_lead_to_public_places_only(void **state)
{
    assert_true(reach("a.example", 443, "93.184.216.34"));
    assert_true(reach("a.example", 443, "2606:4700::1"));
    static const char *const others[] = {"127.0.0.1", "10.0.0.2",         "169.254.169.254",
                                         "::1",       "::ffff:127.0.0.1", "fe80::1",
                                         "0.0.0.0",   "64:ff9b::a00:1",   "198.18.0.2"};
    for (size_t i = 0; i < TC_COUNT(others); i++)
        assert_false(reach("a.example", 443, others[i]));
    assert_false(reach("a.example", 443, "10.0.0.1"));
    assert_true(reach("any.example", 80, "10.0.0.1")); /* named with that port */
    assert_true(reach("localhost", 5432, "127.0.0.1"));
    assert_true(reach("localhost", 5432, "::1"));
    assert_false(reach("localhost", 8080, "127.0.0.1")); /* only by "*" */
    assert_false(reach("localhost", 5432, "10.0.0.2"));
    assert_true(reach("x.example", 22, "::1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_need_a_plain_entry),
        cmocka_unit_test(requests_are_held_to_their_rule),
        cmocka_unit_test(refusals_have_their_reason),
        cmocka_unit_test(names_lead_to_public_places_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
