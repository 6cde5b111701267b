/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is told: to the supervisor at the end, to the client at once. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "egress/read/stats.h"

static void denials_are_counted_once(void **state)
{
    static struct tc_egress_stats stats;
    char target[TC_EGRESS_TARGET_MAX];
    tc_egress_target("a.example", 443, target);
    assert_string_equal(target, "a.example:443");
    tc_egress_deny(&stats, target, TC_EGRESS_NOT_NAMED, NULL, false);
    tc_egress_deny(&stats, target, TC_EGRESS_NOT_NAMED, NULL, false);
    tc_egress_deny(&stats, target, TC_EGRESS_NOT_NAMED, NULL, true);
    tc_egress_deny(&stats, target, TC_EGRESS_NOT_PUBLIC, "10.0.0.1", false);
    assert_int_equal(stats.denial_count, 3);
    assert_int_equal(stats.denials[0].count, 2);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(target, sizeof(target), "h%d", i);
        tc_egress_deny(&stats, target, TC_EGRESS_NOT_NAMED, NULL, true);
        (void)tc_egress_reached(&stats, target);
    }
    assert_int_equal(stats.denial_count, TC_EGRESS_DENIALS_MAX);
    assert_int_equal(stats.omitted_denials, 103);
    assert_int_equal(stats.destination_count, TC_EGRESS_DESTINATIONS_MAX);
    assert_int_equal(stats.omitted_destinations, 100);
}

static void the_first_failure_is_kept(void **state)
{
    static struct tc_egress_stats stats;
    tc_egress_unreached(&stats, "a.example:443", TC_EGRESS_NO_NAME);
    tc_egress_unreached(&stats, "b.example:443", TC_EGRESS_TOO_LATE);
    assert_int_equal(stats.failure, TC_EGRESS_NO_NAME);
    assert_string_equal(stats.unreached, "a.example:443");
}

static void targets_are_printable(void **state)
{
    char target[TC_EGRESS_TARGET_MAX], host[300];
    tc_egress_target("2606:4700::1", 80, target);
    assert_string_equal(target, "[2606:4700::1]:80");
    tc_egress_target("a\x1b[1m \xff", 0, target);
    assert_string_equal(target, "a?[1m??");
    memset(host, 'a', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    tc_egress_target(host, 65535, target);
    assert_true(strlen(target) < TC_EGRESS_TARGET_MAX);
}

static void a_refusal_can_be_acted_on(void **state)
{
    struct tc_net_entry net[] = {{.host = (char *)(uintptr_t) "api.example.com", .port = 443}};
    const struct tc_egress_config config = {
        .net = net, .net_count = 1, .tool = (char *)(uintptr_t) "web_fetch"};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_egress_refusal(&out, &config, TC_EGRESS_NOT_NAMED, "evil.example", 443, NULL);
    assert_non_null(strstr(out.data, "HTTP/1.1 403 Forbidden\r\n"));
    assert_non_null(strstr(
        out.data, "{\"error\":\"network: evil.example:443 is not in the allowlist of tool "
                  "web_fetch\",\"host\":\"evil.example\",\"port\":443,\"rule\":\"tool.web_fetch."
                  "network\",\"allowed\":[\"api.example.com:443\"],\"next\":\""));
    const struct tc_egress_config bare = {0};
    for (int what = 1; what <= TC_EGRESS_NO_PROXY_FORM; what++) {
        _autobuf_ struct tc_buf each = TC_BUF_INIT;
        tc_egress_refusal(&each, &bare, what, NULL, 0, NULL);
        assert_non_null(strstr(each.data, "\"error\":\"network: "));
        assert_non_null(strstr(each.data, "\"next\":\""));
        assert_null(strstr(each.data, "(null)"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(denials_are_counted_once),
        cmocka_unit_test(the_first_failure_is_kept),
        cmocka_unit_test(targets_are_printable),
        cmocka_unit_test(a_refusal_can_be_acted_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
