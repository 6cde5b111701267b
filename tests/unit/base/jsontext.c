/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/jsontext.h"

#include <string.h>

#define TEXT(literal) (literal), sizeof(literal) - 1

static void json_strings_are_escaped(void **state)
{
    static const struct {
        const char *in;
        size_t len;
        const char *out;
    } rows[] = {
        {TEXT(""), "\"\""},
        {TEXT("plain"), "\"plain\""},
        {TEXT("\"\\/"), "\"\\\"\\\\/\""},
        {TEXT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {TEXT("\0\x01\x1f"), "\"\\u0000\\u0001\\u001f\""},
        {TEXT("\x7f"), "\"\x7f\""},
        {TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        /* each byte that is not UTF-8 becomes one U+FFFD */
        {TEXT("a\xff\x62"), "\"a\xef\xbf\xbd\x62\""},
        {TEXT("\xc3"), "\"\xef\xbf\xbd\""},
        {TEXT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {TEXT("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        tc_json_string(&buf, rows[i].in, rows[i].len);
        assert_string_equal(buf.data, rows[i].out);
    }
}

/* Long texts are looked at eight bytes at a time: each byte at each place among them, on both sides
 * of bytes that a sum could carry into. */
static void strings_of_every_byte_at_every_place(void **state)
{
    static const char around[] = {' ', '!', '~', 'a', '\x7f', '"'};
    for (unsigned all = 0; all < 256 * 24 * TC_COUNT(around); all++) {
        _autobuf_ struct tc_buf parts = TC_BUF_INIT, whole = TC_BUF_INIT;
        char text[24];
        memset(text, around[all / 24 / 256], sizeof(text));
        text[all % 24] = (char)(all / 24 % 256);
        for (size_t i = 0; i < sizeof(text); i++) {
            _autobuf_ struct tc_buf one = TC_BUF_INIT;
            tc_json_string(&one, text + i, 1);
            tc_buf_add(&parts, one.data + 1, one.len - 2);
        }
        tc_json_string(&whole, text, sizeof(text));
        assert_int_equal(whole.len, parts.len + 2);
        assert_memory_equal(whole.data + 1, parts.data, parts.len);
    }
}

static void toml_strings_are_escaped(void **state)
{
    static const char *const rows[][2] = {
        {"/a b", "\"/a b\""},
        {"/a\", \"/b", "\"/a\\\", \\\"/b\""},
        {"a\n\x7f\x1b", "\"a\\n\\u007F\\u001b\""},
        {"\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81", "\"\\u009B\\u202E\\U000E0041\""},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        tc_toml_string(&buf, rows[i][0]);
        assert_string_equal(buf.data, rows[i][1]);
    }
}

static void members_take_commas(void **state)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '{');
    tc_json_member(&buf, "a", "1");
    tc_json_key(&buf, "b");
    tc_buf_addc(&buf, '{');
    tc_json_member(&buf, "c", "2");
    tc_buf_adds(&buf, "}");
    tc_json_member(&buf, "d", "3");
    tc_buf_adds(&buf, "}");
    assert_string_equal(buf.data, "{\"a\":\"1\",\"b\":{\"c\":\"2\"},\"d\":\"3\"}");
}

static void values_of_each_kind(void **state)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '{');
    tc_json_optional(&buf, "a", "b\"");
    tc_json_optional(&buf, "none", NULL);
    tc_json_number(&buf, "least", INT64_MIN);
    tc_json_number(&buf, "most", INT64_MAX);
    tc_json_bool(&buf, "yes", true);
    tc_json_bool(&buf, "no", false);
    assert_string_equal(buf.data, "{\"a\":\"b\\\"\",\"none\":null,\"least\":-9223372036854775808,"
                                  "\"most\":9223372036854775807,\"yes\":true,\"no\":false");
}

static void bytes_choose_their_key(void **state)
{
    static const struct {
        const char *in;
        size_t len;
        const char *out;
    } rows[] = {
        {TEXT("text"), "\"t\":\"text\""},
        {TEXT(""), "\"t\":\"\""},
        {TEXT("\xff"), "\"b\":\"/w==\""},
        {TEXT("\xff\xfe"), "\"b\":\"//4=\""},
        {TEXT("\xff\xfe\xfd"), "\"b\":\"//79\""},
        {TEXT("\0"), "\"b\":\"AA==\""},
        {TEXT("\xff\x00\x10\x83"), "\"b\":\"/wAQgw==\""},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf buf = TC_BUF_INIT;
        tc_buf_addc(&buf, '{');
        tc_json_bytes(&buf, "t", "b", rows[i].in, rows[i].len);
        assert_string_equal(buf.data + 1, rows[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(strings_of_every_byte_at_every_place),
        cmocka_unit_test(toml_strings_are_escaped),
        cmocka_unit_test(members_take_commas),
        cmocka_unit_test(values_of_each_kind),
        cmocka_unit_test(bytes_choose_their_key),
    };
    return cmocka_run_group_tests_name("base/jsontext", tests, NULL, NULL);
}
