/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A blank container: all of one in which no call has a part. It has a runtime, a configuration
 * (which names no command, no variable and no path of the host), a root with perhaps an image under
 * it, and our PID 1, which waits for orders. Each is made for one call: the one that has come, or
 * the next one that is like it. */
#ifndef TC_BACKEND_OCI_BLANK_H
#define TC_BACKEND_OCI_BLANK_H

#include "backend/oci/runtime.h"
#include "cage/spare.h"

/* Which file it is: another one of the same name is another, and so is one that was written to. */
struct tc_oci_identity {
    uint64_t device, inode, mount, size;
    int64_t changed_ns;
};

struct tc_oci_blank {
    const struct tc_oci_runtime *runtime;
    char *path; /* of the runtime */
    struct tc_oci_identity program;
    char *config;
    int image; /* O_PATH, its directory on the host; -1: none */
    struct tc_oci_identity root;
    int64_t made_us;      /* when it was begun */
    int bundle;           /* once it was made: the runtime's log is in there */
    int init, tree, null; /* until the child has its own */
    struct tc_box_mount mount;
    const char *argv[TC_OCI_WORDS];
};
#define TC_OCI_NO_BLANK \
    ((struct tc_oci_blank){.image = -1, .bundle = -1, .init = -1, .tree = -1, .null = -1})

/* Fills the box of the process that becomes the runtime: all but the root and the report socket. 0,
 * or -1 with errno, and *ret_what says what could not be made. */
int tc_oci_blank_fill(struct tc_oci_blank *blank, const struct tc_process_host *host, uid_t id,
                      struct tc_box *box, const char **ret_what);
/* The child has its copies. */
void tc_oci_blank_born(struct tc_oci_blank *blank);
/* What was looked up for a call, for the next one; allocated. NULL with errno. */
struct tc_oci_blank *tc_oci_blank_copy(const struct tc_oci_blank *blank);
/* What two calls must have in common to get the same container, but for the image's root, which is
 * looked up later: appended. */
void tc_oci_blank_key(const struct tc_oci_blank *blank, struct tc_buf *key);
/* 0, or -1 with errno. */
int tc_oci_identify(int dirfd, const char *path, struct tc_oci_identity *ret);
bool tc_oci_identical(const struct tc_oci_identity *a, const struct tc_oci_identity *b);
void tc_oci_blank_done(struct tc_oci_blank *blank);

#endif
