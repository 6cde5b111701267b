/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "policy/endpoint.h"
#include "policy/parse/template.h"
#include "policy/parse/values.h"
#include "policy/pathrule.h"

#define MAX ((int64_t)1 << 44)

static void read_sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {{"1B", 1},
                {"1KB", 1000},
                {"1KiB", 1024},
                {"128MB", 128000000},
                {"512MiB", 536870912},
                {"2GB", 2000000000},
                {"2GiB", 2147483648},
                {"1TB", 1000000000000},
                {"16TiB", MAX}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_complaint c;
        int64_t value = 0;
        assert_true(tc_value_read(TC_UNIT_SIZE, rows[i].text, 1, MAX, &value, &c));
        assert_int_equal(value, rows[i].value);
    }
}

static void refuse_sizes(void **state)
{
    static const struct {
        const char *text, *what, *hint;
    } rows[] = {
        {"512", "has no unit", "\"512MiB\" (powers of 1024) or \"512MB\""},
        {"512m", "has no unit", "\"512MiB\" (powers of 1024) or \"512MB\""},
        {"2g", "has no unit", "\"2GiB\" (powers of 1024) or \"2GB\""},
        {"2Gi", "has no unit", "\"2GiB\""},
        {"512mib", "has no unit", "\"512MiB\""},
        {"1.5GiB", "not a whole number", "1536MiB"},
        {"-1MiB", "negative", "positive"},
        {"0MiB", "too small", "the range is"},
        {"17TiB", "too large", "16TiB"},
        {"99999999999999999999MiB", "too large", "16TiB"},
        {"9223372036854775807KiB", "too large", "16TiB"},
        {"", "not a size", "512MiB"},
        {"big", "not a size", "512MiB"},
        {"1 MiB", "space before its unit", "as in \"512MiB\""},
        {"1XB", "unknown unit", "KiB"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_complaint c;
        int64_t value = -7;
        assert_false(tc_value_read(TC_UNIT_SIZE, rows[i].text, 1, MAX, &value, &c));
        assert_int_equal(value, -7);
        assert_non_null(strstr(c.what, rows[i].what));
        assert_non_null(strstr(c.hint, rows[i].hint));
    }
}

static void read_durations_and_counts(void **state)
{
    struct tc_complaint c;
    int64_t value = 0;
    assert_true(tc_value_read(TC_UNIT_DURATION, "500ms", 1, MAX, &value, &c) && value == 500);
    assert_true(tc_value_read(TC_UNIT_DURATION, "90s", 1, MAX, &value, &c) && value == 90000);
    assert_true(tc_value_read(TC_UNIT_DURATION, "2m", 1, MAX, &value, &c) && value == 120000);
    assert_true(tc_value_read(TC_UNIT_DURATION, "1h", 1, MAX, &value, &c) && value == 3600000);
    assert_false(tc_value_read(TC_UNIT_DURATION, "30", 1, MAX, &value, &c));
    assert_non_null(strstr(c.hint, "\"30s\""));
    assert_false(tc_value_read(TC_UNIT_DURATION, "1d", 1, MAX, &value, &c));
    assert_false(tc_value_read(TC_UNIT_DURATION, "0s", 1, MAX, &value, &c));
    assert_true(tc_value_read(TC_UNIT_COUNT, "64", 1, 100, &value, &c) && value == 64);
    assert_false(tc_value_read(TC_UNIT_COUNT, "101", 1, 100, &value, &c));
    assert_false(tc_value_read(TC_UNIT_COUNT, "-1", 1, 100, &value, &c));
    assert_true(tc_value_read(TC_UNIT_CPUS, "1.5", 1, MAX, &value, &c) && value == 1500);
    assert_true(tc_value_read(TC_UNIT_CPUS, "2", 1, MAX, &value, &c) && value == 2000);
    assert_false(tc_value_read(TC_UNIT_CPUS, "1.", 1, MAX, &value, &c));
    assert_false(tc_value_read(TC_UNIT_CPUS, ".5", 1, MAX, &value, &c));
}

static void written_sizes_read_back(void **state)
{
    static const char *const texts[] = {"512MiB", "128MB", "1KB", "7B", "1GiB"};
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        struct tc_complaint c;
        char text[TC_VALUE_TEXT_SIZE];
        int64_t value = 0;
        assert_true(tc_value_read(TC_UNIT_SIZE, texts[i], 1, MAX, &value, &c));
        tc_value_write(TC_UNIT_SIZE, value, text);
        assert_string_equal(text, texts[i]);
    }
}

static void read_endpoints(void **state)
{
    static const struct {
        const char *text, *host;
        unsigned port;
    } rows[] = {{"example.com", "example.com", 443},
                {"Example.COM:80", "example.com", 80},
                {"allowlist:api.example.com:443", "api.example.com", 443},
                {"10.0.0.1:8080", "10.0.0.1", 8080},
                {"[2001:DB8::0001]:80", "2001:db8::1", 80},
                {"[::1]", "::1", 443},
                {"*", "*", 443},
                {"*:80", "*", 80},
                {"a_b.example.com", "a_b.example.com", 443},
                {"[::ffff:10.0.0.1]:80", "10.0.0.1", 80},
                {"*.Example.com", "*.example.com", 443},
                {"*.a.example.com:80", "*.a.example.com", 80},
                {"10.0.0.0/8:5432", "10.0.0.0/8", 5432},
                {"[2001:DB8::]/32:80", "2001:db8::/32", 80},
                {"[2001:db8::]/32", "2001:db8::/32", 443},
                {"example.com:*", "example.com", TC_PORT_ANY},
                {"*:*", "*", TC_PORT_ANY},
                {"[2001:db8::1]:*", "2001:db8::1", TC_PORT_ANY},
                {"udp:ntp.example.com:123", "ntp.example.com", TC_PORT_UDP | 123},
                {"allowlist:udp:10.0.0.0/8:514", "10.0.0.0/8", TC_PORT_UDP | 514},
                {"udp:[2001:db8::1]:123", "2001:db8::1", TC_PORT_UDP | 123}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_complaint c;
        struct tc_net_entry entry = {0}, again = {0};
        assert_int_equal(tc_endpoint_read(rows[i].text, &entry, &c), 0);
        assert_string_equal(entry.host, rows[i].host);
        assert_int_equal(entry.port, rows[i].port);
        _autofree_ char *text = tc_endpoint_write(entry.host, entry.port);
        assert_int_equal(tc_endpoint_read(text, &again, &c), 0);
        assert_string_equal(again.host, entry.host);
        assert_int_equal(again.port, entry.port);
        free(again.host);
        free(entry.host);
    }
}

static void refuse_endpoints(void **state)
{
    static const char *const rows[] = {"",
                                       "none:x",
                                       "a*.example.com",
                                       "0.0.0.0:80",
                                       "[::]:80",
                                       "[::ffff:0.0.0.0]:80",
                                       "198.18.0.2:80",
                                       "[2001:2::5]:80",
                                       "*.com",
                                       "*.",
                                       "*.*.example.com",
                                       "*.1.2.3.4",
                                       "**.example.com",
                                       "0.0.0.0/0",
                                       "10.0.0.0/7",
                                       "10.1.0.0/8",
                                       "10.0.0.0/33",
                                       "10.0.0.0/",
                                       "10.0.0.0/8/9",
                                       "a.example/8",
                                       "[2001:db8::1]/32:443",
                                       "[2001::]/8",
                                       "[2001:db8::]/129",
                                       "api.*:443",
                                       "https://example.com",
                                       "example.com/path",
                                       "a:0",
                                       "a:65536",
                                       "a:",
                                       "a:-1",
                                       "a:1:2",
                                       "::1:443",
                                       "[::1",
                                       "[::1]x",
                                       "[1.2.3.4]:80",
                                       "-a.example.com",
                                       "a..b",
                                       "a.b.",
                                       "127.1",
                                       "2130706433",
                                       "0x7f.0.0.1",
                                       "0x7f000001",
                                       "a b",
                                       "a\tb",
                                       "ex\xc3\xa4mple.com:443",
                                       "a@example.com",
                                       "1.2.3.256",
                                       "[fe80::1%eth0]:80",
                                       "udp:a.example.com",
                                       "udp:[2001:db8::1]",
                                       "udp:a.example.com:*",
                                       "udp:a.example.com:53",
                                       "udp:*",
                                       "localhost:*",
                                       "127.1.0.0/16:*",
                                       "[::1]:*",
                                       "[::]/16:*",
                                       "a.example.com:**",
                                       "a\\b"};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_complaint c;
        struct tc_net_entry entry = {0};
        if (tc_endpoint_read(rows[i], &entry, &c) != TOOLCAGE_EPOLICY)
            print_error("accepted \"%s\" as %s\n", rows[i], entry.host);
        tc_net_entry_done(&entry);
        assert_true(c.what[0] && c.hint[0]);
    }
}

static void the_nearest_entry_counts(void **state)
{
    struct tc_net_entry entries[] = {{.host = (char *)"*", .port = TC_PORT_ANY},
                                     {.host = (char *)"a.example.com", .port = TC_PORT_ANY},
                                     {.host = (char *)"a.example.com", .port = 443},
                                     {.host = (char *)"*", .port = TC_PORT_UDP | 123},
                                     {.host = (char *)"*.example.com", .port = 80}};
    assert_ptr_equal(tc_endpoint_find(entries, 5, "a.example.com", 443), &entries[2]);
    assert_ptr_equal(tc_endpoint_find(entries, 5, "a.example.com", 8443), &entries[1]);
    assert_ptr_equal(tc_endpoint_find(entries, 5, "a.example.com", TC_PORT_ANY), &entries[1]);
    assert_ptr_equal(tc_endpoint_find(entries, 5, "b.example.com", 80), &entries[4]);
    assert_ptr_equal(tc_endpoint_find(entries, 5, "b.example.com", 81), &entries[0]);
    assert_ptr_equal(tc_endpoint_find(entries, 5, "a.example.com", TC_PORT_UDP | 123), &entries[3]);
    assert_null(tc_endpoint_find(entries, 5, "a.example.com", TC_PORT_UDP | 124));
    assert_null(tc_endpoint_find(entries + 2, 1, "a.example.com", TC_PORT_ANY));
}

static void patterns_cover(void **state)
{
    static const struct {
        const char *pattern, *host;
        bool covers;
    } rows[] = {{"*.example.com", "a.example.com", true},
                {"*.example.com", "a.b.example.com", false},
                {"*.example.com", "example.com", false},
                {"*.example.com", ".example.com", false},
                {"*.example.com", "aexample.com", false},
                {"*.example.com", "a.example.com.evil.example", false},
                {"*.example.com", "*.example.com", true},
                {"*.b.example.com", "*.example.com", false},
                {"*.example.com", "*.b.example.com", false},
                {"*", "*.example.com", true},
                {"*", "10.0.0.0/8", false},
                {"*", "localhost", false},
                {"*", "x.localhost", false},
                {"*", "localhost.example", true},
                {"10.0.0.0/8", "10.1.2.3", true},
                {"10.0.0.0/8", "11.1.2.3", false},
                {"10.0.0.0/8", "10.1.0.0/16", true},
                {"10.1.0.0/16", "10.0.0.0/8", false},
                {"10.0.0.0/8", "a.example.com", false},
                {"169.254.0.0/16", "169.254.169.254", false},
                {"169.254.169.254/32", "169.254.169.254", false},
                {"169.254.0.0/16", "169.254.1.1", true},
                {"2001:db8::/32", "2001:db8:1::9", true},
                {"2001:db8::/32", "2001:db9::9", false},
                {"2001:db8::/32", "10.0.0.1", false},
                {"10.0.0.0/8", "::ffff:10.0.0.1", false},
                {"localhost", "127.0.0.1", true},
                {"localhost", "127.0.0.2", false}};
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (tc_host_covers(rows[i].pattern, rows[i].host) != rows[i].covers)
            fail_msg("%s, %s", rows[i].pattern, rows[i].host);
}

static void the_entry_nearest_to_the_host_counts(void **state)
{
    struct tc_net_entry entries[] = {{.host = (char *)"*", .port = 443},
                                     {.host = (char *)"*.example.com", .port = 443},
                                     {.host = (char *)"a.example.com", .port = 443},
                                     {.host = (char *)"10.0.0.0/8", .port = 443}};
    assert_ptr_equal(tc_endpoint_find(entries, 4, "a.example.com", 443), &entries[2]);
    assert_ptr_equal(tc_endpoint_find(entries, 4, "b.example.com", 443), &entries[1]);
    assert_ptr_equal(tc_endpoint_find(entries, 4, "b.example.org", 443), &entries[0]);
    assert_ptr_equal(tc_endpoint_find(entries, 4, "10.1.1.1", 443), &entries[3]);
    assert_null(tc_endpoint_find(entries, 4, "192.168.1.1", 443));
    assert_null(tc_endpoint_find(entries, 4, "a.example.com", 80));
}

static void a_host_ends_where_it_says(void **state)
{
    struct tc_complaint c;
    char *host = NULL;
    assert_int_equal(tc_host_read("a.example\0b", 11, &host, &c), TOOLCAGE_EPOLICY);
    assert_int_equal(tc_host_read("a.example\0", 10, &host, &c), TOOLCAGE_EPOLICY);
    assert_null(host);
}

static void any_is_names_and_public_addresses(void **state)
{
    struct tc_net_entry any = {.host = (char *)"*", .port = 443};
    assert_non_null(tc_endpoint_find(&any, 1, "example.com", 443));
    assert_null(tc_endpoint_find(&any, 1, "example.com", 80));
    assert_non_null(tc_endpoint_find(&any, 1, "93.184.216.34", 443));
    assert_null(tc_endpoint_find(&any, 1, "93.184.216.34", 80));
    assert_non_null(tc_endpoint_find(&any, 1, "2606:4700::1", 443));
    static const char *const others[] = {
        "10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1",         "0.0.0.0",
        "::1",      "::",        "fe80::1",         "::ffff:10.0.0.1",     "64:ff9b::7f00:1",
        "fd00::1",  "ff02::1",   "2002:a00:1::",    "2001:0:5db8:d822::1", "203.0.113.1"};
    for (size_t i = 0; i < TC_COUNT(others); i++)
        assert_null(tc_endpoint_find(&any, 1, others[i], 443));
}

static void judge_paths(void **state)
{
    static const struct {
        const char *path, *from;
        enum tc_access access;
        bool fine;
    } rows[] = {
        {"/data", "/data", TC_ACCESS_READ, true},
        {"/workspace", NULL, TC_ACCESS_WRITE, true},
        {"/tmp/x", "/tmp/x", TC_ACCESS_WRITE, true},
        {"/etc/app.conf", "/etc/app.conf", TC_ACCESS_READ, true},
        {"/usr/share/x", "/usr/share/x", TC_ACCESS_READ, true},
        {"/", "/", TC_ACCESS_WRITE, false},
        {"/", "/", TC_ACCESS_READ, false},
        {"/host", "/", TC_ACCESS_READ, false},
        {"/proc", "/proc", TC_ACCESS_READ, false},
        {"/proc/1", "/proc/1", TC_ACCESS_READ, false},
        {"/p", "/proc", TC_ACCESS_READ, false},
        {"/sys/fs", "/sys/fs", TC_ACCESS_READ, false},
        {"/dev/shm", "/dev/shm", TC_ACCESS_WRITE, false},
        {"/dev/shm/x", "/dev/shm/x", TC_ACCESS_WRITE, true},
        {"/dev/x", "/dev/shm/x", TC_ACCESS_WRITE, false},
        {"/tmp", "/tmp", TC_ACCESS_WRITE, false},
        {"/etc", "/etc", TC_ACCESS_READ, false},
        {"/usr", "/usr", TC_ACCESS_WRITE, false},
        {"/usr/bin", "/srv/bin", TC_ACCESS_READ, false},
        {"/etc/passwd", "/srv/passwd", TC_ACCESS_READ, false},
        {"/etc/passwd", "/etc/passwd", TC_ACCESS_WRITE, false},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_complaint c = {0};
        if (tc_path_grantable(rows[i].path, rows[i].from, rows[i].access, &c) != rows[i].fine)
            print_error("row %zu: %s\n", i, rows[i].path);
        assert_int_equal(!c.what[0], rows[i].fine);
    }
}

static void find_holes(void **state)
{
    struct tc_hole hole;
    assert_true(tc_hole_find("a{b}c", &hole) && hole.name_len == 1 && *hole.end == 'c');
    assert_true(tc_hole_find("{x...}", &hole) && hole.spread);
    assert_true(tc_hole_find("{{x}", &hole) && *hole.start == '{' && hole.start[1] == 'x');
    assert_true(tc_hole_find("{ x }{*}", &hole) && hole.all);
    static const char *const literal[] = {"{}",        "{ x }", "{1}",  "{x",    "{x..}",
                                          "{\"a\":1}", "{-}",   "{**}", "{x y}", ""};
    for (size_t i = 0; i < TC_COUNT(literal); i++)
        assert_false(tc_hole_find(literal[i], &hole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_sizes),
        cmocka_unit_test(refuse_sizes),
        cmocka_unit_test(read_durations_and_counts),
        cmocka_unit_test(written_sizes_read_back),
        cmocka_unit_test(read_endpoints),
        cmocka_unit_test(refuse_endpoints),
        cmocka_unit_test(the_nearest_entry_counts),
        cmocka_unit_test(a_host_ends_where_it_says),
        cmocka_unit_test(patterns_cover),
        cmocka_unit_test(the_entry_nearest_to_the_host_counts),
        cmocka_unit_test(any_is_names_and_public_addresses),
        cmocka_unit_test(judge_paths),
        cmocka_unit_test(find_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
