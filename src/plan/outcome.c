/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fields of an outcome on the wire. */
#include "plan/outcome.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 200000 };

#define TC_STRUCT struct tc_outcome_failure
#define FAILURE(F)  \
    F(ONE, code)    \
    F(ONE, stage)   \
    F(ONE, subject) \
    F(ONE, message) \
    F(ONE, hint)    \
    F(ONE, errnum)  \
    F(ONE, key)     \
    F(ONE, line)    \
    F(ONE, clause)
static TC_FIELDS(failure_fields, FAILURE);
#undef TC_STRUCT

#define TC_STRUCT struct tc_denial
#define DENIAL(F)    \
    F(ONE, kind)     \
    F(ONE, target)   \
    F(ONE, count)    \
    F(ONE, key)      \
    F(ONE, line)     \
    F(ONE, hint)     \
    F(ONE, endpoint) \
    F(ONE, probe)
static TC_FIELDS(denial_fields, DENIAL);
#undef TC_STRUCT

#define TC_STRUCT struct tc_destination
#define DESTINATION(F)  \
    F(ONE, target)      \
    F(ONE, connections) \
    F(ONE, sent)        \
    F(ONE, received)
static TC_FIELDS(destination_fields, DESTINATION);
#undef TC_STRUCT

#define TC_STRUCT struct tc_access_seen
#define ACCESS_SEEN(F) \
    F(ONE, kind)       \
    F(ONE, target)     \
    F(ONE, count)
static TC_FIELDS(access_seen_fields, ACCESS_SEEN);
#undef TC_STRUCT

#define TC_STRUCT struct tc_change
#define CHANGE(F)       \
    F(ONE, path)        \
    F(ONE, kind)        \
    F(ONE, held)        \
    F(ONE, bytes)       \
    F(ONE, sha256)      \
    F(ONE, attribution) \
    F(ONE, steers_host) \
    F(ONE, cache)       \
    F(ONE, verified)    \
    F(ONE, links)       \
    F(ONE, host)        \
    F(ONE, target)      \
    F(ONE, mode)        \
    F(ONE, was_mode)
static TC_FIELDS(change_fields, CHANGE);
#undef TC_STRUCT

#define TC_STRUCT struct tc_file
#define FILE(F)                                \
    F(ONE, path)                               \
    F(ONE, bytes)                              \
    F(ONE, sha256)                             \
    F(BYTES, content, TC_COUNTED(content_len)) \
    F(ONE, steers_host)
static TC_FIELDS(file_fields, FILE);
#undef TC_STRUCT

#define TC_STRUCT struct tc_enforced
#define ENFORCED(F) \
    F(ONE, clause)  \
    F(ONE, mechanism)
static TC_FIELDS(enforced_fields, ENFORCED);
#undef TC_STRUCT

#define TC_STRUCT struct tc_timing
#define TIMING(F) \
    F(ONE, step)  \
    F(ONE, us)
static TC_FIELDS(timing_fields, TIMING);
#undef TC_STRUCT

#define TC_STRUCT struct tc_stream
#define STREAM(F)                        \
    F(BYTES, head, TC_COUNTED(head_len)) \
    F(ONE, bytes)                        \
    F(ONE, truncated)
static TC_FIELDS(stream_fields, STREAM);
#undef TC_STRUCT

#define TC_STRUCT struct tc_probe
#define PROBE(F)      \
    F(ONE, backend)   \
    F(ONE, whole)     \
    F(ONE, clause)    \
    F(ONE, works)     \
    F(ONE, mechanism) \
    F(ONE, reason)    \
    F(ONE, fix)
static TC_FIELDS(probe_fields, PROBE);
#undef TC_STRUCT

#define TC_STRUCT struct tc_waiting
#define WAITING(F)  \
    F(ONE, call)    \
    F(ONE, tool)    \
    F(ONE, at)      \
    F(ONE, changes) \
    F(ONE, caches)
static TC_FIELDS(waiting_fields, WAITING);
#undef TC_STRUCT

#define TC_STRUCT struct tc_session_row
#define SESSION_ROW(F) \
    F(ONE, name)       \
    F(ONE, tool)       \
    F(ONE, bounds)     \
    F(ONE, calls)      \
    F(ONE, bytes)      \
    F(ONE, made)       \
    F(ONE, used)
static TC_FIELDS(session_row_fields, SESSION_ROW);
#undef TC_STRUCT

#define TC_STRUCT struct tc_outcome
#define OUTCOME(F)                                                                                \
    F(ONE, status)                                                                                \
    F(ONE, exit_code)                                                                             \
    F(ONE, signal)                                                                                \
    F(ONE, limit)                                                                                 \
    F(ONE, notice)                                                                                \
    F(ONE, note)                                                                                  \
    F(ONE, seen)                                                                                  \
    F(ONE, audit)                                                                                 \
    F(STRUCT, failure, TC_OF(failure_fields))                                                     \
    F(ONE, wall_us)                                                                               \
    F(ONE, cpu_us)                                                                                \
    F(ONE, memory_peak)                                                                           \
    F(ONE, pids_peak)                                                                             \
    F(ONE, fuel)                                                                                  \
    F(STRUCT, out, TC_OF(stream_fields))                                                          \
    F(STRUCT, err, TC_OF(stream_fields))                                                          \
    F(ARRAY, denials, TC_COUNTED(denial_count), TC_OF(denial_fields), .most = ROWS_MAX)           \
    F(ONE, sent)                                                                                  \
    F(ONE, received)                                                                              \
    F(ARRAY, destinations, TC_COUNTED(destination_count), TC_OF(destination_fields),              \
      .most = ROWS_MAX)                                                                           \
    F(ARRAY, published, TC_COUNTED(published_count), TC_OF(destination_fields), .most = ROWS_MAX) \
    F(ARRAY, accesses, TC_COUNTED(access_count), TC_OF(access_seen_fields), .most = ROWS_MAX)     \
    F(ARRAY, changes, TC_COUNTED(change_count), TC_OF(change_fields), .most = ROWS_MAX)           \
    F(ARRAY, files, TC_COUNTED(file_count), TC_OF(file_fields), .most = ROWS_MAX)                 \
    F(ONE, omitted_changes)                                                                       \
    F(ONE, omitted_files)                                                                         \
    F(ONE, omitted_denials)                                                                       \
    F(ONE, omitted_accesses)                                                                      \
    F(ARRAY, enforced, TC_COUNTED(enforced_count), TC_OF(enforced_fields), .most = ROWS_MAX)      \
    F(ARRAY, timings, TC_COUNTED(timing_count), TC_OF(timing_fields), .most = ROWS_MAX)           \
    F(ARRAY, probes, TC_COUNTED(probe_count), TC_OF(probe_fields), .most = ROWS_MAX)              \
    F(ARRAY, waiting, TC_COUNTED(waiting_count), TC_OF(waiting_fields), .most = ROWS_MAX)         \
    F(ARRAY, sessions, TC_COUNTED(session_count), TC_OF(session_row_fields), .most = ROWS_MAX)
TC_FIELDS(tc_outcome_fields, OUTCOME);
#undef TC_STRUCT

static bool is_clause(int64_t clause)
{
    return clause >= 0 && clause < TC_CLAUSE_COUNT;
}

void tc_outcome_visit(struct tc_wire *w, struct tc_outcome *o)
{
    tc_fields_visit(w, &tc_outcome_fields, o, 0, 0);
    for (size_t i = 0; i < o->enforced_count; i++)
        w->failed |= !is_clause(o->enforced[i].clause);
    for (size_t i = 0; i < o->probe_count; i++)
        w->failed |= !is_clause(o->probes[i].clause);
}

void tc_failure_clear(struct tc_outcome_failure *f)
{
    tc_fields_done(&failure_fields, f);
    f->clause = -1;
}

void tc_outcome_done(struct tc_outcome *o)
{
    tc_fields_done(&tc_outcome_fields, o);
}

void tc_outcome_note(struct tc_outcome *o, char *text)
{
    if (o->note) {
        free(text);
        return;
    }
    o->note = text;
    if (!o->notice && text)
        o->notice = strdup(text);
}

const struct tc_denial_row *tc_denial_row(int64_t kind)
{
    static const struct tc_denial_row rows[TC_DENIAL_COUNT + 1] = {
#define ROW(id, word, key, verb, hint) {word, key, verb, hint},
        TC_DENIAL_MAP(ROW)
#undef ROW
            {.word = "?"}};
    return &rows[kind >= 0 && kind < TC_DENIAL_COUNT ? kind : TC_DENIAL_COUNT];
}
