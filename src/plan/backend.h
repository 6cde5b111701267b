/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The interface of a backend, in three parts. The planner is in the library: it knows which clauses
 * the backend can enforce, and lowers a grant to a plan. The locator is in the library, too: it
 * finds the files and programs of this host that the backend needs. The executor is in the helper:
 * it carries out plans and makes no decision. All three have the backend's name;
 * src/backend/registry.h is the only list of them. struct tc_host_ops holds whatever the cages of
 * all backends share. */
#ifndef TC_PLAN_BACKEND_H
#define TC_PLAN_BACKEND_H

#include "base/error.h"
#include "plan/outcome.h"
#include "plan/plan.h"
#include "policy/feature.h"

/* flags */
enum {
    TC_BACKEND_NO_BOUNDARY = 1, /* enforces nothing, and every result says so */
};

/* ---- the planner (library) ---- */

struct tc_planner {
    const char *name, *summary;
    int flags;
    tc_clauses provides; /* clauses that the backend can enforce if the kernel has every feature */
    tc_features has;     /* optional features that the backend supports */
    /* Lowers a grant to a plan, without a system call. Fills *ret (zeroed), which the caller frees
     * with tc_plan_done(), also on failure. Called by tc_planner_lower(). */
    int (*lower)(const struct tc_planner *planner, const struct tc_grant *grant,
                 struct tc_plan *ret, struct toolcage_error **err);
};

/* Calls the planner's lower() and adds the part that the plans of all backends have. Makes no
 * system call. *ret as for lower(). */
int tc_planner_lower(const struct tc_planner *planner, const struct tc_grant *grant,
                     struct tc_plan *ret, struct toolcage_error **err);
/* Clauses of the grant that the backend cannot enforce on any host. None for a backend without a
 * boundary, which enforces nothing. */
tc_clauses tc_planner_missing(const struct tc_planner *planner, const struct tc_grant *grant);
/* Features that the grant or the call (`wanted`) needs and the backend lacks. */
tc_features tc_planner_lacks(const struct tc_planner *planner, const struct tc_grant *grant,
                             tc_features wanted);
/* The planner with this name, or NULL. */
const struct tc_planner *tc_planner_find(const char *name);
/* The planner with this index, or NULL past the last one. */
const struct tc_planner *tc_planner_at(size_t index);
/* The names of all planners: "process, oci, …"; owned. */
char *tc_planner_names(void);

/* Features that a backend without a boundary ignores, as it ignores clauses. It does not ignore the
 * four that would change what the call does or returns: it lacks them. */
#define TC_FEATURES_IGNORED                                                        \
    (~(TC_FEATURE_BIT(TERMINAL) | TC_FEATURE_BIT(SESSION) | TC_FEATURE_BIT(LIVE) | \
       TC_FEATURE_BIT(INSTALL)))

/* ---- the locator (library) ---- */

struct toolcage_engine;

/* A call that the library makes for its own work (such as a compilation); it runs no tool. */
struct tc_errand {
    const char *policy, *tool; /* the policy's text, and the policy's only tool */
    const char *work, *module; /* the kind of work and the module file to work on; NULL: no file */
    bool prints;               /* the output is wanted */
};
/* How the errand ended. The caller sets the buffers' maximum and frees everything, also on failure.
 */
struct tc_errand_end {
    int64_t status, exit_code;
    char *error; /* why the errand did not exit normally; NULL: it did */
    struct tc_buf out, complaints;
};
typedef int tc_errand_fn(struct toolcage_engine *engine, const struct tc_errand *errand,
                         struct tc_errand_end *ret, struct toolcage_error **err);

/* Whether a guest boots with KVM on this host. */
struct tc_kvm {
    bool boots;
    char *reason, *fix; /* why KVM failed or was not tested, and the remedy; owned */
};
void tc_kvm_done(struct tc_kvm *kvm);

/* The context of a search by a locator. All members are borrowed unless noted. */
struct tc_search {
    struct toolcage_engine *engine;
    struct tc_modules_known *known; /* modules found for earlier calls; NULL: no such cache */
    tc_errand_fn *run;
    const char *work, *module; /* find(): set when the call is an errand */
    int *lock; /* out of find(): fd whose lock prevents the removal of the files found; held as long
                  as the call */
    int64_t emulated_ms; /* out of tell(): duration of a test boot by emulation; -1: it failed; 0:
                            not measured */
    bool guests;         /* out of tell(): at least one backend so far runs guests on this host */
    struct tc_kvm kvm; /* out of tell(): the KVM result of that backend, else of the first; owned by
                          the caller */
};

/* Finds the files and programs of this host that a backend needs in addition to the needs of every
 * cage. A backend without such needs has no locator. A NULL operation does nothing. On failure the
 * error names the missing file or program and how to install it. */
struct tc_locator {
    const char *name;
    bool tried; /* after a successful look() the helper probes the backend, too (tc_probe_ops) */
    /* Before a grant is lowered: stores the paths found in grant->located. NULL: lower() needs
     * none. */
    int (*find)(const struct tc_locator *locator, struct tc_search *search, struct tc_grant *grant,
                struct toolcage_error **err);
    /* A quick check: does the host have everything that the grant needs? */
    int (*look)(const struct tc_locator *locator, struct tc_search *search,
                const struct tc_grant *grant, struct toolcage_error **err);
    /* The doctor's text about how calls run with this backend; owned. *ret_how stays NULL if the
     * doctor must not list the backend. NULL: the backend's probe gives the text. */
    int (*tell)(const struct tc_locator *locator, struct tc_search *search, char **ret_how,
                struct toolcage_error **err);
};

/* The locator with this name, or NULL. */
const struct tc_locator *tc_locator_find(const char *name);
/* The locator with this index, or NULL past the last one. */
const struct tc_locator *tc_locator_at(size_t index);

/* ---- the executor (helper) ---- */

struct tc_executor;
struct tc_trees;
struct tc_workspace;
struct tc_observer;

/* How long prepare() and destroy() may block. */
enum tc_may_block {
    TC_BLOCK_NO,       /* no access to the host's file systems */
    TC_BLOCK_LOCAL_FS, /* looks up a few paths, all on local file systems */
    TC_BLOCK_YES       /* reads many files, or a network or FUSE file system */
};

/* One cage. The supervisor owns the record; a backend keeps its own state in `priv`. The backend
 * still owns the fds that it stores here, and destroy() closes them. */
struct tc_cage {
    const struct tc_executor *executor;
    const struct tc_plan *plan;
    struct tc_outcome *outcome; /* denials, enforcement, timings and failures are written here */
    void *priv;
    struct tc_trees *trees; /* points into `priv` if the backend shows host paths in the cage */
    struct tc_workspace *workspace; /* points into `priv` if the tool's file changes are tracked */
    struct tc_observer *observer;   /* points into `priv` if denials are observed */
    int secrets_fd;   /* in: memory file with the values of plan->secrets (tc_secret_values_visit);
                         -1: none. Owned by the cage. */
    int exchanges_fd; /* in: memory file with requests and responses, for the proxy
                         (egress/exchanges.h); -1: none. Owned by the cage. */
    int published_fd; /* out: memory file of the proxy's report, for the published ports of a live
                         session (egress/egress.h); -1: none. Owned by the cage. */
    int stdin_fd; /* in: read end of the tool's standard input, or -1 for the null device; start()
                     takes it */
    /* out: read end of the tool's standard output, non-blocking. With a terminal, some event()
     * replaces it by the terminal's master, which also accepts the input. */
    int out_fd;
    int err_fd;    /* out: read end of standard error */
    bool err_held; /* out: err_fd must not be read yet: the runtime, not the tool, wrote to it; some
                      event() clears this */
    int event_fd;  /* out: readable when event() must be called; -1: never */
    int exit_fd; /* out: readable when every process of the cage has ended; -1 again after reap() */
    int64_t look_at_us; /* out: the time at which event() must be called even if event_fd is not
                           readable; 0: never */
    /* in: why the workspace's mode is not the one that the plan had first; NULL: it is */
    const char *instead_because;
    /* out: the cage could not be built because another process changed a granted path; another
     * attempt may succeed */
    bool changed;
    /* out: why the writable directories cannot be binds, although an overlay may work; NULL: they
     * can */
    const char *unbound;
    /* out: an overlay cannot be made, for the outcome's failure, and the plan accepts a bind */
    bool unlayered;
    bool running; /* out: the tool runs, and every isolation layer is in effect */
    /* out: the tool and all its processes have ended, and the outcome has the exit status. The rest
     * of the cage ends by itself; then exit_fd becomes readable. */
    bool over;
    bool finished; /* out: a live session must end, because its time is over; not a failure */
    bool lingers;  /* out of make(): after the end, other processes may write to the streams */
    bool
        changes_lost; /* out of usage(): some changes could not be read; no changes are collected */
    const char *limit; /* out: the name of the limit that was reached, for which the cage must end;
                          NULL: none */
    enum tc_may_block may_block; /* out of make(): how long prepare() may block */
    bool sweep;                  /* out of make(): tc_host_ops's sweep() must run, once per helper
                                  */
    int64_t begun_us; /* in: the time at which the call arrived; its timeout counts from here */
    _Atomic bool answered; /* in: the call's result was already sent; prepare() may stop early */
};

/* A backend's operations on a cage. Those that return int return 0, or -1 after tc_cage_fail().
 * None waits for the tool: the supervisor waits. All are quick and run on the supervisor's only
 * thread, except prepare() and destroy(): these may take long and then run on a worker thread. On a
 * worker thread they use only the cage's data, and those data of the backend whose comments allow
 * it. */
struct tc_executor {
    const char *name;

    /* -- required operations */

    /* Initialises the cage's record and leases shared resources of the backend. */
    int (*make)(struct tc_cage *cage);
    /* Starts the tool; sets the fds. */
    int (*start)(struct tc_cage *cage);
    /* Ends the tool (kill = false: sends SIGTERM) or kills the whole cage at once. */
    void (*signal)(struct tc_cage *cage, bool kill);
    /* Called when exit_fd is readable: stores the exit code, the signal or a failure in the
     * outcome, unless `over` was set before. */
    void (*reap)(struct tc_cage *cage);
    /* Called after the end: stores the resource usage in the outcome. Returns the name of the limit
     * that was reached, or NULL. */
    const char *(*usage)(struct tc_cage *cage);
    /* Frees everything, also of a partly built cage. Called only while exit_fd is -1: nothing was
     * started, or reap() was called. With TC_BLOCK_NO it returns false if freeing would take
     * long. The caller then calls it with TC_BLOCK_YES on a worker thread, which releases the slow
     * parts, and a second time with TC_BLOCK_NO. */
    bool (*destroy)(struct tc_cage *cage, enum tc_may_block may_block);

    /* -- optional operations. The arrow in a comment stands before what a NULL operation does.
     * Called through the tc_cage_ functions of the same name below. */

    /* Builds the cage from the plan, as far as possible without the call's input. -> success */
    int (*prepare)(struct tc_cage *cage);
    /* Called when event_fd is readable or look_at_us has come: does a limited amount of work, and
     * sets `running` once every isolation layer is in effect, `limit` and `over`. A failure written
     * to the outcome ends the call; returns -1 if the cage could not be created. -> success */
    int (*event)(struct tc_cage *cage);
    /* Sends a signal to the tool's processes. -> nothing */
    void (*pass_signal)(struct tc_cage *cage, int number);
    /* The doctor's probe of the backend on this host. -> no probe */
    const struct tc_probe_ops *probe;
};

struct tc_probe_ops {
    /* Makes the plan of a minimal call; false: this host lacks something needed for the probe. */
    bool (*plan)(const struct tc_executor *executor, struct tc_plan *ret);
    /* Called after the probe's end: adds the findings to outcome->probes. */
    void (*tell)(const struct tc_cage *tried, struct tc_outcome *outcome);
};

const struct tc_executor *tc_executor_find(const char *name);
const struct tc_executor *tc_executor_at(size_t index);

/* Call the optional operations. They also accept a cage without an executor, in which nothing is
 * built: then they succeed. */
int tc_cage_prepare(struct tc_cage *cage);
int tc_cage_event(struct tc_cage *cage);
void tc_cage_pass_signal(struct tc_cage *cage, int number);
bool tc_cage_destroy(struct tc_cage *cage, enum tc_may_block may_block);

/* State of the helper that all backends' cages share. */
struct tc_host_ops {
    /* Called once, when the helper starts: prepares what every call needs, while the library still
     * resolves the first call. */
    void (*open)(void);
    /* Releases unused resources. Returns the time of the next call; 0: no matter when. */
    int64_t (*tick)(int64_t now_us);
    /* Removes leftovers of dead helpers, and returns their number. May take long; runs on a worker
     * thread. */
    unsigned (*sweep)(void);
    /* Called once, when the helper ends. */
    void (*close)(void);
};
extern const struct tc_host_ops *const tc_host_ops;

/* Writes cage->outcome->failure and the status, and returns -1. Executors report every failure with
 * this function. */
int tc_cage_fail(struct tc_cage *cage, const struct tc_why *why, int clause, const char *fmt, ...)
    TC_PRINTF(4, 5);

/* An overlay cannot be made: notes that the plan accepts a bind instead. Returns the clause of the
 * failure, `clause`, or -1 if the failure is only the reason for a bind. */
int tc_cage_unlayered(struct tc_cage *cage, int clause);

int tc_cage_fail_memory(struct tc_cage *cage, const char *stage);
/* Adds the probe's result to outcome->probes: the backend works, or the clause that failed and why.
 * The backend sets the mechanism. NULL when out of memory. */
struct tc_probe *tc_cage_probed(const struct tc_cage *tried, struct tc_outcome *outcome);

/* A record of a cage in which nothing is built and which has no executor. */
struct tc_cage tc_cage_empty(const struct tc_plan *plan, struct tc_outcome *outcome);

/* Closes the helper's ends of the tool's streams; for destroy(). */
void tc_cage_close_streams(struct tc_cage *cage);

/* escapes.c: versions of container runtimes with known container escapes. */

/* Known escapes of the runtime versions in `text`, which is such as "Docker Engine 20.10.24,
 * runc 1.1.5+ds1". The result begins with "; ", or is "". Owned; NULL when out of memory. */
char *tc_known_escapes(const char *text);

#endif
