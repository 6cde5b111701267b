/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Counters in the text format of Prometheus. No label has a value that a client or tool chose. */
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

static const double bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300};

enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };
_Static_assert(BOUNDS + 1 == sizeof(((struct tc_metrics *)0)->bucket) / sizeof(uint64_t),
               "one bucket is above the last bound");

void tc_metrics_count(struct tc_api *api, const struct tc_served *served)
{
    struct tc_metrics *m = &api->metrics;
    double seconds = (double)(tc_api_now_us() - served->since_us) / 1e6;
    size_t i = 0;
    while (i < BOUNDS && seconds > bounds[i])
        i++;
    m->bucket[i]++;
    m->seconds += seconds;
    if (served->status >= 0 && served->status < TC_STATUSES)
        m->calls[served->status]++;
}

static void put_calls(FILE *out, const struct tc_metrics *m)
{
    static const char *const words[TC_STATUSES] = {"ok",     "failed",    "timeout", "limit",
                                                   "denied", "cancelled", "error"};
    (void)fputs("# HELP toolcage_calls_total Calls that have ended.\n"
                "# TYPE toolcage_calls_total counter\n",
                out);
    for (size_t i = 0; i < TC_STATUSES; i++)
        (void)fprintf(out, "toolcage_calls_total{status=\"%s\"} %llu\n", words[i],
                      (unsigned long long)m->calls[i]);
}

static void put_times(FILE *out, const struct tc_metrics *m)
{
    unsigned long long count = 0;
    (void)fputs("# HELP toolcage_call_seconds How long calls took, waiting for a person too.\n"
                "# TYPE toolcage_call_seconds histogram\n",
                out);
    for (size_t i = 0; i < BOUNDS; i++) {
        count += m->bucket[i];
        (void)fprintf(out, "toolcage_call_seconds_bucket{le=\"%g\"} %llu\n", bounds[i], count);
    }
    count += m->bucket[BOUNDS];
    (void)fprintf(out,
                  "toolcage_call_seconds_bucket{le=\"+Inf\"} %llu\ntoolcage_call_seconds_sum %.6f\n"
                  "toolcage_call_seconds_count %llu\n",
                  count, m->seconds, count);
}

static void put_one(FILE *out, const char *name, const char *type, const char *help,
                    unsigned long long value)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
                  value);
}

void tc_metrics_answer(struct tc_api *api, void *asker)
{
    const struct tc_metrics *m = &api->metrics;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        put_calls(out, m);
        put_times(out, m);
        put_one(out, "toolcage_calls_running", "gauge", "Calls that run.", api->running);
        put_one(out, "toolcage_calls_waiting", "gauge", "Calls that wait for a person.",
                api->live - api->running);
        put_one(out, "toolcage_requests_total", "counter", "Requests to the API.", m->requests);
        put_one(out, "toolcage_requests_refused_total", "counter",
                "Requests that the API answered with an error.", m->refused);
    }
    if (out && fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    tc_api_answer_text(api, asker, "text/plain; version=0.0.4; charset=utf-8", text);
}
