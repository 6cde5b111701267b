/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The granted files, as the cage around toolcage-vm shows them. So whatever a guest sends, only
 * granted files can be read, and only the call's copies or overlays can be written. This file
 * limits how much the guest may send back. After toolcage-vm has ended, the workspace code checks
 * what the changes do on the host. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/path.h"
#include "vm/vm.h"

/* All files are in the VM's memory; the first two limits are documented in docs/machines.md. */
enum { MIB = 1 << 20, BYTES_MAX = 512 * MIB, NAMES_MAX = 100000, PAGE = 4096, NAME_BYTES = 1024 };

static int fail_files(struct tc_vm_files *f, int errnum, const char *subject, const char *problem,
                      const char *hint)
{
    free(f->subject);
    f->subject = strdup(subject + (*subject == '.')); /* paths of a later call begin with "." */
    f->problem = problem;
    f->hint = hint;
    errno = errnum;
    return -1;
}

/* Skips paths below a granted path that are granted themselves: they are sent separately. */
static bool skip_others(const struct tc_vm_options *o, size_t index, struct tc_strv *skip)
{
    const char *path = o->grants[index].path;
    size_t len = strlen(path);
    for (size_t i = 0; i < o->grant_count; i++) {
        const char *other = o->grants[i].path;
        bool below = i != index && tc_path_within(path, other) && other[len] == '/';
        if (below && !tc_strv_add(skip, other + len + 1))
            return false;
    }
    return true;
}

static int add_grant(struct tc_vm_files *f, const struct tc_vm_options *o, size_t index)
{
    const struct tc_vm_grant *grant = &o->grants[index];
    _autofree_ char *parent = tc_path_parent(grant->path);
    if (!parent)
        return fail_files(f, ENOMEM, "toolcage-vm", "out of memory", "free memory");
    if (!tc_pack_add(&f->there, (uint32_t)index, grant->path, grant->writable) ||
        !skip_others(o, index, &f->there.roots[index].skip))
        return fail_files(f, errno, grant->path, "a granted path cannot be opened",
                          "check its permissions");
    f->parents[index] = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    f->writable = f->writable || grant->writable;
    return tc_unpack_add(&f->back, f->parents[index], tc_path_base(grant->path), grant->writable)
               ? 0
               : fail_files(f, ENOMEM, "toolcage-vm", "out of memory", "free memory");
}

/* Limits what the tool may write and send back; with an overlay, changed files count in addition to
 * the existing ones. */
static void set_room(struct tc_vm_files *f, const struct tc_vm_options *o,
                     struct tc_pack_root *root, int64_t held)
{
    int64_t names = (int64_t)root->after.count;
    if (!root->writable)
        return;
    root->room = (uint64_t)(o->room + (o->beside ? held : 0));
    root->names = (uint64_t)(o->names + (o->beside ? names : 0));
    f->back.bytes += (int64_t)root->room;
    f->back.names += 2 * ((int64_t)root->names + names);
}

static int count(struct tc_vm_files *f, const struct tc_vm_options *o)
{
    int64_t all = 0;
    for (size_t i = 0; i < f->there.count; i++) {
        struct tc_pack_root *root = &f->there.roots[i];
        int64_t held = 0;
        for (size_t k = 0; k < root->after.count; k++)
            held += (tc_pack_bytes(&root->after.items[k]) + PAGE - 1) / PAGE * PAGE;
        if (all + held > BYTES_MAX)
            return fail_files(
                f, 0, o->grants[i].path,
                "what is granted is too much for a machine, which takes 512 MiB of files",
                "grant less of it, or put it into the image");
        all += held;
        set_room(f, o, root, held);
    }
    f->mib = (long)((all + f->there.names * NAME_BYTES + MIB - 1) / MIB);
    return 0;
}

int tc_vm_files_open(struct tc_vm_files *f, const struct tc_vm_options *o)
{
    size_t root = 0;
    *f = (struct tc_vm_files){.any = o->grant_count > 0};
    tc_pack_init(&f->there);
    tc_unpack_init(&f->back);
    f->there.announces = true;
    f->parents = calloc(o->grant_count + 1, sizeof(*f->parents));
    if (!f->parents)
        return fail_files(f, ENOMEM, "toolcage-vm", "out of memory", "free memory");
    for (size_t i = 0; i < o->grant_count; i++)
        f->parents[i] = -1;
    for (size_t i = 0; i < o->grant_count; i++)
        if (add_grant(f, o, i) < 0)
            return -1;
    if (tc_pack_look(&f->there, NAMES_MAX, &root) == 0)
        return count(f, o);
    if (errno == EFBIG)
        return fail_files(f, 0, o->grants[root].path,
                          "what is granted is too much for a machine, which takes 100,000 files",
                          "grant less of it, or put it into the image");
    return fail_files(f, errno, o->grants[root].path, "not everything that is granted can be read",
                      "check the permissions below it");
}

void tc_vm_files_done(struct tc_vm_files *f)
{
    tc_unpack_done(&f->back);
    for (size_t i = 0; f->parents && i < f->there.count; i++)
        if (f->parents[i] >= 0)
            (void)close(f->parents[i]);
    tc_pack_done(&f->there);
    free(f->parents);
    free(f->subject);
    *f = (struct tc_vm_files){0};
}
