/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What it costs to hold changes back: one call that writes into 0 to 100,000 files of a tree of
 * that size, bound, overlaid and copied, the changes coming back or not. The modes take turns. */
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

static const struct {
    long files, changed;
    int rounds;
} sizes[] = {{10, 0, 30},      {10, 10, 30},   {1000, 0, 20},
             {1000, 1000, 20}, {100000, 0, 5}, {100000, 100000, 3}};

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
    char tool[8];
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

int main(int argc, char **argv)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_error *err = NULL;
    if (argc != 3)
        die("usage: workspace TOUCH DIR");
    if (toolcage_engine_new(&engine, &err))
        die("%s", toolcage_error_report(err));
    printf("%-9s %-9s", "files", "changed");
    for (size_t i = 0; i < MODES; i++)
        printf(" %28s", modes[i].name);
    printf("   (median ms, ratio to bind)\n");
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        char tree[4096], files[24], changed[24];
        struct samples samples[MODES] = {{0}};
        snprintf(tree, sizeof(tree), "%s/%ld", argv[2], sizes[s].files);
        snprintf(files, sizeof(files), "%ld", sizes[s].files);
        snprintf(changed, sizeof(changed), "%ld", sizes[s].changed);
        if (mkdir(tree, 0755) == 0)
            run_program((const char *const[]){argv[1], tree, "0", files, NULL});
        struct toolcage_policy *policy = load(argv[1], tree);
        for (int round = -1; round < sizes[s].rounds; round++)
            for (size_t m = 0; m < MODES; m++) {
                double us = call(engine, policy, m,
                                 (const char *const[]){argv[1], tree, "0", changed, NULL});
                if (round >= 0)
                    samples_add(&samples[m], us);
            }
        printf("%-9s %-9s", files, changed);
        for (size_t m = 0; m < MODES; m++) {
            double median = samples_at(&samples[m], 0.5), bind = samples_at(&samples[0], 0.5);
            printf(" %20.2f %7.2f", median / 1000, median / bind);
        }
        for (size_t m = 0; m < MODES; m++)
            free(samples[m].us);
        printf("\n");
        fflush(stdout);
        toolcage_policy_unref(policy);
    }
    toolcage_engine_unref(engine);
    return 0;
}
