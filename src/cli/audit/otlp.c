/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Recorded calls as spans: the JSON of an OpenTelemetry request (OTLP 1.x,
 * ExportTraceServiceRequest) with the attributes of the semantic conventions for generative AI
 * (execute_tool). */
#include <inttypes.h>
#include <string.h>

#include "cli/audit/past.h"
#include "cli/show/say.h"

enum { KIND_INTERNAL = 1, CODE_OK = 1, CODE_ERROR = 2 };

struct tc_spans {
    FILE *out;
    bool any;
};

/* A ULID's 128 bits as a trace's id, in hexadecimal; the span has the last 16 digits. */
static bool write_id(const char *ulid, char id[33])
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    unsigned char bytes[16] = {0};
    if (!ulid || strlen(ulid) != 26)
        return false;
    for (int i = 0; i < 26; i++) {
        const char *digit = strchr(digits, ulid[i]);
        unsigned carry = digit ? (unsigned)(digit - digits) : 0;
        for (int b = 16; b-- > 0; carry >>= 8) {
            carry |= (unsigned)bytes[b] << 5;
            bytes[b] = (unsigned char)carry;
        }
    }
    for (int b = 0; b < 16; b++)
        (void)snprintf(id + 2 * b, 3, "%02x", bytes[b]);
    return true;
}

/* "2026-01-31T12:00:00.123456Z" in nanoseconds since 1970. */
static int64_t ns_of(struct tc_slice time)
{
    _autofree_ char *text = tc_json_text(time);
    struct tm tm = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    char digits[7] = "";
    if (rest && *rest == '.')
        (void)snprintf(digits, sizeof(digits), "%s", rest + 1);
    int64_t us = strtol(digits, NULL, 10);
    bool known = rest && tm.tm_year >= 70 && tm.tm_year < 300; /* a log may say anything */
    return known ? (int64_t)timegm(&tm) * 1000000000 + us * 1000 : 0;
}

static void put_attribute(FILE *out, const char *key, const char *text)
{
    if (!text)
        return;
    (void)fprintf(out, ",{\"key\":\"%s\",\"value\":{\"stringValue\":", key);
    tc_cli_json_string(out, text);
    (void)fputs("}}", out);
}

/* 64-bit numbers are strings in this format. */
static void put_number(FILE *out, const char *key, int64_t number)
{
    (void)fprintf(out, ",{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRId64 "\"}}", key, number);
}

static int64_t count_of(struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    int64_t count = 0;
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        count++;
    return count;
}

static void put_attributes(FILE *out, const struct tc_past_call *call, const char *status)
{
    static const char *const members[] = {"backend", "tier", "policy", "grant"};
    _autofree_ char *id = tc_json_text(tc_json_get(call->decision, "call"));
    _autofree_ char *tool = tc_json_text(tc_json_get(call->decision, "tool"));
    (void)fputs("{\"key\":\"gen_ai.operation.name\",\"value\":{\"stringValue\":\"execute_tool\"}}",
                out);
    put_attribute(out, "gen_ai.tool.name", tool);
    put_attribute(out, "gen_ai.tool.call.id", id);
    put_attribute(out, "error.type", strcmp(status, "ok") ? status : NULL);
    put_attribute(out, "toolcage.status", status);
    for (size_t i = 0; i < TC_COUNT(members); i++) {
        _autofree_ char *text = tc_json_text(tc_json_get(call->decision, members[i]));
        _autofree_ char *key = tc_cli_format("toolcage.%s", members[i]);
        if (key)
            put_attribute(out, key, text);
    }
    if (call->result.at) {
        put_number(out, "toolcage.denials", count_of(tc_json_get(call->result, "denials")));
        put_number(out, "toolcage.changes", count_of(tc_json_get(call->result, "changes")));
        put_number(out, "process.exit.code",
                   tc_json_int(tc_json_get(call->result, "exit_code"), -1));
    }
}

bool tc_spans_take(void *context, const struct tc_past_call *call)
{
    struct tc_spans *spans = context;
    FILE *out = spans->out;
    _autofree_ char *ulid = tc_json_text(tc_json_get(call->decision, "call"));
    _autofree_ char *tool = tc_json_text(tc_json_get(call->decision, "tool"));
    _autofree_ char *status = tc_past_status(call);
    struct tc_slice error = tc_json_get(call->result.at ? call->result : call->decision, "error");
    _autofree_ char *message = tc_json_text(tc_json_get(error, "message"));
    int64_t start = ns_of(tc_json_get(call->decision, "time"));
    int64_t end = call->result.at ? ns_of(tc_json_get(call->result, "time")) : start;
    char id[33];
    /* a call that still runs is a span when it has ended; a request to a server has no end */
    if (!status || !strcmp(status, "unfinished") || !write_id(ulid, id) ||
        tc_scan_is(tc_json_get(call->decision, "kind"), "request"))
        return true;
    (void)fprintf(out, "%s{\"traceId\":\"%s\",\"spanId\":\"%s\",\"name\":", spans->any ? "," : "",
                  id, id + 16);
    _autofree_ char *name = tc_cli_format("execute_tool %s", tool ? tool : "command");
    tc_cli_json_string(out, name ? name : "execute_tool");
    (void)fprintf(out,
                  ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64
                  "\",\"endTimeUnixNano\":\"%" PRId64 "\",\"attributes\":[",
                  KIND_INTERNAL, start, end);
    put_attributes(out, call, status);
    (void)fprintf(out, "],\"status\":{\"code\":%d", strcmp(status, "ok") ? CODE_ERROR : CODE_OK);
    if (message && strcmp(status, "ok") != 0) {
        (void)fputs(",\"message\":", out);
        tc_cli_json_string(out, message);
    }
    (void)fputs("}}", out);
    spans->any = true;
    return !ferror(out);
}

struct tc_spans *tc_spans_new(FILE *out)
{
    struct tc_spans *spans = calloc(1, sizeof(*spans));
    if (!spans)
        return NULL;
    spans->out = out;
    (void)fprintf(out,
                  "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
                  "\"value\":{\"stringValue\":\"toolcage\"}}]},\"scopeSpans\":[{\"scope\":{"
                  "\"name\":\"toolcage\",\"version\":\"%s\"},\"spans\":[",
                  toolcage_version());
    return spans;
}

void tc_spans_end(struct tc_spans *spans)
{
    if (spans)
        (void)fputs("]}]}]}\n", spans->out);
    free(spans);
}
