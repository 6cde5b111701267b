/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Installing, compiling and listing of the engine and modules in the user's state directory. Only
 * an engine with the expected digest is accepted. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "backend/registry.h"
#include "backend/wasm/modules.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "policy/parse/catalog.h"
#include "state/places.h"
#include "state/store.h"
#include "wasm/version.h"

enum { ENGINE_MAX = 128 << 20, CODE_MAX = 256 << 20 };

static int fail_store(const char *path, const char *hint, const char *what,
                      struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY_ERRNO(TOOLCAGE_EPATH, "wasm", path, errno, hint), "%s: %s", what,
                   path);
}

static int fail_read(const char *path, struct toolcage_error **err)
{
    if (errno != ENOENT || strcmp(path, TC_WASM_EDGE_IMAGE) != 0)
        return fail_store(path, "name the engine's library, or one of the modules js and python",
                          "the file cannot be read", err);
    errno = 0;
    return fail_store(path, TC_WASM_EDGE_BUILD, "this engine comes as an image", err);
}

/* Reads a file and identifies it by its digest: the engine, or a catalog module. */
static int read_known(const char *path, struct tc_buf *ret, const struct tc_fetched **ret_module,
                      struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE];
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ret->max = ENGINE_MAX;
    if (fd < 0 || tc_read_all(fd, ret) < 0)
        return fail_read(path, err);
    tc_digest(ret->data, ret->len, digest);
    *ret_module = tc_fetched_of(digest);
    if (*ret_module || strcmp(digest, TC_WASM_DIGEST) == 0)
        return 0;
    errno = 0;
    return fail_store(path,
                      TC_WASM_DIGEST[0] ? "let toolcage wasm install fetch it"
                                        : "WebAssembly runs only on x86-64 so far",
                      "this is not the shared library of Wasmtime " TC_WASM_VERSION
                      " for this machine, and no module of the catalog",
                      err);
}

/* The directory for WebAssembly in the user's state, created if missing; owned. */
static int make_directory(char **ret, struct toolcage_error **err)
{
    _autofree_ char *state = NULL;
    if (!tc_state_directory(&state))
        return tc_fail_memory(err);
    errno = ENOENT;
    if (!state)
        return fail_store("$HOME", "set HOME, or XDG_STATE_HOME",
                          "this user has no state directory", err);
    _autofree_ char *path = tc_path_join(state, "wasm");
    if (!path)
        return tc_fail_memory(err);
    if (tc_make_directories(path) < 0)
        return fail_store(path, "make room, or give it back to its user", "it cannot be made", err);
    *ret = TAKE(path);
    return 0;
}

static int install(const char *from, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    _autofree_ char *dir = NULL;
    const struct tc_fetched *module = NULL;
    int r = read_known(from, &bytes, &module, err);
    if (r == 0)
        r = make_directory(&dir, err);
    if (r < 0)
        return r;
    _autofree_ char *path =
        module ? tc_fetched_path(module, dir) : tc_path_join(dir, TC_WASM_LIBRARY);
    if (!path)
        return tc_fail_memory(err);
    return tc_store_write(AT_FDCWD, path, bytes.data, bytes.len, 0644) < 0
               ? fail_store(path, "make room, or give it back to its user", "it cannot be written",
                            err)
               : 0;
}

static int status(char **ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    _autofree_ char *path = NULL;
    struct toolcage_error *why = NULL;
    int r = tc_wasm_locator.tell(&tc_wasm_locator, NULL, &path, &why);
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "engine", "wasmtime");
    tc_json_member(&out, "version", TC_WASM_VERSION);
    tc_json_bool(&out, "installed", r == 0);
    tc_json_member(&out, "library", path ? path : "");
    tc_json_member(&out, "reason", r < 0 ? tc_error_message(why) : "");
    tc_buf_addc(&out, '}');
    tc_error_free(why);
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}

/* ---- work in a separate cage, which has only the module and the engine ---- */

#define POLICY                 \
    "[tool.module]\n"          \
    "backend = \"wasm\"\n"     \
    "command = [\"module\"]\n" \
    "filesystem = \"none\"\n"  \
    "network = \"none\"\n"     \
    "timeout = \"10m\"\n"      \
    "memory = { max = \"2GiB\", by = \"any\" }\n"

static int fail_work(const char *path, const char *words, size_t length,
                     struct toolcage_error **err)
{
    while (length && (words[length - 1] == '\n'))
        length--;
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EBACKEND, "wasm", path,
               memmem(words, length, "is not installed", strlen("is not installed"))
                   ? "toolcage wasm install fetches and checks it"
                   : "give a program of WASI preview 1, as clang --target=wasm32-wasi makes them"),
        "%.*s", (int)length, words);
}

/* For "inspect", exit code 1 means that the module needs imports which do not exist; that is not a
 * failure. */
static int check_end(const struct tc_errand *errand, const struct tc_errand_end *end,
                     struct toolcage_error **err)
{
    static const char limits[] = "it took too long, or too much memory";
    const struct tc_buf *said = &end->complaints;
    if (end->out.failed)
        return tc_fail_memory(err);
    if (end->error)
        return fail_work(errand->module, end->error, strlen(end->error), err);
    if (end->exit_code == 0 || (end->exit_code == 1 && strcmp(errand->work, "inspect") == 0))
        return 0;
    return said->data && said->len ? fail_work(errand->module, said->data, said->len, err)
                                   : fail_work(errand->module, limits, strlen(limits), err);
}

/* Runs "compile" or "inspect" on the module, and returns the output. */
static int work(tc_errand_fn *run, const char *what, const char *path, bool deterministic,
                struct tc_buf *ret, struct toolcage_error **err)
{
    const struct tc_errand errand = {.policy =
                                         deterministic ? POLICY "deterministic = true\n" : POLICY,
                                     .tool = "module",
                                     .work = what,
                                     .module = path,
                                     .prints = true};
    struct tc_errand_end end = {.out = {.max = CODE_MAX}, .complaints = TC_BUF_INIT};
    int r = run(NULL, &errand, &end, err);
    if (r == 0)
        r = check_end(&errand, &end, err);
    *ret = end.out;
    tc_buf_done(&end.complaints);
    free(end.error);
    return r;
}

/* Compiles in a separate cage, and stores the code with a record. */
static int compile_module(tc_errand_fn *run, const char *from, bool deterministic,
                          struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf code = TC_BUF_INIT;
    _autofree_ char *dir = NULL;
    if (!tc_module_digest(from, digest))
        return fail_store(from, "name a module's file", "the file cannot be read", err);
    int r = work(run, "compile", from, deterministic, &code, err);
    if (r == 0)
        r = make_directory(&dir, err);
    if (r < 0)
        return r;
    return tc_code_keep(dir, digest, deterministic, &code)
               ? 0
               : fail_store(dir, "make room, or give it back to its user", "it cannot be written",
                            err);
}

/* Converts lines "yes MODULE NAME" to an array. */
static void add_imports(struct tc_buf *out, const char *lines)
{
    tc_json_key(out, "imports");
    tc_buf_addc(out, '[');
    for (const char *at = lines ? lines : ""; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t word = strcspn(at, " "), all = strcspn(at, "\n");
        if (all <= word)
            break;
        tc_buf_adds(out, at == lines ? "{" : ",{");
        tc_json_key(out, "name");
        tc_json_string(out, at + word + 1, all - word - 1);
        tc_json_key(out, "provided");
        tc_buf_adds(out, *at == 'y' ? "true}" : "false}");
    }
    tc_buf_addc(out, ']');
}

static int inspect(tc_errand_fn *run, const char *from, char **ret, struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf lines = TC_BUF_INIT, out = TC_BUF_INIT;
    if (!tc_module_digest(from, digest))
        return fail_store(from, "name a module's file", "the file cannot be read", err);
    int r = work(run, "inspect", from, false, &lines, err);
    if (r < 0)
        return r;
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "module", from);
    tc_json_member(&out, "digest", digest);
    add_imports(&out, lines.data);
    tc_buf_addc(&out, '}');
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}

static bool is_installed(const char *module)
{
    _autofree_ char *path = strdup(module);
    return path && tc_modules_catalog(&path, NULL) == 0;
}

static int list_one(struct tc_buf *out, const struct tc_profile *row, struct toolcage_error **err)
{
    _autofree_ char *words = tc_catalog_description(row);
    _autofree_ char *module = tc_format(TC_CATALOG "%s", row->name);
    if (!words || !module)
        return tc_fail_memory(err);
    const struct tc_fetched *fetched = tc_fetched_find(module);
    tc_buf_adds(out, row == tc_catalog ? "{" : ",{");
    tc_json_member(out, "module", module);
    tc_json_member(out, "description", words);
    tc_json_member(out, "manifest", row->text);
    tc_json_bool(out, "installed", is_installed(module));
    if (fetched) {
        tc_json_key(out, "fetched");
        tc_buf_adds(out, "{");
        tc_json_member(out, "requirement", fetched->requirement);
        tc_json_member(out, "file", fetched->file);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, '}');
    return 0;
}

static int list(char **ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    int r = 0;
    tc_buf_adds(&out, "{\"modules\":[");
    for (const struct tc_profile *row = tc_catalog; row->name && r == 0; row++)
        r = list_one(&out, row, err);
    if (r < 0)
        return r;
    tc_buf_adds(&out, "]}");
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}

static int refuse_action(const char *action, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUSAGE, "wasm", action,
                          "status or list; or install, compile, compile-deterministic or inspect "
                          "with a path"),
                   "WebAssembly has no such action");
}

int tc_modules_json(const char *action, const char *path, tc_errand_fn *run, char **ret,
                    struct toolcage_error **err)
{
    _autofree_ char *file = path ? strdup(path) : NULL;
    if (path && !file)
        return tc_fail_memory(err);
    if (!path && tc_streq(action, "list"))
        return list(ret, err);
    int r = path ? tc_modules_catalog(&file, err) : 0;
    if (r < 0)
        return r;
    if (path && tc_streq(action, "inspect"))
        return inspect(run, file, ret, err);
    if (path && tc_streq(action, "install"))
        r = install(file, err);
    else if (path && tc_streq(action, "compile"))
        r = compile_module(run, file, false, err);
    else if (path && tc_streq(action, "compile-deterministic"))
        r = compile_module(run, file, true, err);
    else if (path || !tc_streq(action, "status"))
        r = refuse_action(action, err);
    return r < 0 ? r : status(ret, err);
}
