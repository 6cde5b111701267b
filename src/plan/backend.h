/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a backend is, in three parts. The planner lives in the library and only decides: which
 * clauses the backend can enforce at all, and the plan for a grant. The locator lives there, too,
 * and looks for what this host has for the backend. The executor lives in the helper and only does.
 * All are named by the same word; src/backend/registry.h is the only list of them. What all cages
 * of a machine share is no backend's: tc_host_ops. */
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
    tc_clauses provides; /* which clauses it can enforce on a machine that has everything */
    tc_features has;     /* and what else it can do */
    /* grant -> plan; pure. Fills *ret (zeroed); the caller frees it with tc_plan_done also on
     * failure. Called by tc_planner_lower(). */
    int (*lower)(const struct tc_planner *planner, const struct tc_grant *grant,
                 struct tc_plan *ret, struct toolcage_error **err);
};

/* grant -> plan, with what no backend needs to do by itself; pure. *ret as above. */
int tc_planner_lower(const struct tc_planner *planner, const struct tc_grant *grant,
                     struct tc_plan *ret, struct toolcage_error **err);
/* What the grant needs and the backend does not enforce, whatever the machine; nothing where it has
 * no walls. And what it does not have of what the grant needs, or the call `wanted` beside. */
tc_clauses tc_planner_missing(const struct tc_planner *planner, const struct tc_grant *grant);
tc_features tc_planner_lacks(const struct tc_planner *planner, const struct tc_grant *grant,
                             tc_features wanted);
/* By name, or NULL. */
const struct tc_planner *tc_planner_find(const char *name);
/* The index-th, or NULL past the end. */
const struct tc_planner *tc_planner_at(size_t index);
/* "process, oci, …" of all planners; owned. */
char *tc_planner_names(void);

/* What a backend without walls passes over in silence, as it does with clauses; the others would
 * make a promise of its own. */
#define TC_FEATURES_IGNORED \
    (~(TC_FEATURE_BIT(TERMINAL) | TC_FEATURE_BIT(SESSION) | TC_FEATURE_BIT(INSTALL)))

/* ---- the locator (library) ---- */

struct toolcage_engine;

/* A call of the library's own, which runs no tool. */
struct tc_errand {
    const char *policy, *tool; /* the text of its policy, and the one tool in that */
    const char *work, *module; /* what is done in the cage, and with which file; NULL: with none */
    bool prints;               /* what it prints is wanted */
};
/* Its end. The buffers say how much they take; all is the caller's, also on failure. */
struct tc_errand_end {
    int64_t status, exit_code;
    char *error; /* why it did not end by itself; NULL: it did */
    struct tc_buf out, complaints;
};
typedef int tc_errand_fn(struct toolcage_engine *engine, const struct tc_errand *errand,
                         struct tc_errand_end *ret, struct toolcage_error **err);

/* Whether the processor's virtualisation boots a guest here. */
struct tc_kvm {
    bool boots;
    char *reason, *fix; /* why not, or not tried, and what to do; owned */
};
void tc_kvm_done(struct tc_kvm *kvm);

/* Who looks, and by what. Borrows. */
struct tc_search {
    struct toolcage_engine *engine;
    struct tc_modules_known *known; /* what was found for earlier calls; NULL: nothing is kept */
    tc_errand_fn *run;
    const char *work, *module; /* find(): of a call that is an errand */
    int *lock;   /* out of find(): keeps what was found from being removed while the call lives */
    bool guests; /* out of tell(): some backend told so far runs guests here */
    struct tc_kvm kvm; /* out of tell(): by that one, or the first; the caller's */
};

/* What a backend needs of this host beside what every cage needs; one without has no locator. An
 * operation that is NULL has nothing to do. Each fails with what is not here, and how to get it. */
struct tc_locator {
    const char *name;
    bool tried; /* the helper tries the backend, too (tc_probe_ops), when look() has found all */
    /* For a call that is about to be lowered: into grant->located. NULL: nothing is needed there.
     */
    int (*find)(const struct tc_locator *locator, struct tc_search *search, struct tc_grant *grant,
                struct toolcage_error **err);
    /* Is there all that the grant needs, as far as a quick look can say? */
    int (*look)(const struct tc_locator *locator, struct tc_search *search,
                const struct tc_grant *grant, struct toolcage_error **err);
    /* What any call would run by, for the doctor; owned. *ret_how stays NULL: there is nothing to
     * say of the backend here. NULL: its probe says it. */
    int (*tell)(const struct tc_locator *locator, struct tc_search *search, char **ret_how,
                struct toolcage_error **err);
};

/* By name, or NULL; the index-th, or NULL past the end. */
const struct tc_locator *tc_locator_find(const char *name);
const struct tc_locator *tc_locator_at(size_t index);

/* ---- the executor (helper) ---- */

struct tc_executor;
struct tc_trees;
struct tc_workspace;
struct tc_observer;

/* What prepare() and destroy() may wait for. */
enum tc_may_block {
    TC_BLOCK_NO,       /* it asks no file system of the host */
    TC_BLOCK_LOCAL_FS, /* some paths are looked up on this machine's own disks */
    TC_BLOCK_YES       /* many files, or those of another machine or of a process */
};

/* One cage. The supervisor owns the record; a backend keeps its own state behind `priv`.
 * Descriptors that a backend puts here stay its own: destroy() closes them. */
struct tc_cage {
    const struct tc_executor *executor;
    const struct tc_plan *plan;
    struct tc_outcome *outcome; /* denials, enforcement, timings and failures are written here */
    void *priv;
    struct tc_trees *trees;         /* in `priv`, where the backend shows paths of the host's */
    struct tc_workspace *workspace; /* the same, what its tool changes there */
    struct tc_observer *observer;   /* the same, what its tool is refused */
    int secrets_fd; /* in: a memory file with the values of plan->secrets (tc_secret_values_visit);
                     * -1: none. The cage's own. */
    int stdin_fd; /* in: read end for the tool, or -1 (then it reads end-of-file); start() takes it
                   */
    /* out: read end of the tool's standard output, non-blocking; or, from some event() on, the
     * other end of its terminal, which takes what is typed, too */
    int out_fd;
    int err_fd;         /* out: the same of standard error */
    bool err_held;      /* out: what is in there is not the tool's, and stays until some event() */
    int event_fd;       /* out: readable when event() has something to do; -1: never */
    int exit_fd;        /* out: readable when the cage has ended whole; -1 again once reaped */
    int64_t look_at_us; /* out: when event() has something to do all the same; 0: never */
    bool running;       /* out: the tool runs, every wall stands */
    /* out: the tool and everything that it started have ended, and the outcome says how; what is
     * left of the cage ends by itself, and exit_fd tells when. */
    bool over;
    bool changes_lost; /* out of usage(): not all that was changed came back; none is gathered */
    const char *limit; /* out: that was reached, for which the cage is to end; NULL: none */
    enum tc_may_block may_block; /* out of make(): what prepare() may wait for */
    bool sweep;                  /* out of make(): it is time to sweep(), once */
    int64_t begun_us;            /* in: when the call came; its timeout counts from here */
    _Atomic bool answered;       /* in: the call was answered already; prepare() may give up */
};

/* What a backend does with a cage. Those that can fail return 0, or -1 after tc_cage_fail(). None
 * waits for the tool: waiting is the supervisor's. All are called on the supervisor's one thread
 * and are quick, but for prepare() and destroy(), which may take long and are then called on a
 * thread of their own: they use what is the cage's, and of the backend's own only what its comments
 * allow. */
struct tc_executor {
    const char *name;

    /* -- every backend has these */

    /* Makes the cage's record and leases what the backend has for all cages. */
    int (*make)(struct tc_cage *cage);
    /* Begins to run the tool; fills the descriptors. */
    int (*start)(struct tc_cage *cage);
    /* Asks the tool to end (kill = false: SIGTERM), or ends the whole cage at once. */
    void (*signal)(struct tc_cage *cage, bool kill);
    /* exit_fd became readable: exit code or signal into the outcome, or a failure, unless `over`
     * has told it already. */
    void (*reap)(struct tc_cage *cage);
    /* After the end: usage into the outcome; the name of the limit whose counter moved, or NULL. */
    const char *(*usage)(struct tc_cage *cage);
    /* Everything gone, whatever had been built; fine for half-built cages. Not before exit_fd is
     * -1, be it that nothing ran or that it was reaped. With TC_BLOCK_NO false where that would
     * take long: called on a thread of its own with TC_BLOCK_YES it then lets go of what does, and
     * the next one is quick. */
    bool (*destroy)(struct tc_cage *cage, enum tc_may_block may_block);

    /* -- a backend leaves out what it has no use for; then what stands behind the arrow is so.
     * Called through the function of the same name below. */

    /* plan -> cage: everything that can be done before the call's own bytes are needed. -> done */
    int (*prepare)(struct tc_cage *cage);
    /* event_fd is ready, or the time has come: does a bounded share of work, and sets `running`
     * once every wall stands, `limit` and `over`. A failure that it writes down ends the call; -1
     * when the cage failed to come up. -> nothing happened */
    int (*event)(struct tc_cage *cage);
    /* How the doctor sees what works on this machine. -> nothing to see */
    const struct tc_probe_ops *probe;
};

struct tc_probe_ops {
    /* The smallest call, as a plan; false: this machine has nothing to try it with. */
    bool (*plan)(const struct tc_executor *executor, struct tc_plan *ret);
    /* After its end: what was seen, into outcome->probes. */
    void (*tell)(const struct tc_cage *tried, struct tc_outcome *outcome);
};

const struct tc_executor *tc_executor_find(const char *name);
const struct tc_executor *tc_executor_at(size_t index);

/* The operations that may be empty, and of a cage that has no executor yet: nothing is built, and
 * nothing is to be done. */
int tc_cage_prepare(struct tc_cage *cage);
int tc_cage_event(struct tc_cage *cage);
bool tc_cage_destroy(struct tc_cage *cage, enum tc_may_block may_block);

/* What this host has for the cages of every backend. */
struct tc_host_ops {
    /* Once, when the helper starts: what every call will need, while the library still thinks. */
    void (*open)(void);
    /* Now and then: lets go of what nobody used. When to come again; 0: no matter. */
    int64_t (*tick)(int64_t now_us);
    /* Leftovers of dead helpers: how many went. May take long, and runs beside the loop. */
    unsigned (*sweep)(void);
    /* Once, when the helper ends. */
    void (*close)(void);
};
extern const struct tc_host_ops *const tc_host_ops;

/* Writes cage->outcome->failure (status too) and returns -1: the one way in which executors fail.
 */
int tc_cage_fail(struct tc_cage *cage, const struct tc_why *why, int clause, const char *fmt, ...)
    TC_PRINTF(4, 5);

int tc_cage_fail_memory(struct tc_cage *cage, const char *stage);
/* The row of a probe cage: it came up with every wall, or the clause that failed says why not. NULL
 * when out of memory; how it holds, where it does, is the backend's to say. */
struct tc_probe *tc_cage_probed(const struct tc_cage *tried, struct tc_outcome *outcome);

/* Nothing is built yet, and no executor is chosen. */
struct tc_cage tc_cage_empty(const struct tc_plan *plan, struct tc_outcome *outcome);

/* Closes our ends of the tool's streams; for destroy(). */
void tc_cage_close_streams(struct tc_cage *cage);

/* escapes.c: versions of container runtimes out of whose containers ways are known. */

/* What is to be said of the runtimes that a text names with their versions, as in "Docker Engine
 * 20.10.24, runc 1.1.5+ds1": begins with "; ", or is "". Owned; NULL when out of memory. */
char *tc_known_escapes(const char *text);

#endif
