/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cages that are processes of this machine, inside the helper: what their backends keep for the
 * helper's life, and what they keep for one cage. How the tool is run in it is each backend's. */
#ifndef TC_CAGE_CAGE_H
#define TC_CAGE_CAGE_H

#include <sys/stat.h>

#include "base/task.h"
#include "cage/init_config.h"
#include "linux/cgroup.h"
#include "linux/ids.h"
#include "observe/observe.h"
#include "plan/backend.h"
#include "tree/tree.h"
#include "workspace/workspace.h"

enum { TC_ROOT_CACHE_SLOTS = 8 };

/* ---- host.c: once a helper ---- */

struct tc_process_host {
    bool entered, ready;
    struct tc_tree_host *tree;
    int landlock_abi;
    int whole; /* can a full cage be built: 0 not known yet, 1, -1 */
    struct tc_ids ids;
    struct tc_cgroups *cgroups;
    /* A tmpfs at a place where no grant leads: prepared roots stand on it, and beside them an
     * unreadable file and directory to put over denied names. */
    int root_cache;
    int mounts; /* /proc/self/mountinfo, which tells when it changes */
    bool local; /* what it said last */
};

/* Enters the helper's own mount namespace (an ordinary caller's: with a user namespace around it),
 * once. 0, or -1 with the failure written. */
int tc_process_host_get(struct tc_outcome *outcome, struct tc_process_host **ret);
/* Only that far: processes can be cloned then. */
int tc_process_host_enter(struct tc_outcome *outcome, struct tc_process_host **ret);
/* May looking up a path wait for another machine or for a process? Looks again when something was
 * mounted since. */
bool tc_process_host_local(struct tc_process_host *host);
/* The same when it was entered already, else NULL. */
struct tc_process_host *tc_process_host_opened(void);
/* The same whether it was entered or not: ids and Landlock are known. */
struct tc_process_host *tc_process_host_known(void);
/* Is it sure that no cage with namespaces can be built here, ever? */
bool tc_host_forbids_cages(void);
/* A descriptor of the program of ours of this name beside this one, or where an installed one has
 * it; nowhere else, whatever PATH says. -1, and what is wrong, as the end of a sentence. */
int tc_beside(const char *name, const char **ret_lack);

/* ---- root.c: prepared roots ---- */

/* What a root must contain beside the system directories: mount points and made files. */
struct tc_root_point {
    const char *path; /* clean, absolute */
    bool directory;
};

struct tc_root_spec {
    const struct tc_plan *plan; /* SYSTEM, COPY and FILE mounts are built in */
    const struct tc_root_point *points;
    size_t point_count;
    uid_t uid; /* for passwd and group */
    gid_t gid;
    bool terminal; /* places for the cage's own devpts, and /dev/tty */
};

/* A prepared root is known by a number that is never used again; 0: none. */

/* Builds one that has no mount points yet, for the first call that fits; 0 when it cannot. */
uint64_t tc_root_ahead(int root_cache, const struct tc_root_spec *spec);
/* The root of a spec; built once for each different one. 0 with errno and *ret_step. */
uint64_t tc_root_ready(int root_cache, const struct tc_root_spec *spec, const char **ret_step);
/* A detached, read-only copy of it; -1 with errno. */
int tc_root_copy(uint64_t serial);

/* ---- one cage ---- */

struct tc_proxy;
struct tc_process_cage;
struct tc_spare_kind;

/* What a backend adds to a cage around which it puts a container runtime. */
struct tc_cage_ops {
    bool apart;  /* its first process is not ours to clone: who brings it is no part of the cage */
    bool sentry; /* a kernel of its own between the tool and ours, which keeps the tool's memory */
    int64_t memory, pids;               /* what the runtime needs of the control group for itself */
    const struct tc_root_point *points; /* of the root, beside those of the grant */
    size_t point_count;
    /* The words for how it holds a clause; "" or NULL: not at all. */
    const char *(*mechanism)(const struct tc_cage *cage, enum tc_clause clause);
    /* Where PID 1 is a program of its own: clones the process that brings it, by
     * tc_process_clone_outer(). 0, or -1 with the failure written. NULL: what is cloned has the
     * cage's own init config. */
    int (*outer)(struct tc_cage *cage);
    const struct tc_spare_kind *ready; /* how such a one is kept ready for a call; NULL: none is */
    /* Its program may have been started ahead of the call (cage/worker.h), and takes this of what
     * all share while it waits: a descriptor; -1: too little is left. NULL: it is never. */
    int (*hold)(const struct tc_cage *cage);
};

/* Its first process: spawn.c's, but for a birth that a spare gives up to it. */
struct tc_child {
    int report, theirs; /* our end of the report socket, and its own until it has that */
    int pidfd;
    pid_t pid;
    pid_t first;             /* PID 1 of the cage where that is another process; else 0 */
    int first_pidfd;         /* the backend's; -1: it has not come yet */
    bool ready, reaped;      /* the tool runs; it has ended, and been waited for */
    int64_t cpu_us, max_rss; /* of all that it was */
    int64_t segments;        /* bytes of those that nobody has attached, more than allowed; or 0 */
};

/* limits.c's. */
struct tc_looks {
    int64_t sample_at_us; /* processor time and shared memory; 0: not watched */
    unsigned unseen;      /* how often in a row the time could not be read */
    int oom_fd;           /* wakes when the kernel killed for memory; -1: none */
    uint32_t oom_events;  /* what to ask for on it */
    int64_t oom_at_us;    /* when to look for a kill that was announced; 0: none was */
    int64_t oom_wait_us;  /* how long the last look was put off */
};

struct tc_process_cage {
    struct tc_buf trusted;         /* certificates, from their reading until they are shown */
    const struct tc_cage_ops *ops; /* NULL: a process cage */
    /* The words for what holds a clause within the cage, before it has to; NULL: nothing does. */
    const char *(*inner)(enum tc_clause clause);
    struct tc_process_host *host;
    struct tc_trees trees;
    struct tc_workspace workspace;
    struct tc_observer observer;
    struct tc_spare
        *spare; /* the process that becomes this cage; NULL: it is cloned at the start */
    struct tc_task_message
        task; /* what the backend adds for a program of ours; its numbers stay that one's */
    int talk; /* our end of that program's socket; -1: none was made for this cage */
    struct tc_worker *worker; /* whose process it took over, running its program; NULL: nobody's */
    struct tc_pool_entry *next; /* wanted once this call is over; NULL: none is */
    struct tc_cgroup *group;
    struct tc_cgroup_limits group_limits; /* those of the group that was asked for */
    uint64_t root;
    struct tc_root_point *points;
    size_t point_count;
    struct tc_init_config init;
    struct tc_child child;
    struct tc_seccomp_changes *changes; /* of the profile; in the arena. NULL: none */
    struct tc_looks looks;
    int64_t asked_us;       /* when it was asked to end everything; 0: not yet */
    int64_t seen_cpu_us;    /* the last sample */
    int64_t earlier_cpu_us; /* of its processes, for calls before this one */
    bool released;          /* what takes long to let go of has gone */
    void *own;              /* of the backend; it frees it */
    struct tc_proxy *proxy; /* the way out; NULL: there is none */
};

/* Its PID 1, whoever made it. */
static inline pid_t tc_process_first(const struct tc_process_cage *p)
{
    return p->ops && p->ops->apart ? p->child.first : p->child.pid;
}

#define TC_PRIV(cage) ((struct tc_process_cage *)(cage)->priv)

/* prepare.c */
/* Before the first call: what it will need whatever it is. */
void tc_process_ahead(void);
int64_t tc_process_tick(int64_t now_us);
/* `ops` and `own` are those of tc_process_cage, borrowed until the backend's destroy(). */
int tc_local_lease(struct tc_cage *cage, const struct tc_cage_ops *ops, void *own);
/* The record alone, and how long its preparation may take: for who leases nothing. */
int tc_local_new(struct tc_cage *cage, const struct tc_cage_ops *ops, void *own);
enum tc_may_block tc_local_may_block(const struct tc_cage *cage);
int tc_process_prepare(struct tc_cage *cage);
/* What is left of it when the files are there. */
int tc_process_complete(struct tc_cage *cage);
/* argv.c */
int tc_process_argv(struct tc_cage *cage);
/* The system call filter that the plan asks for. */
int tc_process_filter(struct tc_cage *cage);
int tc_process_limits(struct tc_cage *cage);
/* clone.c */
/* The id that the tool sees for one of the caller's. */
unsigned tc_process_inside(const struct tc_process_host *h, unsigned id);
/* What the maps of a cage's user namespace say. */
void tc_process_set_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init);
/* Clones a process into a cage's namespaces and the group (NULL: none; then from any thread), where
 * it runs the stages of the init config. Its pid, or -1 with errno; the descriptor may be there
 * then, too. */
pid_t tc_process_clone(struct tc_cgroup *group, const struct tc_init_config *init, int *ret_pidfd);
/* A PID 1 that is a program of its own makes what it can before its orders: says which ids its tool
 * will see, two numbers. 0, or -1 with errno. */
int tc_process_announce(const struct tc_process_host *host, int report);
/* A root caller's child waits until its ids exist. 0, or -1 with errno. */
int tc_process_map_ids(pid_t pid, const struct tc_init_config *init, int report);
/* events.c: cage->event_fd, as which several descriptors are one; -1 is none. */
int tc_events_open(struct tc_cage *cage);
int tc_events_add(struct tc_cage *cage, int fd, uint32_t events);
void tc_events_drop(struct tc_cage *cage, int fd);
/* A copy of this connection is the report socket from here on. 0, or -1 with errno. */
int tc_events_report(struct tc_cage *cage, int fd);
/* spawn.c */
int tc_process_start(struct tc_cage *cage);
/* From a prepared cage to one in which the program runs, and what the next call will need. */
int tc_process_run(struct tc_cage *cage);
/* For tc_cage_ops.outer: with this init config in place of the cage's own, whose root and report
 * socket it has. Then tell() sends PID 1's orders by the socket: 0, or -1 with errno. */
int tc_process_clone_outer(struct tc_cage *cage, const struct tc_init_config *init,
                           int (*tell)(struct tc_process_cage *p, int report));
/* Of what is the tool's our copies go, once its first process has its own; a cage that is apart
 * keeps them until it says so. */
void tc_process_close_ends(struct tc_cage *cage);
int tc_process_event(struct tc_cage *cage);
void tc_process_reap(struct tc_cage *cage);
/* probe.c */
bool tc_process_probe_plan(const struct tc_executor *executor, struct tc_plan *ret);
void tc_process_probed(const struct tc_cage *probe, struct tc_outcome *outcome);
/* enforce.c */
int tc_process_enforced(struct tc_cage *cage);
/* The words for how a clause is held; NULL when nothing holds it. Static text. */
const char *tc_process_mechanism(const struct tc_process_host *host, enum tc_clause clause,
                                 bool grouped);

/* limiter.c */
/* From here on what the plan bounds is looked after; into cage->limit. 0, or -1 with errno. */
int tc_limits_begin(struct tc_cage *cage);
/* A share of it, whenever event() is called. */
void tc_limits_look(struct tc_cage *cage);
/* Processor time of the whole cage so far; -1 with errno: unknown. */
int64_t tc_limits_cpu_us(struct tc_cage *cage);
/* The cage is about to be killed: the last look. */
void tc_limits_end(struct tc_cage *cage);
/* What PID 1 looks for, since nobody outside can; 0: nothing. */
int64_t tc_limits_segments(const struct tc_cage *cage);

/* sample.c: what /proc says of a cage's processes now, for limits that the kernel counts only with
 * a control group. Samples: what came and went between two is not seen. */

/* Microseconds of PID 1, its descendants and those that they have reaped; -1 with errno. */
int64_t tc_sample_cpu(pid_t pid);
/* Bytes that they share: what they map of files in memory and of segments (counted once where it is
 * more than the limit), or what they keep in files without a name, whichever is more. */
int64_t tc_sample_shared(pid_t pid, int64_t limit);

/* local_ops.c: operations of struct tc_executor that the backends of this machine have in common
 * (plan/backend.h). */
void tc_local_signal(struct tc_cage *cage, bool at_once);
const char *tc_local_usage(struct tc_cage *cage);
bool tc_local_destroy(struct tc_cage *cage, enum tc_may_block may_block);
/* Control groups, ids, roots and processes ahead, proxies, and what is kept on disk. */
extern const struct tc_host_ops tc_local_host_ops;

/* trust.c */
/* Waits for the proxy's authority, in a worker; nothing where it has none. 0, or -1. */
int tc_trust_await(struct tc_cage *cage);
/* Has the cage show it beside what the system trusts. 0, or -1. */
int tc_trust_show(struct tc_cage *cage);

/* image.c */
/* The directory of the plan's image, as an O_PATH descriptor; -1 with the failure written. */
int tc_image_find(struct tc_cage *cage);
/* It could not be mounted: writes that, returns -1. */
int tc_image_unmounted(struct tc_cage *cage);
/* The plan's image as a detached mount, which the cage keeps. 0, or -1 with the failure written. */
int tc_image_open(struct tc_cage *cage, int *ret);

#endif
