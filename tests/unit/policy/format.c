/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The words of `format`: what fits and what nearly does. */
#include "schema/schema.h"
#include "test.h"

static const struct {
    const char *format, *fits[8], *differs[14];
} rows[] = {
    {"date",
     {"2024-02-29", "2000-02-29", "2026-12-31"},
     {"", "2023-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "2026-1-01",
      "20260101", "2026-01-01 ", " 2026-01-01", "0000-01-01", "2026-01-01\n", "2026-W01-1"}},
    {"time",
     {"00:00:00Z", "23:59:59.123456789+23:59", "09:30:00-00:00"},
     {"", "24:00:00Z", "09:60:00Z", "09:30:60Z", "09:30Z", "09:30:00", "09:30:00.Z", "09:30:00z",
      "09:30:00+1:00", "09:30:00+24:00", "09:30:00ZZ"}},
    {"date-time",
     {"2026-01-31T09:30:00Z", "2026-01-31T09:30:00.5+01:00"},
     {"", "2026-01-31", "2026-01-31 09:30:00Z", "2026-01-31t09:30:00Z", "2026-02-30T09:30:00Z",
      "2026-01-31T09:30:00", "2026-01-31T09:30:00Z\n"}},
    {"duration",
     {"P1D", "P1Y2M3D", "PT1H30M", "PT36H", "P2W", "P1DT12H", "PT0S", "P1M"},
     {"", "P", "PT", "1D", "P1", "P1DT", "P1Y2D", "PT1H2S", "P1W2D", "P2D1Y", "P1.5D", "-P1D",
      "PT1D", "P1S"}},
    {"email",
     {"me@example.com", "a.b+c@x", "~!#$%&'*@e.org"},
     {"", "@x", "a@", "a", ".a@x", "a.@x", "a..b@x", "a b@x", "\"a\"@x", "a@b@c", "a@-x", "a@x.",
      "a@[192.0.2.1]"}},
    {"hostname",
     {"a", "www.example.com", "1.2.3.4", "x--y.z", "A9"},
     {"", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "a.-b", "\xc3\xa4.de",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
    {"ipv4",
     {"192.0.2.1", "0.0.0.0", "255.255.255.255"},
     {"", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "0x1.2.3.4", "1.2.3.4 ", "::1", "1"}},
    {"ipv6",
     {"::", "::1", "2001:db8::1", "::ffff:192.0.2.1", "1:2:3:4:5:6:7:8"},
     {"", ":", "1::2::3", "1:2:3:4:5:6:7:8:9", "::1%lo", "[::1]", "12345::", "::1/64", "1.2.3.4"}},
    {"uri",
     {"https://example.com/a?b=c#d", "urn:isbn:1", "x://[::1]:80/", "mailto:a@b", "file:///x",
      "x://u:p@example.com/%41", "x:", "http://example.com:/"},
     {"", "/a", "//example.com/a", "1x:y", "http://example.com/a b", "http://example.com/%4",
      "http://example.com/%zz", "x://[::1", "x://[x]/", "http://example.com:8a/", "x:#a#b", "x:\\y",
      "x:<y>", "x:\xc3\xa4"}},
    {"uuid",
     {"123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-00000000000A"},
     {"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400",
      "123e4567-e89b-12d3-a456-4266141740000", "{123e4567-e89b-12d3-a456-426614174000}",
      "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a4564-26614174000"}},
    {"json-pointer", {"", "/", "/a/0", "/~0~1", "//"}, {"a", "#/a", "/~", "/~2", "/a~"}},
    {"regex", {"", "^a+$", "[a-z]"}, {"(", "a{2", "(?<=a)", "\\1", "[", "*"}},
    {"phone", {NULL}, {"", "1"}},
};

static void formats_accept_and_refuse_as_listed(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        for (size_t k = 0; k < TC_COUNT(rows[i].fits) && rows[i].fits[k]; k++) {
            if (!tc_format_fits(rows[i].format, rows[i].fits[k]))
                print_error("%s: %s\n", rows[i].format, rows[i].fits[k]);
            assert_true(tc_format_fits(rows[i].format, rows[i].fits[k]));
        }
        for (size_t k = 0; k < TC_COUNT(rows[i].differs) && rows[i].differs[k]; k++) {
            if (tc_format_fits(rows[i].format, rows[i].differs[k]))
                print_error("%s: %s\n", rows[i].format, rows[i].differs[k]);
            assert_false(tc_format_fits(rows[i].format, rows[i].differs[k]));
        }
    }
}

static void every_format_has_an_example(void **state)
{
    for (size_t i = 0; tc_values_format[i]; i++) {
        assert_non_null(tc_format_example(tc_values_format[i]));
        assert_true(tc_format_fits(tc_values_format[i], tc_format_example(tc_values_format[i])));
    }
    assert_null(tc_format_example("phone"));
}

static void tells_how_to_write_it(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(
        "[tool.t]\ncommand = [\"t\", \"--\", \"{d}\"]\narguments.d = { format = \"date\" }\n");
    _autogrant_ struct tc_grant grant = {0}, none = {0};
    _autoerror_ struct toolcage_error *err = NULL;
    granted(policy, (struct ask){.tool = "t", .arguments = "{\"d\":\"2026-01-31\"}"}, &grant);
    const struct ask ask = {.tool = "t", .arguments = "{\"d\":\"31.1.2026\"}"};
    assert_int_equal(resolve(policy, &ask, &none, &err), TOOLCAGE_EARGUMENTS);
    assert_non_null(
        strstr(tc_error_message(err), "d is not of the format date: got \"31.1.2026\""));
    assert_non_null(strstr(tc_error_hint(err), "2026-01-31"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats_accept_and_refuse_as_listed),
                                       cmocka_unit_test(every_format_has_an_example),
                                       cmocka_unit_test(tells_how_to_write_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
