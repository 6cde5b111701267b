/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system interface of a WebAssembly module (WASI preview 1), over the call's own descriptors.
 * Every call comes from the guest and is taken for an attack: addresses are checked against its
 * memory, paths lead nowhere but below a root, nothing but files and directories is opened. Knows
 * nothing of the engine; one guest, one thread. */
#ifndef TC_WASM_WASI_H
#define TC_WASM_WASI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"

enum { TC_WASI_FDS = 256, TC_WASI_ARGUMENTS = 9 };

enum tc_wasi_kind { TC_WASI_FREE, TC_WASI_STREAM, TC_WASI_FILE, TC_WASI_DIR };

/* A directory that the guest starts with. */
struct tc_wasi_root {
    char *name;          /* as the guest sees it */
    struct tc_strv only; /* names in it that it may see; none: all */
    bool outside;        /* stands for everything that it was not handed: there is nothing in it */
};

struct tc_wasi_fd {
    enum tc_wasi_kind kind;
    int fd;
    bool writable;                   /* may anything be changed below it, or in it? */
    const struct tc_wasi_root *root; /* NULL: the guest opened it itself */
    uint64_t rights, inherits;
};

/* A file that a deterministic guest has seen, by what the machine knows it by. */
struct tc_wasi_seen {
    uint64_t dev, ino;
    int64_t born; /* a number is given again when its file has gone */
};

struct tc_wasi {
    uint8_t *memory; /* the guest's, as it is at this call */
    size_t size;
    struct tc_strv args, env;
    int base;         /* where the roots are looked for: a directory, or AT_FDCWD */
    int64_t begun_ns; /* processor time of this thread when the guest got it */
    size_t root_count;
    bool exited; /* it asked for its end, by this code */
    uint32_t code;
    /* Deterministic: what the machine would decide is made up. One unit of what it used is a
     * nanosecond to it. */
    bool fixed;
    uint64_t used, slept, chance;
    uint64_t cost; /* of the call that is served, beside its own */
    struct tc_wasi_seen *seen;
    size_t seen_count;
    /* the last: most of it is never used */
    struct tc_wasi_fd fds[TC_WASI_FDS];
    struct tc_wasi_root roots[TC_WASI_FDS];
};

/* Zeroed; gives it the process's three streams. */
void tc_wasi_init(struct tc_wasi *w, int base);
/* One more root at the absolute path, as which the guest knows it, too, or by another name: a
 * directory, or a file, which then is all that shows of the directory that holds it; one that is
 * to be written need not be there yet. False with errno. */
bool tc_wasi_add_root(struct tc_wasi *w, const char *path, const char *name, bool writable);
/* Takes in, as "/", the paths that lie below no root: none of them is there, and each that is asked
 * for is named to whoever watches the process. Its descriptor is the process's, and stays open. */
bool tc_wasi_add_outside(struct tc_wasi *w);
void tc_wasi_done(struct tc_wasi *w);

/* One call of the interface. Arguments are widened; answers one of abi.h's codes. */
struct tc_wasi_call {
    const char *name;
    const char *types; /* of its arguments: "i" 32 bits, "l" 64; "x" first: no answer */
    uint32_t (*run)(struct tc_wasi *w, const uint64_t *a);
};
#define TC_WASI_MODULE "wasi_snapshot_preview1"
extern const struct tc_wasi_call tc_wasi_calls[];
extern const size_t tc_wasi_call_count;
/* By name; NULL: there is none. */
const struct tc_wasi_call *tc_wasi_find(const char *name);

#endif
