/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the works of the container runtimes keep for one call. */
#ifndef TC_BACKEND_OCI_OWN_H
#define TC_BACKEND_OCI_OWN_H

#include "backend/oci/blank.h"
#include "backend/oci/version.h"

struct tc_oci {
    struct tc_local_form form;
    struct tc_oci_blank blank; /* its container, before the call is in it */
    uid_t uid;                 /* what the tool sees; the runtime is root of its own */
    gid_t gid;
    rlim_t pids;               /* the policy's, and PID 1 */
    struct tc_oci_asked asked; /* of a trial: its version */
    size_t ready;              /* how many are kept ready for calls like it */
    int64_t waited_us; /* how long the one that it has taken had waited; 0: it was made for it */
};

static inline struct tc_oci *tc_oci_own(const struct tc_process_cage *p)
{
    return p->own;
}

/* Are containers kept ready for calls like this one, and how many? Before its lease. */
void tc_oci_ready_ask(struct tc_oci *o, const struct tc_plan *plan);
/* The tool runs: a container for the next call will be made. */
void tc_oci_ready_next(struct tc_process_cage *p, const struct tc_plan *plan);

/* ---- works.c: what gVisor's works share with those of crun and runc ---- */

/* Sends PID 1 its orders: 0, or -1 with errno. */
int tc_oci_tell(struct tc_process_cage *p, int report);
/* With a runtime of this kind; takes the record, whose form says the rest. */
int tc_oci_make(struct tc_cage *cage, struct tc_oci *o, enum tc_oci_kind kind);
int tc_oci_start(struct tc_cage *cage);
/* The call is over: what the runtime has left ends. */
void tc_oci_clear(struct tc_cage *cage);
/* Did the runtime end before PID 1 had spoken? Then it is failed with the runtime's last words. */
bool tc_oci_unheard(struct tc_cage *cage);
void tc_oci_fail_runtime(struct tc_cage *cage, const char *words);
bool tc_oci_destroy(struct tc_cage *cage, enum tc_pace pace);
bool tc_oci_plan_trial(const struct tc_works *works, enum tc_oci_kind kind, struct tc_plan *ret);
void tc_oci_drop(struct tc_oci *o);
/* The failure of a part of the bundle, with errno; -1. */
int tc_oci_fail_bundle(struct tc_cage *cage, const char *what, const char *hint);
/* Does the control group count the tool's processes, and of the runtime's just one? */
bool tc_oci_counts_exactly(const struct tc_process_cage *p);
const char *tc_oci_mechanism(const struct tc_cage *cage, enum tc_clause clause);

#endif
