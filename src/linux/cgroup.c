/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Cgroups: the part that both versions share. The life of a group: made, taken, returned; then
 * taken again (version 1, when proven clean) or removed. */
#include "linux/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "base/sys.h"
#include "linux/cgroup_impl.h"

enum { SMALL_FILE = 4096 };

/* ---- small files ---- */

/* A whole small file into text[SMALL_FILE]; false when it cannot be read. */
static bool read_small(int dir, const char *file, char *text)
{
    _autofd_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, SMALL_FILE - 1);
    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

int64_t tc_cgroup_number(int dir, const char *file, const char *key)
{
    char text[SMALL_FILE];
    if (dir < 0 || !read_small(dir, file, text))
        return -1;
    const char *at = text;
    size_t len = key ? strlen(key) : 0;
    while (key && !(strncmp(at, key, len) == 0 && at[len] == ' ')) {
        at = strchr(at, '\n');
        if (!at)
            return -1;
        at++;
    }
    char *end;
    errno = 0;
    long long value = strtoll(at + len, &end, 10);
    return end == at + len || errno || value < 0 ? -1 : value;
}

int tc_cgroup_put(int dir, const char *file, int64_t value, const char *unlimited)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    return tc_write_file(dir, file, value ? text : unlimited);
}

/* Calls `fn` for each pid of dir/cgroup.procs; their number, or -1. */
static int each_proc(int dir, void (*fn)(pid_t pid))
{
    _autofd_ int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return -1;
    fd = -1;
    int count = 0, pid;
    while (fscanf(file, "%d", &pid) == 1) {
        count++;
        if (fn && pid > 0) /* 0: of an outer pid namespace, not reachable */
            fn(pid);
    }
    if (ferror(file))
        count = -1;
    (void)fclose(file);
    return count;
}

static void kill_one(pid_t pid)
{
    (void)kill(pid, SIGKILL);
}

int tc_cgroup_kill_procs(int dir)
{
    /* Killed processes leave the list as they exit, and one may fork between the read and the
     * kill. */
    for (int round = 0; round < 50; round++) {
        int left = each_proc(dir, kill_one);
        if (left <= 0)
            return left;
        (void)usleep(round < 10 ? 100 : 1000);
    }
    errno = EBUSY;
    return -1;
}

bool tc_cgroup_empty(int dir)
{
    return each_proc(dir, NULL) == 0;
}

const char *tc_cgroup_barrier(const char *dir)
{
    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0)
        return NULL;
    if (errno == EROFS)
        return "the cgroup file system is mounted read-only";
    if (errno == EACCES || errno == EPERM)
        return "this user may not create cgroups";
    return "the cgroup of this process is not visible";
}

/* ---- opening and closing ---- */

void tc_cgroups_unusable(struct tc_cgroups *cgroups, enum tc_cgroup_controller controller,
                         char *reason, char *fix)
{
    free(cgroups->texts[controller * 2]);
    free(cgroups->texts[controller * 2 + 1]);
    cgroups->texts[controller * 2] = reason;
    cgroups->texts[controller * 2 + 1] = fix;
    cgroups->state[controller] = (struct tc_cgroup_state){
        .reason = reason ? reason : "out of memory",
        .fix = fix ? fix : "free memory on this machine, then try again",
    };
}

static int make_dir(int dirfd, const char *name)
{
    return mkdirat(dirfd, name, 0755);
}

static int remove_dir(int dirfd, const char *name)
{
    return unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Field 22 of /proc/PID/stat; -1 when there is no such process, or only an unreaped zombie. The
 * name in field 2 may contain any character. */
static long long start_time(pid_t pid)
{
    char path[32], text[SMALL_FILE];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!read_small(AT_FDCWD, path, text))
        return -1;
    const char *at = strrchr(text, ')');
    if (at && (tc_startswith(at, ") Z") || tc_startswith(at, ") X")))
        return -1;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? atoll(at + 1) : -1;
}

static void boot_name(char out[9])
{
    char text[SMALL_FILE];
    if (!read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text))
        tc_strcopy(text, sizeof(text), "unknown");
    tc_strcopy(out, 9, text);
    out[strcspn(out, "\n")] = '\0';
}

/* The version is that of the memory controller, else of pids, and so on: on a host with
 * controllers in both, only one version is used. */
static void choose_version(struct tc_cgroups *cgroups)
{
    static const struct tc_cgroup_version *const versions[] = {&tc_cgroup_v2, &tc_cgroup_v1};
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        for (size_t i = 0; i < TC_COUNT(versions); i++) {
            versions[i]->find(cgroups);
            if (cgroups->state[c].mechanism) {
                cgroups->version = versions[i];
                return;
            }
        }
    }
    /* Neither works. Version 1 was tried last; if it is not mounted, report version 2's reasons. */
    if (!cgroups->places.v1[TC_CGROUP_MEMORY].mount)
        tc_cgroup_v2.find(cgroups);
}

int tc_cgroups_open_texts(const char *groups, const char *mounts, struct tc_cgroups **ret,
                          struct toolcage_error **err)
{
    struct tc_cgroups *cgroups = calloc(1, sizeof(*cgroups));
    if (!cgroups)
        return tc_fail_memory(err);
    cgroups->make_dir = make_dir;
    cgroups->remove_dir = remove_dir;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++)
        cgroups->own[c] = -1;
    if (!tc_cgroup_places_parse(groups, mounts, &cgroups->places)) {
        tc_cgroups_close(cgroups);
        return tc_fail_memory(err);
    }
    char boot[9], swaps[SMALL_FILE];
    boot_name(boot);
    (void)snprintf(cgroups->name, sizeof(cgroups->name), "toolcage-%d-%lld-%s", (int)getpid(),
                   start_time(getpid()), boot);
    /* the first line is a header */
    const char *line = read_small(AT_FDCWD, "/proc/swaps", swaps) ? strchr(swaps, '\n') : NULL;
    cgroups->unswapped = line && !line[1];
    choose_version(cgroups);
    *ret = cgroups;
    return 0;
}

int tc_cgroups_open(const char *mounts, struct tc_cgroups **ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf groups = TC_BUF_INIT, text = TC_BUF_INIT;
    /* An unreadable file counts as empty: then no hierarchy is found, and the states report
     * that. */
    (void)tc_read_file(AT_FDCWD, "/proc/self/cgroup", &groups);
    if (!mounts)
        (void)tc_read_file(AT_FDCWD, "/proc/self/mountinfo", &text);
    mounts = mounts ? mounts : text.data;
    return tc_cgroups_open_texts(groups.data ? groups.data : "", mounts ? mounts : "", ret, err);
}

static void free_group(struct tc_cgroup *group)
{
    struct tc_cgroup **link = &group->owner->groups;
    while (*link && *link != group)
        link = &(*link)->next;
    if (*link)
        *link = group->next;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++)
        tc_cleanup_fd(&group->dirs[c]);
    tc_cleanup_fd(&group->oom_fd);
    tc_cleanup_fd(&group->oom_file);
    free(group);
}

/* Removes the group, now or (stale) as soon as the kernel allows it. The caller has killed all its
 * processes. */
static void discard_group(struct tc_cgroup *group)
{
    group->taken = false;
    group->stale = true;
    if (group->owner->version->drop(group))
        free_group(group);
}

static void drop_stale(struct tc_cgroups *cgroups)
{
    for (struct tc_cgroup *group = cgroups->groups, *next; group; group = next) {
        next = group->next;
        if (group->stale && cgroups->version->drop(group))
            free_group(group);
    }
}

static void drop_all(struct tc_cgroups *cgroups)
{
    for (struct tc_cgroup *group = cgroups->groups, *next; group; group = next) {
        next = group->next;
        (void)cgroups->version->kill(group);
        discard_group(group);
    }
    /* Killed processes take a moment to leave. Groups that remain are swept by a later start. */
    for (int round = 0; cgroups->groups && round < 100; round++) {
        (void)usleep(1000);
        drop_stale(cgroups);
    }
    while (cgroups->groups)
        free_group(cgroups->groups);
}

void tc_cgroups_close(struct tc_cgroups *cgroups)
{
    if (!cgroups)
        return;
    drop_all(cgroups);
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (cgroups->own[c] >= 0 && cgroups->base[c]) {
            _autofd_ int base = open(cgroups->base[c], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            (void)cgroups->remove_dir(base, cgroups->name);
        }
        tc_cleanup_fd(&cgroups->own[c]);
        free(cgroups->base[c]);
        free(cgroups->texts[c * 2]);
        free(cgroups->texts[c * 2 + 1]);
    }
    tc_cgroup_places_done(&cgroups->places);
    free(cgroups);
}

struct tc_cgroup_state tc_cgroups_describe(const struct tc_cgroups *cgroups,
                                           enum tc_cgroup_controller controller)
{
    return cgroups->state[controller];
}

bool tc_cgroups_has(const struct tc_cgroups *cgroups, enum tc_cgroup_controller controller)
{
    return cgroups->state[controller].mechanism != NULL;
}

/* ---- leftovers ---- */

/* Is the owner in a directory's name certainly gone: of another boot, or not a running process? */
static bool owner_gone(const char *name, const char *boot)
{
    int pid, used = 0;
    long long started;
    if (sscanf(name, "toolcage-%d-%lld-%n", &pid, &started, &used) != 2 || !used || pid <= 0)
        return false;
    return strcmp(name + used, boot) != 0 || start_time(pid) != started;
}

static void remove_children(struct tc_cgroups *cgroups, int dir)
{
    _autodir_ DIR *stream = tc_list_dir(dir);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            (void)cgroups->remove_dir(dir, entry->d_name);
    }
}

/* A live owner holds a lock on its directory: its pid may mean nothing in our pid namespace. */
static bool sweep_one(struct tc_cgroups *cgroups, int base, const char *name)
{
    _autofd_ int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) != 0)
        return false;
    remove_children(cgroups, dir);
    return cgroups->remove_dir(base, name) == 0;
}

static unsigned sweep_base(struct tc_cgroups *cgroups, const char *path, const char *boot)
{
    unsigned removed = 0;
    _autodir_ DIR *stream = opendir(path);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (strcmp(entry->d_name, cgroups->name) != 0 && owner_gone(entry->d_name, boot))
            removed += sweep_one(cgroups, dirfd(stream), entry->d_name);
    }
    return removed;
}

unsigned tc_cgroups_sweep(struct tc_cgroups *cgroups)
{
    unsigned removed = 0;
    char boot[9];
    boot_name(boot);
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (cgroups->base[c])
            removed += sweep_base(cgroups, cgroups->base[c], boot);
    }
    return removed;
}

/* ---- groups ---- */

static int unenforceable(enum tc_cgroup_controller controller, const struct tc_cgroup_state *state,
                         struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUNENFORCEABLE, "control group",
                          tc_cgroup_controller_name(controller), state->fix),
                   "no cgroup can limit %s: %s",
                   controller == TC_CGROUP_MEMORY ? "memory"
                   : controller == TC_CGROUP_PIDS ? "processes"
                                                  : "CPU usage",
                   state->reason);
}

static int failed(const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "control group", what, errno,
                                "`toolcage doctor` shows which limits work on this host"),
                   "cannot set up a cgroup, at %s", what);
}

static int require(const struct tc_cgroups *cgroups, const struct tc_cgroup_limits *limits,
                   struct toolcage_error **err)
{
    const int64_t wanted[] = {limits->memory, limits->pids, limits->cpus_milli};
    for (size_t c = 0; c < TC_COUNT(wanted); c++) {
        if (wanted[c] && !cgroups->state[c].mechanism)
            return unenforceable((enum tc_cgroup_controller)c, &cgroups->state[c], err);
    }
    if (!cgroups->version)
        return unenforceable(TC_CGROUP_MEMORY, &cgroups->state[TC_CGROUP_MEMORY], err);
    return 0;
}

static int ensure_started(struct tc_cgroups *cgroups, const char **ret_what)
{
    if (cgroups->started)
        return 0;
    if (cgroups->version->start(cgroups, ret_what) < 0)
        return -1;
    cgroups->started = true;
    return 0;
}

static struct tc_cgroup *make_group(struct tc_cgroups *cgroups,
                                    const struct tc_cgroup_limits *limits, const char **ret_what)
{
    *ret_what = cgroups->name;
    if (ensure_started(cgroups, ret_what) < 0)
        return NULL;
    struct tc_cgroup *group = calloc(1, sizeof(*group));
    if (!group)
        return NULL;
    group->owner = cgroups;
    group->limits = *limits;
    group->oom_fd = group->oom_file = -1;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++)
        group->dirs[c] = -1;
    (void)snprintf(group->name, sizeof(group->name), "g%u", cgroups->serial++);
    group->next = cgroups->groups;
    cgroups->groups = group;
    if (cgroups->version->make(group, ret_what) == 0)
        return group;
    int saved = errno;
    discard_group(group);
    errno = saved;
    return NULL;
}

/* Most groups are made for any limits and get theirs with the call: files are written once. */
static int set_limits(struct tc_cgroup *group, const struct tc_cgroup_limits *limits,
                      const char **ret_what)
{
    group->limits = *limits;
    if (!group->limited && !tc_cgroup_limits_any(limits))
        return 0;
    group->limited = true;
    return group->owner->version->limit(group, ret_what);
}

/* Sets limits, reads counters: the group belongs to a call from here on. */
static int arm(struct tc_cgroup *group, const struct tc_cgroup_limits *limits,
               const char **ret_what)
{
    if (set_limits(group, limits, ret_what) < 0)
        return -1;
    group->pids_sampled = -1;
    if (group->oom_fd >= 0)
        (void)group->owner->version->drain(group);
    group->owner->version->count(group, &group->start);
    group->taken = true;
    return 0;
}

int tc_cgroup_take(struct tc_cgroups *cgroups, const struct tc_cgroup_limits *limits,
                   struct tc_cgroup **ret, struct toolcage_error **err)
{
    int rc = require(cgroups, limits, err);
    if (rc < 0)
        return rc;
    drop_stale(cgroups);
    const char *what = "";
    for (struct tc_cgroup *group = cgroups->groups, *next; group; group = next) {
        next = group->next;
        if (group->taken || group->stale)
            continue;
        if (arm(group, limits, &what) == 0)
            return *ret = group, 0;
        discard_group(group);
    }
    struct tc_cgroup *group = make_group(cgroups, limits, &what);
    if (!group)
        return failed(what, err);
    if (arm(group, limits, &what) < 0) {
        rc = failed(what, err);
        discard_group(group);
        return rc;
    }
    *ret = group;
    return 0;
}

int tc_cgroup_limit(struct tc_cgroup *group, const struct tc_cgroup_limits *limits)
{
    const char *what;
    return memcmp(&group->limits, limits, sizeof(*limits)) == 0 ? 0
                                                                : set_limits(group, limits, &what);
}

struct tc_cgroup *tc_cgroup_give(struct tc_cgroup *group)
{
    if (!group)
        return NULL;
    struct tc_cgroups *cgroups = group->owner;
    if (cgroups->version->clean(group)) {
        group->taken = false;
        return NULL;
    }
    (void)cgroups->version->kill(group);
    discard_group(group);
    /* Makes one in advance, so that the next call need not wait. */
    const char *what;
    if (cgroups->version == &tc_cgroup_v2)
        (void)make_group(cgroups, &(struct tc_cgroup_limits){0}, &what);
    return NULL;
}

int tc_cgroup_fd(const struct tc_cgroup *group)
{
    return group->owner->version == &tc_cgroup_v2 ? group->dirs[TC_CGROUP_MEMORY] : -1;
}

int tc_cgroup_join(struct tc_cgroup *group, pid_t pid)
{
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (group->dirs[c] >= 0 && tc_cgroup_put(group->dirs[c], "cgroup.procs", pid, "") < 0)
            return -1;
    }
    return 0;
}

/* In version 1 a thread that moves itself waits for no other CPU; a process moved by another waits
 * for an RCU grace period, about 10 ms. */
int tc_cgroup_enter(const struct tc_cgroup *group)
{
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        if (group->dirs[c] >= 0 && tc_write_file(group->dirs[c], "tasks", "0") < 0)
            return -1;
    }
    return 0;
}

int tc_cgroup_oom_fd(const struct tc_cgroup *group, uint32_t *ret_events)
{
    *ret_events = group->owner->version->oom_events;
    return group->limits.memory ? group->oom_fd : -1;
}

static int64_t since(int64_t start, int64_t now)
{
    return now < 0 ? -1 : now - (start > 0 ? start : 0);
}

bool tc_cgroup_oomed(struct tc_cgroup *group)
{
    bool woken = group->oom_fd >= 0 && group->owner->version->drain(group);
    struct tc_cgroup_counters now;
    group->owner->version->count(group, &now);
    if (now.oom_kills < 0)
        return woken; /* a kernel that counts no kills still signals them */
    return since(group->start.oom_kills, now.oom_kills) > 0;
}

void tc_cgroup_sample(struct tc_cgroup *group)
{
    int pids = group->owner->version == &tc_cgroup_v2 ? TC_CGROUP_MEMORY : TC_CGROUP_PIDS;
    int64_t now = tc_cgroup_number(group->dirs[pids], "pids.current", NULL);
    if (now > group->pids_sampled)
        group->pids_sampled = now;
}

void tc_cgroup_usage(struct tc_cgroup *group, struct tc_cgroup_usage *ret)
{
    struct tc_cgroup_counters now;
    group->owner->version->count(group, &now);
    *ret = (struct tc_cgroup_usage){
        .cpu_us = since(group->start.cpu_us, now.cpu_us),
        .memory_peak = group->owner->version->peak(group),
        .pids_peak = group->pids_sampled,
        .oom_kills = since(group->start.oom_kills, now.oom_kills),
        .pids_refused = since(group->start.pids_refused, now.pids_refused),
    };
    /* The kernel's peak is for the group's whole life: it belongs to this call only if it rose. */
    if (now.pids_peak > group->start.pids_peak && now.pids_peak > ret->pids_peak)
        ret->pids_peak = now.pids_peak;
}

int tc_cgroup_kill(struct tc_cgroup *group)
{
    return group->owner->version->kill(group);
}
