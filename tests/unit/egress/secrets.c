/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include <string.h>

#include "egress/read/secrets.h"

static char key[] = "KEY", token[] = "TOKEN", bearer[] = "Authorization: Bearer {secret}",
            plain[] = "X-Key: {secret};v=1";
static char api[] = "api.example.com:443", local[] = "http://127.0.0.1:8080";
static char *at_api[] = {api, NULL}, *at_local[] = {local, NULL};

static struct tc_secret secrets[] = {
    {.name = key, .header = bearer, .hosts = {.items = at_api, .count = 1}},
    {.name = token, .header = plain, .hosts = {.items = at_local, .count = 1}},
};

static struct tc_egress_config config = {.secrets = secrets, .secret_count = TC_COUNT(secrets)};

static bool read_values(char **values, size_t count)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    struct tc_strv v = {.items = values, .count = count};
    tc_secret_values_visit(&w, &v);
    bool fine = tc_egress_secrets_read(&config, w.out.data, w.out.len);
    tc_buf_done(&w.out);
    return fine;
}

static void forget(void)
{
    tc_secret_values_done(&config.values);
    tc_secret_values_done(&config.lines);
}

static char first[] = "abc12345", second[] = "def67890", broken[] = "abc1234\r\nX: y", empty[] = "";

static void only_its_values_are_taken(void **state)
{
    char *fewer[] = {first}, *more[] = {first, second, first}, *bad[] = {first, broken},
         *none[] = {first, empty};
    const struct {
        char **values;
        size_t count;
    } rows[] = {{fewer, 1}, {more, 3}, {bad, 2}, {none, 2}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (read_values(rows[i].values, rows[i].count))
            fail_msg("row %zu", i);
        forget();
    }
    assert_false(tc_egress_secrets_read(&config, "x", 1));
    forget();
}

static size_t lines(const char *host, unsigned port, bool tls, struct tc_egress_http_line *ret)
{
    char *values[] = {first, second};
    forget();
    assert_true(read_values(values, 2));
    return tc_egress_secrets_for(&config, host, port, tls, ret);
}

static void assert_line(const struct tc_egress_http_line *line, const char *name, const char *whole)
{
    assert_int_equal(line->name.len, strlen(name));
    assert_memory_equal(line->name.at, name, strlen(name));
    assert_int_equal(line->whole.len, strlen(whole));
    assert_memory_equal(line->whole.at, whole, strlen(whole));
}

static void secrets_go_to_their_host_only(void **state)
{
    struct tc_egress_http_line to[TC_EGRESS_SECRETS_MAX + 1];
    assert_int_equal(lines("api.example.com", 443, true, to), 2);
    assert_line(&to[0], "Authorization", "Authorization: Bearer abc12345");
    assert_line(&to[1], "Accept-Encoding", "Accept-Encoding: identity");
    assert_int_equal(lines("127.0.0.1", 8080, false, to), 2);
    assert_line(&to[0], "X-Key", "X-Key: def67890;v=1");
    assert_int_equal(lines("127.0.0.1", 8080, true, to), 2);
    assert_int_equal(lines("api.example.com", 443, false, to), 0);
    assert_int_equal(lines("api.example.com", 444, true, to), 0);
    assert_int_equal(lines("a.api.example.com", 443, true, to), 0);
    assert_int_equal(lines("example.com", 443, true, to), 0);
    assert_int_equal(lines("127.0.0.1", 443, true, to), 0);
    assert_true(tc_egress_secrets_go(&config, "api.example.com", 443));
    assert_true(tc_egress_secrets_go(&config, "127.0.0.1", 8080));
    assert_false(tc_egress_secrets_go(&config, "127.0.0.1", 8081));
    forget();
}

/* All that goes on when the text comes in pieces of this size. */
static void masks(const char *text, size_t piece, const char *wanted)
{
    char *values[] = {first, second};
    const struct tc_strv all = {.items = values, .count = 2};
    _autobuf_ struct tc_buf held = TC_BUF_INIT, out = TC_BUF_INIT;
    size_t len = strlen(text);
    for (size_t at = 0; at < len; at += piece) {
        tc_buf_add(&held, text + at, piece < len - at ? piece : len - at);
        size_t n = tc_egress_secrets_mask(&all, &held);
        assert_true(held.len - n < strlen(first));
        tc_buf_add(&out, held.data, n);
        memmove(held.data, held.data + n, held.len - n);
        held.len -= n;
    }
    tc_buf_add(&out, held.data, held.len);
    if (strlen(wanted) != out.len || memcmp(out.data, wanted, out.len) != 0)
        fail_msg("\"%s\" in pieces of %zu: \"%.*s\"", text, piece, (int)out.len, out.data);
}

static void values_are_masked_however_they_come(void **state)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"say abc12345 and def67890!", "say ******** and ********!"},
        {"abc12345abc12345", "****************"},
        {"abcabc12345", "abc********"},
        {"abc1234 def6789", "abc1234 def6789"},
        {"ends in abc", "ends in abc"},
        {"abc1234def67890", "abc1234********"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        for (size_t piece = 1; piece < 30; piece++)
            masks(rows[i].text, piece, rows[i].wanted);
}

/* What waits for its end waits for the beginning of a value, and for nothing else. */
static void masking_delays_partial_values_only(void **state)
{
    char *values[] = {first, second};
    const struct tc_strv all = {.items = values, .count = 2};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, "data: hello\n\n");
    assert_int_equal(tc_egress_secrets_mask(&all, &text), text.len);
    tc_buf_adds(&text, "xdef67");
    assert_int_equal(tc_egress_secrets_mask(&all, &text), text.len - 5);
}

static void a_client_cannot_say_the_header(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: api.example.com\r\nAUTHORIZATION: mine\r\n"
                               "Accept-Encoding: gzip\r\nAuthorization: mine too\r\n\r\n";
    struct tc_egress_http_line to[TC_EGRESS_SECRETS_MAX + 1];
    struct tc_egress_http_head head;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    size_t count = lines("api.example.com", 443, true, to);
    assert_int_equal(tc_egress_http_read(text, sizeof(text) - 1, &head), TC_EGRESS_HTTP_DONE);
    tc_egress_http_forward(&head, to, count, true, &out);
    assert_string_equal(out.data, "GET / HTTP/1.1\r\nHost: api.example.com\r\n"
                                  "Authorization: Bearer abc12345\r\nAccept-Encoding: identity\r\n"
                                  "Connection: close\r\n\r\n");
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_values_are_taken),
        cmocka_unit_test(secrets_go_to_their_host_only),
        cmocka_unit_test(values_are_masked_however_they_come),
        cmocka_unit_test(masking_delays_partial_values_only),
        cmocka_unit_test(a_client_cannot_say_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
