/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shows how the subject of an approval differs from the one that was approved last for the same
 * tool under the same policy. Every member is compared, so nothing new is left out; equal ones are
 * not shown. */
#include <string.h>

#include "cli/call/consent.h"
#include "cli/call/rows.h"
#include "cli/show/json.h"

static bool is_same(struct tc_slice a, struct tc_slice b)
{
    return !a.at == !b.at && a.length == b.length && (!a.at || memcmp(a.at, b.at, a.length) == 0);
}

/* The member with this key, which has its quotes. */
static struct tc_slice find_member(struct tc_slice object, struct tc_slice key)
{
    struct tc_scan_each each = tc_scan_walk(object);
    while (tc_scan_next(&each))
        if (is_same(each.key, key))
            return each.value;
    return (struct tc_slice){0};
}

/* The label of an object's member: its key without quotes. It is no model's text. */
static const char *label_of(struct tc_slice key, char ret[16])
{
    size_t length = key.length - 2;
    (void)snprintf(ret, 16, "%.*s", (int)(length < 12 ? length : 12), key.at + 1);
    return ret;
}

static void put_pair(struct tc_rows *rows, const char *label, struct tc_slice now,
                     struct tc_slice before)
{
    if (now.at)
        tc_rows_put(rows, label, now);
    else
        tc_rows_say(rows, label, "is gone");
    if (before.at)
        tc_rows_put(rows, "  before", before);
    else
        tc_rows_say(rows, "  before", "was not there");
}

/* The arguments, of which the model chose the keys: each is shown with its key. */
static void compare_arguments(struct tc_rows *rows, struct tc_slice now, struct tc_slice before)
{
    struct tc_scan_each each = tc_scan_walk(now);
    while (tc_scan_next(&each)) {
        struct tc_slice was = find_member(before, each.key);
        if (is_same(each.value, was))
            continue;
        tc_rows_put(rows, "argument", each.key);
        put_pair(rows, "  now", each.value, was);
    }
    each = tc_scan_walk(before);
    while (tc_scan_next(&each))
        if (!find_member(now, each.key).at) {
            tc_rows_put(rows, "argument", each.key);
            put_pair(rows, "  now", (struct tc_slice){0}, each.value);
        }
}

static struct tc_slice find_path(struct tc_slice list, struct tc_slice path)
{
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_next(&each))
        if (is_same(tc_json_get(each.value, "path"), path))
            return each.value;
    return (struct tc_slice){0};
}

/* Files and directories: by path, then by identity, mode, owner and content. */
static void compare_paths(struct tc_rows *rows, const char *label, struct tc_slice now,
                          struct tc_slice before)
{
    struct tc_scan_each each = tc_scan_walk(now);
    while (tc_scan_next(&each)) {
        struct tc_slice path = tc_json_get(each.value, "path"), was = find_path(before, path);
        if (is_same(each.value, was))
            continue;
        bool content =
            was.at && !is_same(tc_json_get(each.value, "digest"), tc_json_get(was, "digest"));
        tc_rows_put(rows, label, path);
        tc_rows_say(rows, "",
                    !was.at   ? "was not there"
                    : content ? "has another content"
                              : "is another file or directory, or has another mode or owner");
    }
    each = tc_scan_walk(before);
    while (tc_scan_next(&each)) {
        struct tc_slice path = tc_json_get(each.value, "path");
        if (find_path(now, path).at)
            continue;
        tc_rows_put(rows, label, path);
        tc_rows_say(rows, "", "is gone");
    }
}

static bool is_list_of_paths(struct tc_slice value)
{
    struct tc_scan_each each = tc_scan_walk(value);
    return tc_scan_is_array(value) && tc_scan_next(&each) && tc_scan_is_object(each.value) &&
           tc_json_get(each.value, "path").at;
}

static void compare_member(struct tc_rows *rows, struct tc_slice key, struct tc_slice now,
                           struct tc_slice before)
{
    char label[16];
    if (is_same(now, before))
        return;
    if (tc_scan_is(key, "arguments") && tc_scan_is_object(now) && tc_scan_is_object(before))
        compare_arguments(rows, now, before);
    else if (is_list_of_paths(now) || is_list_of_paths(before))
        compare_paths(rows, label_of(key, label), now, before);
    else
        put_pair(rows, label_of(key, label), now, before);
}

/* The digest of the grant follows from the other members, unless none of them differs. */
static bool is_grant(struct tc_slice key)
{
    return tc_scan_is(key, "grant");
}

bool tc_subject_compare(FILE *out, struct tc_slice subject, struct tc_slice last, bool *ret_any)
{
    struct tc_rows rows = {.out = out};
    struct tc_scan_each each = tc_scan_walk(subject);
    if (tc_json_get(subject, "pipe").at) /* its content differs each time */
        (void)fputs(TC_SUBJECT_PIPE, out);
    while (tc_scan_next(&each))
        if (!is_grant(each.key) && !tc_scan_is(each.key, "pipe"))
            compare_member(&rows, each.key, each.value, find_member(last, each.key));
    each = tc_scan_walk(last);
    while (tc_scan_next(&each))
        if (!find_member(subject, each.key).at)
            compare_member(&rows, each.key, (struct tc_slice){0}, each.value);
    if (!rows.count && !is_same(tc_json_get(subject, "grant"), tc_json_get(last, "grant")))
        tc_rows_say(&rows, "grant", "limits or other clauses differ: policy explain has them");
    *ret_any = rows.count;
    return rows.cut;
}
