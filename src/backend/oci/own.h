/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the works of the container runtimes keep for one call. */
#ifndef TC_BACKEND_OCI_OWN_H
#define TC_BACKEND_OCI_OWN_H

#include "backend/oci/blank.h"
#include "backend/oci/talk.h"
#include "backend/oci/version.h"

struct tc_oci {
    struct tc_local_form form;
    struct tc_oci_blank blank;    /* its container, before the call is in it */
    const char *const *platforms; /* of runsc: in the order of trying; NULL: not its kind */
    char *note;                   /* what is remembered of runsc, for the process around it */
    struct tc_oci_talk talk;
    uid_t uid; /* what the tool sees; the runtime is root of its own */
    gid_t gid;
    rlim_t pids;               /* the policy's, and PID 1 */
    struct tc_oci_asked asked; /* of a trial: its version */
    bool listed;               /* what its kernel lacks */
    size_t ready;              /* how many are kept ready for calls like it */
    int64_t waited_us; /* how long the one that it has taken had waited; 0: it was made for it */
    struct tc_spare *next; /* one of them, to be made when the call is over */
};

static inline struct tc_oci *tc_oci_own(const struct tc_process_cage *p)
{
    return p->own;
}

/* Are containers kept ready for calls like this one, and how many? Before its lease. */
void tc_oci_ready_ask(struct tc_oci *o, const struct tc_plan *plan);
/* The tool runs: a container for the next call will be made. */
void tc_oci_ready_next(struct tc_process_cage *p, const struct tc_plan *plan);
/* The call is over. */
void tc_oci_ready_over(struct tc_oci *o);

#endif
