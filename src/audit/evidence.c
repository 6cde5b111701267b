/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/segments.h"
#include "base/cleanup.h"
#include "base/strv.h"

struct search {
    int dir;
    const char *call;
    struct tc_audit_evidence *ret;
    bool inside; /* after the decision, up to the result: all records are checked */
    uint64_t seq;
    char last[TC_DIGEST_SIZE];
    bool memory; /* exhausted */
};

/* The call of a record, which is its first member after the time; "" if it has none there. */
static void read_call(const struct tc_audit_line *line, char ret[TC_ULID_SIZE])
{
    _Static_assert(TC_ULID_SIZE == 27, "the format below has its length");
    if (sscanf(line->rest, ",\"time\":\"%*[^\"]\",\"call\":\"%26[0-9A-Z]\"", ret) != 1)
        ret[0] = '\0';
}

static const char *chain_fault(const struct search *s, const struct tc_audit_line *line)
{
    bool opens = strcmp(line->kind, "open") == 0;
    if (line->seq != s->seq || strcmp(line->prev, s->last) != 0)
        return "does not follow the one before it";
    return opens != (s->ret->line == 1) ? "is out of place: each segment begins with \"open\""
                                        : NULL;
}

/* Keeps a record. NULL, or what is wrong with it. */
static const char *keep(struct search *s, struct tc_audit_proof *proof, const char *text,
                        size_t length, const struct tc_audit_line *line)
{
    if (proof->text)
        return "is a second one of its kind for this call";
    proof->text = strndup(text, length);
    proof->length = length;
    proof->seq = line->seq;
    memcpy(proof->hash, line->hash, sizeof(proof->hash));
    s->memory |= !proof->text;
    return NULL;
}

static void forget(struct tc_audit_evidence *e)
{
    free(e->decision.text);
    free(e->result.text);
    e->decision = e->result = (struct tc_audit_proof){0};
}

/* A record of the call. NULL, or what is wrong with it. */
static const char *take_own(struct search *s, const char *text, size_t length,
                            const struct tc_audit_line *line)
{
    const char *fault = NULL;
    if (strcmp(line->kind, "run") == 0 && s->ret->result.text &&
        tc_contains(s->ret->result.text, s->ret->result.length, "\"started\":false"))
        forget(s->ret); /* the call was started again */
    if (strcmp(line->kind, "run") == 0 && s->ret->result.text) {
        fault = "is a decision after the result of its call";
    } else if (strcmp(line->kind, "run") == 0) {
        fault = keep(s, &s->ret->decision, text, length, line);
        s->inside = true;
    } else if (strcmp(line->kind, "result") == 0) {
        fault = keep(s, &s->ret->result, text, length, line);
        s->inside = false;
    } else if (strcmp(line->kind, "refused") == 0) {
        s->ret->refused = true;
    }
    return fault;
}

static bool take_line(void *context, const char *text, size_t length)
{
    struct search *s = context;
    struct tc_audit_line line;
    char call[TC_ULID_SIZE] = "";
    s->ret->line++;
    if (!s->inside && !memmem(text, length, s->call, strlen(s->call)))
        return true;
    const char *fault = tc_audit_line_read(text, length, &line);
    fault = fault ? fault : tc_audit_line_check(text, length, &line);
    if (!fault && s->inside)
        fault = chain_fault(s, &line);
    if (!fault)
        read_call(&line, call);
    if (!fault && strcmp(call, s->call) == 0)
        fault = take_own(s, text, length, &line);
    s->ret->fault = fault;
    if (fault)
        return false;
    s->seq = line.seq + 1;
    memcpy(s->last, line.hash, sizeof(s->last));
    return !s->memory;
}

static int read_segment(struct search *s, const char *segment, int64_t from, bool newest)
{
    bool cut = false;
    _autofd_ int fd = tc_segment_open(s->dir, segment, O_RDONLY);
    tc_strcopy(s->ret->segment, sizeof(s->ret->segment), segment);
    s->ret->line = from ? 1 : 0; /* the first record is not read then */
    if (fd < 0 && errno != ENOENT && errno != EBADF && errno != ELOOP && errno != ENXIO)
        return -1;
    if (fd < 0) { /* removed, or not a file of the log */
        s->ret->fault = s->inside ? "cannot be opened" : NULL;
        return 0;
    }
    int64_t end = tc_segment_each(fd, from, take_line, s, &cut);
    if (end >= 0 && !s->ret->fault && s->inside && cut && !newest) {
        s->ret->line++;
        s->ret->fault = "was not written to its end, or was cut";
    }
    return end < 0 || s->memory ? -1 : 0;
}

int tc_audit_evidence_since(int dir, const char *call, const struct tc_audit_place *since,
                            struct tc_audit_evidence *ret)
{
    _autostrv_ struct tc_strv names = {0};
    struct search s = {.dir = dir, .call = call, .ret = ret};
    *ret = (struct tc_audit_evidence){0};
    int r = tc_segments_list(dir, &names);
    for (size_t i = 0; r == 0 && !ret->fault && i < names.count; i++) {
        int order = strcmp(names.items[i], since->segment);
        if (order >= 0)
            r = read_segment(&s, names.items[i], order ? 0 : since->at, i + 1 == names.count);
    }
    if (s.memory)
        errno = ENOMEM;
    return r;
}

int tc_audit_evidence(int dir, const char *call, struct tc_audit_evidence *ret)
{
    return tc_audit_evidence_since(dir, call, &(struct tc_audit_place){.at = 0}, ret);
}

int tc_audit_end(int dir, struct tc_audit_place *ret)
{
    _autostrv_ struct tc_strv names = {0};
    struct tc_segment_end end = {.size = 0};
    *ret = (struct tc_audit_place){.at = 0};
    int r = tc_segments_list(dir, &names);
    if (r < 0 || !names.count)
        return r;
    const char *newest = names.items[names.count - 1];
    _autofd_ int fd = tc_segment_open(dir, newest, O_RDONLY);
    if (fd < 0)
        return -1;
    tc_strcopy(ret->segment, sizeof(ret->segment), newest);
    ret->at = tc_segment_end(fd, &end) ? 0 : end.size;
    return 0;
}

void tc_audit_evidence_done(struct tc_audit_evidence *evidence)
{
    forget(evidence);
}
