/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/reply.h"

#include <string.h>

/* What a head says. */
struct said {
    int status;
    bool one_one, close, alive;
    size_t lengths, codings;
    bool unclear; /* parsers may disagree about its length */
    bool chunked;
    uint64_t length;
    const char *fields, *end; /* its field lines, without the empty line */
};

void tc_egress_reply_start(struct tc_egress_reply *reply, const struct tc_egress_http_head *head,
                           bool last)
{
    *reply = (struct tc_egress_reply){
        .stage = TC_REPLY_HEAD,
        .head_only = head->method.len == 4 && memcmp(head->method.at, "HEAD", 4) == 0,
        .one_one = head->one_one,
        .upgrade = head->websocket,
        .wanted = head->keep,
        .ending = last,
    };
}

/* ---- reading ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK" */
static bool read_status(struct tc_egress_http_text line, struct said *ret)
{
    enum { MINOR = 7, STATUS = 9, SIZE = 12 };
    const char *at = line.at;
    if (line.len < SIZE || memcmp(at, "HTTP/1.", MINOR) != 0 || at[MINOR + 1] != ' ' ||
        (at[MINOR] != '0' && at[MINOR] != '1') || (line.len > SIZE && at[SIZE] != ' '))
        return false;
    for (size_t i = STATUS; i < SIZE; i++) {
        if (!is_digit(at[i]))
            return false;
        ret->status = ret->status * 10 + (at[i] - '0');
    }
    ret->one_one = at[MINOR] == '1';
    return ret->status >= 100;
}

static void note_field(const struct tc_egress_http_field *field, struct said *ret)
{
    uint64_t length;
    if (tc_egress_http_is(field->name, "Connection")) {
        ret->close |= tc_egress_http_has(field->value, "close");
        ret->alive |= tc_egress_http_has(field->value, "keep-alive");
    } else if (tc_egress_http_is(field->name, "Transfer-Encoding")) {
        ret->chunked = tc_egress_http_is(field->value, "chunked");
        ret->unclear |= ret->codings++ || !ret->chunked;
    } else if (tc_egress_http_is(field->name, "Content-Length")) {
        ret->unclear |= !tc_egress_http_number(field->value, &length) ||
                        (ret->lengths++ && length != ret->length);
        ret->length = length;
    }
}

static bool read_head(const char *bytes, const char *end, struct said *ret)
{
    struct tc_egress_http_field field;
    const char *at = bytes;
    if (!read_status(tc_egress_http_next(&at, end), ret))
        return false;
    ret->fields = at;
    ret->end = end - 2;
    while (at < ret->end) {
        if (tc_egress_http_field_read(tc_egress_http_next(&at, end), &field))
            return false;
        note_field(&field, ret);
    }
    return true;
}

/* ---- judging ---- */

static void start_body(struct tc_egress_reply *reply, const struct said *said)
{
    enum { NO_CONTENT = 204, NOT_MODIFIED = 304 };
    struct tc_egress_http_head framing = {.body = TC_EGRESS_HTTP_NO_BODY, .length = said->length};
    bool none = reply->head_only || said->status == NO_CONTENT || said->status == NOT_MODIFIED;
    if (!none && said->chunked)
        framing.body = TC_EGRESS_HTTP_CHUNKED;
    else if (!none && said->length)
        framing.body = TC_EGRESS_HTTP_LENGTH;
    bool known = none || (said->one_one ? said->chunked != (said->lengths > 0)
                                        : !said->codings && said->lengths);
    tc_egress_http_rest_start(&reply->rest, &framing);
    reply->rest.lenient = true;
    reply->stage = !known || said->unclear ? TC_REPLY_OPEN
                   : reply->rest.done      ? TC_REPLY_DONE
                                           : TC_REPLY_BODY;
}

/* A server that closes on its own ends the client's connection, too. */
static void judge_connections(struct tc_egress_reply *reply, const struct said *said, bool sent)
{
    bool persistent = said->one_one && reply->one_one ? !said->close : said->alive;
    bool known = reply->stage != TC_REPLY_OPEN;
    reply->client_stays = reply->wanted && known && sent && (persistent || reply->ending);
    reply->server_stays = reply->client_stays && persistent && !reply->ending;
}

/* ---- writing ---- */

/* Does any Connection field name this one? */
static bool is_named(const struct said *said, struct tc_egress_http_text name)
{
    struct tc_egress_http_field field;
    for (const char *at = said->fields; at < said->end;) {
        (void)tc_egress_http_field_read(tc_egress_http_next(&at, said->end + 2), &field);
        if (tc_egress_http_is(field.name, "Connection") && tc_egress_http_lists(field.value, name))
            return true;
    }
    return false;
}

static bool stays(const struct tc_egress_reply *reply, const struct said *said,
                  struct tc_egress_http_text name)
{
    if (tc_egress_http_is(name, "Connection") || tc_egress_http_is(name, "Proxy-Connection"))
        return false;
    if (tc_egress_http_is(name, "Keep-Alive")) /* the client's connection ends with the server's */
        return reply->server_stays;
    return tc_egress_http_is(name, "Content-Length") ||
           tc_egress_http_is(name, "Transfer-Encoding") || !is_named(said, name);
}

static void write_head(const struct tc_egress_reply *reply, const struct said *said,
                       const char *bytes, struct tc_buf *to)
{
    struct tc_egress_http_field field;
    tc_buf_add(to, bytes, (size_t)(said->fields - bytes));
    for (const char *at = said->fields; at < said->end;) {
        struct tc_egress_http_text line = tc_egress_http_next(&at, said->end + 2);
        (void)tc_egress_http_field_read(line, &field);
        if (stays(reply, said, field.name))
            tc_buf_add(to, line.at, line.len + 2);
    }
    tc_buf_adds(to, reply->client_stays ? "Connection: keep-alive\r\n\r\n"
                                        : "Connection: close\r\n\r\n");
}

static bool may_become_head(const char *bytes, size_t len)
{
    static const char start[] = "HTTP/1.";
    size_t n = len < sizeof(start) - 1 ? len : sizeof(start) - 1;
    return memcmp(bytes, start, n) == 0;
}

enum tc_egress_http_read tc_egress_reply_head(struct tc_egress_reply *reply, const char *bytes,
                                              size_t len, bool sent, struct tc_buf *to,
                                              size_t *ret_size)
{
    enum { SWITCHING = 101, FINAL = 200 };
    struct said said = {0};
    bool broken = !may_become_head(bytes, len);
    const char *end = broken ? NULL : tc_egress_http_end(bytes, len, &broken);
    if (!end && !broken && len < TC_EGRESS_HTTP_HEAD_MAX)
        return TC_EGRESS_HTTP_MORE;
    if (!end || !read_head(bytes, end, &said) || (said.status == SWITCHING && !reply->upgrade)) {
        reply->stage = TC_REPLY_OPEN;
        return TC_EGRESS_HTTP_BAD;
    }
    *ret_size = (size_t)(end - bytes);
    if (said.status < FINAL) {
        reply->stage = said.status == SWITCHING ? TC_REPLY_SWITCHED : TC_REPLY_HEAD;
        tc_buf_add(to, bytes, *ret_size);
        return TC_EGRESS_HTTP_DONE;
    }
    start_body(reply, &said);
    judge_connections(reply, &said, sent);
    write_head(reply, &said, bytes, to);
    return TC_EGRESS_HTTP_DONE;
}

size_t tc_egress_reply_body(struct tc_egress_reply *reply, const char *bytes, size_t len)
{
    if (reply->stage != TC_REPLY_BODY)
        return reply->stage == TC_REPLY_DONE ? 0 : len;
    ssize_t n = tc_egress_http_rest_take(&reply->rest, bytes, len);
    if (n < 0) {
        reply->stage = TC_REPLY_OPEN;
        reply->client_stays = reply->server_stays = false;
        return len;
    }
    if (reply->rest.done)
        reply->stage = TC_REPLY_DONE;
    return (size_t)n;
}
