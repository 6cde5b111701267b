/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Unpacks archives into a directory, in a child that can access only that directory: the archive is
 * untrusted, and so is its reader, which may have bugs. */
#ifndef TC_IMAGE_UNPACK_H
#define TC_IMAGE_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/image_ref.h"

enum tc_unpack_fault {
    TC_UNPACK_FINE,
    TC_UNPACK_SYSTEM, /* see errnum */
    TC_UNPACK_WALLS,  /* the child could not confine itself */
    TC_UNPACK_FORMAT, /* not an archive, or a broken one */
    TC_UNPACK_NAME,   /* a name that escapes */
    TC_UNPACK_LINK,   /* a link in the path, or to a missing file */
    TC_UNPACK_WHITEOUT,
    TC_UNPACK_BYTES, /* over the limit */
    TC_UNPACK_FILES,
};

/* A report of the child, sent repeatedly; the last one has `over`. */
struct tc_unpack_report {
    int32_t over, fault, errnum;
    int64_t bytes, files;
    int64_t left_out;                  /* devices, FIFOs and sockets */
    int64_t cleared;                   /* files whose set-id bits were removed */
    char digest[TC_IMAGE_DIGEST_SIZE]; /* of the decompressed archive */
    char subject[512];
};

struct tc_unpack_limits {
    int64_t bytes, files;
};

/* `layer`: whiteouts in the archive remove files of lower layers; `first`: there are no lower
 * layers. Errors name the archive's entry. `tick` (may be NULL) gets the progress. */
struct tc_unpack_job {
    int archive; /* a regular file */
    int target;  /* an open directory */
    const char *name;
    bool layer, first;
    struct tc_unpack_limits limits;
    void (*tick)(void *ud, const struct tc_unpack_report *report);
    void *ud;
};
int tc_unpack(const struct tc_unpack_job *job, struct tc_unpack_report *ret,
              struct toolcage_error **err);

/* The child's work in its current root: for the child, and for tests without confinement. Writes
 * progress reports to `say`. */
void tc_unpack_here(const struct tc_unpack_job *job, struct tc_unpack_report *report, int say);

/* Confines the process, whose root becomes the target. NULL, or the step that failed, with errno.
 */
const char *tc_unpack_confine(int target, int64_t most_bytes);

#endif
