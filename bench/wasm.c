/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls of WebAssembly modules through the library, against a native program in the same cage and
 * bare engine in a loop: a module that does nothing, and an edit of a small file. Then calls a
 * second, and what a worker that waits takes of the memory. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <toolcage/tools.h>

#include "footprint.h"
#include "loop.h"
#include "turns.h"

/* (module (memory (export "memory") 1) (func (export "_start"))), and a section that says nothing:
 * another module, so that the one is compiled ahead and the other is not. */
static const unsigned char module[] = {
    0x00, 'a',  's',  'm',  0x01, 0x00, 0x00, 0x00, 0x01, 0x04, 0x01, 0x60, 0x00, 0x00,
    0x03, 0x02, 0x01, 0x00, 0x05, 0x03, 0x01, 0x00, 0x01, 0x07, 0x13, 0x02, 0x06, 'm',
    'e',  'm',  'o',  'r',  'y',  0x02, 0x00, 0x06, '_',  's',  't',  'a',  'r',  't',
    0x00, 0x00, 0x0a, 0x04, 0x01, 0x02, 0x00, 0x0b, 0x00, 0x02, 0x01, 'x'};
enum { SECTION = 4, SETTLE_MS = 500 };

/* A host whose workers serve one call each, and one whose serve many. */
static struct target {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
} once, again;

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *out = fopen(path, "w");
    if (!out || fwrite(bytes, 1, length, out) != length || fclose(out))
        die("cannot write %s", path);
}

static struct toolcage_call *begin(const struct target *to, const char *tool, const char *arguments)
{
    struct toolcage_call *made = NULL;
    struct toolcage_error *err = NULL;
    if (toolcage_call_new(to->engine, to->policy, tool, &made, &err) ||
        (arguments && toolcage_call_set_arguments_json(made, arguments, &err)) ||
        toolcage_call_start(made, &err) < 0)
        die("%s", toolcage_error_report(err));
    return made;
}

/* Another word each time, so that the call is another one. */
static struct toolcage_call *begin_with_word(const struct target *to, const char *tool)
{
    static unsigned count;
    char word[16];
    const char *const words[] = {"noop", word};
    struct toolcage_call *made = NULL;
    struct toolcage_error *err = NULL;
    (void)snprintf(word, sizeof(word), "%u", count++);
    if (toolcage_call_new(to->engine, to->policy, tool, &made, &err) ||
        toolcage_call_set_command(made, 2, words, &err) || toolcage_call_start(made, &err) < 0)
        die("%s", toolcage_error_report(err));
    return made;
}

static void end(struct toolcage_call *call)
{
    struct toolcage_error *err = NULL;
    if (toolcage_call_wait(call, -1, &err) < 0)
        die("%s", toolcage_error_report(err));
    const struct toolcage_result *result = toolcage_call_result(call);
    if (toolcage_result_status(result) != TOOLCAGE_STATUS_OK)
        die("%s", toolcage_result_message(result));
    toolcage_call_unref(call);
}

static double call(const struct target *to, const char *tool, const char *arguments)
{
    double start = clock_us();
    end(begin(to, tool, arguments));
    return clock_us() - start;
}

static double native(struct turn *turn)
{
    return call(&once, "native", NULL);
}

static double fresh(struct turn *turn)
{
    return call(&once, "ahead", NULL);
}

static double anew(struct turn *turn)
{
    return call(&once, "anew", NULL);
}

static double reused(struct turn *turn)
{
    return call(&again, "ahead", NULL);
}

static double reused_for_another(struct turn *turn)
{
    double start = clock_us();
    end(begin_with_word(&again, "said"));
    return clock_us() - start;
}

/* One word for another and back. */
static const char *next_edit(unsigned *count)
{
    static const char *const edits[] = {
        "{\"action\":\"replace\",\"path\":\"/workspace/f\",\"old\":\"one\",\"new\":\"two\"}",
        "{\"action\":\"replace\",\"path\":\"/workspace/f\",\"old\":\"two\",\"new\":\"one\"}"};
    return edits[(*count)++ % 2];
}

static unsigned edited;

static double edit(struct turn *turn)
{
    return call(&once, "edit", next_edit(&edited));
}

static double edit_reused(struct turn *turn)
{
    return call(&again, "edit", next_edit(&edited));
}

static double js(struct turn *turn)
{
    return call(&once, "js", "{\"script\":\"console.log(1)\"}");
}

static double python(struct turn *turn)
{
    return call(&once, "python", "{\"script\":\"print(1)\"}");
}

/* What is fetched is measured where it was. */
static bool compile(const char *path)
{
    char *json = NULL;
    struct toolcage_error *err = NULL;
    double start = clock_us();
    bool compiled = toolcage_wasm_compile_json(path, 0, &json, &err) == 0;
    if (compiled)
        printf("%-62s %10.0f\n", path, clock_us() - start);
    else
        printf("not measured: %s\n", toolcage_error_report(err));
    toolcage_free(json);
    toolcage_error_free(err);
    return compiled;
}

static bool has_js, has_python;

static void open_target(struct target *to, const char *text)
{
    struct toolcage_error *err = NULL;
    if (toolcage_policy_load_buffer(text, strlen(text), "/bench.toml", &to->policy, &err) ||
        toolcage_engine_new(&to->engine, &err))
        die("%s", toolcage_error_report(err));
}

static void close_target(struct target *to)
{
    toolcage_engine_unref(to->engine);
    toolcage_policy_unref(to->policy);
}

/* The engine's file, by what the library says of it: a JSON object without escapes in paths. */
static void open_loop(void)
{
    char *json = NULL, *at = NULL;
    struct toolcage_error *err = NULL;
    static const char key[] = "\"library\":\"";
    if (toolcage_wasm_status_json(&json, &err) || !(at = strstr(json, key)))
        die("where the engine is cannot be found");
    at += strlen(key);
    at[strcspn(at, "\"")] = '\0';
    loop_open(at, module, sizeof(module) - SECTION);
    printf("%-62s %10.0f\n%-62s %10.0f\n", "the first of them by the engine alone",
           loop_compiled_us(), "what it was compiled to, loaded", loop_loaded_us());
    toolcage_free(json);
}

enum { AT_ONCE_MAX = 4, RATE_US = 1000000 };

/* With so many at any time. */
static void print_rate(const struct target *to, const char *what, int at_once)
{
    struct toolcage_call *calls[AT_ONCE_MAX];
    double start = clock_us(), now = start;
    long count = 0;
    for (int i = 0; i < at_once; i++)
        calls[i] = begin(to, "ahead", NULL);
    for (int i = 0; now - start < RATE_US; i = (i + 1) % at_once, count++) {
        end(calls[i]);
        calls[i] = begin(to, "ahead", NULL);
        now = clock_us();
    }
    for (int i = 0; i < at_once; i++)
        end(calls[i]);
    printf("%-36s %d at once %16.0f a second\n", what, at_once,
           (double)count / (now - start) * 1e6);
}

/* On a busy machine the one figure that is the code's and not the scheduler's. */
static void print_least(struct turn *const *turns, size_t count)
{
    printf("least of them back to back:");
    for (size_t i = 0; i < count; i++)
        printf("%s %s %.0f", i ? "," : "", turns[i]->name, samples_at(&turns[i]->dense, 0));
    printf("\n");
}

static void print_idle(void)
{
    const struct footprint_mean mean = footprint_of("toolcage-wasm");
    printf(
        "memory of a worker that waits (KiB), mean of %ld: %ld resident, %ld by its share of each "
        "page, %ld its own\n",
        mean.count, mean.resident_kib, mean.shared_out_kib, mean.private_kib);
}

static void load(const char *dir, const char *noop)
{
    char path[4096], text[8192];
    static const char reuse[] = "[backend.wasm]\nreuse = \"same-grant\"\n";
    (void)snprintf(path, sizeof(path), "%s/anew.wasm", dir);
    write_file(path, module, sizeof(module));
    (void)snprintf(path, sizeof(path), "%s/ahead.wasm", dir);
    write_file(path, module, sizeof(module) - SECTION);
    printf("compiled ahead, once (us)\n");
    if (!compile(path) || !compile("catalog:file_edit"))
        exit(0);
    has_js = compile("catalog:js");
    has_python = compile("catalog:python");
    (void)snprintf(path, sizeof(path), "%s/f", dir);
    write_file(path, "one and another\n", strlen("one and another\n"));
    memcpy(text, reuse, sizeof(reuse));
    (void)snprintf(text + strlen(reuse), sizeof(text) - strlen(reuse),
                   "[defaults]\nnetwork = \"none\"\nmemory = { max = \"512MiB\", by = \"any\" }\n"
                   "[tool.native]\ncommand = [\"%s\"]\nfilesystem = { readable = [\"%s\"] }\n"
                   "[tool.ahead]\nmodule = \"%s/ahead.wasm\"\ncommand = [\"noop\"]\n"
                   "filesystem = \"none\"\n"
                   "[tool.said]\nmodule = \"%s/ahead.wasm\"\nfilesystem = \"none\"\n"
                   "[tool.anew]\nmodule = \"%s/anew.wasm\"\ncommand = [\"noop\"]\n"
                   "filesystem = \"none\"\n"
                   "[tool.edit]\nmodule = \"catalog:file_edit\"\n"
                   "[tool.js]\nmodule = \"catalog:js\"\n"
                   "[tool.python]\nmodule = \"catalog:python\"\n",
                   noop, noop, dir, dir, dir);
    open_target(&again, text);
    open_target(&once, text + strlen(reuse));
    open_loop();
}

/* Runs in DIR, which is the workspace. */
int main(int argc, char **argv)
{
    if (argc != 5)
        die("usage: wasm ROUNDS PACED DIR NOOP");
    load(argv[3], argv[4]);
    struct turn turns[] = {
        {.name = "a program in a process cage", .once = native},
        {.name = "module, compiled in the call", .once = anew},
        {.name = "module, worker for one call", .once = fresh},
        {.name = "module, worker for many calls", .once = reused},
        {.name = "the same, with other words each time", .once = reused_for_another},
        {.name = "file_edit, worker for one call", .once = edit},
        {.name = "file_edit, worker for many calls", .once = edit_reused},
        {.name = "a line of JavaScript", .once = js},
        {.name = "a line of Python", .once = python},
        {.name = "the bare engine in a loop", .once = loop_once},
    };
    enum { COUNT = sizeof(turns) / sizeof(turns[0]) };
    struct turn *all[COUNT];
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++)
        if ((turns[i].once != js || has_js) && (turns[i].once != python || has_python))
            all[count++] = &turns[i];
    turns_take(all, count, (int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
    turns_print_head();
    turns_print(all, count);
    print_least(all, count);
    for (int at_once = 1; at_once <= AT_ONCE_MAX; at_once *= 2) {
        print_rate(&once, "workers for one call", at_once);
        print_rate(&again, "workers for many calls", at_once);
    }
    (void)call(&once, "ahead", NULL);
    pause_ms(SETTLE_MS);
    print_idle();
    close_target(&once);
    close_target(&again);
    return 0;
}
