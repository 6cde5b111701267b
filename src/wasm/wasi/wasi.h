/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * WASI preview 1 for one guest, on the fds of its call. Every system call comes from the guest and
 * is treated as hostile: addresses are checked against its memory, paths cannot escape their root,
 * and only files and directories are opened. Independent of the engine; one guest, one thread. */
#ifndef TC_WASM_WASI_H
#define TC_WASM_WASI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"

enum { TC_WASI_FDS = 256, TC_WASI_ARGUMENTS = 9 };

enum tc_wasi_kind { TC_WASI_FREE, TC_WASI_STREAM, TC_WASI_FILE, TC_WASI_DIR };

/* A preopened directory. */
struct tc_wasi_root {
    char *name;          /* its path in the guest */
    struct tc_strv only; /* the visible names in it; empty: all */
    bool outside;        /* an empty directory in place of all paths that are not granted */
};

struct tc_wasi_fd {
    enum tc_wasi_kind kind;
    int fd;
    bool writable;                   /* may anything below it, or in it, be modified? */
    const struct tc_wasi_root *root; /* NULL: opened by the guest */
    uint64_t rights, inherits;
};

/* A file that a deterministic guest has seen, with the host's identity of the file. */
struct tc_wasi_seen {
    uint64_t dev, ino;
    int64_t born; /* creation time, since inode numbers are reused */
};

struct tc_wasi {
    uint8_t *memory; /* the guest's memory, updated at each system call */
    size_t size;
    struct tc_strv args, env;
    int base;         /* the base of the roots: a directory, or AT_FDCWD */
    int64_t begun_ns; /* CPU time of the thread at the guest's start */
    size_t root_count;
    bool exited; /* the guest called proc_exit with `code` */
    uint32_t code;
    /* Deterministic: values that depend on the host are made up. One unit of fuel is one nanosecond
     * of the guest's clock. */
    bool fixed;
    uint64_t used, slept, chance;
    uint64_t cost; /* of the current system call, in addition to the basic cost */
    struct tc_wasi_seen *seen;
    size_t seen_count;
    /* last, because most of it is never used */
    struct tc_wasi_fd fds[TC_WASI_FDS];
    struct tc_wasi_root roots[TC_WASI_FDS];
};

/* Zeroes *w, and opens the process's three standard streams. */
void tc_wasi_init(struct tc_wasi *w, int base);
/* Adds a preopened directory for the absolute path, named like the path or `name`. For a file, its
 * directory is added with only that file visible; a writable file need not exist yet. False with
 * errno. */
bool tc_wasi_add_root(struct tc_wasi *w, const char *path, const char *name, bool writable);
/* Adds "/" for all paths outside the roots: nothing exists there, and each path that is looked up
 * is reported to the process's seccomp supervisor. Its fd is shared with the process, and stays
 * open. */
bool tc_wasi_add_outside(struct tc_wasi *w);
void tc_wasi_done(struct tc_wasi *w);

/* One system call. Arguments are zero-extended; returns a WASI code. */
struct tc_wasi_call {
    const char *name;
    const char *types; /* argument types: "i" 32 bits, "l" 64; "x" first: no return value */
    uint32_t (*run)(struct tc_wasi *w, const uint64_t *a);
};
#define TC_WASI_MODULE "wasi_snapshot_preview1"
extern const struct tc_wasi_call tc_wasi_calls[];
extern const size_t tc_wasi_call_count;
/* By name; NULL: unknown. */
const struct tc_wasi_call *tc_wasi_find(const char *name);

#endif
