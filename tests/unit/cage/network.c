/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the egress proxy has reported of a cage's network. The proxy has read what strangers wrote,
 * so nothing in the shared memory is taken beyond its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cage/cage.h"
#include "cage/proxy.h"
#include "egress/egress.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

static struct {
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_cage cage;
    struct tc_egress_stats *said;
} the;

static struct tc_net_entry net[] = {{.host = TEXT("api.example"), .port = 443},
                                    {.host = TEXT("db.example"), .port = 5432}};

static int set_up(void **state)
{
    (void)state;
    memset(&the, 0, sizeof(the));
    the.said = calloc(1, sizeof(*the.said));
    the.plan.tool = TEXT("fetch");
    the.plan.net = net;
    the.plan.net_count = TC_COUNT(net);
    the.cage = tc_cage_empty(&the.plan, &the.outcome);
    return the.said ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tc_outcome_done(&the.outcome);
    free(the.said);
    return 0;
}

static void deny(uint32_t at, const char *target, int32_t reason, uint32_t count)
{
    struct tc_egress_denial *d = &the.said->denials[at];
    (void)snprintf(d->target, sizeof(d->target), "%s", target);
    d->reason = reason;
    atomic_store(&d->count, count);
}

static void reach(uint32_t at, const char *target, uint64_t sent)
{
    struct tc_egress_destination *d = &the.said->destinations[at];
    (void)snprintf(d->target, sizeof(d->target), "%s", target);
    atomic_store(&d->connections, 2);
    atomic_store(&d->sent, sent);
    atomic_store(&d->received, sent);
}

static void denied_connections_name_the_reason(void **state)
{
    static const struct {
        int32_t reason;
        const char *hint; /* NULL: that of the kind, which has none */
    } rows[] = {{TC_EGRESS_NOT_NAMED, NULL},
                {TC_EGRESS_NOT_PUBLIC, "private or local"},
                {TC_EGRESS_OTHER_NAME, "other than its destination"},
                {TC_EGRESS_UNCLEAR, "ambiguous"},
                {TC_EGRESS_TOO_MANY, "connections"},
                {TC_EGRESS_NOT_REQUEST, "methods or paths"},
                {TC_EGRESS_NOT_SPOKEN, "certificate"},
                {TC_EGRESS_SPENT, "transfer"},
                {TC_EGRESS_NOT_KEPT, "GET /v1: the recorded call made no such request"}};
    (void)state;
    assert_int_equal(TC_COUNT(rows), TC_EGRESS_REASONS - 1);
    for (uint32_t i = 0; i < TC_COUNT(rows); i++) {
        char target[32];
        (void)snprintf(target, sizeof(target), "host%u.example:443", i);
        deny(i, target, rows[i].reason, i + 1);
        if (rows[i].reason == TC_EGRESS_NOT_KEPT)
            (void)snprintf(the.said->denials[i].detail, TC_EGRESS_DETAIL_MAX, "GET /v1");
    }
    atomic_store(&the.said->denial_count, TC_COUNT(rows));
    atomic_store(&the.said->omitted_denials, 5);
    tc_proxy_report(&the.cage, the.said);
    assert_int_equal(the.outcome.denial_count, TC_COUNT(rows));
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct tc_denial *d = &the.outcome.denials[i];
        bool private = rows[i].reason == TC_EGRESS_NOT_PUBLIC;
        bool replayed = rows[i].reason == TC_EGRESS_NOT_KEPT;
        assert_int_equal(d->kind, private    ? TC_DENIAL_PRIVATE
                                  : replayed ? TC_DENIAL_REPLAYED
                                             : TC_DENIAL_CONNECT);
        assert_int_equal(d->count, i + 1);
        assert_true(replayed ? !d->key : tc_streq(d->key, "tool.fetch.network"));
        assert_true(rows[i].hint ? d->hint && strstr(d->hint, rows[i].hint) : !d->hint);
    }
    assert_int_equal(the.outcome.omitted_denials, 5);
}

static void deny_address(const char *address)
{
    struct tc_egress_denial *d = &the.said->denials[0];
    deny(0, "registry.example:8443", TC_EGRESS_NOT_PUBLIC, 1);
    memset(d->detail, 'x', sizeof(d->detail)); /* without an end */
    if (address)
        (void)snprintf(d->detail, sizeof(d->detail), "%s", address);
    atomic_store(&the.said->denial_count, 1);
    tc_proxy_report(&the.cage, the.said);
}

static void refused_address_becomes_an_entry(void **state)
{
    static const char *const forged[] = {"*", "evil.example", "10.0.0.0/8", NULL};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(forged); i++) {
        deny_address(forged[i]);
        assert_null(the.outcome.denials[0].endpoint);
        tc_outcome_done(&the.outcome);
        the.outcome = (struct tc_outcome){0};
    }
    deny_address("10.1.2.3");
    assert_string_equal(the.outcome.denials[0].endpoint, "10.1.2.3:8443");
}

static void unprintable_rows_are_left_out(void **state)
{
    static const char *const targets[] = {
        "", "a b:443", "a\n:443", "\x1b[2J:443", "h\xc3\xa9:443", "a\x7f:443"};
    uint32_t n = 0;
    (void)state;
    for (size_t i = 0; i < TC_COUNT(targets); i++)
        deny(n++, targets[i], TC_EGRESS_UNCLEAR, 1);
    deny(n++, "zero.example:443", 0, 1);
    deny(n++, "below.example:443", -1, 1);
    deny(n++, "above.example:443", TC_EGRESS_REASONS, 1);
    memset(the.said->denials[n].target, 'x', TC_EGRESS_TARGET_MAX); /* without an end */
    the.said->denials[n++].reason = TC_EGRESS_UNCLEAR;
    deny(n++, "fine.example:443", TC_EGRESS_UNCLEAR, 1);
    atomic_store(&the.said->denial_count, n);
    tc_proxy_report(&the.cage, the.said);
    assert_int_equal(the.outcome.denial_count, 1);
    assert_string_equal(the.outcome.denials[0].target, "fine.example:443");
}

/* Counts that lie about the tables, and numbers that no call can have. */
static void counts_beyond_the_tables_are_cut(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TC_EGRESS_DENIALS_MAX; i++) {
        char target[32];
        (void)snprintf(target, sizeof(target), "h%u.example:443", i);
        deny(i, target, TC_EGRESS_UNCLEAR, 1);
    }
    reach(0, "api.example:443", UINT64_MAX);
    atomic_store(&the.said->denial_count, UINT32_MAX);
    atomic_store(&the.said->destination_count, UINT32_MAX);
    atomic_store(&the.said->sent, UINT64_MAX);
    atomic_store(&the.said->received, (uint64_t)INT64_MAX + 1);
    tc_proxy_report(&the.cage, the.said);
    assert_int_equal(the.outcome.denial_count, TC_EGRESS_DENIALS_MAX);
    assert_int_equal(the.outcome.destination_count, 1);
    assert_int_equal(the.outcome.destinations[0].sent, INT64_MAX);
    assert_int_equal(the.outcome.sent, INT64_MAX);
    assert_int_equal(the.outcome.received, INT64_MAX);
}

static void only_granted_destinations_are_reported(void **state)
{
    static const char *const targets[] = {"api.example:443", "api.example:80", "db.example:5432",
                                          "evil.example:443", "API.example:443 "};
    (void)state;
    for (uint32_t i = 0; i < TC_COUNT(targets); i++)
        reach(i, targets[i], 7);
    atomic_store(&the.said->destination_count, TC_COUNT(targets));
    tc_proxy_report(&the.cage, the.said);
    assert_int_equal(the.outcome.destination_count, 2);
    assert_string_equal(the.outcome.destinations[0].target, "api.example:443");
    assert_string_equal(the.outcome.destinations[1].target, "db.example:5432");
    assert_int_equal(the.outcome.destinations[1].connections, 2);
    assert_int_equal(the.outcome.destinations[1].received, 7);
}

/* A tool that fails for it sees "502" at most. */
static void unreachable_endpoint_explains_a_failed_tool(void **state)
{
    static const struct {
        int64_t exit_code;
        uint32_t failure;
        const char *target, *note; /* NULL: none */
    } rows[] = {
        {1, TC_EGRESS_NO_NAME, "api.example:443", "api.example:443 could not be resolved"},
        {1, TC_EGRESS_NO_ANSWER, "db.example:5432", "db.example:5432 did not accept"},
        {1, TC_EGRESS_NOT_TRUSTED, "api.example:443", "certificate"},
        {0, TC_EGRESS_NO_NAME, "api.example:443", NULL},
        {-1, TC_EGRESS_NO_NAME, "api.example:443", NULL},
        {1, 0, "api.example:443", NULL},
        {1, TC_EGRESS_FAILURES, "api.example:443", NULL},
        {1, UINT32_MAX, "api.example:443", NULL},
        {1, TC_EGRESS_NO_NAME, "evil.example:443", NULL},
        {1, TC_EGRESS_NO_NAME, "api.example:443\nnote", NULL},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        (void)tear_down(state);
        (void)set_up(state);
        the.outcome.exit_code = rows[i].exit_code;
        atomic_store(&the.said->failure, rows[i].failure);
        (void)snprintf(the.said->unreached, sizeof(the.said->unreached), "%s", rows[i].target);
        tc_proxy_report(&the.cage, the.said);
        const char *note = the.outcome.note;
        if (!note != !rows[i].note || (note && !strstr(note, rows[i].note)))
            fail_msg("row %zu: %s", i, note ? note : "no note");
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(denied_connections_name_the_reason),
        CASE(refused_address_becomes_an_entry),
        CASE(unprintable_rows_are_left_out),
        CASE(counts_beyond_the_tables_are_cut),
        CASE(only_granted_destinations_are_reported),
        CASE(unreachable_endpoint_explains_a_failed_tool),
    };
    return cmocka_run_group_tests_name("cage network", tests, NULL, NULL);
}
