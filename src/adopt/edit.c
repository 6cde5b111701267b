/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Edits of the settings' text at positions. Everything between them stays byte for byte. */
#include <stdlib.h>
#include <string.h>

#include "adopt/adopt.h"
#include "base/buf.h"
#include "base/jsontext.h"
#include "base/strv.h"

struct editing {
    const struct tc_adopt_settings *settings;
    struct tc_adopt_edits *edits;
};

/* ---- the list ---- */

static void add_edit(const struct editing *e, size_t at, size_t end, struct tc_buf *text)
{
    struct tc_adopt_edit *edit = TC_PUSH(e->edits->items, e->edits->count);
    if (text && text->failed)
        e->edits->failed = true;
    if (!edit) {
        e->edits->failed = true;
        return;
    }
    edit->range = (struct tc_adopt_range){at, end};
    edit->text = text && text->len ? tc_buf_steal(text) : strdup("");
    e->edits->failed |= !edit->text;
}

static int order_edits(const void *a, const void *b)
{
    const struct tc_adopt_edit *x = a, *y = b;
    return x->range.at != y->range.at
               ? (x->range.at < y->range.at ? -1 : 1)
               : (x->range.end > y->range.end) - (x->range.end < y->range.end);
}

char *tc_adopt_apply(const char *text, size_t length, struct tc_adopt_edits *edits,
                     size_t *ret_length)
{
    struct tc_buf out = TC_BUF_INIT;
    size_t from = 0;
    if (edits->count)
        qsort(edits->items, edits->count, sizeof(*edits->items), order_edits);
    for (size_t i = 0; i < edits->count; i++) {
        const struct tc_adopt_edit *edit = &edits->items[i];
        if (edits->failed || edit->range.at < from || edit->range.end < edit->range.at ||
            edit->range.end > length) {
            tc_buf_done(&out);
            return NULL;
        }
        tc_buf_add(&out, text + from, edit->range.at - from);
        tc_buf_adds(&out, edit->text);
        from = edit->range.end;
    }
    tc_buf_add(&out, text + from, length - from);
    *ret_length = out.len;
    return tc_buf_steal(&out);
}

void tc_adopt_edits_done(struct tc_adopt_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++)
        free(edits->items[i].text);
    free(edits->items);
    *edits = (struct tc_adopt_edits){0};
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t line_start(const char *text, size_t at)
{
    while (at && text[at - 1] != '\n')
        at--;
    return at;
}

/* After the newline; the end of the text for the last line. */
static size_t line_end(const struct tc_adopt_settings *s, size_t at)
{
    const char *end = memchr(s->text + at, '\n', s->length - at);
    return end ? (size_t)(end - s->text) + 1 : s->length;
}

/* Is there nothing before `at` in its line? */
static bool is_first(const char *text, size_t at)
{
    while (at && is_blank(text[at - 1]))
        at--;
    return !at || text[at - 1] == '\n';
}

/* Is there nothing after `at` in its line? */
static bool is_last(const struct tc_adopt_settings *s, size_t at)
{
    while (at < s->length && (is_blank(s->text[at]) || s->text[at] == '\r'))
        at++;
    return at == s->length || s->text[at] == '\n';
}

/* The line break and the indentation before `at`, if it is the first in its line; else one space.
 */
static void add_gap(struct tc_buf *out, const char *text, size_t at)
{
    size_t start = line_start(text, at);
    if (!start || !is_first(text, at)) {
        tc_buf_addc(out, ' ');
        return;
    }
    tc_buf_adds(out, start > 1 && text[start - 2] == '\r' ? "\r\n" : "\n");
    tc_buf_add(out, text + start, at - start);
}

/* The position of the next character that is neither blank nor in a comment. */
static size_t next_char(const struct tc_adopt_settings *s, size_t at)
{
    while (at < s->length && strchr(" \t\r\n", s->plain[at]) && s->plain[at])
        at++;
    return at;
}

/* ---- before the command ---- */

static void add_word(const struct editing *e, struct tc_buf *out, const char *word)
{
    if (e->settings->format == TC_ADOPT_TOML)
        tc_toml_string(out, word);
    else
        tc_json_string(out, word, strlen(word));
}

static void add_words(const struct editing *e, struct tc_buf *out,
                      const struct tc_adopt_words *words, size_t from, const char *last)
{
    for (size_t i = from; i < words->count; i++) {
        tc_buf_adds(out, i > from ? ", " : "");
        add_word(e, out, words->items[i]);
    }
    if (last) {
        tc_buf_adds(out, words->count > from ? ", " : "");
        add_word(e, out, last);
    }
}

/* A new member `args` after the command. */
static void add_args(const struct editing *e, const struct tc_adopt_server *server,
                     struct tc_buf *out)
{
    const char *text = e->settings->text;
    size_t start = line_start(text, server->command.at), key = start;
    bool toml = e->settings->format == TC_ADOPT_TOML;
    while (is_blank(text[key]))
        key++;
    bool alone = !memchr(text + key, '{', server->command.at - key) &&
                 !memchr(text + key, ',', server->command.at - key);
    tc_buf_adds(out, toml && !server->inside ? "" : ",");
    if (alone && start)
        add_gap(out, text, key);
    else
        tc_buf_addc(out, ' ');
    tc_buf_adds(out, toml ? "args = [" : "\"args\": [");
}

static void wrap_command(const struct editing *e, const struct tc_adopt_server *server,
                         const struct tc_adopt_words *words)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const char *program = server->joined ? NULL : server->argv.items[0];
    size_t from = server->joined ? 0 : 1;
    if (!server->joined) {
        add_word(e, &text, words->items[0]);
        add_edit(e, server->command.at, server->command.end, &text);
    }
    if (server->item_count) {
        size_t first = server->items[0].at;
        add_words(e, &text, words, from, program);
        tc_buf_addc(&text, ',');
        add_gap(&text, e->settings->text, first);
        add_edit(e, first, first, &text);
    } else if (server->args.end) {
        add_words(e, &text, words, from, program);
        add_edit(e, server->args.at + 1, server->args.at + 1, &text);
    } else {
        /* in TOML a comment may follow in the line */
        bool lines = e->settings->format == TC_ADOPT_TOML && !server->inside;
        size_t at = server->command.end;
        if (lines)
            for (at = line_end(e->settings, at);
                 at && (e->settings->text[at - 1] == '\n' || e->settings->text[at - 1] == '\r');
                 at--)
                ;
        add_args(e, server, &text);
        add_words(e, &text, words, from, program);
        tc_buf_addc(&text, ']');
        add_edit(e, at, at, &text);
    }
}

/* ---- variables ---- */

/* Removes [at, end), and the rest of its line if that is blank. */
static void remove_range(const struct editing *e, size_t at, size_t end)
{
    const struct tc_adopt_settings *s = e->settings;
    if (is_first(s->text, at) && is_last(s, end)) {
        at = line_start(s->text, at);
        end = line_end(s, end);
    } else {
        while (end < s->length && is_blank(s->text[end]))
            end++;
    }
    add_edit(e, at, end, NULL);
}

/* Removes members between braces. The comma after the last remaining member is removed with the
 * members after it, unless the list may end with a comma and does. */
static void remove_members(const struct editing *e, const struct tc_adopt_server *server,
                           const bool *moved)
{
    const struct tc_adopt_settings *s = e->settings;
    size_t last_kept = SIZE_MAX;
    bool trailing = false;
    for (size_t i = 0; i < server->variable_count; i++) {
        size_t end = server->variables[i].member.end, comma = next_char(s, end);
        trailing = s->plain[comma] == ',';
        if (!moved[i])
            last_kept = i;
    }
    for (size_t i = 0; i < server->variable_count; i++) {
        struct tc_adopt_range member = server->variables[i].member;
        size_t comma = next_char(s, member.end);
        bool has_comma = s->plain[comma] == ',';
        if (!moved[i] && i == last_kept && i + 1 < server->variable_count && has_comma && !trailing)
            add_edit(e, comma, comma + 1, NULL);
        if (!moved[i])
            continue;
        if (has_comma && comma == member.end) {
            remove_range(e, member.at, comma + 1);
        } else {
            if (has_comma)
                add_edit(e, comma, comma + 1, NULL);
            remove_range(e, member.at, member.end);
        }
    }
}

static void remove_lines(const struct editing *e, const struct tc_adopt_server *server,
                         const bool *moved)
{
    const struct tc_adopt_settings *s = e->settings;
    for (size_t i = 0; i < server->variable_count; i++) {
        size_t at = server->variables[i].member.at;
        if (moved[i])
            add_edit(e, line_start(s->text, at), line_end(s, at), NULL);
    }
}

/* ---- a server at a URL ---- */

static void remove_headers(const struct editing *e, const struct tc_adopt_server *server)
{
    size_t count = server->member_count;
    struct tc_adopt_variable *members = calloc(count + 1, sizeof(*members));
    bool *gone = calloc(count + 1, sizeof(*gone));
    e->edits->failed |= !members || !gone;
    for (size_t i = 0; members && gone && i < count; i++) {
        members[i].member = server->members[i];
        gone[i] = server->members[i].at == server->headers_member.at;
    }
    const struct tc_adopt_server all = {.variables = members, .variable_count = count};
    if (members && gone)
        remove_members(e, &all, gone);
    free(members);
    free(gone);
}

/* A command for the URL, in the agent's form. */
static void wrap_remote(const struct editing *e, const struct tc_adopt_server *server,
                        const struct tc_adopt_words *words)
{
    const char *text = e->settings->text;
    struct tc_adopt_range member = server->url_member, type = server->type;
    bool opencode = type.end && !strncmp(text + type.at, "\"remote\"", strlen("\"remote\""));
    _autobuf_ struct tc_buf out = TC_BUF_INIT, word = TC_BUF_INIT;
    tc_buf_adds(&out, "\"command\": ");
    if (opencode) {
        tc_buf_addc(&out, '[');
    } else {
        add_word(e, &out, words->items[0]);
        tc_buf_addc(&out, ',');
        add_gap(&out, text, member.at);
        tc_buf_adds(&out, "\"args\": [");
    }
    add_words(e, &out, words, opencode ? 0 : 1, NULL);
    tc_buf_addc(&out, ']');
    add_edit(e, member.at, member.end, &out);
    add_word(e, &word, opencode ? "local" : "stdio");
    if (type.end)
        add_edit(e, type.at, type.end, &word);
    if (server->headers_member.end)
        remove_headers(e, server);
}

void tc_adopt_restore(const struct tc_adopt_settings *settings, const struct tc_adopt_server *now,
                      const struct tc_adopt_settings *before, const struct tc_adopt_server *old,
                      struct tc_adopt_edits *edits)
{
    struct editing e = {settings, edits};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_add(&text, before->text + old->body.at, old->body.end - old->body.at);
    add_edit(&e, now->body.at, now->body.end, &text);
}

void tc_adopt_wrap(const struct tc_adopt_settings *settings, const struct tc_adopt_server *server,
                   const struct tc_adopt_words *words, const bool *moved,
                   struct tc_adopt_edits *edits)
{
    struct editing e = {settings, edits};
    if (server->kind == TC_ADOPT_REMOTE) {
        wrap_remote(&e, server, words);
        return;
    }
    wrap_command(&e, server, words);
    if (server->env_inside)
        remove_members(&e, server, moved);
    else
        remove_lines(&e, server, moved);
}

/* ---- back ---- */

static void add_old(struct tc_buf *out, const struct tc_adopt_settings *before,
                    struct tc_adopt_range range)
{
    tc_buf_add(out, before->text + range.at, range.end - range.at);
}

/* What was added to the arguments is removed; `count` elements. */
static bool unwrap_args(const struct editing *e, const struct tc_adopt_server *server,
                        const struct tc_adopt_server *old, size_t count)
{
    const struct tc_adopt_settings *s = e->settings;
    if (server->item_count < count)
        return false;
    if (server->item_count > count) {
        add_edit(e, server->items[0].at, server->items[count].at, NULL);
        return true;
    }
    size_t last = server->items[count - 1].end;
    if (old->args.end || old->joined) {
        add_edit(e, server->items[0].at, last, NULL);
        return true;
    }
    size_t close = next_char(s, last), from = server->command.end;
    if (s->plain[close] != ']' || server->args.at < from)
        return false;
    /* the member was added right after the command */
    if (s->format == TC_ADOPT_TOML && !server->inside) {
        add_edit(e, line_start(s->text, server->args.at), line_end(s, close), NULL);
        return true;
    }
    if (next_char(s, next_char(s, from) + 1) != server->args_member.at && !server->inside)
        return false;
    add_edit(e, from, close + 1, NULL);
    return true;
}

static bool has_name(const struct tc_adopt_server *server, const char *name)
{
    for (size_t i = 0; i < server->variable_count; i++)
        if (tc_streq(server->variables[i].name, name))
            return true;
    return false;
}

/* Puts the removed variables at the front of the others. */
static bool restore_variables(const struct editing *e, const struct tc_adopt_server *server,
                              const struct tc_adopt_settings *before,
                              const struct tc_adopt_server *old)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const struct tc_adopt_settings *s = e->settings;
    for (size_t i = 0; i < old->variable_count; i++) {
        size_t at = old->variables[i].member.at;
        if (has_name(server, old->variables[i].name))
            continue;
        if (!server->env.end || server->env_inside != old->env_inside)
            return false;
        if (!server->env_inside) {
            size_t start = line_start(before->text, at);
            add_old(&text, before, (struct tc_adopt_range){start, line_end(before, at)});
            continue;
        }
        tc_buf_adds(&text, text.len ? "," : "");
        if (is_first(before->text, at) || text.len)
            add_gap(&text, before->text, at);
        add_old(&text, before, old->variables[i].member);
    }
    if (!text.len)
        return true;
    if (!server->env_inside && s->text[server->env.at] != '[')
        return false;
    if (server->env_inside && server->variable_count)
        tc_buf_addc(&text, ',');
    size_t at = server->env_inside ? server->env.at + 1 : line_end(s, server->env.at);
    add_edit(e, at, at, &text);
    return true;
}

bool tc_adopt_unwrap(const struct tc_adopt_settings *settings, const struct tc_adopt_server *server,
                     const struct tc_adopt_settings *before, const struct tc_adopt_server *old,
                     size_t words, struct tc_adopt_edits *edits)
{
    struct editing e = {settings, edits};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (server->joined != old->joined)
        return false;
    if (!server->joined) {
        add_old(&text, before, old->command);
        add_edit(&e, server->command.at, server->command.end, &text);
    }
    return unwrap_args(&e, server, old, words) && restore_variables(&e, server, before, old);
}
