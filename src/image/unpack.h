/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Archives into a directory, by a child that can reach nothing but that directory: the archive is
 * somebody else's, and so is, should its reader have a fault, whatever that does. */
#ifndef TC_IMAGE_UNPACK_H
#define TC_IMAGE_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/image_ref.h"

enum tc_unpack_fault {
    TC_UNPACK_FINE,
    TC_UNPACK_SYSTEM, /* errnum says what */
    TC_UNPACK_WALLS,  /* the child could not confine itself */
    TC_UNPACK_FORMAT, /* no archive, or a broken one */
    TC_UNPACK_NAME,   /* a name that leads out */
    TC_UNPACK_LINK,   /* a link that stands in the way, or to what is not there */
    TC_UNPACK_WHITEOUT,
    TC_UNPACK_BYTES, /* over the limit */
    TC_UNPACK_FILES,
};

/* What the child says, again and again; the last one has `over`. */
struct tc_unpack_report {
    int32_t over, fault, errnum;
    int64_t bytes, files;
    int64_t left_out;                  /* devices, pipes and sockets */
    int64_t cleared;                   /* files whose set-id bits were not kept */
    char digest[TC_IMAGE_DIGEST_SIZE]; /* of the archive as unpacked from its compression */
    char subject[512];
};

struct tc_unpack_limits {
    int64_t bytes, files;
};

/* `layer`: whiteouts remove what is there, `first` says that nothing is. Faults are errors that
 * name the entry. `tick` (may be NULL) hears how far it is. */
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

/* The child's work itself, in its own root: for the child, and for who wants to see it without
 * walls. `say` hears of progress. */
void tc_unpack_here(const struct tc_unpack_job *job, struct tc_unpack_report *report, int say);

/* confine.c: NULL, or the step that failed, with errno. The process's root is the target after. */
const char *tc_unpack_confine(int target, int64_t most_bytes);

#endif
