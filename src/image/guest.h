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
int tc_guest_build(struct tc_store *store, const char *from, struct toolcage_error **err);
/* The disk of the image with this digest. */
int tc_guest_disk(struct tc_store *store, const char *digest, struct toolcage_error **err);

/* Which kernel it has, and how many bytes it takes; *ret_bytes is -1 when there is no guest. The
 * version is "" in a guest of an older toolcage. */
enum { TC_GUEST_VERSION_MAX = 128 };
void tc_guest_look(const struct tc_store *store, char version[TC_GUEST_VERSION_MAX],
                   int64_t *ret_bytes);
/* Was there one? -1 with errno when it cannot be removed. Machines that run keep their files. */
int tc_guest_remove(struct tc_store *store);

/* ---- vmlinux.c ---- */

/* Unpacks a file, whatever packed it; *ret is appended to. */
int tc_guest_unpack(const void *bytes, size_t size, const char *name, struct tc_buf *ret,
                    struct toolcage_error **err);
/* The kernel in Debian's form of it, as a program that a monitor can start. */
int tc_guest_kernel(int dir, const char *path, struct tc_buf *ret, struct toolcage_error **err);

/* ---- modules.c ---- */

/* Those modules of a directory of a kernel's that a guest needs, as files of an archive, in the
 * order of loading. What is not there, the kernel has built in. */
int tc_guest_modules(int dir, struct tc_buf *archive, struct toolcage_error **err);

/* ---- linked.c ---- */

enum { TC_GUEST_INITRD_MAX = 192 << 20 };

/* An archive that gets parts of this machine's system. */
struct tc_guest_parts {
    struct tc_buf *archive;
    struct tc_strv made;     /* the paths that it has got */
    const char *what, *hint; /* of the next one, for messages */
};
/* The file `path`, under the name `as`, and what it is linked with. */
int tc_guest_linked(struct tc_guest_parts *parts, const char *path, const char *as,
                    struct toolcage_error **err);

/* ---- runtime.c ---- */

/* A container runtime; 0: none is installed here. */
int tc_guest_runtime(struct tc_guest_parts *parts, struct toolcage_error **err);
/* What runs WebAssembly modules; the same. */
int tc_guest_engine(struct tc_guest_parts *parts, struct toolcage_error **err);

/* ---- cpio.c ---- */

/* One more file or directory of an archive as the kernel reads it; the end comes last. */
void tc_cpio_add(struct tc_buf *archive, const char *name, unsigned mode, const void *bytes,
                 size_t size);
void tc_cpio_end(struct tc_buf *archive);

#endif
