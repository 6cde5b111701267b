/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cages built from processes of this host, in the helper: state per helper and state per cage. Each
 * backend decides how it runs the tool inside. */
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

/* ---- host.c: state per helper ---- */

struct tc_process_host {
    bool entered, ready;
    struct tc_tree_host *tree;
    int landlock_abi;
    int whole; /* can a full cage be built? 0: not known yet, 1: yes, -1: no */
    struct tc_ids ids;
    struct tc_cgroups *cgroups;
    /* The root cache: a tmpfs mounted where no grant reaches. It holds the prepared roots, and an
     * unreadable file and directory that are mounted over denied names. */
    int root_cache;
    int mounts; /* /proc/self/mountinfo; poll() reports changes */
    bool local; /* cached result of tc_process_host_local() */
};

/* Enters the helper's mount namespace once; an ordinary user also gets a user namespace around it.
 * 0, or -1 with the failure recorded. */
int tc_process_host_get(struct tc_outcome *outcome, struct tc_process_host **ret);
/* Only the namespaces: enough to clone processes. */
int tc_process_host_enter(struct tc_outcome *outcome, struct tc_process_host **ret);
/* Are all mounts local, so that no path lookup waits for the network or a process? Checked again
 * after each change of the mount table. */
bool tc_process_host_local(struct tc_process_host *host);
/* The host record if fully set up, else NULL. */
struct tc_process_host *tc_process_host_opened(void);
/* The host record in any state: ids and Landlock version are set. */
struct tc_process_host *tc_process_host_known(void);
/* Does this host certainly forbid cages with namespaces? */
bool tc_host_forbids_cages(void);
/* An fd of the toolcage program `name` next to this executable, or in the installed libexec
 * directory; PATH is not searched. -1 with the reason as the end of a sentence. */
int tc_beside(const char *name, const char **ret_lack);

/* ---- root.c: prepared roots ---- */

/* Paths that a root must contain in addition to the system directories: mount points and generated
 * files. */
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
};

/* A prepared root is identified by a serial number that is never reused; 0: none. */

/* Builds a root without mount points in advance, for the first matching call; 0 on failure. */
uint64_t tc_root_ahead(int root_cache, const struct tc_root_spec *spec);
/* The root of a spec; each distinct spec is built once. 0 with errno and *ret_step. */
uint64_t tc_root_ready(int root_cache, const struct tc_root_spec *spec, const char **ret_step);
/* A detached, read-only clone of the root; -1 with errno. */
int tc_root_copy(uint64_t serial);

/* ---- state per cage ---- */

struct tc_proxy;
struct tc_process_cage;
struct tc_spare_kind;

/* Cage ops: the differences of a backend that runs a container runtime or a VMM. */
struct tc_cage_ops {
    bool apart;           /* a container engine, not the helper, starts PID 1 */
    bool sentry;          /* a userspace kernel runs the tool and holds its memory (gVisor) */
    int64_t memory, pids; /* what the runtime itself needs of the cgroup limits */
    const struct tc_root_point *points; /* of the root, in addition to the grant's */
    size_t point_count;
    /* Describes the mechanism that enforces a clause; "" or NULL: the clause is not enforced. */
    const char *(*mechanism)(const struct tc_cage *cage, enum tc_clause clause);
    /* If PID 1 is a separate program: clones the process that starts that program, with
     * tc_process_clone_outer(). 0, or -1 with the failure recorded. NULL: the clone uses the cage's
     * own init config. */
    int (*outer)(struct tc_cage *cage);
    const struct tc_spare_kind *ready; /* how containers are prestarted; NULL: never */
    /* For a program that may be prestarted (cage/worker.h): reserves its share of a per-user budget
     * (VM memory) while it waits. An fd that holds the share; -1: too little is left. NULL: the
     * program is never prestarted. */
    int (*hold)(const struct tc_cage *cage);
};

/* The first process; set by spawn.c, or taken over from a spare process. */
struct tc_child {
    int report, theirs; /* the helper's end of the report socket; the child's, until sent */
    int pidfd;
    pid_t pid;
    pid_t first;             /* PID 1 if started by a runtime or engine; else 0 */
    int first_pidfd;         /* of `first`, set by the backend; -1: not known yet */
    bool ready, reaped;      /* the tool runs; the process was waited for */
    int64_t cpu_us, max_rss; /* in total, at its end */
    int64_t segments;        /* bytes of unattached System V segments above the limit; or 0 */
};

/* Used by limiter.c. */
struct tc_looks {
    int64_t sample_at_us; /* next sample of CPU time and shared memory; 0: not sampled */
    unsigned unseen;      /* consecutive failures to read the CPU time */
    int oom_fd;           /* ready when the kernel killed a process for memory; -1: none */
    uint32_t oom_events;  /* events to poll oom_fd for */
    int64_t oom_at_us;    /* when to check an announced OOM kill; 0: none announced */
    int64_t oom_wait_us;  /* current interval between these checks */
    int64_t disk_at_us;   /* next sample of the private storage; 0: not sampled */
    int64_t disk_wait_us; /* current interval between these samples */
    int64_t fills_us;     /* the last sample: how soon the storage can be full */
    bool filled;          /* the private storage was full at a sample */
};

struct tc_process_cage {
    struct tc_buf trusted;         /* CA bundle, until mounted */
    const struct tc_cage_ops *ops; /* NULL: a process cage */
    /* Describes a mechanism inside the cage that enforces a clause before the cage's own mechanism
     * has to. NULL: there is none. */
    const char *(*inner)(enum tc_clause clause);
    struct tc_process_host *host;
    struct tc_trees trees;
    struct tc_workspace workspace;
    struct tc_observer observer;
    struct tc_spare *spare; /* becomes this cage; NULL: cloned at the start */
    struct tc_task_message
        task; /* the backend's fields for a toolcage program; the backend owns the fds */
    int talk; /* the helper's end of that program's socket, or of a live session's; -1: no socket
                 was made for this cage */
    struct tc_worker *worker;   /* the claimed worker, whose process runs the program; NULL: none */
    struct tc_pool_entry *next; /* passed to tc_pool_want() after this call; NULL: none */
    struct tc_cgroup *group;
    struct tc_cgroup_limits group_limits; /* requested for the group */
    uint64_t root;
    struct tc_root_point *points;
    size_t point_count;
    struct tc_init_config init;
    struct tc_child child;
    struct tc_seccomp_changes *changes; /* of the seccomp profile; in the arena. NULL: none */
    struct tc_looks looks;
    int64_t asked_us;       /* when the cage was requested to end; 0: not yet */
    int64_t seen_cpu_us;    /* the last sample */
    int64_t earlier_cpu_us; /* CPU time used for earlier calls */
    bool released;          /* the slow part of the release is done */
    void *own;              /* the backend's data; the backend frees it */
    struct tc_proxy *proxy; /* the egress proxy; NULL: none */
};

/* PID 1 of the cage, whether the helper or an engine started it. */
static inline pid_t tc_process_first(const struct tc_process_cage *p)
{
    return p->ops && p->ops->apart ? p->child.first : p->child.pid;
}

#define TC_PRIV(cage) ((struct tc_process_cage *)(cage)->priv)

/* prepare.c */
/* Before the first call: prepares what every call needs. */
void tc_process_ahead(void);
int64_t tc_process_tick(int64_t now_us);
/* Creates the cage's record and leases its ids and cgroup. `ops` and `own` become the members of
 * tc_process_cage, borrowed until the backend's destroy(). */
int tc_local_lease(struct tc_cage *cage, const struct tc_cage_ops *ops, void *own);
/* Creates only the record, for a backend that leases nothing. */
int tc_local_new(struct tc_cage *cage, const struct tc_cage_ops *ops, void *own);
enum tc_may_block tc_local_may_block(const struct tc_cage *cage);
int tc_process_prepare(struct tc_cage *cage);
/* The rest of the preparation, after the granted files are mounted. */
int tc_process_complete(struct tc_cage *cage);
/* argv.c */
int tc_process_argv(struct tc_cage *cage);
/* All candidate paths of the plan's command in PATH order, NULL-terminated; the child tries each.
 * In the arena; NULL: out of memory. */
const char *const *tc_process_programs(const struct tc_plan *plan, struct tc_arena *arena);
/* The seccomp filter that the plan requests. */
int tc_process_filter(struct tc_cage *cage);
int tc_process_limits(struct tc_cage *cage);
/* clone.c */
/* The id that the tool sees instead of one of the caller's ids. */
unsigned tc_process_inside(const struct tc_process_host *h, unsigned id);
/* Writes the id maps of a cage's user namespace. */
void tc_process_set_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init);
/* Clones a process into a cage's namespaces and the group (NULL: no group; then any thread may
 * call). The process enters the init config. Its pid, or -1 with errno; the pidfd may be set even
 * then. */
pid_t tc_process_clone(struct tc_cgroup *group, const struct tc_init_config *init, int *ret_pidfd);
/* For a PID 1 that is a separate program and prepares itself before its init config arrives: sends
 * the user and group id that the tool will see. 0, or -1 with errno. */
int tc_process_announce(const struct tc_process_host *host, int report);
/* Writes the id maps that a root caller's child waits for. 0, or -1 with errno. */
int tc_process_map_ids(pid_t pid, const struct tc_init_config *init, int report);
/* events.c: cage->event_fd combines several fds; an fd of -1 is ignored. */
int tc_events_open(struct tc_cage *cage);
int tc_events_add(struct tc_cage *cage, int fd, uint32_t events);
void tc_events_drop(struct tc_cage *cage, int fd);
/* Replaces the report socket by a copy of `fd`. 0, or -1 with errno. */
int tc_events_report(struct tc_cage *cage, int fd);
/* spawn.c */
int tc_process_start(struct tc_cage *cage);
/* Completes and starts a prepared cage, and requests the prestarted process of the next call. */
int tc_process_run(struct tc_cage *cage);
/* For tc_cage_ops.outer: clones the process with `init` instead of the cage's init config, but
 * with the root and report socket of the latter. tell() then sends PID 1 its init config over the
 * socket: 0, or -1 with errno. */
int tc_process_clone_outer(struct tc_cage *cage, const struct tc_init_config *init,
                           int (*tell)(struct tc_process_cage *p, int report));
/* Closes the helper's copies of the tool's fds, once the first process has its own. The
 * backend of an engine's container calls this itself, later. */
void tc_process_close_ends(struct tc_cage *cage);
int tc_process_event(struct tc_cage *cage);
/* Record why the command could not start; return -1. */
int tc_process_no_directory(struct tc_cage *cage, const char *stage, int errnum);
int tc_process_exec_failed(struct tc_cage *cage, int errnum);
void tc_process_reap(struct tc_cage *cage);
/* probe.c */
bool tc_process_probe_plan(const struct tc_executor *executor, struct tc_plan *ret);
void tc_process_probed(const struct tc_cage *probe, struct tc_outcome *outcome);
/* enforce.c */
int tc_process_enforced(struct tc_cage *cage);
/* Describes the mechanism that enforces a clause; NULL: none. Static text. */
const char *tc_process_mechanism(const struct tc_process_host *host, enum tc_clause clause,
                                 bool grouped);

/* limiter.c */
/* Starts to watch the plan's limits; a limit that is reached is set in cage->limit. 0, or -1 with
 * errno. */
int tc_limits_begin(struct tc_cage *cage);
/* Checks the limits; called on every event(). */
void tc_limits_look(struct tc_cage *cage);
/* CPU time of the whole cage so far; -1 with errno: unknown. */
int64_t tc_limits_cpu_us(struct tc_cage *cage);
/* The last check, before the cage is killed. */
void tc_limits_end(struct tc_cage *cage);
/* The limit on unattached segments that PID 1 checks, because they are invisible outside; 0: no
 * check. */
int64_t tc_limits_segments(const struct tc_cage *cage);

/* sample.c: reads the usage of a cage's processes from /proc, for limits that the kernel counts
 * only in a cgroup. Usage that begins and ends between two samples is missed. */

/* Microseconds of PID 1, its descendants and the processes they reaped; -1 with errno. */
int64_t tc_sample_cpu(pid_t pid);
/* The larger of two sums of shared bytes: mapped memory files and segments (each counted once if
 * the sum exceeds the limit), and files without a name. */
int64_t tc_sample_shared(pid_t pid, int64_t limit);

/* local_ops.c: operations of struct tc_executor that all local backends share (plan/backend.h). */
void tc_local_signal(struct tc_cage *cage, bool at_once);
const char *tc_local_usage(struct tc_cage *cage);
bool tc_local_destroy(struct tc_cage *cage, enum tc_may_block may_block);
/* The state that all local backends share: cgroups, ids, roots, prestarted processes, proxies and
 * files in the state directory. */
extern const struct tc_host_ops tc_local_host_ops;

/* trust.c */
/* Waits for the proxy's CA, in a worker thread; does nothing without an inspecting proxy. 0, or
 * -1. */
int tc_trust_await(struct tc_cage *cage);
/* Mounts a file with the proxy's CA and the system's certificates. 0, or -1. */
int tc_trust_show(struct tc_cage *cage);

/* image.c */
/* The directory of the plan's image, as an O_PATH fd; -1 with the failure recorded. */
int tc_image_find(struct tc_cage *cage);
/* Records that the image could not be mounted; returns -1. */
int tc_image_unmounted(struct tc_cage *cage);
/* Makes a detached mount of the plan's image, which the cage closes. 0, or -1 with the failure
 * recorded. */
int tc_image_open(struct tc_cage *cage, int *ret);

#endif
