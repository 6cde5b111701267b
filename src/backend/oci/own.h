/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The container template, and the state of one call in the executors of oci and gvisor. */
#ifndef TC_BACKEND_OCI_OWN_H
#define TC_BACKEND_OCI_OWN_H

#include "backend/oci/runtime.h"
#include "cage/spare.h"

/* Identifies a file and its content: a different file under the same name has a different identity,
 * and so has the same file after a write. */
struct tc_oci_identity {
    uint64_t device, inode, mount, size;
    int64_t changed_ns;
};

/* A container template: everything in a container that does not depend on the call. It has a
 * runtime, a configuration (which names no command, variable or host path), a root, possibly over
 * an image, and toolcage's PID 1, which waits for its init config. Each template serves one call:
 * the current one, or the next similar one. */
struct tc_oci_template {
    const struct tc_oci_runtime *runtime;
    char *path; /* of the runtime's program */
    struct tc_oci_identity program;
    char *config;
    int image;                   /* O_PATH, the image's directory on the host; -1: none */
    struct tc_oci_identity root; /* of the image's directory */
    int64_t made_us;             /* the time when the creation of the container began */
    int bundle;                  /* the bundle, once it exists; contains the runtime's log */
    /* For the child, closed when the child has copies: PID 1's program, the image's mount, and
     * /dev/null. */
    int init, tree, null;
    struct tc_init_mount mount;
    const char *argv[TC_OCI_WORDS];
};
#define TC_OCI_NO_BLANK \
    ((struct tc_oci_template){.image = -1, .bundle = -1, .init = -1, .tree = -1, .null = -1})

/* Fills the init config of the process that becomes the runtime, except the root and the report
 * socket. 0, or -1 with errno and the part that failed in *ret_what. */
int tc_oci_template_fill(struct tc_oci_template *template, const struct tc_process_host *host,
                         uid_t id, struct tc_init_config *init, const char **ret_what);
/* Closes the fds that the child has copied. */
void tc_oci_template_started(struct tc_oci_template *template);
/* Copies a template for the next call, so that the runtime and the image need not be looked up
 * again. The caller owns the copy; NULL with errno. */
struct tc_oci_template *tc_oci_template_copy(const struct tc_oci_template *template);
/* Appends the template's part of the key by which a prestarted container is found. The identity of
 * the image's directory is not part of the key. */
void tc_oci_template_key(const struct tc_oci_template *template, struct tc_buf *key);
/* 0, or -1 with errno. */
int tc_oci_identify(int dirfd, const char *path, struct tc_oci_identity *ret);
bool tc_oci_identical(const struct tc_oci_identity *a, const struct tc_oci_identity *b);
void tc_oci_template_done(struct tc_oci_template *template);

struct tc_oci {
    struct tc_cage_ops ops;
    struct tc_oci_template template; /* the container before the call's data is in it */
    uid_t uid; /* id that the tool sees; the runtime is root of its user namespace */
    gid_t gid;
    rlim_t pids;               /* the policy's limit, plus PID 1 */
    struct tc_oci_asked asked; /* the version query, only in a probe */
    size_t ready;              /* number of containers to prestart for similar calls */
    int64_t waited_us; /* how long the prestarted container had waited; 0: it was created for this
                          call */
};

static inline struct tc_oci *tc_oci_own(const struct tc_process_cage *p)
{
    return p->own;
}

/* Decides whether, and how many, containers are prestarted for calls like this one. Called before
 * the lease. */
void tc_oci_ready_ask(struct tc_oci *o, const struct tc_plan *plan);
/* Called when the tool runs: requests a container for the next call. */
void tc_oci_ready_next(struct tc_process_cage *p, const struct tc_plan *plan);

/* ---- executor.c: shared with the gvisor executor ---- */

/* Sends PID 1 the call's init config over the report socket. 0, or -1 with errno. */
int tc_oci_tell(struct tc_process_cage *p, int report);
/* The make() of an executor with a runtime of this kind. Takes ownership of `o`, whose ops the
 * caller has set. */
int tc_oci_make(struct tc_cage *cage, struct tc_oci *o, enum tc_oci_kind kind);
int tc_oci_start(struct tc_cage *cage);
/* Ends the runtime's remaining processes after the call. */
void tc_oci_clear(struct tc_cage *cage);
/* Did the runtime exit before PID 1 reported? The caller then fails the call with the last line of
 * the runtime's log. */
bool tc_oci_unheard(struct tc_cage *cage);
void tc_oci_fail_runtime(struct tc_cage *cage, const char *words);
bool tc_oci_destroy(struct tc_cage *cage, enum tc_may_block may_block);
bool tc_oci_plan_probe(const struct tc_executor *executor, enum tc_oci_kind kind,
                       struct tc_plan *ret);
void tc_oci_drop(struct tc_oci *o);
/* Fails the call because a part of the bundle cannot be made: `what`, with errno. Returns -1. */
int tc_oci_fail_bundle(struct tc_cage *cage, const char *what, const char *hint);
/* Does the cage's cgroup limit processes, and count exactly one of the runtime with the tool's?
 * Then the cgroup enforces the policy's `pids` exactly. */
bool tc_oci_counts_exactly(const struct tc_process_cage *p);
const char *tc_oci_mechanism(const struct tc_cage *cage, enum tc_clause clause);

#endif
