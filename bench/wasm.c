/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls of WebAssembly modules through the library, against a native program in the same cage: a
 * module that does nothing, compiled ahead and in the call, an edit of a small file, and scripts of
 * a line. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turns.h"

/* (module (memory (export "memory") 1) (func (export "_start"))), and a section that says nothing:
 * another module, so that the one is compiled ahead and the other is not. */
static const unsigned char module[] = {
    0x00, 'a',  's',  'm',  0x01, 0x00, 0x00, 0x00, 0x01, 0x04, 0x01, 0x60, 0x00, 0x00,
    0x03, 0x02, 0x01, 0x00, 0x05, 0x03, 0x01, 0x00, 0x01, 0x07, 0x13, 0x02, 0x06, 'm',
    'e',  'm',  'o',  'r',  'y',  0x02, 0x00, 0x06, '_',  's',  't',  'a',  'r',  't',
    0x00, 0x00, 0x0a, 0x04, 0x01, 0x02, 0x00, 0x0b, 0x00, 0x02, 0x01, 'x'};
enum { SECTION = 4 };

static struct toolcage_engine *engine;
static struct toolcage_policy *policy;

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *out = fopen(path, "w");
    if (!out || fwrite(bytes, 1, length, out) != length || fclose(out))
        die("cannot write %s", path);
}

static double call(const char *tool, const char *arguments)
{
    struct toolcage_call *made = NULL;
    struct toolcage_error *err = NULL;
    double start = clock_us();
    if (toolcage_call_new(engine, policy, tool, &made, &err) ||
        (arguments && toolcage_call_set_arguments_json(made, arguments, &err)) ||
        toolcage_call_run(made, &err))
        die("%s", toolcage_error_report(err));
    const struct toolcage_result *result = toolcage_call_result(made);
    if (toolcage_result_status(result) != TOOLCAGE_STATUS_OK)
        die("%s: %s", tool, toolcage_result_message(result));
    double us = clock_us() - start;
    toolcage_call_unref(made);
    return us;
}

static double native(struct turn *turn)
{
    return call("native", NULL);
}

static double ahead(struct turn *turn)
{
    return call("ahead", NULL);
}

static double anew(struct turn *turn)
{
    return call("anew", NULL);
}

/* One word for another and back. */
static double edit(struct turn *turn)
{
    static const char *const edits[] = {
        "{\"action\":\"replace\",\"path\":\"/workspace/f\",\"old\":\"one\",\"new\":\"two\"}",
        "{\"action\":\"replace\",\"path\":\"/workspace/f\",\"old\":\"two\",\"new\":\"one\"}"};
    static unsigned count;
    return call("edit", edits[count++ % 2]);
}

static double js(struct turn *turn)
{
    return call("js", "{\"script\":\"console.log(1)\"}");
}

static double python(struct turn *turn)
{
    return call("python", "{\"script\":\"print(1)\"}");
}

/* What is fetched is measured where it was. */
static bool compile(const char *path)
{
    char *json = NULL;
    struct toolcage_error *err = NULL;
    double start = clock_us();
    bool compiled = toolcage_wasm_json("compile", path, &json, &err) == 0;
    if (compiled)
        printf("%-62s %10.0f\n", path, clock_us() - start);
    else
        printf("not measured: %s\n", toolcage_error_report(err));
    toolcage_free(json);
    toolcage_error_free(err);
    return compiled;
}

static bool has_js, has_python;

static void load(const char *dir, const char *noop)
{
    char path[4096], text[8192];
    struct toolcage_error *err = NULL;
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
    (void)snprintf(text, sizeof(text),
                   "[defaults]\nnetwork = \"none\"\nmemory = { max = \"512MiB\", by = \"any\" }\n"
                   "[tool.native]\ncommand = [\"%s\"]\nfilesystem = { readable = [\"%s\"] }\n"
                   "[tool.ahead]\nmodule = \"%s/ahead.wasm\"\ncommand = [\"noop\"]\n"
                   "filesystem = \"none\"\n"
                   "[tool.anew]\nmodule = \"%s/anew.wasm\"\ncommand = [\"noop\"]\n"
                   "filesystem = \"none\"\n"
                   "[tool.edit]\nmodule = \"catalog:file_edit\"\n"
                   "[tool.js]\nmodule = \"catalog:js\"\n"
                   "[tool.python]\nmodule = \"catalog:python\"\n",
                   noop, noop, dir, dir);
    if (toolcage_policy_load_buffer(text, strlen(text), "/bench.toml", &policy, &err) ||
        toolcage_engine_new(&engine, &err))
        die("%s", toolcage_error_report(err));
}

/* Runs in DIR, which is the workspace. */
int main(int argc, char **argv)
{
    if (argc != 5)
        die("usage: wasm ROUNDS PACED DIR NOOP");
    load(argv[3], argv[4]);
    struct turn turns[] = {{.name = "a program in a process cage", .once = native},
                           {.name = "a module, compiled ahead", .once = ahead},
                           {.name = "a module, compiled in the call", .once = anew},
                           {.name = "catalog:file_edit, a word of a file", .once = edit},
                           {.name = "catalog:js, a line", .once = js},
                           {.name = "catalog:python, a line", .once = python}};
    struct turn *all[] = {&turns[0], &turns[1], &turns[2], &turns[3], NULL, NULL};
    size_t count = 4;
    if (has_js)
        all[count++] = &turns[4];
    if (has_python)
        all[count++] = &turns[5];
    turns_take(all, count, (int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
    turns_print_head();
    turns_print(all, count);
    toolcage_engine_unref(engine);
    toolcage_policy_unref(policy);
    return 0;
}
