/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Turns a plan into an init config: opens paths, leases an id and a cgroup, and computes everything
 * that the child needs. Apart from the leases nothing on the host changes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/lower.h"
#include "cage/proxy.h"
#include "cage/spare.h"
#include "cage/worker.h"
#include "linux/mounts.h"
#include "observe/observe.h"
#include "policy/names/system_paths.h"
#include "system/system.h"
#include "workspace/copy.h"
#include "workspace/session.h"
#include "workspace/state.h"

static int out_of_memory(struct tc_cage *cage)
{
    return tc_cage_fail_memory(cage, "prepare");
}

/* ---- ids and cgroups ---- */

static int take_id(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->trees.host->privileged)
        return 0;
    if (cage->plan->uid) {
        p->trees.id = (uid_t)cage->plan->uid;
        return 0;
    }
    p->trees.id = tc_ids_take(&p->host->ids);
    if (p->trees.id != (uid_t)-1)
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "ids", "/run/toolcage/ids.lock",
                                     errno, "wait until some of the running cages have ended"),
                        TC_CLAUSE_IDS_UNPRIVILEGED, "every unprivileged id for cages is in use");
}

/* With less memory the OOM killer might find only the process that clones the cage. */
enum { SMALLEST_MEMORY = 8 << 20 };

/* Does the policy leave the mechanism of the limits to toolcage? */
static bool leaves_choice(const struct tc_limits *l)
{
    return l->memory_any && !l->cpus_milli;
}

/* The limits of the cage's cgroup: the policy's, plus what the cage itself uses. No limit set:
 * rlimits are used instead, and the result says so. */
static struct tc_cgroup_limits group_limits(const struct tc_cage *cage)
{
    static const struct tc_cage_ops bare = {.memory = 0};
    const struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_cage_ops *ops = p->ops ? p->ops : &bare;
    const struct tc_limits *l = &cage->plan->limits;
    const struct tc_cgroups *groups = p->host->cgroups;
    struct tc_cgroup_limits limits = {.cpus_milli = l->cpus_milli};
    if (l->memory && (!l->memory_any || tc_cgroups_has(groups, TC_CGROUP_MEMORY)))
        limits.memory = l->memory + ops->memory; /* includes pages of the private storage */
    if (tc_cgroups_has(groups, TC_CGROUP_PIDS))
        limits.pids = l->pids + 1 + ops->pids; /* plus PID 1 */
    return limits;
}

/* A process started by an engine must be moved, and only root may take it out of its cgroup. */
static int refuse_joining(struct tc_cage *cage)
{
    int clause = cage->plan->limits.cpus_milli ? TC_CLAUSE_LIMIT_CPUS : TC_CLAUSE_LIMIT_MEMORY;
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EUNENFORCEABLE, "cgroup", tc_clause_name((enum tc_clause)clause),
               clause == TC_CLAUSE_LIMIT_CPUS
                   ? "remove `cpus`, or use backend = \"process\""
                   : "limit each process separately: memory = { max = \"…\", by = \"any\" }"),
        clause, "only root can move a container's first process into the call's cgroup");
}

static int check_memory(struct tc_cage *cage)
{
    int64_t memory = cage->plan->limits.memory;
    if (!TC_PRIV(cage)->group_limits.memory || memory >= SMALLEST_MEMORY)
        return 0;
    return tc_cage_fail(
        cage, TC_WHY(TOOLCAGE_EUNENFORCEABLE, "cgroup", "memory", "grant at least 8MiB"),
        TC_CLAUSE_LIMIT_MEMORY, "a cage's own kernel memory does not fit into %lld bytes",
        (long long)memory);
}

static int take_group(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    struct tc_cgroups *groups = p->host->cgroups;
    struct tc_cgroup_limits limits = p->group_limits;
    bool any = leaves_choice(l);
    if (!tc_cgroup_limits_any(&limits))
        return 0;
    if (p->ops && p->ops->apart && !p->trees.host->privileged)
        return any ? 0 : refuse_joining(cage);
    struct toolcage_error *err = NULL;
    if (tc_cgroup_take(groups, &limits, &p->group, &err) == 0)
        return 0;
    if (any) { /* the fallback that the policy allows */
        tc_error_free(err);
        return 0;
    }
    int clause = limits.cpus_milli && !tc_cgroups_has(groups, TC_CGROUP_CPU)
                     ? TC_CLAUSE_LIMIT_CPUS
                     : TC_CLAUSE_LIMIT_MEMORY;
    const char *any_way =
        clause == TC_CLAUSE_LIMIT_MEMORY && !l->memory_any
            ? "; or limit each process separately: memory = { max = \"…\", by = \"any\" }"
            : "";
    _autofree_ char *hint = tc_format("%s%s", tc_error_hint(err), any_way);
    (void)tc_cage_fail(
        cage, TC_WHY(tc_error_code(err), "cgroup", tc_clause_name((enum tc_clause)clause), hint),
        clause, "%s", tc_error_message(err));
    tc_error_free(err);
    return -1;
}

/* ---- storage, root, trees ---- */

static bool in_system(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == TC_MOUNT_SYSTEM && tc_path_within(plan->mounts[i].path, path))
            return true;
    return tc_system_shows(plan->system, path);
}

/* A mount point inside a granted tree must already exist: creating one would write to the tree. */
static int check_point(struct tc_cage *cage, struct tc_item *item, const struct tc_item *in)
{
    const char *below = item->path + strlen(in->path) + 1;
    struct stat st;
    _autofd_ int fd = tc_resolve_beneath(in->fd, below);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) == item->directory) {
        if (in->writable && !tc_tree_copied(cage->plan, in))
            item->point = (struct tc_file_id){st.st_dev, st.st_ino};
        return 0;
    }
    if (fd < 0 && errno == ELOOP)
        return tc_tree_refuse_link(cage, item);
    return tc_cage_fail(cage,
                        TC_WHY(TOOLCAGE_EPATH, "trees", item->path,
                               "create it on the host first, or grant it at another path"),
                        TC_CLAUSE_FS_READ,
                        "%s is inside %s, which contains no such %s to mount it on", item->path,
                        in->path, item->directory ? "directory" : "file");
}

/* A directory that every cage shows as a whole is the host's: no mount point can be made in it. */
static int check_system_point(struct tc_cage *cage, const struct tc_item *item)
{
    struct stat st;
    if (!tc_system_shows(cage->plan->system, item->path) ||
        (stat(item->path, &st) == 0 && S_ISDIR(st.st_mode) == item->directory))
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY(TOOLCAGE_EPATH, "trees", item->path,
                               "create it on the host first, or grant it at another path"),
                        TC_CLAUSE_FS_READ,
                        "every cage shows a directory above %s, which contains no such %s to mount "
                        "it on",
                        item->path, item->directory ? "directory" : "file");
}

/* Creates a mount point in the private storage that contains the path. */
static int put_point(struct tc_cage *cage, const struct tc_item *item, const struct tc_item *in)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    struct stat st;
    int rc;
    if (in) {
        const char *below = item->path + strlen(in->path) + 1;
        _autofd_ int fd = in->layers < 0 ? -1 : tc_resolve_beneath(in->fd, below);
        bool there = fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) == item->directory;
        rc = there ? 0 : tc_single_file_point(&p->trees, in, below, item->directory);
    } else {
        const char *shm = tc_system_path_shm(item->path);
        const char *below = shm ? shm : item->path + strlen("/tmp/");
        rc = item->directory ? tc_mkdirs(p->trees.storage, below)
                             : tc_put_file(p->trees.storage, below, "", 0, 0444);
    }
    if (rc == 0)
        return 0;
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "trees", item->path, errno, NULL),
                        TC_CLAUSE_FS_READ, "cannot create a mount point in private storage");
}

static int collect_points(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    size_t more = p->ops ? p->ops->point_count : 0;
    p->points =
        tc_arena_alloc(&p->trees.arena, (p->trees.item_count + more + 2) * sizeof(*p->points));
    if (!p->points)
        return out_of_memory(cage);
    for (size_t i = 0; i < more; i++)
        p->points[p->point_count++] = p->ops->points[i];
    if (tc_plan_inspects(cage->plan))
        p->points[p->point_count++] = (struct tc_root_point){TC_BUNDLE_OWN, false};
    for (size_t i = 0; i < p->trees.item_count; i++) {
        struct tc_item *item = &p->trees.items[i];
        const struct tc_item *in = tc_tree_holder(&p->trees, item->path);
        int rc = 0;
        if (item->name) /* mounted as part of a private directory */
            continue;
        if (in)
            rc = in->single_dir ? put_point(cage, item, in) : check_point(cage, item, in);
        else if (tc_system_path_private(item->path))
            rc = put_point(cage, item, NULL);
        else if (in_system(cage->plan, item->path))
            rc = check_system_point(cage, item);
        else
            p->points[p->point_count++] = (struct tc_root_point){item->path, item->directory};
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int open_root(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_root_spec spec = {.plan = cage->plan,
                                .points = p->points,
                                .point_count = p->point_count,
                                .uid = p->init.uid,
                                .gid = p->init.gid};
    const char *step = "";
    p->root = tc_root_ready(p->host->root_cache, &spec, &step);
    if (p->root)
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "root", step, errno,
                                     "`toolcage doctor` shows what this host lacks"),
                        TC_CLAUSE_FS_READ, "cannot prepare %s for the cage", step);
}

/* ---- leases and preparation ---- */

/* Does the plan start a worker, whose program waits for a call? */
static bool is_ahead(const struct tc_plan *plan)
{
    return plan->ahead && !plan->program_call;
}

/* Leases an id and a cgroup, unless a prestarted process has both already. */
static int take_leases(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    p->group_limits = group_limits(cage);
    if (check_memory(cage) < 0)
        return -1;
    bool waits = p->ops && !p->ops->hold;
    bool spare = cage->plan->uid ? false
                 : waits         ? p->ops->ready && tc_spare_claim(p, cage->plan->tool)
                 : is_ahead(cage->plan)
                     ? tc_spare_new(p)
                     : tc_worker_claim(cage) || tc_spare_claim(p, cage->plan->tool);
    if (!spare && (take_id(cage) < 0 || take_group(cage) < 0))
        return -1;
    tc_process_set_ids(p->host, p->trees.id, &p->init);
    return 0;
}

/* tick() builds the first root while a worker thread prepares the first call, so that neither waits
 * for the other. If that call is prepared in the event loop, its lease builds the root. */
static bool root_is_due;

/* Ignores errors: calls report them. */
void tc_process_ahead(void)
{
    struct tc_outcome outcome = {0};
    struct tc_process_host *host;
    if (tc_process_host_enter(&outcome, &host) == 0) {
        tc_spare_first(host);
        root_is_due = tc_process_host_get(&outcome, &host) == 0;
    }
    tc_outcome_done(&outcome);
}

static void build_root(void)
{
    root_is_due = false;
    const struct tc_process_host *host = tc_process_host_opened();
    struct tc_plan plan = {0};
    _autofree_ char *system = NULL;
    if (host && tc_system_stored(tc_state_given(), &system) &&
        tc_plan_system(&plan, true, system)) {
        struct tc_root_spec spec = {.plan = &plan,
                                    .uid = tc_process_inside(host, host->tree->uid),
                                    .gid = tc_process_inside(host, host->tree->gid)};
        tc_spare_root(tc_root_ahead(host->root_cache, &spec));
    }
    tc_plan_done(&plan);
}

int64_t tc_process_tick(int64_t now)
{
    if (root_is_due)
        build_root();
    tc_watcher_reap();
    return tc_sooner(tc_proxy_tick(now), tc_pool_tick(now));
}

/* How long prepare() may block: longest with writable trees, which it searches and perhaps copies.
 */
enum tc_may_block tc_local_may_block(const struct tc_cage *cage)
{
    enum tc_may_block most = TC_BLOCK_NO;
    if (cage->plan->image || cage->plan->session || tc_plan_inspects(cage->plan))
        return TC_BLOCK_YES;
    for (size_t i = 0; i < cage->plan->mount_count; i++) {
        if (cage->plan->mounts[i].kind == TC_MOUNT_WRITE)
            return TC_BLOCK_YES;
        if (cage->plan->mounts[i].kind == TC_MOUNT_READ ||
            cage->plan->mounts[i].kind == TC_MOUNT_SOCKET)
            most = TC_BLOCK_LOCAL_FS;
    }
    if (most == TC_BLOCK_LOCAL_FS && !tc_process_host_local(TC_PRIV(cage)->host))
        return TC_BLOCK_YES;
    return most;
}

static int check_broker(struct tc_cage *cage)
{
    const char *fix = "set unix_sockets = \"none\", or use a host that allows namespaces";
    const char *lack = tc_broker_lacks(&fix);
    if (!lack)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EUNENFORCEABLE, "unix sockets", tc_clause_name(TC_CLAUSE_NET_UNIX), fix),
        TC_CLAUSE_NET_UNIX, "%s", lack);
}

int tc_local_new(struct tc_cage *cage, const struct tc_cage_ops *ops, void *own)
{
    struct tc_process_cage *p = calloc(1, sizeof(*p));
    if (!p)
        return out_of_memory(cage);
    cage->priv = p;
    cage->trees = &p->trees;
    cage->workspace = &p->workspace;
    p->trees = TC_TREES_NEW;
    p->workspace = TC_WORKSPACE_NEW;
    cage->observer = &p->observer;
    p->observer = TC_OBSERVER_NEW;
    p->ops = ops;
    p->own = own;
    p->child.report = p->child.theirs = p->child.pidfd = p->child.first_pidfd = p->init.root = -1;
    p->init.in = p->init.out = p->init.err = p->init.image = p->looks.oom_fd = p->init.talk =
        p->talk = -1;
    p->task = TC_TASK_NONE;
    return 0;
}

int tc_local_lease(struct tc_cage *cage, const struct tc_cage_ops *ops, void *own)
{
    if (tc_local_new(cage, ops, own) < 0 ||
        tc_process_host_get(cage->outcome, &TC_PRIV(cage)->host) < 0)
        return -1;
    cage->may_block = tc_local_may_block(cage);
    if (cage->plan->unix_sockets && check_broker(cage) < 0)
        return -1;
    if (take_leases(cage) < 0)
        return -1;
    /* early: a worker thread later waits for the proxy's CA */
    if (tc_plan_inspects(cage->plan) && tc_proxy_start(cage) < 0)
        return -1;
    if (root_is_due && cage->may_block != TC_BLOCK_YES)
        build_root();
    cage->sweep = true;
    return 0;
}

/* Refuses a tool with unix sockets that could create a socket in a directory of the host, where
 * host programs would connect to it. Landlock allows sockets only in private storage, but a mount
 * below that storage inherits the right. */
static int check_planting(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    bool wall = p->host->landlock_abi > 0;
    for (size_t i = 0; i < p->trees.item_count && cage->plan->unix_sockets; i++) {
        const struct tc_item *item = &p->trees.items[i];
        if (!item->writable || !item->directory || tc_tree_copied(cage->plan, item) ||
            (wall && !tc_path_within("/tmp", item->path)))
            continue;
        return tc_cage_fail(
            cage,
            TC_WHY(TOOLCAGE_EUNENFORCEABLE, "unix sockets", item->path,
                   wall ? "mount it elsewhere, as in { path = \"/workspace\", from = \"…\" }, or "
                          "use workspace = { mode = \"overlay\" }"
                        : "use workspace = { mode = \"overlay\" }"),
            TC_CLAUSE_NET_UNIX,
            wall ? "%s is a host directory below the private /tmp: a tool with unix sockets could "
                   "create sockets there that host programs would connect to"
                 : "without Landlock a tool with unix sockets could create sockets in %s that host "
                   "programs would connect to",
            item->path);
    }
    return 0;
}

/* May run in a worker thread: uses only constant fields of the host record, and the id maps, which
 * have a lock. */
int tc_process_prepare(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    tc_trees_open(&p->trees, cage->plan);
    if (tc_session_open(cage) < 0)
        return -1;
    if (tc_tree_resolve(cage) < 0 || check_planting(cage) < 0 || tc_tree_storage(cage) < 0 ||
        tc_tree_single_files(cage) < 0 || tc_workspace_single_files(cage) < 0)
        return -1;
    if (collect_points(cage) < 0 || tc_session_restore_tmp(cage) < 0 ||
        tc_workspace_trees(cage) < 0 || tc_session_restored(cage) < 0)
        return -1;
    return tc_tree_hide(cage) < 0 ? -1 : tc_trust_await(cage);
}

int tc_process_complete(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_workspace *w = cage->workspace;
    if (open_root(cage) < 0 || tc_process_argv(cage) < 0 || tc_process_limits(cage) < 0 ||
        tc_proxy_start(cage) < 0 || tc_trust_show(cage) < 0)
        return -1;
    p->init.terminal = cage->plan->terminal;
    p->init.rows = cage->plan->rows;
    p->init.columns = cage->plan->columns;
    p->init.landlock_abi = p->host->landlock_abi;
    p->init.segments = tc_limits_segments(cage);
    p->init.unix_sockets = cage->plan->unix_sockets;
    p->init.not_before = w && w->waits ? w->opened_ns : 0;
    p->init.mounts = p->trees.mounts;
    p->init.mount_count = p->trees.mount_count;
    return tc_process_filter(cage);
}
