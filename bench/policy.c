/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a policy costs: compiling it, the grant of a call, explaining that; for few tools and for
 * many, in processor time. The time of one tool's grant must not grow with the number of tools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "policy/explain/explain.h"
#include "policy/policy.h"

enum { GRANTS = 200 };

static const int sizes[] = {10, 100, 1000, 4000};

/* No waiting is in it, so that a busy machine changes little. */
static double cpu_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static char *write_tools(int count, size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        die("no memory");
    fprintf(out, "[defaults]\nfilesystem.denied = [\"/workspace/.env\"]\npids = 64\n");
    for (int i = 0; i < count; i++)
        fprintf(out,
                "\n[tool.t%d]\ndescription = \"Count the words of a file.\"\n"
                "command = [\"wc\", \"-w\", \"--\", \"{path}\"]\n"
                "arguments.path = { type = \"string\", read = [\"/workspace/t%d\", \"/data\"] }\n"
                "arguments.lines = { type = \"integer\", minimum = 1, optional = true }\n"
                "filesystem = { readable = [\"/srv/a/t%d\", \"/srv/b\"], writable = [{ path = "
                "\"/out\", from = \"/srv/out/t%d\" }] }\n"
                "network = \"none\"\ntimeout = \"%ds\"\nmemory = \"64MiB\"\n",
                i, i, i, i, i % 60 + 1);
    if (fclose(out))
        die("no memory");
    return text;
}

static struct toolcage_policy *compile(const char *text, size_t length)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    if (tc_policy_compile(text, length, "bench.toml", "/srv", "/home/user", &policy, &err))
        die("%s", toolcage_error_report(err));
    return policy;
}

static void measure_grant(const struct toolcage_policy *policy, int tool, struct samples *grant,
                          struct samples *explain)
{
    static const struct tc_facts facts = {.cwd = "/home/user/work", .home = "/home/user"};
    char name[16], *json = NULL;
    snprintf(name, sizeof(name), "t%d", tool);
    struct tc_request request = {.tool = name, .arguments = "{\"path\":\"/data/a/b\"}"};
    struct tc_grant made = {0};
    struct toolcage_error *err = NULL;
    double start = cpu_us();
    if (tc_policy_resolve(policy, &request, &facts, &made, &err))
        die("%s", toolcage_error_report(err));
    samples_add(grant, cpu_us() - start);
    start = cpu_us();
    struct tc_verdict verdict = {0};
    if (tc_policy_verdict(policy, &made, "read /data/a/b", &verdict, &err) ||
        tc_policy_explain(policy, &made, &verdict, NULL, &json, &err))
        die("%s", toolcage_error_report(err));
    samples_add(explain, cpu_us() - start);
    tc_verdict_done(&verdict);
    free(json);
    tc_grant_done(&made);
}

static void measure(int count, int rounds)
{
    struct samples load = {.name = "compile"}, grant = {.name = "grant"};
    struct samples explain = {.name = "explain"};
    size_t length = 0;
    char *text = write_tools(count, &length);
    struct toolcage_policy *policy = NULL;
    for (int i = 0; i < rounds; i++) {
        double start = cpu_us();
        struct toolcage_policy *made = compile(text, length);
        samples_add(&load, cpu_us() - start);
        (void)tc_policy_unref(policy);
        policy = made;
    }
    for (int i = 0; i < GRANTS; i++)
        measure_grant(policy, i * 7 % count, &grant, &explain);
    double ms = samples_at(&load, 0.5) / 1000;
    printf("%6d tools  %8.1f KiB  compile %8.2f ms  %6.1f us a tool   grant %6.1f us   explain "
           "%6.1f us\n",
           count, (double)length / 1024, ms, ms * 1000 / count, samples_at(&grant, 0.5),
           samples_at(&explain, 0.5));
    (void)tc_policy_unref(policy);
    free(text);
    free(load.us);
    free(grant.us);
    free(explain.us);
}

int main(int argc, char *argv[])
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    if (rounds < 1)
        die("usage: policy ROUNDS");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        measure(sizes[i], rounds);
    return 0;
}
