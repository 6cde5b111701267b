/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shows the subject of an approval, and the rows of such a text. */
#include <string.h>

#include "cli/call/consent.h"
#include "cli/call/rows.h"
#include "cli/show/json.h"
#include "text/utf8.h"

enum {
    SHORT = 400, /* bytes of a value, and rows of all values, that are shown without being asked
                    for */
    ROWS = 40,
    COLUMNS = 60, /* of a value */
};

/* The most columns that a character can take: escaped as \u{10ffff}, or wide. */
static size_t columns_of(uint32_t point)
{
    return tc_utf8_unshown(point) ? 10 : point < 0x7f ? 1 : 2;
}

/* The bytes of the text's first row. */
static size_t row_of(const char *text, size_t length)
{
    size_t at = 0, columns = 0;
    uint32_t point;
    while (at < length) {
        size_t n = tc_utf8_decode(text + at, length - at, &point);
        columns += n ? columns_of(point) : 4;
        if (columns > COLUMNS)
            break;
        at += n ? n : 1;
    }
    return at;
}

void tc_rows_put(struct tc_rows *v, const char *label, struct tc_slice value)
{
    const char *at = value.at;
    size_t left = value.length, most = v->whole || left <= SHORT ? left : SHORT, shown = 0;
    while (shown < most && (v->whole || v->count < ROWS)) {
        size_t n = row_of(at + shown, most - shown);
        (void)fprintf(v->out, "  %-10s | %.*s\n", label, (int)n, at + shown);
        label = "";
        shown += n;
        v->count++;
    }
    if (shown < left) {
        (void)fprintf(v->out, "  %-10s … %zu more bytes\n", label, left - shown);
        v->cut = true;
    }
}

void tc_rows_say(struct tc_rows *v, const char *label, const char *words)
{
    (void)fprintf(v->out, "  %-10s   (%s)\n", label, words);
    v->count++;
}

static void put_member(struct tc_rows *v, const char *label, const char *key,
                       struct tc_slice subject)
{
    struct tc_slice value = tc_json_get(subject, key);
    if (value.at)
        tc_rows_put(v, label, value);
}

/* Each element, or a member of each. */
static void put_list(struct tc_rows *v, const char *label, const char *key, const char *member,
                     struct tc_slice subject)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(subject, key));
    while (tc_scan_next(&each)) {
        tc_rows_put(v, label, member ? tc_json_get(each.value, member) : each.value);
        label = "";
    }
}

/* Each granted path, with the host's path if that is another one. */
static void put_paths(struct tc_rows *v, const char *label, struct tc_slice subject)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(subject, label));
    while (tc_scan_next(&each)) {
        struct tc_slice path = tc_json_get(each.value, "path");
        struct tc_slice from = tc_json_get(each.value, "from");
        tc_rows_put(v, label, path);
        if (from.length != path.length || memcmp(from.at, path.at, from.length) != 0)
            tc_rows_put(v, "  from", from);
        label = "";
    }
}

bool tc_subject_show(FILE *out, struct tc_slice subject, bool whole)
{
    struct tc_rows v = {.out = out, .whole = whole};
    put_member(&v, "arguments", "arguments", subject);
    put_member(&v, "command", "command", subject);
    put_member(&v, "input", "input", subject);
    put_member(&v, "input", "input_base64", subject);
    if (tc_json_get(subject, "pipe").at)
        (void)fputs(TC_SUBJECT_PIPE, v.out);
    put_list(&v, "files", "files", "path", subject);
    put_list(&v, "directory", "cwd", "path", subject);
    put_member(&v, "backend", "backend", subject);
    put_paths(&v, "read", subject);
    put_paths(&v, "write", subject);
    put_list(&v, "sockets", "unix_sockets", "path", subject);
    put_list(&v, "network", "network", NULL, subject);
    put_list(&v, "secrets", "secrets", NULL, subject);
    put_member(&v, "variables", "environment", subject);
    return v.cut;
}
