/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Matches a text against a pattern with PCRE2. PCRE2's match limit restarts at each start position,
 * and PCRE2 does not report how much was used; so each position is tried separately, with a growing
 * limit, and each limit is charged in full. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "schema/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strv.h"
#include "text/utf8.h"

enum {
    FIRST_STEPS = 16,
    GROWTH = 8,
    DEPTH_MAX = 250000,
    HEAP_KIB_MAX = 32 << 10,
    NEST_MAX = 32,
    SCANNED_A_STEP = 64
};

struct tc_pattern {
    char *text;
    pcre2_code *code;
    bool anchored; /* can match only at the start of the text */
    bool scans;    /* one step may read the whole text */
};

static void code_done(pcre2_compile_context **context)
{
    pcre2_compile_context_free(*context);
}

static int compile_pattern(struct tc_pattern *pattern, const struct tc_buf *words,
                           struct tc_complaint *c)
{
    /* without PCRE2's optimizations, the cost of a step stays proportional to the text it scans */
    static const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
                                    PCRE2_NO_AUTO_POSSESS | PCRE2_NO_START_OPTIMIZE |
                                    PCRE2_NO_DOTSTAR_ANCHOR;
    int error = 0;
    size_t place = 0;
    uint32_t all = 0;
    _auto_(code_done) pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return TOOLCAGE_EMEMORY;
    (void)pcre2_set_parens_nest_limit(context, NEST_MAX);
    pattern->code = pcre2_compile((PCRE2_SPTR)(words->data ? words->data : ""), words->len, options,
                                  &error, &place, context);
    if (!pattern->code && error == PCRE2_ERROR_HEAP_FAILED)
        return TOOLCAGE_EMEMORY;
    if (!pattern->code) {
        PCRE2_UCHAR why[120] = "";
        (void)pcre2_get_error_message(error, why, sizeof(why));
        tc_complain(c, "write a smaller or plainer one", "the pattern cannot be used: %s",
                    (const char *)why);
        return TOOLCAGE_EPOLICY;
    }
    if (pcre2_pattern_info(pattern->code, PCRE2_INFO_ALLOPTIONS, &all) == 0)
        pattern->anchored = all & PCRE2_ANCHORED;
    return 0;
}

int tc_pattern_new(const char *text, struct tc_pattern **ret, struct tc_complaint *c)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    bool scans = false;
    if (!tc_pattern_translate(text, &words, &scans, c))
        return TOOLCAGE_EPOLICY;
    struct tc_pattern *pattern = words.failed ? NULL : calloc(1, sizeof(*pattern));
    if (!pattern)
        return TOOLCAGE_EMEMORY;
    pattern->scans = scans;
    pattern->text = strdup(text);
    int rc = pattern->text ? compile_pattern(pattern, &words, c) : TOOLCAGE_EMEMORY;
    if (rc)
        tc_pattern_free(pattern);
    else
        *ret = pattern;
    return rc;
}

void tc_pattern_free(struct tc_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    free(pattern->text);
    free(pattern);
}

const char *tc_pattern_text(const struct tc_pattern *pattern)
{
    return pattern->text;
}

size_t tc_pattern_size(const struct tc_pattern *pattern)
{
    size_t size = 0;
    (void)pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &size);
    return sizeof(*pattern) + strlen(pattern->text) + size;
}

bool tc_pattern_find(struct tc_pattern *const *patterns, size_t count, const char *text,
                     size_t *place)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(patterns[middle]->text, text);
        if (!order) {
            *place = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *place = low;
    return false;
}

struct match {
    const struct tc_pattern *pattern;
    const char *text;
    size_t len;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static void match_done(struct match *m)
{
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
}

static enum tc_pattern_verdict verdict(int rc)
{
    if (rc >= 0)
        return TC_PATTERN_FITS;
    if (rc == PCRE2_ERROR_NOMATCH)
        return TC_PATTERN_DIFFERS;
    return rc == PCRE2_ERROR_NOMEMORY ? TC_PATTERN_MEMORY : TC_PATTERN_COSTLY;
}

/* Matches at offset `start` only. */
static enum tc_pattern_verdict match_at(struct match *m, size_t start, uint64_t *budget)
{
    for (uint64_t steps = FIRST_STEPS; *budget; steps *= GROWTH) {
        uint64_t price = m->pattern->scans ? 1 + (m->len - start) / SCANNED_A_STEP : 1;
        uint64_t most = *budget / price, limit = steps < most ? steps : most;
        *budget = limit ? *budget - limit * price : 0;
        (void)pcre2_set_match_limit(m->context, (uint32_t)limit);
        int rc = pcre2_match(m->pattern->code, (PCRE2_SPTR)m->text, m->len, start,
                             PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, m->data, m->context);
        if (rc != PCRE2_ERROR_MATCHLIMIT)
            return verdict(rc);
    }
    return TC_PATTERN_COSTLY;
}

enum tc_pattern_verdict tc_pattern_match(const struct tc_pattern *pattern, const char *text,
                                         size_t len, uint64_t *budget)
{
    if (len > TC_PATTERN_SUBJECT_MAX)
        return TC_PATTERN_COSTLY;
    if (!tc_utf8_valid(text, len))
        return TC_PATTERN_DIFFERS;
    _auto_(match_done) struct match m = {
        .pattern = pattern,
        .text = text,
        .len = len,
        .data = pcre2_match_data_create(1, NULL),
        .context = pcre2_match_context_create(NULL),
    };
    if (!m.data || !m.context)
        return TC_PATTERN_MEMORY;
    (void)pcre2_set_depth_limit(m.context, DEPTH_MAX);
    (void)pcre2_set_heap_limit(m.context, HEAP_KIB_MAX);
    enum tc_pattern_verdict found = TC_PATTERN_DIFFERS;
    for (size_t at = 0; at <= len && found == TC_PATTERN_DIFFERS; at++) {
        bool inside = at < len && tc_utf8_inside(text[at]);
        if (!inside)
            found = match_at(&m, at, budget);
        if (pattern->anchored)
            break;
    }
    return found;
}
