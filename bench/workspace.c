/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What it costs to hold changes back: one call that changes 0 to 100,000 files of a tree, bound,
 * overlaid and copied, with the commit. The modes take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

struct mode {
    const char *name, *workspace, *more;
};

static const struct mode modes[] = {
    {"bind", "mode = \"bind\"", ""},
    {"by default", "mode = \"auto\"", ""},
    {"overlay in memory", "mode = \"overlay\"", "disk = \"4GiB\"\n"},
    {"copy", "mode = \"copy\"", "disk = \"4GiB\"\n"},
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

/* Most rows compare a bind with what a policy has by default. */
enum { TWO = 2 };

static const struct {
    const char *how, *shown; /* the first is the tool's word (touch.c) */
    long files, changed;
    size_t modes;
    int rounds;
} rows[] = {{"write", "none", 10, 0, MODES, 30},
            {"write", "none", 1000, 0, MODES, 20},
            {"write", "none", 100000, 0, MODES, 5},
            {"write", "written to", 10, 10, MODES, 30},
            {"write", "written to", 1000, 1000, MODES, 20},
            {"write", "written to", 100000, 100000, TWO, 3},
            {"replace", "replaced", 1000, 1000, TWO, 20},
            {"replace", "replaced", 10000, 10000, TWO, 7},
            {"remove", "removed", 1000, 1000, TWO, 20},
            {"write", "new", 0, 20000, TWO, 7}};

static struct toolcage_policy *load(const char *tool, const char *tree)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        die("no memory");
    for (size_t i = 0; i < MODES; i++)
        fprintf(out,
                "[tool.m%zu]\nfilesystem = { readable = [\"%s\"], writable = [\"%s\"] }\nnetwork = "
                "\"none\"\n"
                "timeout = \"10m\"\nmemory = { max = \"512MiB\", by = \"any\" }\nworkspace = { %s "
                "}\n%s",
                i, tool, tree, modes[i].workspace, modes[i].more);
    fclose(out);
    if (toolcage_policy_load_buffer(text, size, "/bench.toml", &policy, &err))
        die("%s", toolcage_error_report(err));
    free(text);
    return policy;
}

static double call(struct toolcage_engine *engine, struct toolcage_policy *policy, size_t mode,
                   const char *const argv[])
{
    struct toolcage_call *call = NULL;
    struct toolcage_error *err = NULL;
    char tool[24];
    double start = clock_us();
    snprintf(tool, sizeof(tool), "m%zu", mode);
    if (toolcage_call_new(engine, policy, tool, &call, &err) ||
        toolcage_call_set_command(call, 4, argv, &err) || toolcage_call_run(call, &err))
        die("%s", toolcage_error_report(err));
    if (toolcage_result_status(toolcage_call_result(call)) != TOOLCAGE_STATUS_OK)
        die("%s: %s", modes[mode].name, toolcage_result_message(toolcage_call_result(call)));
    double us = clock_us() - start;
    toolcage_call_unref(call);
    return us;
}

/* The tree as it is before each call. */
static void make_tree(const char *touch, const char *tree, size_t row)
{
    char count[24];
    snprintf(count, sizeof(count), "%ld", rows[row].files);
    if (!rows[row].files)
        run_program((const char *const[]){"/bin/rm", "-rf", tree, NULL});
    run_program((const char *const[]){touch, tree, "write", count, NULL});
}

static void measure(struct toolcage_engine *engine, const char *touch, const char *dir, size_t row)
{
    char tree[4096], changed[24];
    struct samples samples[MODES] = {{0}};
    snprintf(tree, sizeof(tree), "%s/%ld", dir, rows[row].files);
    snprintf(changed, sizeof(changed), "%ld", rows[row].changed);
    const char *const argv[] = {touch, tree, rows[row].how, changed, NULL};
    make_tree(touch, tree, row);
    struct toolcage_policy *policy = load(touch, tree);
    for (int round = -1; round < rows[row].rounds; round++)
        for (size_t m = 0; m < rows[row].modes; m++) {
            double us = call(engine, policy, m, argv);
            if (round >= 0)
                samples_add(&samples[m], us);
            if (!rows[row].files || strcmp(rows[row].how, "remove") == 0)
                make_tree(touch, tree, row);
        }
    printf("%-9ld %-9ld %-10s", rows[row].files, rows[row].changed, rows[row].shown);
    double bind = samples_at(&samples[0], 0.5);
    for (size_t m = 0; m < rows[row].modes; m++) {
        double median = samples_at(&samples[m], 0.5);
        printf(" %12.2f %7.2f", median / 1000, median / bind);
        free(samples[m].us);
    }
    printf("\n");
    fflush(stdout);
    toolcage_policy_unref(policy);
}

int main(int argc, char **argv)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_error *err = NULL;
    if (argc != 3)
        die("usage: workspace TOUCH DIR");
    if (toolcage_engine_new(&engine, &err))
        die("%s", toolcage_error_report(err));
    printf("%-9s %-9s %-10s", "files", "changed", "how");
    for (size_t i = 0; i < MODES; i++)
        printf(" %20s", modes[i].name);
    printf("   (median ms, ratio to bind)\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        measure(engine, argv[1], argv[2], i);
    toolcage_engine_unref(engine);
    return 0;
}
