/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/http.h"

#include <string.h>
#include <strings.h>

static enum tc_egress_http_read bad(struct tc_egress_http_head *head, const char *why)
{
    head->why = why;
    return TC_EGRESS_HTTP_BAD;
}

/* ---- the request line ---- */

/* Removes the part up to the next space from the line; without a space, the whole line. */
static struct tc_egress_http_text next_word(struct tc_egress_http_text *line)
{
    const char *space = memchr(line->at, ' ', line->len);
    struct tc_egress_http_text word = {line->at, space ? (size_t)(space - line->at) : line->len};
    size_t used = word.len + (space ? 1 : 0);
    line->at += used;
    line->len -= used;
    return word;
}

static bool visible(struct tc_egress_http_text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= 0x20 || text.at[i] == 0x7f || strchr("#\\", text.at[i]))
            return false;
    return text.len > 0;
}

static const char *read_absolute(struct tc_egress_http_head *head)
{
    const struct tc_egress_http_text target = head->target;
    if (target.len < 7 || strncasecmp(target.at, "http://", 7) != 0)
        return "the target is neither a path nor an http:// address";
    const char *host = target.at + 7, *end = target.at + target.len, *path = host;
    while (path < end && *path != '/' && *path != '?')
        path++;
    if (!tc_egress_authority_read(host, (size_t)(path - host), &head->host))
        return "the target's host is invalid";
    if (path < end && *path == '?')
        return "the target has a query without a path";
    head->form = TC_EGRESS_HTTP_ABSOLUTE;
    head->path = (struct tc_egress_http_text){path, (size_t)(end - path)};
    if (path == end)
        head->path = (struct tc_egress_http_text){"/", 1};
    return NULL;
}

static const char *read_target(struct tc_egress_http_head *head)
{
    const struct tc_egress_http_text target = head->target;
    if (!visible(target))
        return "the target has an invalid character";
    if (tc_egress_http_is(head->method, "CONNECT")) {
        head->form = TC_EGRESS_HTTP_AUTHORITY;
        return tc_egress_authority_read(target.at, target.len, &head->host) && head->host.port
                   ? NULL
                   : "CONNECT needs host:port";
    }
    head->path = target;
    if (target.at[0] == '/')
        head->form = TC_EGRESS_HTTP_ORIGIN;
    else if (target.len == 1 && target.at[0] == '*')
        head->form = TC_EGRESS_HTTP_ASTERISK;
    else
        return read_absolute(head);
    return NULL;
}

static const char *read_request_line(struct tc_egress_http_head *head,
                                     struct tc_egress_http_text line)
{
    head->method = next_word(&line);
    head->target = next_word(&line);
    if (!tc_egress_http_is_token(head->method))
        return "the method is not a token";
    /* methods are case-sensitive, but some servers ignore case */
    if (strncasecmp(head->method.at, "connect", head->method.len) == 0 && head->method.len == 7 &&
        memcmp(head->method.at, "CONNECT", 7) != 0)
        return "the method is ambiguous";
    if (line.len != 8 || memcmp(line.at, "HTTP/1.", 7) != 0 ||
        (line.at[7] != '1' && line.at[7] != '0'))
        return "this is not HTTP/1.1 or HTTP/1.0";
    head->one_one = line.at[7] == '1';
    return read_target(head);
}

/* ---- fields ---- */

static const char *read_field(struct tc_egress_http_head *head, struct tc_egress_http_text line)
{
    if (head->field_count == TC_EGRESS_HTTP_FIELDS_MAX)
        return "there are too many header fields";
    const char *why = tc_egress_http_field_read(line, &head->fields[head->field_count]);
    head->field_count += !why;
    return why;
}

static const struct tc_egress_http_field *find_field(const struct tc_egress_http_head *head,
                                                     const char *name, size_t *ret_count)
{
    const struct tc_egress_http_field *found = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        if (tc_egress_http_is(head->fields[i].name, name)) {
            found = found ? found : &head->fields[i];
            ++*ret_count;
        }
    return found;
}

static const char *read_length(struct tc_egress_http_head *head, struct tc_egress_http_text value)
{
    if (!tc_egress_http_number(value, &head->length))
        return "Content-Length is not a number";
    head->body = head->length ? TC_EGRESS_HTTP_LENGTH : TC_EGRESS_HTTP_NO_BODY;
    return NULL;
}

static const char *read_framing(struct tc_egress_http_head *head)
{
    size_t lengths, codings;
    const struct tc_egress_http_field *length = find_field(head, "Content-Length", &lengths);
    const struct tc_egress_http_field *coding = find_field(head, "Transfer-Encoding", &codings);
    if (lengths > 1 || codings > 1 || (length && coding))
        return "the length of the body is given more than once";
    if (coding && (!tc_egress_http_is(coding->value, "chunked") || !head->one_one))
        return "Transfer-Encoding may only be \"chunked\"";
    if (coding)
        head->body = TC_EGRESS_HTTP_CHUNKED;
    if (head->form == TC_EGRESS_HTTP_AUTHORITY && (length || coding))
        return "CONNECT has no body";
    return length ? read_length(head, length->value) : NULL;
}

static bool same_port(uint16_t a, uint16_t b)
{
    return (a ? a : 80) == (b ? b : 80);
}

static const char *read_host(struct tc_egress_http_head *head)
{
    size_t count;
    struct tc_egress_host stats = {0};
    const struct tc_egress_http_field *host = find_field(head, "Host", &count);
    if (count > 1 || (!count && head->one_one))
        return count ? "there is more than one Host" : "there is no Host";
    if (!host)
        return NULL;
    if (!tc_egress_authority_read(host->value.at, host->value.len, &stats))
        return "Host is invalid";
    if (!head->host.name[0]) {
        head->host = stats;
        return NULL;
    }
    if (strcmp(stats.name, head->host.name) != 0)
        return "Host differs from the target";
    /* for CONNECT, clients omit the port in Host or repeat it; a different port is refused */
    bool fine = head->form == TC_EGRESS_HTTP_AUTHORITY
                    ? !stats.port || stats.port == head->host.port
                    : same_port(stats.port, head->host.port);
    return fine ? NULL : "Host differs from the target";
}

/* ---- hop-by-hop fields ---- */

static bool not_framing(struct tc_egress_http_text word, void *ctx)
{
    (void)ctx;
    return tc_egress_http_is_token(word) && !tc_egress_http_is(word, "Host") &&
           !tc_egress_http_is(word, "Content-Length") &&
           !tc_egress_http_is(word, "Transfer-Encoding");
}

/* Does the client want to send another request? Clients of proxies also say so in Proxy-Connection.
 */
static void read_persistence(struct tc_egress_http_head *head)
{
    bool close = false, alive = false;
    for (size_t i = 0; i < head->field_count; i++) {
        const struct tc_egress_http_field *field = &head->fields[i];
        if (!tc_egress_http_is(field->name, "Connection") &&
            !tc_egress_http_is(field->name, "Proxy-Connection"))
            continue;
        close |= tc_egress_http_has(field->value, "close");
        alive |= tc_egress_http_has(field->value, "keep-alive");
    }
    head->keep = !close && (head->one_one || alive);
}

static const char *read_hop(struct tc_egress_http_head *head)
{
    size_t count;
    bool asks = false;
    for (size_t i = 0; i < head->field_count; i++) {
        if (!tc_egress_http_is(head->fields[i].name, "Connection"))
            continue;
        if (!tc_egress_http_each(head->fields[i].value, not_framing, NULL))
            return "Connection lists a field that the request needs";
        asks |= tc_egress_http_has(head->fields[i].value, "Upgrade");
    }
    const struct tc_egress_http_field *upgrade = find_field(head, "Upgrade", &count);
    head->websocket = asks && count == 1 && tc_egress_http_is(upgrade->value, "websocket") &&
                      tc_egress_http_is(head->method, "GET") &&
                      head->body == TC_EGRESS_HTTP_NO_BODY && head->one_one;
    read_persistence(head);
    return NULL;
}

enum tc_egress_http_read tc_egress_http_read(const char *bytes, size_t len,
                                             struct tc_egress_http_head *ret)
{
    static const char *(*const steps[])(struct tc_egress_http_head *) = {read_framing, read_host,
                                                                         read_hop};
    bool broken = false;
    memset(ret, 0, offsetof(struct tc_egress_http_head, fields));
    ret->field_count = 0;
    ret->why = NULL;
    const char *end = tc_egress_http_end(bytes, len, &broken), *at = bytes;
    if (broken)
        return bad(ret, "a line does not end in CR LF, or contains a NUL");
    if (!end)
        return len < TC_EGRESS_HTTP_HEAD_MAX ? TC_EGRESS_HTTP_MORE
                                             : bad(ret, "the head is too long");
    ret->size = (size_t)(end - bytes);
    if (ret->size > TC_EGRESS_HTTP_HEAD_MAX)
        return bad(ret, "the head is too long");
    const char *why = read_request_line(ret, tc_egress_http_next(&at, end));
    while (!why && at < end - 2)
        why = read_field(ret, tc_egress_http_next(&at, end));
    for (size_t i = 0; !why && i < TC_COUNT(steps); i++)
        why = steps[i](ret);
    return why ? bad(ret, why) : TC_EGRESS_HTTP_DONE;
}

/* ---- forward ---- */

/* Is the field hop-by-hop: by its name, or because Connection names it? Trailers are refused in the
 * body, so Trailer is dropped. */
static bool of_this_hop(const struct tc_egress_http_head *head, struct tc_egress_http_text name)
{
    static const char *const names[] = {"Connection", "Keep-Alive", "TE",
                                        "Trailer",    "Upgrade",    "HTTP2-Settings"};
    if (name.len >= 6 && strncasecmp(name.at, "Proxy-", 6) == 0)
        return true;
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (tc_egress_http_is(name, names[i]))
            return true;
    for (size_t i = 0; i < head->field_count; i++)
        if (tc_egress_http_is(head->fields[i].name, "Connection") &&
            tc_egress_http_lists(head->fields[i].value, name))
            return true;
    return false;
}

static void add_host(const struct tc_egress_http_head *head, struct tc_buf *to)
{
    const char *name = head->host.name;
    bool v6 = strchr(name, ':');
    if (!name[0])
        return;
    tc_buf_addf(to, "Host: %s%s%s", v6 ? "[" : "", name, v6 ? "]" : "");
    if (head->host.port)
        tc_buf_addf(to, ":%u", head->host.port);
    tc_buf_adds(to, "\r\n");
}

struct tc_egress_http_line tc_egress_http_line(const char *whole)
{
    return (struct tc_egress_http_line){{whole, strcspn(whole, ":")}, {whole, strlen(whole)}};
}

static bool replaced(const struct tc_egress_http_line *lines, size_t count,
                     struct tc_egress_http_text name)
{
    for (size_t i = 0; i < count; i++)
        if (name.len == lines[i].name.len && strncasecmp(name.at, lines[i].name.at, name.len) == 0)
            return true;
    return false;
}

void tc_egress_http_forward(const struct tc_egress_http_head *head,
                            const struct tc_egress_http_line *lines, size_t count, bool last,
                            struct tc_buf *to)
{
    tc_buf_add(to, head->method.at, head->method.len);
    tc_buf_addc(to, ' ');
    tc_buf_add(to, head->path.at, head->path.len);
    tc_buf_adds(to, head->one_one ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
    add_host(head, to);
    for (size_t i = 0; i < head->field_count; i++) {
        const struct tc_egress_http_field *field = &head->fields[i];
        if (tc_egress_http_is(field->name, "Host") || of_this_hop(head, field->name) ||
            replaced(lines, count, field->name))
            continue;
        tc_buf_add(to, field->name.at, field->name.len);
        tc_buf_adds(to, ": ");
        tc_buf_add(to, field->value.at, field->value.len);
        tc_buf_adds(to, "\r\n");
    }
    for (size_t i = 0; i < count; i++) {
        tc_buf_add(to, lines[i].whole.at, lines[i].whole.len);
        tc_buf_adds(to, "\r\n");
    }
    tc_buf_adds(to, head->websocket  ? "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
                    : last           ? "Connection: close\r\n\r\n"
                    : !head->one_one ? "Connection: keep-alive\r\n\r\n"
                                     : "\r\n");
}
