/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What it costs to observe the paths of a call: ordinary programs, with nothing watched, with what
 * is watched by default, with refused paths, and with all paths. The modes take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bench.h"

static const char *const modes[] = {"off", "calls", "paths", "accesses"};
enum { MODES = sizeof(modes) / sizeof(modes[0]), FILES = 1000 };

static const struct {
    const char *name, *script;
} programs[] = {
    {"true", "exec true"},
    {"python3 -c pass", "exec /usr/bin/python3 -I -c pass"},
    {"git status", "exec git -c safe.directory='*' status --short"},
    {"grep, 1,000 files", "grep -r nothing files; test $? = 1"},
    {"gcc, one file", "exec gcc -c -o /tmp/a.o a.c"},
};

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    if (!out || fputs(text, out) < 0 || fclose(out))
        die("cannot write %s", path);
}

static void fill(const char *dir)
{
    char name[64], files[4200];
    snprintf(files, sizeof(files), "%s/files", dir);
    mkdir(files, 0755);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "files/%d", i);
        write_file(dir, name, "some text\n");
    }
    write_file(dir, "a.c", "#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n");
    run_program((const char *const[]){"git", "-C", dir, "init", "-q", NULL});
    run_program((const char *const[]){"git", "-C", dir, "add", "a.c", "files", NULL});
}

static struct toolcage_policy *load(const char *dir)
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
                "[tool.%s]\ncwd = \"%s\"\nfilesystem.readable = [\"%s\"]\nnetwork = \"none\"\n"
                "env.set = { HOME = \"/tmp\" }\ndenials = \"%s\"\n",
                modes[i], dir, dir, modes[i]);
    fclose(out);
    if (toolcage_policy_load_buffer(text, size, "/bench.toml", &policy, &err))
        die("%s", toolcage_error_report(err));
    free(text);
    return policy;
}

static double call(struct toolcage_engine *engine, struct toolcage_policy *policy, const char *mode,
                   const char *script)
{
    struct toolcage_call *made = NULL;
    struct toolcage_error *err = NULL;
    double start = clock_us();
    if (toolcage_call_new(engine, policy, mode, &made, &err) ||
        toolcage_call_set_command(made, 3, (const char *const[]){"sh", "-c", script}, &err) ||
        toolcage_call_run(made, &err))
        die("%s", toolcage_error_report(err));
    const struct toolcage_result *result = toolcage_call_result(made);
    if (toolcage_result_status(result) != TOOLCAGE_STATUS_OK)
        die("%s: %s", mode, toolcage_result_message(result));
    double us = clock_us() - start;
    toolcage_call_unref(made);
    return us;
}

int main(int argc, char **argv)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_error *err = NULL;
    if (argc != 3)
        die("usage: watch ROUNDS DIR");
    if (toolcage_engine_new(&engine, &err))
        die("%s", toolcage_error_report(err));
    long rounds = strtol(argv[1], NULL, 10);
    fill(argv[2]);
    struct toolcage_policy *policy = load(argv[2]);
    printf("%-20s", "");
    for (size_t m = 0; m < MODES; m++)
        printf(" %9s %6s", modes[m], "");
    printf("   (median ms, ratio to off)\n");
    for (size_t p = 0; p < sizeof(programs) / sizeof(programs[0]); p++) {
        struct samples samples[MODES] = {{0}};
        for (long round = -2; round < rounds; round++)
            for (size_t m = 0; m < MODES; m++) {
                double us = call(engine, policy, modes[m], programs[p].script);
                if (round >= 0)
                    samples_add(&samples[m], us);
            }
        printf("%-20s", programs[p].name);
        for (size_t m = 0; m < MODES; m++) {
            double median = samples_at(&samples[m], 0.5), off = samples_at(&samples[0], 0.5);
            printf(" %9.2f %6.2f", median / 1000, median / off);
        }
        for (size_t m = 0; m < MODES; m++)
            free(samples[m].us);
        printf("\n");
        fflush(stdout);
    }
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return 0;
}
