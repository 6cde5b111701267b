/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Plan -> box: paths become descriptors, ids and control groups are leased, and everything the
 * child needs is computed. Nothing of the host changes here but the leases. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/process/process.h"
#include "backend/process/system.h"
#include "base/path.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "linux/seccomp_filter.h"

static int out_of_memory(struct tc_cage *cage)
{
    return tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_EMEMORY, .stage = "prepare"}, -1,
                        "out of memory");
}

int tc_process_keep(struct tc_process_cage *p, int fd)
{
    int *slot = fd < 0 ? NULL : TC_PUSH(p->fds, p->fd_count);
    if (!slot) {
        int saved = fd < 0 ? errno : ENOMEM;
        if (fd >= 0)
            (void)close(fd);
        errno = saved;
        return -1;
    }
    return *slot = fd;
}

struct tc_box_mount *tc_process_mount(struct tc_process_cage *p, int fd, const char *path,
                                      enum tc_landlock_kind rights)
{
    struct tc_box_mount *m = TC_PUSH(p->mounts, p->mount_count);
    if (m)
        *m = (struct tc_box_mount){.fd = fd, .path = path[1] ? path + 1 : ".", .rights = rights};
    return m;
}

/* ---- ids and control groups
 * ----------------------------------------------------------------------- */

static int take_id(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->host->privileged)
        return 0;
    p->id = tc_ids_take(&p->host->ids);
    if (p->id != (uid_t)-1)
        return 0;
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                         .stage = "ids",
                                         .subject = "/run/toolcage/ids.lock",
                                         .errnum = errno,
                                         .hint = "wait until some of the running cages have ended"},
                        TC_CLAUSE_IDS_UNPRIVILEGED, "every unprivileged id for cages is in use");
}

/* Private storage counts as memory of the group, so its size is added: then a full /tmp is ENOSPC
 * before it is an out-of-memory kill. */
static int64_t group_memory(const struct tc_plan *plan)
{
    int64_t stores = 1;
    for (size_t i = 0; i < plan->mount_count && plan->workspace == TC_WORKSPACE_COPY; i++)
        stores += plan->mounts[i].kind == TC_MOUNT_WRITE;
    return plan->limits.memory + stores * plan->limits.disk;
}

/* With version 2 a cage is born in its group for nothing; with version 1 the first call of each
 * group pays for moving a process there, which is milliseconds. */
static bool cheap(const struct tc_cgroups *groups, enum tc_cgroup_controller controller)
{
    struct tc_cgroup_state state = tc_cgroups_describe(groups, controller);
    return state.mechanism && strcmp(state.mechanism, "cgroup v2") == 0;
}

/* With less, the kernel might find nobody to end but the one who clones the cage. */
enum { SMALLEST_MEMORY = 8 << 20 };

static int take_group(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    struct tc_cgroups *groups = p->host->cgroups;
    struct tc_cgroup_limits limits = {.cpus_milli = l->cpus_milli};
    bool any = l->memory_any && !l->cpus_milli;
    if (any && !cheap(groups, TC_CGROUP_MEMORY))
        return 0; /* the policy leaves the mechanism to us: rlimits then, and said so */
    if (!l->memory_any || tc_cgroups_has(groups, TC_CGROUP_MEMORY))
        limits.memory = group_memory(cage->plan);
    if (tc_cgroups_has(groups, TC_CGROUP_PIDS))
        limits.pids = l->pids + 1; /* PID 1 is ours */
    if (limits.memory && l->memory < SMALLEST_MEMORY)
        return tc_cage_fail(cage,
                            &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                             .stage = "cgroup",
                                             .subject = "memory",
                                             .hint = "grant at least 8MiB"},
                            TC_CLAUSE_LIMIT_MEMORY,
                            "a cage's own kernel memory does not fit into %lld bytes",
                            (long long)l->memory);
    if (!p->host->swept)
        (void)tc_cgroups_sweep(groups);
    p->host->swept = true;
    struct toolcage_error *err = NULL;
    if (tc_cgroup_take(groups, &limits, &p->group, &err) == 0)
        return 0;
    if (any) { /* the fallback that the policy itself names */
        tc_error_free(err);
        return 0;
    }
    int clause = limits.cpus_milli && !tc_cgroups_has(groups, TC_CGROUP_CPU)
                     ? TC_CLAUSE_LIMIT_CPUS
                     : TC_CLAUSE_LIMIT_MEMORY;
    const char *any_way = clause == TC_CLAUSE_LIMIT_MEMORY && !l->memory_any
                              ? "; or bound each process by itself: memory = { max = \"…\", by = "
                                "\"any\" }"
                              : "";
    _autofree_ char *hint = tc_format("%s%s", tc_error_hint(err), any_way);
    (void)tc_cage_fail(cage,
                       &(struct tc_why){.code = tc_error_code(err),
                                        .stage = "cgroup",
                                        .subject = tc_clause_name((enum tc_clause)clause),
                                        .hint = hint},
                       clause, "%s", tc_error_message(err));
    tc_error_free(err);
    return -1;
}

/* ---- the storage, the root, the trees
 * ------------------------------------------------------------- */

/* /tmp is a mount like the others, so that a granted path below it gets its mount point there. */
static int make_storage(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    p->storage = tc_process_keep(p, tc_tmpfs(l->disk, l->inodes, "1777", true));
    if (p->storage < 0)
        return tc_cage_fail(cage,
                            &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                             .stage = "storage",
                                             .subject = "/tmp",
                                             .errnum = errno,
                                             .hint = "check the size of `disk` in the policy"},
                            TC_CLAUSE_TMP_PRIVATE, "cannot make the private /tmp");
    return tc_process_mount(p, p->storage, "/tmp", TC_LANDLOCK_WRITE_TREE) ? 0
                                                                           : out_of_memory(cage);
}

/* The deepest item (or /tmp) that holds this path strictly; NULL: the root itself. */
static const struct tc_item *holder(const struct tc_process_cage *p, const struct tc_item *item)
{
    const struct tc_item *best = NULL;
    for (size_t i = 0; i < p->item_count; i++) {
        const struct tc_item *other = &p->items[i];
        if (other != item && strcmp(other->path, item->path) != 0 &&
            tc_path_within(other->path, item->path) &&
            (!best || strlen(other->path) > strlen(best->path)))
            best = other;
    }
    return best;
}

static bool in_system(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == TC_MOUNT_SYSTEM && tc_path_within(plan->mounts[i].path, path))
            return true;
    return false;
}

/* A mount point inside another tree must be there already: making it would write into that tree. */
static int check_point(struct tc_cage *cage, struct tc_item *item, const struct tc_item *in)
{
    const char *below = item->path + strlen(in->path) + 1;
    struct stat st;
    _autofd_ int fd = tc_resolve_beneath(in->fd, below);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) == item->directory) {
        if (in->writable && !tc_process_copied(cage->plan, in))
            item->point = (struct tc_file_id){st.st_dev, st.st_ino};
        return 0;
    }
    return tc_cage_fail(
        cage,
        &(struct tc_why){.code = TOOLCAGE_EPATH,
                         .stage = "trees",
                         .subject = item->path,
                         .hint = "make it on the host first, or grant it at a path of its own"},
        TC_CLAUSE_FS_READ, "%s lies inside %s, which has no such %s to mount it on", item->path,
        in->path, item->directory ? "directory" : "file");
}

static int collect_points(struct tc_cage *cage, struct tc_root_point *points, size_t *ret_count)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    *ret_count = 0;
    for (size_t i = 0; i < p->item_count; i++) {
        struct tc_item *item = &p->items[i];
        const struct tc_item *in = holder(p, item);
        if (in) {
            if (check_point(cage, item, in) < 0)
                return -1;
        } else if (tc_path_within("/tmp", item->path)) {
            const char *at = item->path + 5;
            int rc = item->directory ? tc_mkdirs(p->storage, at)
                                     : tc_put_file(p->storage, at, "", 0, 0444);
            if (rc < 0)
                return tc_cage_fail(cage,
                                    &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                                     .stage = "trees",
                                                     .subject = item->path,
                                                     .errnum = errno},
                                    TC_CLAUSE_FS_READ,
                                    "cannot make a mount point in the private /tmp");
        } else if (!in_system(cage->plan, item->path)) {
            points[(*ret_count)++] = (struct tc_root_point){item->path, item->directory};
        }
    }
    return 0;
}

static int open_root(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_root_point *points = tc_arena_alloc(&p->arena, (p->item_count + 1) * sizeof(*points));
    size_t count;
    if (!points)
        return out_of_memory(cage);
    if (collect_points(cage, points, &count) < 0)
        return -1;
    struct tc_root_spec spec = {.plan = cage->plan,
                                .points = points,
                                .point_count = count,
                                .uid = p->box.uid,
                                .gid = p->box.gid};
    const char *step = "";
    p->box.root = tc_process_keep(p, tc_root_open(p->host->shelf, &spec, &step));
    if (p->box.root >= 0)
        return 0;
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                         .stage = "root",
                                         .subject = step,
                                         .errnum = errno,
                                         .hint = "`toolcage doctor` shows what this machine lacks"},
                        TC_CLAUSE_FS_READ, "cannot prepare %s for the cage", step);
}

/* ---- the child's words
 * ---------------------------------------------------------------------------- */

enum { INSIDE = 1000 }; /* what a root caller's tool sees as its ids */

static void set_ids(struct tc_process_cage *p)
{
    struct tc_box *box = &p->box;
    box->wait_for_maps = p->host->privileged;
    box->uid = p->host->privileged ? INSIDE : p->host->uid;
    box->gid = p->host->privileged ? INSIDE : p->host->gid;
    tc_id_map(box->uid_map, box->uid, p->host->privileged ? p->id : p->host->uid);
    tc_id_map(box->gid_map, box->gid, p->host->privileged ? p->id : p->host->gid);
}

static int open_report(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_cage_fail(
            cage, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "prepare", .errnum = errno},
            -1, "cannot make the report socket");
    p->report = pair[0];
    p->child_report = pair[1];
    p->box.report = pair[1];
    return 0;
}

/* A machine that cannot do it says so at each call, with the reason. */
void tc_process_ahead(void)
{
    struct tc_outcome outcome = {0};
    struct tc_plan plan = {0};
    struct tc_process_host *host;
    if (tc_process_host_get(&outcome, &host) == 0 && tc_process_system(&plan))
        tc_root_ahead(host->shelf,
                      &(struct tc_root_spec){.plan = &plan,
                                             .uid = host->privileged ? INSIDE : host->uid,
                                             .gid = host->privileged ? INSIDE : host->gid});
    tc_plan_done(&plan);
    tc_outcome_done(&outcome);
}

int tc_process_prepare(struct tc_cage *cage)
{
    struct tc_process_cage *p = calloc(1, sizeof(*p));
    if (!p)
        return out_of_memory(cage);
    cage->priv = p;
    p->id = (uid_t)-1;
    p->report = p->child_report = p->pidfd = p->listener = p->storage = p->box.root = -1;
    p->box.out = p->box.err = -1;
    if (tc_process_host_get(cage->outcome, &p->host) < 0)
        return -1;
    if (tc_resolver_init(&p->resolver, p->host->uid, &cage->plan->tool_writable) < 0)
        return out_of_memory(cage);
    if (take_id(cage) < 0 || take_group(cage) < 0)
        return -1;
    set_ids(p);
    if (tc_process_resolve(cage) < 0 || make_storage(cage) < 0 || open_root(cage) < 0 ||
        tc_process_trees(cage) < 0 || tc_process_hide(cage) < 0)
        return -1;
    if (tc_process_argv(cage) < 0 || tc_process_limits(cage) < 0 || open_report(cage) < 0)
        return -1;
    p->box.landlock_abi = p->host->landlock_abi;
    p->box.notify = cage->plan->denials != TC_DENIALS_OFF;
    p->box.filter = tc_seccomp_program(p->box.notify);
    p->box.mounts = p->mounts;
    p->box.mount_count = p->mount_count;
    return 0;
}
