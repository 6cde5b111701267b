/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/audit/ending.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/clean.h"
#include "cli/show/say.h"
#include "inputs/reader.h"

enum { SHOWN_BYTES = 120, SHOWN_CHANGES = 5 };

void tc_ending_note(struct tc_ending *e, enum tc_ending_word verdict, const char *text)
{
    _autofree_ char *line = tc_clean(TC_CLEAN_LINE, text, strlen(text), &(size_t){0});
    e->verdict = e->verdict == TC_REPLAY_SAME ? verdict : e->verdict;
    (void)fprintf(e->notes, "%s\n", line ? line : "out of memory");
}

static void compare_member(struct tc_ending *e, const char *key)
{
    struct tc_slice was = tc_json_get(e->past->result, key), is = tc_json_get(e->now, key);
    if (was.length == is.length && (!was.at || !memcmp(was.at, is.at, was.length)))
        return;
    _autofree_ char *text = tc_cli_format("%s: %.*s, now %.*s", key, (int)was.length,
                                          was.at ? was.at : "", (int)is.length, is.at ? is.at : "");
    tc_ending_note(e, TC_REPLAY_DIFFERS, text ? text : key);
}

static void note_line(struct tc_ending *e, const char *sign, const char *line)
{
    int length = (int)strcspn(line, "\n");
    _autofree_ char *text =
        tc_cli_format("  %s %.*s%s", sign, length < SHOWN_BYTES ? length : SHOWN_BYTES, line,
                      length > SHOWN_BYTES ? "…" : "");
    tc_ending_note(e, TC_REPLAY_DIFFERS, text ? text : sign);
}

/* The first line that differs. */
static void note_text(struct tc_ending *e, const char *name, const char *was, const char *is)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; was[i] && was[i] == is[i]; i++)
        if (was[i] == '\n') {
            line++;
            start = i + 1;
        }
    _autofree_ char *head = tc_cli_format("%s differs from line %zu on:", name, line);
    tc_ending_note(e, TC_REPLAY_DIFFERS, head ? head : name);
    note_line(e, "-", was + start);
    note_line(e, "+", is + start);
}

static void note_bytes(struct tc_ending *e, const char *name)
{
    _autofree_ char *text = tc_cli_format("%s differs", name);
    tc_ending_note(e, TC_REPLAY_DIFFERS, text ? text : name);
}

static bool is_text(const char *bytes, size_t length)
{
    return !memchr(bytes, '\0', length);
}

static void compare_stream(struct tc_ending *e, int store, const struct toolcage_result *result,
                           int stream)
{
    static const char *const names[] = {"stdout", "stderr"};
    const char *name = names[stream - 1];
    _autofree_ char *digest =
        tc_json_text(tc_json_get(tc_json_get(e->past->result, name), "digest"));
    size_t length = 0, was_length = 0;
    const char *now = toolcage_result_output(result, stream, &length);
    if (digest && tc_stored_is(digest, now ? now : "", length))
        return;
    _autofree_ char *text = strndup(now ? now : "", length);
    _autofree_ char *was = digest ? tc_stored_bytes(store, digest, &was_length) : NULL;
    if (was && text && is_text(was, was_length) && is_text(text, length))
        note_text(e, name, was, text);
    else
        note_bytes(e, name);
}

/* Of each change: its members for the comparison, and its line for the reader. */
struct changes {
    struct change {
        char *key, *shown; /* owned */
    } * items;
    size_t count;
};

static char *show_change(struct tc_slice change)
{
    _autofree_ char *path = tc_json_path(change);
    _autofree_ char *kind = tc_json_line(tc_json_get(change, "kind"));
    _autofree_ char *content = tc_json_text(tc_json_get(change, "sha256"));
    _autofree_ char *mode = tc_json_line(tc_json_get(change, "mode"));
    _autofree_ char *target = tc_json_name(change, "target", "target_base64");
    return tc_cli_format("%s (%s%s%s%s%.12s%s%s)", path ? path : "?", kind ? kind : "?",
                         mode ? ", mode " : "", mode ? mode : "", content ? ", sha256 " : "",
                         content ? content : "", target ? ", to " : "", target ? target : "");
}

/* The JSON of these members, the path first: the log and a result write them alike. */
static char *key_of_change(struct tc_slice change, bool rights)
{
    static const char *const members[] = {"path",   "path_base64",   "kind", "sha256",
                                          "target", "target_base64", "type", "mode"};
    char *key = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&key, &size);
    for (size_t i = 0; out && i < sizeof(members) / sizeof(*members) - (rights ? 0 : 2); i++) {
        struct tc_slice value = tc_json_get(change, members[i]);
        (void)fprintf(out, "%.*s\n", (int)value.length, value.at ? value.at : "");
    }
    return out ? tc_cli_text(out, &key) : NULL;
}

/* Do all changes say type and mode? Those in a bind workspace do not. */
static bool has_rights(struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        if (!tc_json_get(each.value, "type").at)
            return false;
    return true;
}

static int compare_keys(const void *x, const void *y)
{
    return strcmp(((const struct change *)x)->key, ((const struct change *)y)->key);
}

static struct changes list_changes(struct tc_slice list, bool rights)
{
    struct changes c = {0};
    size_t most = 0;
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        most++;
    c.items = calloc(most + 1, sizeof(*c.items));
    each = tc_scan_walk(list);
    while (c.items && tc_scan_is_array(list) && tc_scan_next(&each)) {
        struct change *to = &c.items[c.count];
        *to = (struct change){key_of_change(each.value, rights), show_change(each.value)};
        c.count += to->key != NULL;
    }
    if (c.items)
        qsort(c.items, c.count, sizeof(*c.items), compare_keys);
    return c;
}

static void forget_changes(struct changes *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].key);
        free(c->items[i].shown);
    }
    free(c->items);
}

static void note_change(struct tc_ending *e, size_t *shown, const char *what,
                        const struct change *change)
{
    _autofree_ char *text = tc_cli_format("%s: %s", what, change->shown ? change->shown : "?");
    if (++*shown <= SHOWN_CHANGES)
        tc_ending_note(e, TC_REPLAY_DIFFERS, text ? text : what);
    else if (*shown == SHOWN_CHANGES + 1)
        tc_ending_note(e, TC_REPLAY_DIFFERS, "more changes differ");
}

static void compare_changes(struct tc_ending *e)
{
    struct tc_slice before = tc_json_get(e->past->result, "changes");
    struct tc_slice now = tc_json_get(e->now, "changes");
    bool rights = has_rights(before) && has_rights(now);
    struct changes was = list_changes(before, rights), is = list_changes(now, rights);
    size_t shown = 0;
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int order = i == was.count  ? 1
                    : k == is.count ? -1
                                    : compare_keys(&was.items[i], &is.items[k]);
        if (order < 0)
            note_change(e, &shown, "no longer changed", &was.items[i]);
        else if (order > 0)
            note_change(e, &shown, "changed now", &is.items[k]);
        i += order <= 0;
        k += order >= 0;
    }
    forget_changes(&was);
    forget_changes(&is);
}

/* Was the same refused when the call was recorded? */
static bool was_denied(const struct tc_ending *e, struct tc_slice denial)
{
    struct tc_slice list = tc_json_get(e->past->result, "denials");
    struct tc_slice target = tc_json_get(denial, "target");
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each)) {
        struct tc_slice other = tc_json_get(each.value, "target");
        if (other.length == target.length && !memcmp(other.at, target.at, target.length))
            return true;
    }
    return false;
}

/* Programs look for many files that are nowhere: that counts in the workspace alone. */
static bool counts(const char *operation, const char *target)
{
    return !operation || strcmp(operation, "look") != 0 ||
           !strncmp(target, "/workspace", strlen("/workspace"));
}

/* What the policy refuses now, in a call that ends in another way. */
static void note_denials(struct tc_ending *e)
{
    struct tc_slice list = tc_json_get(e->now, "denials");
    struct tc_scan_each each = tc_scan_walk(list);
    size_t shown = 0;
    while (tc_scan_is_array(list) && tc_scan_next(&each) && shown < SHOWN_CHANGES) {
        _autofree_ char *operation = tc_json_line(tc_json_get(each.value, "operation"));
        _autofree_ char *target = tc_json_line(tc_json_get(each.value, "target"));
        _autofree_ char *key = tc_json_line(tc_json_get(each.value, "key"));
        int64_t line = tc_json_int(tc_json_get(each.value, "line"), 0);
        if (!key || !target || !counts(operation, target) || was_denied(e, each.value))
            continue;
        _autofree_ char *place = line ? tc_cli_format("%s, line %" PRId64, key, line) : strdup(key);
        _autofree_ char *text = tc_cli_format("refused: %s %s (%s)", operation ? operation : "?",
                                              target, place ? place : key);
        tc_ending_note(e, TC_REPLAY_DENIED, text ? text : target);
        e->verdict = TC_REPLAY_DENIED;
        shown++;
    }
}

/* Requests that the record does not have: they were not made. */
static void note_requests(struct tc_ending *e)
{
    struct tc_slice list = tc_json_get(e->now, "denials");
    struct tc_scan_each each = tc_scan_walk(list);
    size_t shown = 0;
    while (tc_scan_is_array(list) && tc_scan_next(&each) && shown < SHOWN_CHANGES) {
        if (!tc_scan_is(tc_json_get(each.value, "operation"), "request"))
            continue;
        _autofree_ char *target = tc_json_line(tc_json_get(each.value, "target"));
        _autofree_ char *hint = tc_json_line(tc_json_get(each.value, "hint"));
        _autofree_ char *text = tc_cli_format("request not answered: %s: %s", target ? target : "?",
                                              hint ? hint : "not in the record");
        tc_ending_note(e, TC_REPLAY_DIFFERS, text ? text : "a request was not answered");
        shown++;
    }
}

void tc_ending_note_error(struct tc_ending *e, const struct toolcage_error *err)
{
    const char *file = NULL;
    uint32_t line = 0, column = 0;
    toolcage_error_location(err, &file, &line, &column);
    _autofree_ char *text =
        line ? tc_cli_format("%s (%s:%u)", toolcage_error_message(err), file, line)
             : strdup(toolcage_error_message(err));
    tc_ending_note(e, TC_REPLAY_DENIED, text ? text : "out of memory");
}

void tc_ending_compare(struct tc_ending *e, int store, const struct toolcage_result *result)
{
    static const char *const members[] = {"status", "exit_code", "signal", "limit"};
    e->now = tc_json_of(toolcage_result_json(result));
    if (toolcage_result_status(result) == TOOLCAGE_STATUS_DENIED && toolcage_result_error(result)) {
        tc_ending_note_error(e, toolcage_result_error(result));
        return;
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        compare_member(e, members[i]);
    compare_stream(e, store, result, 1);
    compare_stream(e, store, result, 2);
    compare_changes(e);
    note_requests(e);
    if (e->verdict != TC_REPLAY_SAME)
        note_denials(e);
}
