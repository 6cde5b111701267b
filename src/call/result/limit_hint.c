/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A hint at a limit that nothing outside the tool counts: the kernel refuses a file, a thread or
 * memory, and only the tool knows the error. Its messages may be false, or about something else, so
 * they give the reader a hint, and never the result's `limit`. */
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "call/result/result.h"
#include "policy/clauses.h"

enum { READ_MAX = 64 << 10 };

static const struct row {
    const char *words, *limit;
    bool thread;
} rows[] = {
    {"No space left on device", "disk"},
    {"ENOSPC", "disk"},
    {"File size limit exceeded", "disk"},
    {"File too large", "disk"},
    {"disk is full", "disk"},
    {"Too many open files", "open_files"},
    {"EMFILE", "open_files"},
    {"can't start new thread", "pids", true},
    {"failed to create new OS thread", "pids", true},
    {"unable to create native thread", "pids", true},
    {"pthread_create", "pids", true},
    {"Resource temporarily unavailable", "pids", true},
    {"Cannot fork", "pids"},
    {"spawn EAGAIN", "pids"},
    {"MemoryError", "memory"},
    {"OutOfMemoryError", "memory"},
    {"Cannot allocate memory", "memory"},
    {"failed to allocate", "memory"},
    {"out of memory", "memory"},
    {"memory exhausted", "memory"},
    {"memory allocation of", "memory"},
    {"bad_alloc", "memory"},
    {"ENOMEM", "memory"},
};

/* Where the stream has this text, in any case; NULL: nowhere. */
static const char *find_words(const struct tc_stream *s, const char *words)
{
    size_t len = strlen(words), skip = s->head_len > READ_MAX ? s->head_len - READ_MAX : 0;
    for (size_t at = skip; at + len <= s->head_len; at++)
        if ((s->head[at] | 32) == (words[0] | 32) && strncasecmp(s->head + at, words, len) == 0)
            return s->head + at;
    return NULL;
}

static const struct row *find_row(const struct tc_outcome *o, const char **ret_words)
{
    const struct tc_stream *streams[] = {&o->err, &o->out};
    for (size_t i = 0; i < TC_COUNT(streams); i++)
        for (size_t j = 0; j < TC_COUNT(rows); j++)
            if ((*ret_words = find_words(streams[i], rows[j].words)))
                return &rows[j];
    return NULL;
}

/* Does the clause's mechanism begin with this word? */
static bool is_by(const struct tc_outcome *o, enum tc_clause clause, const char *word)
{
    for (size_t i = 0; i < o->enforced_count; i++)
        if (o->enforced[i].clause == clause && o->enforced[i].mechanism)
            return strncmp(o->enforced[i].mechanism, word, strlen(word)) == 0;
    return false;
}

static void add_limit(struct tc_buf *buf, const struct tc_limits *l, const char *limit)
{
    tc_buf_addf(buf, "the %s limit", limit);
    tc_result_add_limit(buf, l, limit);
    tc_buf_addf(buf, " (more: --%s, or %s in the policy)",
                tc_streq(limit, "open_files") ? "open-files" : limit, limit);
}

static void add_reserved(struct tc_buf *buf, const struct tc_limits *l)
{
    add_limit(buf, l, "memory");
    tc_buf_adds(buf, ", which counts the memory that each process reserves, 8 MiB for a thread, "
                     "because there is no cgroup here");
}

static char *write_hint(const struct tc_limits *l, const struct tc_outcome *o,
                        const struct row *row, const char *words)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    bool memory = tc_streq(row->limit, "memory");
    bool reserved = (memory || row->thread) && is_by(o, TC_CLAUSE_LIMIT_MEMORY, "RLIMIT_DATA");
    /* a cgroup counts the processes that it refuses */
    bool counted = tc_streq(row->limit, "pids") && is_by(o, TC_CLAUSE_LIMIT_PIDS, "cgroup");
    if (counted && !reserved)
        return NULL;
    tc_buf_addf(&buf, "the tool wrote \"%.*s\"; perhaps it reached ", (int)strlen(row->words),
                words);
    if (!counted && !(memory && reserved))
        add_limit(&buf, l, row->limit);
    if (reserved && !counted && !memory)
        tc_buf_adds(&buf, ", or ");
    if (reserved)
        add_reserved(&buf, l);
    return tc_buf_steal(&buf);
}

void tc_result_hint_limit(const struct tc_limits *l, struct tc_outcome *o)
{
    bool ended = o->status == TOOLCAGE_STATUS_FAILED || o->status == TOOLCAGE_STATUS_TIMEOUT;
    const char *words = NULL;
    const struct row *row = ended && !o->note && !o->failure.code ? find_row(o, &words) : NULL;
    char *hint = row ? write_hint(l, o, row, words) : NULL;
    if (hint)
        tc_outcome_note(o, hint);
}
