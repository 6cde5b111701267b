/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Adds the kernel modules that a guest needs, each after its dependencies. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/fd.h"
#include "image/guest.h"
#include "linux/walk.h"

/* The vsock modules are separate: a guest with a serial port does not load them. */
static const struct {
    const char *place, *name;
} wanted[] = {{"modules", "virtio_mmio"},    {"modules", "virtio_blk"},
              {"modules", "virtio_console"}, {"modules", "erofs"},
              {"modules", "overlay"},        {"modules/vsock", "vmw_vsock_virtio_transport"}};

struct search {
    int dir;
    struct tc_strv paths; /* of all modules, below `dir` */
    struct tc_strv begun; /* names of the modules already added */
    unsigned count;
    const char *place; /* target directory in the archive */
    struct tc_initrd *initrd;
};

static int keep_module(void *ud, const struct tc_walk_entry *e)
{
    struct search *s = ud;
    return strstr(e->name, ".ko") && !tc_strv_add(&s->paths, e->relative) ? -1 : 0;
}

/* File names may have a dash where module names have an underscore. */
static bool has_name(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    for (; *name && (*file == *name || (*file == '-' && *name == '_')); name++)
        file++;
    return !*name && tc_startswith(file, ".ko");
}

static int fail_modules(const char *path, struct toolcage_error **err)
{
    return tc_fail(
        err, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "guest", path, errno, "reinstall the kernel's package"),
        "cannot read the kernel's modules: %s", path);
}

/* The list "a,b" from the module's own "depends=" field; NULL: none. */
static char *needs(const struct tc_buf *module)
{
    static const char words[] = "\0depends=";
    const char *found = memmem(module->data, module->len, words, sizeof(words) - 1);
    return found ? strdup(found + sizeof(words) - 1) : NULL;
}

/* A missing module is built into the kernel. */
static int add_module(struct search *s, const char *name, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf packed = TC_BUF_INIT, module = TC_BUF_INIT;
    const char *path = NULL;
    for (size_t i = 0; i < s->paths.count && !path; i++)
        path = has_name(s->paths.items[i], name) ? s->paths.items[i] : NULL;
    if (!path || tc_strv_has(&s->begun, name))
        return 0;
    if (!tc_strv_add(&s->begun, name))
        return tc_fail_memory(err);
    if (tc_read_file(s->dir, path, &packed) < 0)
        return fail_modules(path, err);
    int r = tc_guest_unpack(packed.data, packed.len, path, &module, err);
    _autofree_ char *list = r == 0 ? needs(&module) : NULL;
    for (char *rest = list, *each; r == 0 && (each = strsep(&rest, ","));)
        r = add_module(s, each, err);
    _autofree_ char *place = tc_format("%s/%02u-%s.ko", s->place, s->count++, name);
    if (r == 0)
        tc_initrd_add(s->initrd, place, 0100644, &module);
    return r;
}

int tc_guest_modules(int dir, struct tc_initrd *initrd, struct toolcage_error **err)
{
    struct search s = {.dir = dir, .initrd = initrd};
    struct tc_walk walk = {
        .visit = keep_module, .userdata = &s, .names_only = true, .entries_max = INT_MAX};
    int r = tc_walk(&walk, dir) < 0 || walk.skipped ? fail_modules("lib/modules", err) : 0;
    tc_initrd_add(initrd, "modules", 0040755, NULL);
    tc_initrd_add(initrd, "modules/vsock", 0040755, NULL);
    for (size_t i = 0; r == 0 && i < TC_COUNT(wanted); i++) {
        s.place = wanted[i].place;
        r = add_module(&s, wanted[i].name, err);
    }
    tc_strv_done(&s.paths);
    tc_strv_done(&s.begun);
    return r;
}
