/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a module starts with, whichever engine runs it: its streams, directories and words. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "wasm/wasi/wasi.h"
#include "wasm/worker.h"

static void add_roots(struct tc_wasi *guest, const struct tc_strv *paths, bool writable)
{
    for (size_t i = 0; i < paths->count; i++)
        if (!tc_wasi_add_root(guest, paths->items[i], NULL, writable) && errno != ENOENT)
            tc_wasm_fail(paths->items[i], "%s", strerror(errno));
}

/* Deeper ones count. */
static const char *holder(const struct tc_strv *paths, const char *path, const char *best)
{
    for (size_t i = 0; i < paths->count; i++)
        if (tc_path_within(paths->items[i], path) &&
            (!best || strlen(paths->items[i]) > strlen(best)))
            best = paths->items[i];
    return best;
}

/* A path that begins with no "/" is meant from where the tool starts, if it may see that. */
static void add_here(struct tc_wasi *guest, const struct tc_wasm_order *order)
{
    _autofree_ char *here = order->here ? strdup(order->here) : getcwd(NULL, 0);
    const char *read = here ? holder(&order->read, here, NULL) : NULL;
    const char *best = here ? holder(&order->write, here, read) : NULL;
    if (best && !tc_wasi_add_root(guest, here, ".", best != read))
        tc_wasm_fail(here, "%s", strerror(errno));
    if (!best && !tc_wasi_add_outside(guest))
        tc_wasm_fail("/", "%s", strerror(errno));
}

void tc_wasm_prepare(const struct tc_wasm_order *order, struct tc_wasi *guest)
{
    tc_wasi_init(guest, order->root);
    add_roots(guest, &order->read, false);
    add_roots(guest, &order->write, true);
    add_here(guest, order);
    if (!tc_strv_copy(&guest->args, &order->args) || !tc_strv_copy(&guest->env, &order->env))
        tc_wasm_fail("arguments", "out of memory");
}

int tc_wasm_exit_code(const struct tc_wasi *guest)
{
    return guest->code > 255 ? 255 : (int)guest->code;
}
