/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A guest for tests: some memory, and calls by name as a module makes them. */
#ifndef TEST_WASM_GUEST_H
#define TEST_WASM_GUEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "wasm/wasi/abi.h"
#include "wasm/wasi/wasi.h"

enum { MEMORY = 65536, TEXT = 1024, OTHER = 8192, VECTOR = 512, RET = 256, BUFFER = 16384 };

static uint8_t memory[MEMORY];
static struct tc_wasi guest;
static char top[] = "/tmp/wasi-XXXXXX";

#define CALL(name, ...) call(name, (const uint64_t[TC_WASI_ARGUMENTS]){__VA_ARGS__})

static inline uint32_t call(const char *name, const uint64_t *arguments)
{
    const struct tc_wasi_call *c = tc_wasi_find(name);
    assert_non_null(c);
    guest.memory = memory;
    guest.size = MEMORY;
    return c->run(&guest, arguments);
}

static inline uint32_t read32(size_t at)
{
    uint32_t value;
    memcpy(&value, memory + at, sizeof(value));
    return value;
}

static inline uint64_t put(size_t at, const char *text)
{
    memcpy(memory + at, text, strlen(text));
    return strlen(text);
}

static inline void vector(uint32_t at, uint32_t length)
{
    memcpy(memory + VECTOR, &at, 4);
    memcpy(memory + VECTOR + 4, &length, 4);
}

/* All rights, as a program asks for them; the descriptor's number, or minus the error. */
static inline int64_t open_path(uint64_t root, const char *path, uint64_t how, uint64_t rights)
{
    uint64_t n = put(TEXT, path);
    uint32_t error =
        CALL("path_open", root, WASI_FOLLOW, TEXT, n, how, rights, ~UINT64_C(0), 0, RET);
    return error ? -(int64_t)error : (int64_t)read32(RET);
}

static inline int64_t open_read(const char *path)
{
    return open_path(3, path, 0, WASI_R_READ | WASI_R_SEEK | WASI_R_STAT);
}

static inline int64_t open_write(const char *path)
{
    return open_path(3, path, WASI_O_CREAT, WASI_R_WRITE);
}

/* A path call on the first root with one path. */
static inline uint32_t on_path(const char *name, const char *path)
{
    uint64_t n = put(TEXT, path);
    return CALL(name, 3, TEXT, n);
}

static inline uint32_t make_link(const char *target, const char *path)
{
    uint64_t m = put(OTHER, target), n = put(TEXT, path);
    return CALL("path_symlink", OTHER, m, 3, TEXT, n);
}

static inline char *below(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static inline void write_file(const char *name, const char *text)
{
    int fd = open(below(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(tc_write_all(fd, text, strlen(text)), 0);
    (void)close(fd);
}

/* root/ is the guest's; out/ beside it must stay out of its reach. */
static inline int begin(bool writable)
{
    memcpy(top, "/tmp/wasi-XXXXXX", sizeof(top));
    if (!mkdtemp(top) || mkdir(below("root"), 0755) < 0 || mkdir(below("root/sub"), 0755) < 0 ||
        mkdir(below("out"), 0755) < 0)
        return -1;
    write_file("root/a", "alpha");
    write_file("root/sub/b", "beta");
    write_file("out/key", "secret");
    memset(memory, 0, sizeof(memory));
    tc_wasi_init(&guest, AT_FDCWD);
    return tc_wasi_add_root(&guest, below("root"), NULL, writable) ? 0 : -1;
}

static inline int with_writing(void **state)
{
    return begin(true);
}

static inline int with_reading(void **state)
{
    return begin(false);
}

static inline int end(void **state)
{
    char command[600];
    tc_wasi_done(&guest);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", top);
    return system(command);
}

#endif
