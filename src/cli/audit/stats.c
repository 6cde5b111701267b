/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Counts of the calls in the audit log. */
#include <inttypes.h>
#include <string.h>

#include "cli/audit/past.h"
#include "cli/show/clean.h"
#include "cli/show/say.h"

enum { NAMES = 10000, REFUSALS_SHOWN = 10 };

struct count {
    char *name; /* of a tool; "" without one; or what was refused */
    int64_t calls, ok, failed, denied, other;
    int64_t total_us, longest_us;
};

struct counts {
    struct count *items;
    size_t count;
};

struct tc_stats {
    struct counts tools, refusals;
    int64_t settled, applied, discarded; /* decisions about staged changes, and changes */
    int64_t calls, asked, left_out;      /* asked: a person about them; left_out: too many names */
};

struct tc_stats *tc_stats_new(void)
{
    return calloc(1, sizeof(struct tc_stats));
}

/* The count of this name; NULL: there are too many, or memory is exhausted. */
static struct count *count_of(struct counts *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].name, name))
            return &c->items[i];
    bool grow = c->count % 64 == 0;
    struct count *items = c->count == NAMES ? NULL
                          : grow            ? reallocarray(c->items, c->count + 64, sizeof(*items))
                                            : c->items;
    char *copy = items ? strdup(name) : NULL;
    if (items)
        c->items = items;
    if (!copy)
        return NULL;
    items[c->count] = (struct count){.name = copy};
    return &items[c->count++];
}

static void count_call(struct count *c, const struct tc_past_call *call)
{
    _autofree_ char *status = tc_past_status(call);
    const int64_t most = INT64_C(1000000) * 3600 * 24 * 366; /* a log may say anything */
    int64_t us = tc_json_int(tc_json_get(call->result, "total_us"), 0);
    us = us < 0 ? 0 : us > most ? most : us;
    c->calls++;
    if (status && (!strcmp(status, "ok") || !strcmp(status, "passed")))
        c->ok++;
    else if (status && !strcmp(status, "failed"))
        c->failed++;
    else if (status && !strcmp(status, "denied"))
        c->denied++;
    else
        c->other++;
    c->total_us += us;
    c->longest_us = us > c->longest_us ? us : c->longest_us;
}

static void count_refusals(struct tc_stats *stats, struct tc_slice denials)
{
    struct tc_scan_each each = tc_scan_walk(denials);
    while (tc_scan_next(&each)) {
        _autofree_ char *operation = tc_json_text(tc_json_get(each.value, "operation"));
        _autofree_ char *target = tc_json_text(tc_json_get(each.value, "target"));
        _autofree_ char *name =
            tc_cli_format("%s %s", operation ? operation : "?", target ? target : "");
        struct count *c = name ? count_of(&stats->refusals, name) : NULL;
        stats->left_out += !c;
        if (c)
            c->calls++;
    }
}

/* Did the call need an approval, whether or not a person could be asked? */
static bool needed_person(const struct tc_past_call *call)
{
    struct tc_slice error = tc_json_get(call->decision, "error");
    return tc_json_get(call->decision, "approval").at ||
           tc_scan_is(tc_json_get(error, "stage"), "approve");
}

static void count_settlement(struct tc_stats *stats, const struct tc_past_call *call)
{
    const int64_t most = INT64_C(1) << 40; /* a log may say anything */
    int64_t applied = tc_json_int(tc_json_get(call->result, "applied"), 0);
    int64_t discarded = tc_json_int(tc_json_get(call->result, "discarded"), 0);
    stats->settled++;
    stats->applied += applied > 0 && applied < most ? applied : 0;
    stats->discarded += discarded > 0 && discarded < most ? discarded : 0;
}

bool tc_stats_take(void *context, const struct tc_past_call *call)
{
    struct tc_stats *stats = context;
    if (tc_past_settles(call)) {
        count_settlement(stats, call);
        return true;
    }
    _autofree_ char *tool = tc_json_text(tc_json_get(call->decision, "tool"));
    struct count *c = count_of(&stats->tools, tool ? tool : "");
    stats->calls++;
    stats->asked += needed_person(call);
    stats->left_out += !c;
    if (c)
        count_call(c, call);
    if (call->result.at)
        count_refusals(stats, tc_json_get(call->result, "denials"));
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    return x->calls != y->calls ? (x->calls < y->calls) - (x->calls > y->calls)
                                : strcmp(x->name, y->name);
}

static void sort(const struct counts *c)
{
    if (c->count)
        qsort(c->items, c->count, sizeof(*c->items), compare);
}

/* A name for one line of output; owned. */
static char *clean_name(const struct count *c)
{
    return *c->name ? tc_clean(TC_CLEAN_LINE, c->name, strlen(c->name), NULL) : strdup("-");
}

static void put_text(FILE *out, const struct tc_stats *stats)
{
    (void)fprintf(out, "%-20s  %7s %7s %7s %7s %7s  %10s %10s\n", "tool", "calls", "ok", "failed",
                  "denied", "other", "mean", "longest");
    for (size_t i = 0; i < stats->tools.count; i++) {
        const struct count *c = &stats->tools.items[i];
        _autofree_ char *name = clean_name(c);
        (void)fprintf(out,
                      "%-20s  %7" PRId64 " %7" PRId64 " %7" PRId64 " %7" PRId64 " %7" PRId64
                      "  %7" PRId64 " ms %7" PRId64 " ms\n",
                      name ? name : "?", c->calls, c->ok, c->failed, c->denied, c->other,
                      c->total_us / c->calls / 1000, c->longest_us / 1000);
    }
    if (stats->asked)
        (void)fprintf(out, "\na person had to approve %" PRId64 " of %" PRId64 " calls\n",
                      stats->asked, stats->calls);
    if (stats->settled)
        (void)fprintf(out,
                      "\nstaged changes were decided about %" PRId64 " times: %" PRId64
                      " applied, %" PRId64 " discarded\n",
                      stats->settled, stats->applied, stats->discarded);
    for (size_t i = 0; i < stats->refusals.count && i < REFUSALS_SHOWN; i++) {
        _autofree_ char *name = clean_name(&stats->refusals.items[i]);
        (void)fprintf(out, "%s%7" PRId64 " x %s\n", i ? "" : "\nrefused in so many calls:\n",
                      stats->refusals.items[i].calls, name ? name : "?");
    }
}

static void put_json(FILE *out, const struct tc_stats *stats)
{
    (void)fprintf(out, "{\"calls\":%" PRId64 ",\"asked\":%" PRId64 ",\"tools\":[", stats->calls,
                  stats->asked);
    for (size_t i = 0; i < stats->tools.count; i++) {
        const struct count *c = &stats->tools.items[i];
        (void)fputs(i ? ",{\"tool\":" : "{\"tool\":", out);
        tc_cli_json_string(out, c->name);
        (void)fprintf(out,
                      ",\"calls\":%" PRId64 ",\"ok\":%" PRId64 ",\"failed\":%" PRId64
                      ",\"denied\":%" PRId64 ",\"other\":%" PRId64 ",\"total_us\":%" PRId64
                      ",\"longest_us\":%" PRId64 "}",
                      c->calls, c->ok, c->failed, c->denied, c->other, c->total_us, c->longest_us);
    }
    (void)fputs("],\"refused\":[", out);
    for (size_t i = 0; i < stats->refusals.count; i++) {
        (void)fputs(i ? ",{\"what\":" : "{\"what\":", out);
        tc_cli_json_string(out, stats->refusals.items[i].name);
        (void)fprintf(out, ",\"calls\":%" PRId64 "}", stats->refusals.items[i].calls);
    }
    (void)fprintf(out,
                  "],\"settled\":{\"decisions\":%" PRId64 ",\"applied\":%" PRId64
                  ",\"discarded\":%" PRId64 "},\"left_out\":%" PRId64 "}\n",
                  stats->settled, stats->applied, stats->discarded, stats->left_out);
}

void tc_stats_put(FILE *out, const struct tc_stats *stats, bool json)
{
    sort(&stats->tools);
    sort(&stats->refusals);
    if (json)
        put_json(out, stats);
    else
        put_text(out, stats);
}

static void free_counts(struct counts *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i].name);
    free(c->items);
}

void tc_stats_free(struct tc_stats *stats)
{
    if (!stats)
        return;
    free_counts(&stats->tools);
    free_counts(&stats->refusals);
    free(stats);
}
