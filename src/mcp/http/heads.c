/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The header fields of a request. A proxy in front of this server may split lines or requests at
 * other bytes than libmicrohttpd does, so an ambiguous request is refused. */
#include <string.h>
#include <strings.h>

#include "mcp/http/web.h"

/* libmicrohttpd 1.0 itself refuses bare line feeds and folded lines. Earlier versions keep the
 * headers in the receive buffer and replace each byte of a line end by NUL. So two fields that are
 * not exactly two bytes apart did not end with CR LF, or a folded line was joined. */
static bool keeps_lines(void)
{
    return strncmp(MHD_get_version(), "0.9.7", 5) == 0;
}

enum { LINE_END = 2 };

struct reading {
    struct tc_heads *heads;
    const char *end; /* end of the previous line */
    bool loose;
};

/* libmicrohttpd before 1.0 takes "Content-Length :" for a field of another name. */
static bool is_token(const char *name, size_t length)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < length; i++) {
        char c = name[i], lower = (char)(c | 0x20);
        bool good =
            (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || (c && strchr(marks, c));
        if (!good)
            return false;
    }
    return length > 0;
}

static void follow_line(struct reading *reading, const char *name, const char *value, size_t length)
{
    if (!reading->end || !value || name != reading->end + LINE_END)
        reading->loose = true;
    reading->end = value ? value + length : NULL;
}

/* Checks the end of the last line and the empty line. The request line starts at `method`. */
static bool is_whole(struct MHD_Connection *connection, const char *method, const char *end)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return end && info && method + info->header_size == end + 2 * LINE_END;
}

static void read_accept(struct tc_heads *heads, const char *value)
{
    heads->has_accept = true;
    heads->accepts_anything |= strstr(value, "*/*") != NULL;
    heads->accepts_json |= strcasestr(value, "application/json") != NULL;
    heads->accepts_stream |= strcasestr(value, "text/event-stream") != NULL;
}

static enum MHD_Result read_one(void *userdata, enum MHD_ValueKind kind, const char *name,
                                size_t name_length, const char *value, size_t length)
{
    struct reading *reading = userdata;
    struct tc_heads *heads = reading->heads;
    const struct {
        const char *name;
        const char **value;
    } known[] = {
        {"Host", &heads->host},
        {"Origin", &heads->origin},
        {"Authorization", &heads->authorization},
        {"Content-Type", &heads->type},
        {"Content-Length", &heads->length},
        {"Transfer-Encoding", &heads->transfer},
        {"Mcp-Session-Id", &heads->session},
        {"MCP-Protocol-Version", &heads->version},
        {"Mcp-Method", &heads->method},
        {"Mcp-Name", &heads->name},
        {"Idempotency-Key", &heads->key},
    };
    (void)kind;
    follow_line(reading, name, value, length);
    heads->odd |= !is_token(name, name_length);
    if (!value)
        value = "";
    if (strcasecmp(name, "Accept") == 0)
        read_accept(heads, value);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcasecmp(name, known[i].name) != 0)
            continue;
        if (*known[i].value || strlen(value) != length)
            heads->twice = known[i].name;
        *known[i].value = value;
    }
    return MHD_YES;
}

static void read_all(struct MHD_Connection *connection, struct reading *reading)
{
    struct tc_heads *heads = reading->heads;
    *heads = (struct tc_heads){0};
    (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, read_one, reading);
    if (!heads->has_accept || heads->accepts_anything)
        heads->accepts_json = heads->accepts_stream = true;
}

void tc_heads_read(struct MHD_Connection *connection, struct tc_heads *ret)
{
    read_all(connection, &(struct reading){.heads = ret});
}

bool tc_heads_are_plain(struct MHD_Connection *connection, const char *method, const char *version)
{
    struct tc_heads heads;
    struct reading reading = {.heads = &heads, .end = version + strlen(version)};
    if (!keeps_lines())
        return true;
    read_all(connection, &reading);
    return !reading.loose && is_whole(connection, method, reading.end);
}
