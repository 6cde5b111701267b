/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verbs wasm compile, wasm inspect and wasm list. */
#include <stdio.h>
#include <string.h>

#include "cli/show/failure.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "progress/progress.h"

enum { TC_EXIT_LACKING = 1 };

static const struct tc_option options[] = {
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option compile_options[] = {
    {"deterministic", 0, NULL, NULL, "for tools with deterministic = true, which count fuel"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char compile_text[] =
    "Compiles a module in a separate cage and stores the result in your state directory, so that "
    "calls\n"
    "of exactly that file start without compiling. The result is used only if its record,\n"
    "authenticated by your key, matches; otherwise each call compiles the module.\n"
    "\n"
    "example:\n"
    "  toolcage wasm compile ./tool.wasm\n"
    "  toolcage wasm compile --deterministic catalog:js\n";

static const char inspect_text[] =
    "Compiles a module in a separate cage and lists its imports, and whether toolcage provides "
    "them.\n"
    "Exits 1 when an import is not provided: such a module does not run.\n"
    "\n"
    "example:\n"
    "  toolcage wasm inspect ./tool.wasm\n";

static int ask_modules(const struct tc_args *args, bool compiles, char **ret)
{
    _autofailure_ struct tc_failure failure = {0};
    struct toolcage_error **err = tc_failure_error(&failure);
    const char *path = args->operand_count == 1 ? args->operands[0] : NULL;
    int deterministic = tc_args_has(args, "deterministic");
    tc_progress_start("compiling the module", NULL);
    if (path && (compiles ? toolcage_wasm_compile_json(path, deterministic, ret, err)
                          : toolcage_wasm_inspect_json(path, ret, err)) == 0)
        return 0;
    if (args->operand_count != 1)
        (void)tc_failure_set(&failure, TOOLCAGE_EUSAGE, "toolcage wasm compile ./tool.wasm",
                             "name the module's file");
    return tc_failure_tell(&failure, args, NULL);
}

static int print_json(char *json)
{
    _autofree_ char *line = tc_cli_format("%s\n", json);
    toolcage_free(json);
    return line ? tc_cli_print_clean(line) : tc_cli_no_memory();
}

static int compile_modules(const struct tc_args *args)
{
    char *json = NULL;
    int rc = ask_modules(args, true, &json);
    if (rc)
        return rc;
    if (tc_args_has(args, "json"))
        return print_json(json);
    toolcage_free(json);
    tc_cli_say("%s is compiled", args->operands[0]);
    return 0;
}

static int count_lacking(const char *json)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "imports"));
    int count = 0;
    while (tc_scan_next(&each))
        count += !tc_json_true(tc_json_get(each.value, "provided"));
    return count;
}

static int print_imports(const char *json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    struct tc_slice all = tc_json_of(json);
    _autofree_ char *digest = tc_json_text(tc_json_get(all, "digest"));
    (void)fprintf(out, "%s\n", digest ? digest : "?");
    struct tc_scan_each each = tc_scan_walk(tc_json_get(all, "imports"));
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_line(tc_json_get(each.value, "name"));
        bool provided = tc_json_true(tc_json_get(each.value, "provided"));
        (void)fprintf(out, "%-3s  %s\n", provided ? "yes" : "no", name ? name : "?");
    }
    return tc_cli_print_text(TC_PAINT_NOTHING, out, &text);
}

static int inspect(const struct tc_args *args)
{
    char *json = NULL;
    int rc = ask_modules(args, false, &json);
    if (rc)
        return rc;
    bool lacking = count_lacking(json) > 0;
    if (tc_args_has(args, "json"))
        rc = print_json(json);
    else {
        rc = print_imports(json);
        toolcage_free(json);
    }
    return rc ? rc : lacking ? TC_EXIT_LACKING : 0;
}

/* ---- the catalog ---- */

static const char list_text[] = "Lists the tools that come with toolcage as WebAssembly modules. "
                                "One line of a policy adds one:\n"
                                "module = \"catalog:NAME\". Other keys in the policy take "
                                "precedence. With NAME it prints the keys\n"
                                "that this line stands for, to copy and change.\n"
                                "\n"
                                "examples:\n"
                                "  toolcage wasm list\n"
                                "  toolcage wasm list file_edit\n";

/* "file_edit" and "catalog:file_edit" are the same. */
static bool is_named(const char *module, const char *name)
{
    static const char before[] = "catalog:";
    size_t n = sizeof(before) - 1;
    return strcmp(module, name) == 0 || strcmp(module + n, name) == 0;
}

static char *describe_module(const char *json, const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "modules"));
    while (out && tc_scan_next(&each)) {
        _autofree_ char *module = tc_json_text(tc_json_get(each.value, "module"));
        _autofree_ char *words = tc_json_text(tc_json_get(each.value, "description"));
        _autofree_ char *manifest = tc_json_text(tc_json_get(each.value, "manifest"));
        if (!module || !words || !manifest)
            continue;
        if (!name)
            (void)fprintf(out, "%-22s  %.*s\n", module, (int)strcspn(words, "."), words);
        else if (is_named(module, name))
            (void)fputs(manifest, out);
    }
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int list(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    const char *name = args->operand_count ? args->operands[0] : NULL;
    char *json = NULL;
    if (toolcage_wasm_list_json(&json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    _autofree_ char *text = describe_module(json, name);
    if (text && text[0] && tc_args_has(args, "json"))
        return print_json(json);
    toolcage_free(json);
    if (!text)
        return tc_cli_no_memory();
    if (text[0])
        return tc_cli_print_clean(text);
    (void)tc_failure_set(&failure, TOOLCAGE_EUSAGE, "toolcage wasm list names them",
                         "there is no %s in the catalog", name);
    return tc_failure_tell(&failure, args, NULL);
}

const struct tc_verb tc_verb_wasm_list = {
    .name = "wasm list",
    .operands = "[NAME]",
    .summary = "the tools that come as modules",
    .text = list_text,
    .options = options,
    .most = 1,
    .run = list,
};

const struct tc_verb tc_verb_wasm_compile = {
    .name = "wasm compile",
    .operands = "FILE",
    .summary = "compile a module in advance",
    .text = compile_text,
    .options = compile_options,
    .most = 1,
    .run = compile_modules,
};

const struct tc_verb tc_verb_wasm_inspect = {
    .name = "wasm inspect",
    .operands = "FILE",
    .summary = "list a module's imports, and whether they are provided",
    .text = inspect_text,
    .options = options,
    .most = 1,
    .run = inspect,
};
