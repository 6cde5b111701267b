/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What runs in virtual machines: a kernel of Debian's and our first program with the modules that
 * it needs, in the store; and beside the root of an image its disk. */
#ifndef TC_IMAGE_GUEST_H
#define TC_IMAGE_GUEST_H

#include "base/buf.h"
#include "base/error.h"
#include "base/strv.h"
#include "image/store.h"

/* The name that `build` takes for it. */
#define TC_IMAGE_GUEST "guest"

/* From the kernel packages below a directory ("/": those that are installed; one into which a
 * package was unpacked). */
int tc_guest_build(struct tc_images *store, const char *from, struct toolcage_error **err);
/* The disk of the image with this digest. */
int tc_guest_disk(struct tc_images *store, const char *digest, struct toolcage_error **err);

/* Which kernel it has, and how many bytes it takes; *ret_bytes is -1 when there is no guest. The
 * version is "" in a guest of an older toolcage. */
enum { TC_GUEST_VERSION_MAX = 128 };
void tc_guest_look(const struct tc_images *store, char version[TC_GUEST_VERSION_MAX],
                   int64_t *ret_bytes);
/* Was there one? -1 with errno when it cannot be removed. Machines that run keep their files. */
int tc_guest_remove(struct tc_images *store);

/* ---- kernel.c ---- */

/* Unpacks a file, whatever packed it; *ret is appended to. */
int tc_guest_unpack(const void *bytes, size_t size, const char *name, struct tc_buf *ret,
                    struct toolcage_error **err);
/* The kernel in Debian's form of it, as a program that a monitor can start. */
int tc_guest_kernel(const char *path, struct tc_buf *ret, struct toolcage_error **err);

/* ---- initrd.c, modules.c ---- */

enum { TC_GUEST_INITRD_MAX = 192 << 20 };

/* Archives as the kernel takes them for its first root, one after the other. Not in `bytes` what a
 * part could not be given: that has failed then. */
struct archive;
struct tc_initrd {
    struct tc_buf bytes;
    int modules;             /* the kernel's directory of them; borrowed */
    struct archive *archive; /* that is written now */
    struct tc_strv made;     /* the paths of programs, libraries and their directories in it */
};

/* Adds an archive with a part. 1; 0: what it is made of is not installed here; -1. */
enum tc_initrd_part { TC_INITRD_FIRST, TC_INITRD_RUNTIME, TC_INITRD_ENGINE, TC_INITRD_PARTS };
int tc_initrd_grow(struct tc_initrd *initrd, enum tc_initrd_part part, struct toolcage_error **err);
/* For the parts: one more file; a directory has no bytes. */
void tc_initrd_add(struct tc_initrd *initrd, const char *name, unsigned mode,
                   const struct tc_buf *bytes);
/* Those modules of a directory of a kernel's that a guest needs, in the order of loading. */
int tc_guest_modules(int dir, struct tc_initrd *initrd, struct toolcage_error **err);

#endif
