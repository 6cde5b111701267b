/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/strv.h"

const char tc_audit_nothing[TC_DIGEST_SIZE] =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

static const char tail[] = ",\"hash\":\"";
enum { TAIL = sizeof(tail) - 1 + TC_DIGEST_SIZE - 1 + 2 }; /* with "} at the end */

static void add_time(struct tc_buf *line)
{
    struct timespec now = {0};
    struct tm tm = {0};
    char text[32] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    tc_buf_addf(line, ",\"time\":\"%s.%06ldZ\"", text, now.tv_nsec / 1000);
}

void tc_audit_line_begin(struct tc_buf *line, const char *prev, uint64_t seq, const char *kind)
{
    tc_buf_addf(line, "{\"prev\":\"%s\",\"seq\":%" PRIu64 ",\"kind\":\"%s\"", prev, seq, kind);
    add_time(line);
}

void tc_audit_line_end(struct tc_buf *line, char hash[TC_DIGEST_SIZE])
{
    tc_digest(line->data, line->len, hash);
    tc_buf_addf(line, "%s%s\"}\n", tail, hash);
}

const char *tc_audit_line_read(const char *text, size_t length, struct tc_audit_line *ret)
{
    static const char no_record[] = "is not a record of an audit log";
    char head[TC_AUDIT_HEAD_SIZE];
    int end = -1;
    if (length < TAIL || length > TC_AUDIT_LINE_MAX || memchr(text, '\0', length))
        return no_record;
    const char *at = text + length - TAIL;
    if (memcmp(at, tail, sizeof(tail) - 1) != 0 || memcmp(text + length - 2, "\"}", 2) != 0)
        return no_record;
    memcpy(ret->hash, at + sizeof(tail) - 1, TC_DIGEST_SIZE - 1);
    ret->hash[TC_DIGEST_SIZE - 1] = '\0';
    size_t first = length < sizeof(head) ? length : sizeof(head) - 1;
    memcpy(head, text, first);
    head[first] = '\0';
    int read =
        sscanf(head, "{\"prev\":\"%71[a-z0-9:]\",\"seq\":%" SCNu64 ",\"kind\":\"%15[a-z]\"%n",
               ret->prev, &ret->seq, ret->kind, &end);
    tc_strcopy(ret->rest, sizeof(ret->rest), end > 0 ? head + end : "");
    return read == 3 && end > 0 ? NULL : no_record;
}

const char *tc_audit_line_check(const char *text, size_t length, const struct tc_audit_line *line)
{
    char hash[TC_DIGEST_SIZE];
    tc_digest(text, length - TAIL, hash);
    return strcmp(hash, line->hash) == 0 ? NULL : "was changed: its hash is that of another text";
}
