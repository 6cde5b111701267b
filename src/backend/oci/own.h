/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A container of a runtime: blank, before a call has a part in it, and what the works keep for one
 * call. */
#ifndef TC_BACKEND_OCI_OWN_H
#define TC_BACKEND_OCI_OWN_H

#include "backend/oci/runtime.h"
#include "cage/spare.h"

/* Which file it is: another one of the same name is another, and so is one that was written to. */
struct tc_oci_identity {
    uint64_t device, inode, mount, size;
    int64_t changed_ns;
};

/* A container template: all of one in which no call has a part. It has a runtime, a configuration
 * (which names no command, no variable and no path of the host), a root with perhaps an image under
 * it, and our PID 1, which waits for orders. Each is made for one call: the one that has come, or
 * the next one that is like it. */
struct tc_oci_template {
    const struct tc_oci_runtime *runtime;
    char *path; /* of the runtime */
    struct tc_oci_identity program;
    char *config;
    int image; /* O_PATH, its directory on the host; -1: none */
    struct tc_oci_identity root;
    int64_t made_us;      /* when it was begun */
    int bundle;           /* once it was made: the runtime's log is in there */
    int init, tree, null; /* until the child has its own */
    struct tc_init_mount mount;
    const char *argv[TC_OCI_WORDS];
};
#define TC_OCI_NO_BLANK \
    ((struct tc_oci_template){.image = -1, .bundle = -1, .init = -1, .tree = -1, .null = -1})

/* Fills the init config of the process that becomes the runtime: all but the root and the report
 * socket. 0, or -1 with errno, and *ret_what says what could not be made. */
int tc_oci_template_fill(struct tc_oci_template *template, const struct tc_process_host *host,
                         uid_t id, struct tc_init_config *init, const char **ret_what);
/* The child has its copies. */
void tc_oci_template_started(struct tc_oci_template *template);
/* What was looked up for a call, for the next one; allocated. NULL with errno. */
struct tc_oci_template *tc_oci_template_copy(const struct tc_oci_template *template);
/* What two calls must have in common to get the same container, but for the image's root, which is
 * looked up later: appended. */
void tc_oci_template_key(const struct tc_oci_template *template, struct tc_buf *key);
/* 0, or -1 with errno. */
int tc_oci_identify(int dirfd, const char *path, struct tc_oci_identity *ret);
bool tc_oci_identical(const struct tc_oci_identity *a, const struct tc_oci_identity *b);
void tc_oci_template_done(struct tc_oci_template *template);

struct tc_oci {
    struct tc_cage_ops ops;
    struct tc_oci_template template; /* its container, before the call is in it */
    uid_t uid;                       /* what the tool sees; the runtime is root of its own */
    gid_t gid;
    rlim_t pids;               /* the policy's, and PID 1 */
    struct tc_oci_asked asked; /* of a probe: its version */
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

/* ---- executor.c: what gVisor's executor shares with those of crun and runc ---- */

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
bool tc_oci_destroy(struct tc_cage *cage, enum tc_may_block may_block);
bool tc_oci_plan_probe(const struct tc_executor *executor, enum tc_oci_kind kind,
                       struct tc_plan *ret);
void tc_oci_drop(struct tc_oci *o);
/* The failure of a part of the bundle, with errno; -1. */
int tc_oci_fail_bundle(struct tc_cage *cage, const char *what, const char *hint);
/* Does the control group count the tool's processes, and of the runtime's just one? */
bool tc_oci_counts_exactly(const struct tc_process_cage *p);
const char *tc_oci_mechanism(const struct tc_cage *cage, enum tc_clause clause);

#endif
