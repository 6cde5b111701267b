/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The kernel modules that a guest needs, with what they need, into its first archive. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/strv.h"
#include "image/guest.h"

/* Those for sockets to the host stand apart: a guest with a serial port has no use for them. */
static const struct {
    const char *place, *name;
} wanted[] = {{"modules", "virtio_mmio"},    {"modules", "virtio_blk"},
              {"modules", "virtio_console"}, {"modules", "erofs"},
              {"modules", "overlay"},        {"modules/vsock", "vmw_vsock_virtio_transport"}};

enum { DEEP = 16, NAME = 64 };

struct search {
    struct tc_strv paths; /* of all modules, below `dir` */
    int dir;
    const char *place;    /* in the archive, of those that are being added */
    struct tc_strv added; /* their names */
    struct tc_buf *archive;
};

/* ---- what there is ---- */

static int list(struct search *s, const char *at, int depth)
{
    _autodir_ DIR *dir =
        tc_take_dir(openat(s->dir, at, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    struct dirent *e;
    int more = dir ? 0 : -1;
    while (dir && depth < DEEP && (more = tc_next_entry(dir, &e)) > 0) {
        _autofree_ char *path = tc_format("%s/%s", at, e->d_name);
        bool module = strstr(e->d_name, ".ko") != NULL;
        if (!path || (module && !tc_strv_add(&s->paths, path)))
            return -1;
        if (!module && e->d_type == DT_DIR && list(s, path, depth + 1) < 0)
            return -1;
    }
    return more < 0 ? -1 : 0;
}

/* In names of files a dash may stand where the kernel has a line. */
static bool has_name(const char *path, const char *name)
{
    const char *file = strrchr(path, '/') + 1;
    size_t i;
    for (i = 0; name[i]; i++)
        if (file[i] != name[i] && !(file[i] == '-' && name[i] == '_'))
            return false;
    return strncmp(file + i, ".ko", 3) == 0;
}

static const char *find(const struct search *s, const char *name)
{
    for (size_t i = 0; i < s->paths.count; i++)
        if (has_name(s->paths.items[i], name))
            return s->paths.items[i];
    return NULL;
}

/* ---- what they need ---- */

/* "a,b" out of the module's own words; NULL: it has none. */
static const char *needs(const struct tc_buf *module)
{
    static const char words[] = "\0depends=";
    const char *found = memmem(module->data, module->len, words, sizeof(words) - 1);
    size_t left = found ? module->len - (size_t)(found - module->data) : 0;
    return left > sizeof(words) && memchr(found + sizeof(words) - 1, '\0', left - sizeof(words))
               ? found + sizeof(words) - 1
               : NULL;
}

static int add(struct search *s, const char *name, int depth, struct toolcage_error **err);

static int add_needs(struct search *s, const char *list, int depth, struct toolcage_error **err)
{
    char name[NAME];
    int r = 0;
    while (list && *list && r == 0) {
        size_t len = strcspn(list, ",");
        (void)snprintf(name, sizeof(name), "%.*s", (int)len, list);
        r = add(s, name, depth + 1, err);
        list += len + (list[len] == ',');
    }
    return r;
}

static bool is_added(const struct search *s, const char *name)
{
    for (size_t i = 0; i < s->added.count; i++)
        if (strcmp(s->added.items[i], name) == 0)
            return true;
    return false;
}

static int add(struct search *s, const char *name, int depth, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf packed = TC_BUF_INIT, module = TC_BUF_INIT;
    const char *path = find(s, name);
    if (!path || is_added(s, name) || depth > DEEP)
        return 0;
    if (tc_read_file(s->dir, path, &packed) < 0)
        return tc_fail(err,
                       TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "guest", path, errno,
                                    "install the kernel's package anew"),
                       "cannot read the kernel's module %s", path);
    int r = tc_guest_unpack(packed.data, packed.len, path, &module, err);
    if (r == 0)
        r = add_needs(s, needs(&module), depth, err);
    if (r < 0)
        return r;
    _autofree_ char *place = tc_format("%s/%02zu-%s.ko", s->place, s->added.count, name);
    if (!place || !tc_strv_add(&s->added, name))
        return tc_fail_memory(err);
    tc_cpio_add(s->archive, place, 0100644, module.data, module.len);
    return 0;
}

int tc_guest_modules(int dir, struct tc_buf *archive, struct toolcage_error **err)
{
    struct search s = {.dir = dir, .archive = archive};
    int r = list(&s, ".", 0) < 0 ? tc_fail(err,
                                           TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "guest", "lib/modules",
                                                        errno, "install the kernel's package anew"),
                                           "cannot read the kernel's modules")
                                 : 0;
    tc_cpio_add(archive, "modules", 040755, NULL, 0);
    tc_cpio_add(archive, "modules/vsock", 040755, NULL, 0);
    for (size_t i = 0; r == 0 && i < TC_COUNT(wanted); i++) {
        s.place = wanted[i].place;
        r = add(&s, wanted[i].name, 0, err);
    }
    tc_strv_done(&s.paths);
    tc_strv_done(&s.added);
    return r;
}
