/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb wasm install: fetches the engine that the backend wasm loads. The package client that
 * Python brings gets it from where the user's own settings say, and takes nothing but the file of
 * this digest; the library then checks what was in it once more. The catalog is compiled with it.
 */
#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/failure.h"
#include "cli/json.h"
#include "cli/say.h"

#define VERSION "50.0.1"
#define WHEEL "wasmtime-" VERSION "-py3-none-manylinux1_x86_64.whl"
#define LIBRARY "wasmtime/linux-x86_64/_libwasmtime.so"
#define REQUIREMENT      \
    "wasmtime==" VERSION \
    " --hash=sha256:cc14c3a17654e0394e0225b11813532ef0cd7bd1e222a0c5494cdedaabeddac4\n"

extern char **environ;

static const struct tc_option options[] = {
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Fetches Wasmtime " VERSION " with pip, checks it by its digest and keeps it in your state\n"
    "directory, where backend = \"wasm\" finds it. Nothing else on this machine changes. With "
    "FILE\n"
    "it takes the wheel, or the shared library out of it, from there and fetches nothing. Then it\n"
    "compiles the catalog's tools there, each in a cage of its own, so that no call has to.\n"
    "\n"
    "examples:\n"
    "  toolcage wasm install\n"
    "  toolcage wasm install ./" WHEEL "\n";

/* ---- a place to work in ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    (void)remove(path);
    return 0;
}

static void remove_all(char *const *dir)
{
    if (*dir)
        (void)nftw(*dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*dir);
}
#define _autoplace_ __attribute__((cleanup(remove_all)))

static char *make_place(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = NULL;
    if (asprintf(&dir, "%s/toolcage-wasm-XXXXXX", base && *base ? base : "/tmp") < 0)
        return NULL;
    if (mkdtemp(dir))
        return dir;
    free(dir);
    return NULL;
}

static bool write_text(const char *path, const char *words)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return false;
    bool written = fputs(words, out) >= 0;
    return !fclose(out) && written;
}

/* ---- what is run ---- */

/* Its words are its own; what it fails with, too. */
static int run_program(const char *const argv[], struct tc_failure *failure)
{
    pid_t pid;
    int status = 0, r;
    r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ);
    if (r == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    if (r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EBACKEND,
                          "install Python's pip, or fetch " WHEEL
                          " yourself and name it: toolcage wasm install FILE",
                          "%s %s %s failed", argv[0], argv[1], argv[2]);
}

static int fetch(const char *dir, char **ret, struct tc_failure *failure)
{
    _autofree_ char *list = NULL;
    if (asprintf(&list, "%s/requirements.txt", dir) < 0 || asprintf(ret, "%s/" WHEEL, dir) < 0)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    if (!write_text(list, REQUIREMENT))
        return tc_failure_set(failure, TOOLCAGE_EPATH, "make room there, or set TMPDIR",
                              "%s cannot be written: %s", list, strerror(errno));
    const char *const argv[] = {"python3",
                                "-m",
                                "pip",
                                "download",
                                "--quiet",
                                "--disable-pip-version-check",
                                "--no-deps",
                                "--only-binary=:all:",
                                "--require-hashes",
                                "-r",
                                list,
                                "-d",
                                dir,
                                NULL};
    return run_program(argv, failure);
}

static int unpack(const char *dir, const char *wheel, char **ret, struct tc_failure *failure)
{
    if (asprintf(ret, "%s/" LIBRARY, dir) < 0)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    const char *const argv[] = {"python3", "-m", "zipfile", "-e", wheel, dir, NULL};
    return run_program(argv, failure);
}

static bool is_wheel(const char *file)
{
    size_t n = strlen(file);
    return n > 4 && strcmp(file + n - 4, ".whl") == 0;
}

/* The library's path into *ret. */
static int find(const char *dir, const char *file, char **ret, struct tc_failure *failure)
{
    _autofree_ char *wheel = NULL;
    if (file && !is_wheel(file)) {
        *ret = strdup(file);
        return *ret
                   ? 0
                   : tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    }
    if (!file && fetch(dir, &wheel, failure))
        return -1;
    return unpack(dir, file ? file : wheel, ret, failure);
}

static int print(const struct tc_args *args, const char *json)
{
    _autofree_ char *library = tc_json_text(tc_json_get(tc_json_of(json), "library"));
    _autofree_ char *line = NULL;
    if (asprintf(&line, "%s\n", json) < 0)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json"))
        return tc_cli_print_clean(line);
    tc_cli_say("Wasmtime " VERSION " is installed: %s", library ? library : "?");
    return 0;
}

/* ---- the catalog ---- */

/* One that is not compiled runs all the same, so this is no failure of the install. */
static void tell_uncompiled(const char *module, struct toolcage_error *error)
{
    tc_cli_say("%s is not compiled ahead, each call of it compiles it: %s", module,
               error ? toolcage_error_message(error) : "out of memory");
    tc_cli_hint("after that is fixed: toolcage wasm compile %s", module);
    toolcage_error_free(error);
}

static bool compile_one(const char *module)
{
    struct toolcage_error *error = NULL;
    char *json = NULL;
    bool compiled = toolcage_wasm_json("compile", module, &json, &error) == 0;
    if (!compiled)
        tell_uncompiled(module, error);
    toolcage_free(json);
    return compiled;
}

/* What keeps one from being compiled keeps the others from it, too: it is told once. */
static void compile_catalog(void)
{
    char *json = NULL;
    if (toolcage_wasm_json("list", NULL, &json, NULL))
        return;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "modules"));
    bool compiled = true;
    while (compiled && tc_scan_next(&each)) {
        _autofree_ char *module = tc_json_text(tc_json_get(each.value, "module"));
        compiled = module && compile_one(module);
    }
    toolcage_free(json);
}

static int install(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autoplace_ char *dir = make_place();
    _autofree_ char *library = NULL;
    char *json = NULL;
    if (!dir)
        return tc_failure_set(&failure, TOOLCAGE_EPATH, "set TMPDIR",
                              "no directory can be made to work in: %s", strerror(errno)),
               tc_failure_tell(&failure, args, NULL);
    if (find(dir, args->word_count ? args->words[0] : NULL, &library, &failure) ||
        toolcage_wasm_json("install", library, &json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    compile_catalog();
    int rc = print(args, json);
    toolcage_free(json);
    return rc;
}

const struct tc_verb tc_verb_wasm_install = {
    .name = "wasm install",
    .words = "[FILE]",
    .summary = "fetch the engine of backend wasm, and check it",
    .text = text,
    .options = options,
    .most = 1,
    .run = install,
};
