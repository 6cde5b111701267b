/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files of VMs in the image store: the guest, which is a Debian kernel and an initrd with
 * toolcage's init program and the kernel modules that it needs; and a disk for each image, next to
 * the image's root directory. */
#ifndef TC_IMAGE_GUEST_H
#define TC_IMAGE_GUEST_H

#include "base/buf.h"
#include "base/error.h"
#include "base/strv.h"
#include "image/store.h"

/* The name that `toolcage image build` reserves for the guest. */
#define TC_IMAGE_GUEST "guest"

/* Builds the guest from the kernel packages below `from`: "/" for the installed ones, else a
 * directory in which a package was unpacked. */
int tc_guest_build(struct tc_images *store, const char *from, struct toolcage_error **err);
/* Makes the disk of the image with this digest. */
int tc_guest_disk(struct tc_images *store, const char *digest, struct toolcage_error **err);

/* The guest's kernel version and size in bytes; *ret_bytes is -1 without a guest. The version is ""
 * in a guest built by an older toolcage. */
enum { TC_GUEST_VERSION_MAX = 128 };
void tc_guest_look(const struct tc_images *store, char version[TC_GUEST_VERSION_MAX],
                   int64_t *ret_bytes);
/* 1: removed, 0: there was none, -1 with errno. Running VMs keep their files. */
int tc_guest_remove(struct tc_images *store);

/* ---- kernel.c ---- */

/* Decompresses a file of any known compression, and appends it to *ret. */
int tc_guest_unpack(const void *bytes, size_t size, const char *name, struct tc_buf *ret,
                    struct toolcage_error **err);
/* Extracts the vmlinux that a VMM can start from Debian's bzImage. */
int tc_guest_kernel(const char *path, struct tc_buf *ret, struct toolcage_error **err);

/* ---- initrd.c, modules.c ---- */

enum { TC_GUEST_INITRD_MAX = 192 << 20 };

/* Concatenated cpio archives for the kernel's initramfs. After a failure, `bytes` is marked failed.
 */
struct archive;
struct tc_initrd {
    struct tc_buf bytes;
    int modules;             /* the kernel's module directory; borrowed */
    struct archive *archive; /* the archive being written */
    struct tc_strv made;     /* paths already in it: programs, libraries and their directories */
};

/* Adds an archive with this part. 1: added, 0: its programs are not installed on this host, -1: an
 * error. */
enum tc_initrd_part { TC_INITRD_FIRST, TC_INITRD_RUNTIME, TC_INITRD_ENGINE, TC_INITRD_PARTS };
int tc_initrd_grow(struct tc_initrd *initrd, enum tc_initrd_part part, struct toolcage_error **err);
/* Adds a file to the archive being written, or a directory (`bytes` NULL). */
void tc_initrd_add(struct tc_initrd *initrd, const char *name, unsigned mode,
                   const struct tc_buf *bytes);
/* Adds the modules that a guest needs from a kernel's module directory, in the order of loading. */
int tc_guest_modules(int dir, struct tc_initrd *initrd, struct toolcage_error **err);

#endif
