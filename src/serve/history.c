/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * GET /v1/audit: the newest calls of the audit log of this user, those of other programs too. The
 * log is read from where the last request ended, and its older part not at all. A record is text
 * that tools and models chose, so all that is kept of one is bounded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/reader.h"
#include "audit/when.h"
#include "serve/serve.h"

enum {
    LOG_MAX = 32 << 20, /* bytes from the end of the log */
    CALLS_MAX = 10000,
    OPEN_MAX = 1000,      /* how many newer calls a result may follow */
    ANSWER_MAX = 8 << 20, /* bytes */
    USUAL_LIMIT = 100,
    WORDS_MAX = 32, /* of a command */
    WORD_MAX = 200, /* bytes */
    DENIED_MAX = 8,
};

struct tc_history {
    struct tc_audit_cursor cursor;
    json_t *calls[CALLS_MAX]; /* a ring */
    size_t first, count;
    bool cut;  /* the log has older records */
    bool lost; /* memory was exhausted */
};

/* ---- what is kept of a record ---- */

static json_t *cut_text(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value), cut = length;
    if (!text)
        return NULL;
    if (length <= WORD_MAX)
        return json_stringn(text, length);
    for (cut = WORD_MAX; cut && ((unsigned char)text[cut] & 0xc0) == 0x80;)
        cut--;
    return json_sprintf("%.*s\u2026 (%zu bytes)", (int)strnlen(text, cut), text, length);
}

static void put_text(json_t *to, const char *name, const json_t *value)
{
    json_t *text = cut_text(value);
    if (text)
        (void)json_object_set_new(to, name, text);
}

/* Of a list: texts, or the members `member` of objects; `most` of them. */
static void put_list(json_t *to, const char *name, const json_t *list, const char *member,
                     size_t most)
{
    json_t *texts = json_is_array(list) ? json_array() : NULL;
    size_t count = json_array_size(list);
    for (size_t i = 0; texts && i < count && i < most; i++) {
        const json_t *item = json_array_get(list, i);
        (void)json_array_append_new(texts, cut_text(member ? json_object_get(item, member) : item));
    }
    if (texts && count > most)
        (void)json_array_append_new(texts, json_sprintf("\u2026 (%zu more)", count - most));
    if (texts)
        (void)json_object_set_new(to, name, texts);
}

static void put_result(json_t *to, const json_t *record)
{
    const json_t *us = json_object_get(record, "total_us");
    const json_t *code = json_object_get(record, "exit_code");
    put_text(to, "status", json_object_get(record, "status"));
    put_text(to, "message", json_object_get(json_object_get(record, "error"), "message"));
    put_list(to, "denied", json_object_get(record, "denials"), "target", DENIED_MAX);
    if (json_is_integer(us))
        (void)json_object_set_new(to, "us", json_integer(json_integer_value(us)));
    if (json_is_integer(code))
        (void)json_object_set_new(to, "exit_code", json_integer(json_integer_value(code)));
}

/* NULL: the record is no call, or memory is exhausted. */
static json_t *describe_call(const json_t *record)
{
    json_t *call = json_object();
    put_text(call, "call", json_object_get(record, "call"));
    put_text(call, "time", json_object_get(record, "time"));
    put_text(call, "tool", json_object_get(record, "tool"));
    put_text(call, "server", json_object_get(record, "server"));
    put_text(call, "backend", json_object_get(record, "backend"));
    put_text(call, "approval", json_object_get(record, "approval"));
    put_list(call, "command", json_object_get(record, "command"), NULL, WORDS_MAX);
    put_result(call, record);
    return call;
}

/* ---- the ring ---- */

static json_t **at(struct tc_history *h, size_t i)
{
    return &h->calls[(h->first + i) % CALLS_MAX];
}

static void keep(struct tc_history *h, json_t *call)
{
    if (!call) {
        h->lost = true;
        return;
    }
    if (h->count == CALLS_MAX) {
        json_decref(*at(h, 0));
        h->first = (h->first + 1) % CALLS_MAX;
        h->count--;
    }
    *at(h, h->count++) = call;
}

static json_t *find_call(struct tc_history *h, const char *id)
{
    for (size_t i = 0; i < h->count && i < OPEN_MAX; i++) {
        json_t *call = *at(h, h->count - 1 - i);
        const char *known = json_string_value(json_object_get(call, "call"));
        if (known && strcmp(known, id) == 0)
            return call;
    }
    return NULL;
}

static void take(struct tc_history *h, const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));
    const char *id = json_string_value(json_object_get(record, "call"));
    json_t *call = NULL;
    if (!kind || !id)
        return;
    if (strcmp(kind, "result") == 0 && (call = find_call(h, id)))
        put_result(call, record);
    else
        keep(h, describe_call(record));
}

static bool take_line(void *context, const char *text, size_t length)
{
    struct tc_history *h = context;
    json_t *record = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    if (record)
        take(h, record);
    json_decref(record);
    return true;
}

/* ---- the log ---- */

void tc_history_free(struct tc_history *h)
{
    if (!h)
        return;
    while (h->count)
        json_decref(*at(h, --h->count));
    if (h->cursor.dir >= 0)
        (void)close(h->cursor.dir);
    tc_audit_cursor_done(&h->cursor);
    free(h);
}

/* NULL with errno; ENOENT: there is no log yet. */
static struct tc_history *open_history(void)
{
    char *path = tc_audit_path();
    struct tc_history *h = path ? calloc(1, sizeof(*h)) : NULL;
    if (h)
        h->cursor.dir = tc_audit_open(path, true);
    free(path);
    if (!h || (h->cursor.dir >= 0 && tc_audit_tail(&h->cursor, LOG_MAX, &h->cut) == 0))
        return h;
    int saved = errno;
    tc_history_free(h);
    errno = saved;
    return NULL;
}

/* ---- the answer ---- */

struct filter {
    const char *tool, *status;
    char since[32];
    size_t limit;
};

static bool is_text(const json_t *call, const char *name, const char *wanted)
{
    const char *text = json_string_value(json_object_get(call, name));
    return !wanted || !*wanted || strcmp(text ? text : "unfinished", wanted) == 0;
}

static bool matches(const json_t *call, const struct filter *filter)
{
    const char *time = json_string_value(json_object_get(call, "time"));
    return is_text(call, "tool", filter->tool) && is_text(call, "status", filter->status) &&
           strcmp(time ? time : "", filter->since) >= 0;
}

/* False: answered. */
static bool read_filter(struct tc_api *api, void *asker, struct filter *ret)
{
    const struct tc_api_wire *wire = api->config.wire;
    const char *since = wire->argument(asker, "since"), *limit = wire->argument(asker, "limit");
    char *end = NULL;
    unsigned long count = limit && *limit >= '0' && *limit <= '9' ? strtoul(limit, &end, 10) : 0;
    *ret = (struct filter){.tool = wire->argument(asker, "tool"),
                           .status = wire->argument(asker, "status"),
                           .limit = limit ? count : USUAL_LIMIT};
    if (limit && (!end || *end || !count || count > CALLS_MAX))
        tc_api_refuse(api, asker, 422, "\"limit\" must be a number from 1 to 10000", NULL);
    else if (since && *since && !tc_audit_when(since, ret->since, sizeof(ret->since)))
        tc_api_refuse(api, asker, 422, "\"since\" is not a time",
                      "write 2026-01-31, 2026-01-31T12:00 (UTC), or 30m, 2h, 7d");
    else
        return true;
    return false;
}

/* The newest first. */
static void answer_history(struct tc_api *api, void *asker, const struct filter *filter)
{
    struct tc_history *h = api->history;
    json_t *list = json_array();
    size_t bytes = 0;
    bool more = h && h->cut;
    for (size_t i = h ? h->count : 0; i--;) {
        json_t *call = *at(h, i);
        if (!matches(call, filter))
            continue;
        bytes += json_dumpb(call, NULL, 0, JSON_COMPACT);
        if (json_array_size(list) == filter->limit || bytes > ANSWER_MAX) {
            more = true;
            break;
        }
        (void)json_array_append(list, call);
    }
    tc_api_answer(api, asker, 200,
                  json_pack("{s:o, s:b, s:b}", "calls", list, "more", more, "log", h != NULL));
}

void tc_history_answer(struct tc_api *api, void *asker)
{
    struct filter filter;
    char text[200];
    if (!read_filter(api, asker, &filter))
        return;
    if (!api->history)
        api->history = open_history();
    bool none = !api->history && errno == ENOENT;
    if (none ||
        (api->history && tc_audit_read(&api->history->cursor, take_line, api->history) == 0 &&
         !api->history->lost)) {
        answer_history(api, asker, &filter);
        return;
    }
    (void)snprintf(text, sizeof(text), "the audit log cannot be read: %s",
                   api->history && api->history->lost ? "out of memory" : strerror(errno));
    tc_history_free(api->history);
    api->history = NULL;
    tc_api_refuse(api, asker, 500, text, "toolcage audit verify");
}
