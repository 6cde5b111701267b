/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads a module's bytes, and checks them before use. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "state/stamp.h"
#include "wasm/worker.h"

enum { MODULE_MAX = 256 << 20 };

void tc_wasm_fail(const char *subject, const char *fmt, ...)
{
    va_list args;
    tc_wasm_face();
    va_start(args, fmt);
    (void)fprintf(stderr, "toolcage-wasm: %s: ", subject);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(TC_WASM_REFUSED);
}

/* Does the open file still have this stamp? */
static bool is_marked(int fd, const char *stamp)
{
    struct stat st;
    char now[TC_STAMP_SIZE];
    if (!stamp || fstat(fd, &st) < 0)
        return false;
    tc_stamp(&st, now);
    return strcmp(now, stamp) == 0;
}

void tc_wasm_read(const char *path, const char *digest, char **ret, size_t *ret_size)
{
    struct tc_buf bytes = {.max = MODULE_MAX};
    char found[TC_DIGEST_SIZE];
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || tc_read_all(fd, &bytes) < 0)
        tc_wasm_fail(path, "%s", strerror(errno));
    if (digest) {
        tc_digest(bytes.data, bytes.len, found);
        if (strcmp(found, digest) != 0)
            tc_wasm_fail(path, "its digest is %s, not %s as expected", found, digest);
    }
    *ret_size = bytes.len;
    *ret = tc_buf_steal(&bytes);
    if (!*ret)
        tc_wasm_fail(path, "it is empty");
}

static bool is_wasm(const char *bytes, size_t size)
{
    static const char word[] = {'\0', 'a', 's', 'm'};
    return size >= sizeof(word) && memcmp(bytes, word, sizeof(word)) == 0;
}

/* A component has a module's magic number, a version, and layer 1. */
bool tc_wasm_is_component(const char *path)
{
    static const char layer[] = {1, 0};
    enum { LAYER = 6, HEAD = 8 };
    char head[HEAD] = {0};
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd >= 0 && read(fd, head, HEAD) == HEAD && is_wasm(head, HEAD) &&
           memcmp(head + LAYER, layer, sizeof(layer)) == 0;
}

/* With a matching stamp the file is mapped, so that all processes share its pages; otherwise its
 * bytes are read and checked against the digest. */
void tc_wasm_load_code(const struct tc_wasm *api, struct wasm_engine *engine,
                       const struct tc_wasm_order *order, const struct tc_wasm_loader *loader,
                       void *ret)
{
    _autofree_ char *bytes = NULL, *path = NULL;
    size_t size;
    struct wasmtime_error *error;
    _autofd_ int fd = open(order->code, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool known = fd >= 0 && is_marked(fd, order->code_stamp);
    if (known && (path = tc_format("/proc/self/fd/%d", fd))) {
        error = loader->map(engine, path, ret);
    } else {
        known = false;
        tc_wasm_read(order->code, order->code_digest, &bytes, &size);
        error = loader->read(engine, (const uint8_t *)bytes, size, ret);
    }
    if (error)
        tc_wasm_fail(order->code, "%s", tc_wasm_error_text(api, error, NULL));
    if (known && !is_marked(fd, order->code_stamp))
        tc_wasm_fail(order->code, "it was changed while it was loaded: call again");
}

static struct wasmtime_module *load_module(const struct tc_wasm *api, struct wasm_engine *engine,
                                           const struct tc_wasm_order *order)
{
    struct wasmtime_module *module = NULL;
    const struct tc_wasm_loader loader = {api->wasmtime_module_deserialize_file,
                                          api->wasmtime_module_deserialize};
    tc_wasm_load_code(api, engine, order, &loader, &module);
    return module;
}

/* The engine's message would list the expected bytes one per line, and name the file by its path in
 * the cage, which the user does not know. */
static void refuse_other_files(const char *name, const char *bytes, size_t size)
{
    if (!is_wasm(bytes, size))
        tc_wasm_fail(name, "not a module that can be run: it does not start as WebAssembly; the "
                           "text form (.wat) must first be compiled to a module");
}

struct wasmtime_module *tc_wasm_module(const struct tc_wasm *api, struct wasm_engine *engine,
                                       const struct tc_wasm_order *order)
{
    _autofree_ char *bytes = NULL;
    size_t size;
    struct wasmtime_module *module = NULL;
    if (order->code)
        return load_module(api, engine, order);
    tc_wasm_read(order->module, order->digest, &bytes, &size);
    const char *name = order->args.count ? order->args.items[0] : order->module;
    refuse_other_files(name, bytes, size);
    struct wasmtime_error *error =
        api->wasmtime_module_new(engine, (const uint8_t *)bytes, size, &module);
    if (error)
        tc_wasm_fail(name, "not a module that can be run: %s",
                     tc_wasm_error_text(api, error, NULL));
    return module;
}
