/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Texts made to cost much: 4 MiB (a SHARE of it) of one piece each. None takes long, and none
 * overflows a stack of 256 KiB. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SECONDS_MAX = 20, STACK = 256 << 10 };

static const struct {
    const char *start, *piece, *end;
} texts[] = {
    {"", "[", ""},
    {"", "[\n", ""},
    {"", "{a: ", ""},
    {"", "{\"a\":", ""},
    {"", "- ", ""},
    {"", "? ", ""},
    {"a: ", "[ #]\n", ""},
    {"a: [", "[\"]\",", ""},
    {"", "a:\n", ""},
    {"", "a: &a x\n", ""},
    {"", "&a ", ""},
    {"", "!a ", ""},
    {"", "*a ", ""},
    {"", "%TAG !a! x\n", ""},
    {"", "---\n", ""},
    {"", "...\n", ""},
    {"", "#\n", ""},
    {"", "\n", ""},
    {"", "\r", ""},
    {"", " ", ""},
    {"", "\t", ""},
    {"a: >\n", "\n", " x\n"},
    {"a: |\n", "\n", " x\n"},
    {"a: |\n", "  x\n", ""},
    {"a: >\n", "  x\n", ""},
    {"a: |\n",
     "  "
     "x\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
     "\n\n\n\n",
     ""},
    {"a: |\n", "    \n", ""},
    {"a: \"x", "\n", "x\""},
    {"a: \"", "\\n", "\""},
    {"a: '", "''", "'"},
    {"a: ", "x", "\n"},
    {"a: ", "x ", "\n"},
    {"a:\n", "  x\n", "\n"},
    {"", "x", ": 1\n"},
    {"a: &", "x", "\n"},
    {"a: !", "x", "\n"},
    {"a: [", "x, ", "]\n"},
    {"a: [", "[], ", "]\n"},
    {"a: [", ",", "]\n"},
    {"a:\n", "- x\n", ""},
    {"a: ", "\xc2\x85", "\n"},
    {"a: |\n ", "\xe2\x80\xa8", "\n"},
    {"a: ", "\xf0\x9f\x98\x80", "\n"},
};

static char *make(size_t i, size_t *ret_len)
{
    struct tc_buf out = TC_BUF_INIT;
    size_t rest = strlen(texts[i].end);
    tc_buf_adds(&out, texts[i].start);
    while (out.len + strlen(texts[i].piece) + rest <= TC_DOCUMENT_BYTES_MAX / SHARE)
        tc_buf_adds(&out, texts[i].piece);
    tc_buf_adds(&out, texts[i].end);
    *ret_len = out.len;
    return tc_buf_steal(&out);
}

static char *many_keys(size_t *ret_len)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    for (int i = 0; i < 250000 / SHARE; i++)
        tc_buf_addf(&out, "a%d: x, ", i);
    tc_buf_addc(&out, '}');
    *ret_len = out.len;
    return tc_buf_steal(&out);
}

struct job {
    const char *text;
    size_t len;
    double seconds; /* of a processor: others may have it meanwhile */
};

static void *read_it(void *data)
{
    struct job *job = data;
    struct timespec a, b;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    _auto_(tc_document_done) struct tc_document document = {0};
    (void)tc_yaml_read(&document, job->text, job->len);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    job->seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    return NULL;
}

static void try_text(const char *name, const char *text, size_t len)
{
    struct job job = {.text = text, .len = len};
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, read_it, &job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attr);
    if (job.seconds > 1)
        print_message("# %.1f s\n", job.seconds);
    if (job.seconds > SECONDS_MAX)
        fail_msg("%.20s took %.1f s", name, job.seconds);
}

static void hostile_texts_are_read_in_time(void **state)
{
    size_t len = 0;
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        _autofree_ char *text = make(i, &len);
        assert_non_null(text);
        try_text(texts[i].piece, text, len);
    }
    _autofree_ char *keys = many_keys(&len);
    assert_non_null(keys);
    try_text("many keys", keys, len);
}

static void nesting_depth_is_bounded(void **state)
{
    for (int n = 24; n < 26; n++) {
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        tc_buf_adds(&text, "a: ");
        for (int i = 0; i < n - 1; i++)
            tc_buf_addc(&text, '[');
        for (int i = 0; i < n - 1; i++)
            tc_buf_addc(&text, ']');
        _autofree_ char *got = canonical(tc_yaml_read, text.data, text.len);
        assert_int_equal(got[0] == '{', n == 24 || n == 25);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile_texts_are_read_in_time),
                                       cmocka_unit_test(nesting_depth_is_bounded)};
    return cmocka_run_group_tests_name("yaml hostile", tests, NULL, NULL);
}
