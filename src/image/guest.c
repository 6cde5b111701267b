/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"
#include "image/run.h"
#include "image/say.h"
#include "progress/progress.h"
#include "state/store.h"

#define KERNEL "vmlinuz-"
#define VERSION "version"

enum { FILE_MAX = 1 << 16, DISK_SECONDS = 1800 };

static int fail_system(const char *what, struct toolcage_error **err)
{
    return tc_fail(
        err, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "guest", what, errno, "check whether the disk is full"),
        "cannot make the guest's %s", what);
}

/* ---- kernel package ---- */

/* Is kernel `name` the better choice? A "cloud" kernel (built for VMs) is better than any other; of
 * two of the same kind the newer one. */
static bool is_better(const char *name, const char *than)
{
    bool cloud = strstr(name, "-cloud-") != NULL, was = than && strstr(than, "-cloud-");
    return !than || (cloud != was ? cloud : strverscmp(name, than) > 0);
}

static int find_kernel(const char *from, char **ret_version, struct toolcage_error **err)
{
    _autofree_ char *path = tc_format("%s/boot", from);
    if (!path)
        return tc_fail_memory(err);
    _autodir_ DIR *dir = tc_take_dir(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent *e;
    while (dir && tc_next_entry(dir, &e) > 0) {
        if (!tc_startswith(e->d_name, KERNEL) ||
            !is_better(e->d_name + strlen(KERNEL), *ret_version))
            continue;
        free(*ret_version);
        *ret_version = strdup(e->d_name + strlen(KERNEL));
    }
    return *ret_version
               ? 0
               : tc_fail(err,
                         TC_WHY(TOOLCAGE_ENOT_FOUND, "guest", path,
                                "apt-get install linux-image-cloud-amd64, or --kernel DIRECTORY "
                                "into which such a package was unpacked (dpkg -x)"),
                         "there is no kernel in %s", path);
}

static int open_modules(const char *from, const char *version)
{
    _autofree_ char *path = tc_format("%s/lib/modules/%s", from, version),
                    *other = tc_format("%s/usr/lib/modules/%s", from, version);
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return fd < 0 && other ? open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fd;
}

/* ---- files ---- */

/* Writes a file that all users can read, because a root caller's cages run under other user ids. */
static int put_file(int dir, const char *name, const void *bytes, size_t size,
                    struct toolcage_error **err)
{
    _autofd_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return fd < 0 || tc_write_all(fd, bytes, size) < 0 || fsync(fd) < 0 ? fail_system(name, err)
                                                                        : 0;
}

/* Writes three initramfs: one with toolcage-guest, one also with a container runtime, and one also
 * with the Wasm engine. Each is the one before and a further archive. */
static int put_roots(int dir, struct tc_initrd *initrd, bool there[TC_INITRD_PARTS],
                     size_t *ret_size, struct toolcage_error **err)
{
    static const char *const names[] = {"initrd", "runtime", "modules"};
    int r = 1;
    for (unsigned i = 0; i < TC_INITRD_PARTS && r >= 0; i++) {
        r = tc_initrd_grow(initrd, i, err);
        there[i] = r > 0;
        *ret_size = i ? *ret_size : initrd->bytes.len;
        if (there[i])
            r = put_file(dir, names[i], initrd->bytes.data, initrd->bytes.len, err);
    }
    return r < 0 ? r : 0;
}

static int write_guest(struct tc_images *store, int dir, const char *version,
                       const struct tc_buf *kernel, int modules, struct toolcage_error **err)
{
    struct tc_initrd initrd = {.bytes.max = TC_GUEST_INITRD_MAX, .modules = modules};
    bool there[TC_INITRD_PARTS];
    size_t size = 0;
    int r = put_file(dir, "kernel", kernel->data, kernel->len, err);
    if (r == 0)
        r = put_file(dir, VERSION, version, strlen(version), err);
    if (r == 0)
        r = put_roots(dir, &initrd, there, &size, err);
    tc_strv_done(&initrd.made);
    tc_buf_done(&initrd.bytes);
    tc_progress_end();
    /* kernel and modules get their place by one rename, so they always belong together */
    if (r == 0 && tc_store_place(store->own, "guest", store->dir, "guest", true) < 0)
        r = fail_system("place", err);
    if (r == 0)
        tc_image_say("the guest is built: kernel %s, %zu KiB for its init program and modules%s%s",
                     version, size >> 10,
                     there[TC_INITRD_RUNTIME] ? "; crun, for containers in it"
                                              : "; without crun, so no containers in it",
                     there[TC_INITRD_ENGINE]
                         ? "; Wasmtime, for WebAssembly modules in it"
                         : "; without Wasmtime, so no WebAssembly modules in it");
    return r;
}

int tc_guest_build(struct tc_images *store, const char *from, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf kernel = {.max = (size_t)1 << 30};
    _autofree_ char *version = NULL;
    int r = find_kernel(from, &version, err);
    if (r < 0)
        return r;
    _autofree_ char *path = tc_format("%s/boot/" KERNEL "%s", from, version);
    _autofd_ int modules = open_modules(from, version);
    if (!path || modules < 0)
        return fail_system("modules", err);
    tc_progress_start("unpacking the kernel", NULL);
    if ((r = tc_guest_kernel(path, &kernel, err)) < 0)
        return r;
    tc_progress_start("writing the guest", NULL);
    _autofd_ int dir = mkdirat(store->own, "guest", 0755) < 0
                           ? -1
                           : openat(store->own, "guest", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? fail_system("directory", err)
                   : write_guest(store, dir, version, &kernel, modules, err);
}

/* ---- the present guest ---- */

/* Is it printable text? The version is printed to terminals. */
static bool is_version(const struct tc_buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] <= ' ' || text->data[i] > '~')
            return false;
    return text->len && text->len < TC_GUEST_VERSION_MAX;
}

void tc_guest_look(const struct tc_images *store, char version[TC_GUEST_VERSION_MAX],
                   int64_t *ret_bytes)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int dir = store->dir < 0 ? -1 : tc_store_enter(store->dir, TC_IMAGE_GUEST);
    version[0] = '\0';
    *ret_bytes = dir < 0 ? -1 : tc_tree_bytes(store->dir, TC_IMAGE_GUEST);
    text.max = FILE_MAX;
    if (dir >= 0 && tc_read_file(dir, VERSION, &text) == 0 && is_version(&text))
        (void)snprintf(version, TC_GUEST_VERSION_MAX, "%.*s", (int)text.len, text.data);
}

int tc_guest_remove(struct tc_images *store)
{
    int rc = tc_store_discard(store->dir, TC_IMAGE_GUEST, store->dir);
    return rc >= 0 ? 1 : errno == ENOENT ? 0 : -1;
}

/* ---- disks ---- */

int tc_guest_disk(struct tc_images *store, const char *digest, struct toolcage_error **err)
{
    const char *hex = strchr(digest, ':') + 1;
    _autofree_ char *root = tc_format("%s/roots/%s/rootfs", store->path, hex);
    _autofree_ char *disk = tc_format("%s/roots/%s/disk", store->path, hex);
    _autofree_ char *made = tc_format("%s/%s/disk", store->path, store->own_name);
    if (!root || !disk || !made)
        return tc_fail_memory(err);
    /* a machine id would be the same in all VMs of the image */
    const char *const argv[] = {"mkfs.erofs",
                                "--quiet",
                                "--all-root",
                                "-T0",
                                "--exclude-path=etc/machine-id",
                                "--exclude-path=var/lib/dbus/machine-id",
                                made,
                                root,
                                NULL};
    tc_image_say("making the disk of %s", digest);
    int r = tc_run(&(struct tc_run){.argv = argv,
                                    .seconds = DISK_SECONDS,
                                    .hint = "apt-get install erofs-utils",
                                    .silent = true},
                   err);
    if (r < 0)
        return r;
    return chmod(made, 0644) < 0 || rename(made, disk) < 0 ? fail_system("disk", err) : 0;
}
