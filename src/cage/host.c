/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * State of the process backend per helper: its mount namespace, in which roots are prepared and
 * paths are resolved; id leases; cgroups. A single static record. Only the event loop's thread
 * creates and changes it; the fields that worker threads read are constant once the namespaces are
 * entered.
 *
 * The helper enters its namespaces while it has one thread: only a single-threaded process can
 * enter a user namespace, and new threads inherit the namespaces of their creator. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/init_config.h"
#include "linux/mounts.h"

static struct tc_process_host the_host = {
    .tree = &tc_tree_host, .root_cache = -1, .mounts = -1, .ids.lock_fd = -1};

static int fail_host(struct tc_outcome *outcome, const struct tc_why *why, int clause,
                     const char *message)
{
    struct tc_cage cage = {.outcome = outcome};
    return tc_cage_fail(&cage, why, clause, "%s", message);
}

/* The name of a required system call that this host refuses, with errno; NULL: none. Each call gets
 * arguments that every kernel rejects. A kernel that has the call returns EINVAL, EBADF or EFAULT;
 * an older kernel or a container's seccomp filter fails before it checks the arguments. Found here,
 * the error can name the call; found later it could only name the failing step. Some of the calls
 * need mount privileges, so the helper must have them already. */
static const char *missing_call(void)
{
    enum { NO_FLAGS = 0x7fffffff };
    static const struct {
        const char *name;
        long nr, args[5];
    } needed[] = {
        {"clone3", SYS_clone3, {0, 0, 0, 0, 0}},
        {"openat2", SYS_openat2, {-1, 0, 0, 0, 0}},
        {"close_range", SYS_close_range, {1, 0, 0, 0, 0}},
        {"open_tree", SYS_open_tree, {-1, 0, NO_FLAGS, 0, 0}},
        {"move_mount", SYS_move_mount, {-1, 0, -1, 0, NO_FLAGS}},
        {"fsopen", SYS_fsopen, {0, NO_FLAGS, 0, 0, 0}},
        {"fsconfig", SYS_fsconfig, {-1, 0, 0, 0, 0}},
        {"fsmount", SYS_fsmount, {-1, NO_FLAGS, 0, 0, 0}},
        {"mount_setattr", SYS_mount_setattr, {-1, 0, NO_FLAGS, 0, 0}},
        {"execveat", SYS_execveat, {-1, 0, 0, 0, NO_FLAGS}},
        {"memfd_create", SYS_memfd_create, {0, NO_FLAGS, 0, 0, 0}},
    };
    for (size_t i = 0; i < TC_COUNT(needed); i++) {
        const long *a = needed[i].args;
        if (tc_sys(needed[i].nr, a[0], a[1], a[2], a[3], a[4], 0) < 0 &&
            (errno == ENOSYS || errno == EPERM || errno == EACCES))
            return needed[i].name;
    }
    return NULL;
}

static int check_needs(struct tc_outcome *outcome)
{
    const char *missing = missing_call();
    if (!missing)
        return 0;
    const struct tc_why why = {
        .code = TOOLCAGE_EUNENFORCEABLE,
        .stage = "namespaces",
        .subject = missing,
        .errnum = errno,
        .hint =
            "use Linux 5.12 or newer; start a container with --security-opt seccomp=unconfined"};
    _autofree_ char *text =
        tc_format("this host refuses the system call %s, which every cage needs", missing);
    return fail_host(outcome, &why, TC_CLAUSE_PRIV_NONE, text ? text : "out of memory");
}

/* Fails with errno for a namespace that cannot be created; the hint depends on `lack`. */
static int refuse_namespace(struct tc_outcome *outcome, const char *subject,
                            enum tc_process_lack lack, enum tc_clause clause, const char *message)
{
    const struct tc_why why = {.code = TOOLCAGE_EUNENFORCEABLE,
                               .stage = "namespaces",
                               .subject = subject,
                               .errnum = errno,
                               .hint = tc_process_fix(lack, errno)};
    return fail_host(outcome, &why, clause, message);
}

/* An ordinary caller gets mount privileges in a user namespace that maps only its own ids. */
static int enter_user(const struct tc_process_host *h, struct tc_outcome *outcome)
{
    char uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    tc_id_map(uid_map, h->tree->uid, h->tree->uid);
    tc_id_map(gid_map, h->tree->gid, h->tree->gid);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return refuse_namespace(
            outcome, "user namespace", TC_LACK_USERNS, TC_CLAUSE_PRIV_NONE,
            "this host does not allow ordinary users to create a user namespace");
    if (tc_write_id_maps("self", uid_map, gid_map, 1) < 0)
        return refuse_namespace(outcome, "id maps", TC_LACK_USERNS, TC_CLAUSE_IDS_UNPRIVILEGED,
                                "the id maps of a new user namespace cannot be written");
    return 0;
}

static int enter_root(struct tc_process_host *h, struct tc_outcome *outcome)
{
    if (unshare(CLONE_NEWNS) < 0)
        return refuse_namespace(outcome, "mount namespace", TC_LACK_PRIVILEGE,
                                TC_CLAUSE_IDS_UNPRIVILEGED,
                                "root cannot create a mount namespace here");
    tc_ids_close(&h->ids); /* of an earlier attempt */
    if (tc_ids_open(&h->ids) < 0)
        return fail_host(
            outcome,
            TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "ids", "/run/toolcage", errno,
                         "root's cages run as unprivileged ids leased under /run/toolcage: make it "
                         "writable for root only, and give this user namespace at least 4,096 ids"),
            TC_CLAUSE_IDS_UNPRIVILEGED, "no unprivileged ids for the cages");
    return 0;
}

/* Mounts the root cache where no grant reaches. Not over "/": the kernel treats a process with a
 * covered root as chrooted and refuses it user namespaces. Not in /proc: while a procfs is partly
 * covered, cages cannot mount their own. */
static int place_root_cache(int root_cache)
{
    static const char *const places[] = {"/sys/kernel/debug", "/sys/kernel/security",
                                         "/sys/firmware", "/sys/kernel", "/dev/mqueue"};
    for (size_t i = 0; i < TC_COUNT(places); i++)
        if (tc_move_mount(root_cache, AT_FDCWD, places[i]) == 0)
            return 0;
    return -1;
}

/* Filled before it is mounted: a failed attempt leaves nothing, and the next call retries. */
static int fill_root_cache(struct tc_process_host *h)
{
    for (int i = 0; i < TC_ROOT_CACHE_SLOTS; i++) {
        char place[8];
        (void)snprintf(place, sizeof(place), "%d", i);
        if (mkdirat(h->root_cache, place, 0700) < 0)
            return -1;
    }
    if (mkdirat(h->root_cache, "directory", 0) < 0 ||
        tc_put_file(h->root_cache, "file", "", 0, 0) < 0)
        return -1;
    h->tree->mask_dir = openat(h->root_cache, "directory", O_PATH | O_CLOEXEC);
    h->tree->mask_file = openat(h->root_cache, "file", O_PATH | O_CLOEXEC);
    return h->tree->mask_dir < 0 || h->tree->mask_file < 0 ? -1 : 0;
}

/* Reopened, because the file shows the mount namespace in which it was opened. */
static void read_mounts(struct tc_process_host *h, struct tc_buf *text)
{
    tc_cleanup_fd(&h->mounts);
    h->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    h->local = h->mounts >= 0 && tc_read_all(h->mounts, text) == 0 && text->data &&
               tc_tree_mounts_local(text->data);
}

bool tc_process_host_local(struct tc_process_host *h)
{
    struct pollfd changed = {.fd = h->mounts, .events = POLLPRI};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (h->mounts < 0 || poll(&changed, 1, 0) != 0)
        read_mounts(h, &text);
    return h->local;
}

static int make_root_cache(struct tc_process_host *h)
{
    h->root_cache = tc_tmpfs(1 << 20, 0, "0700", false);
    if (h->root_cache < 0)
        return -1;
    if (fill_root_cache(h) == 0 && place_root_cache(h->root_cache) == 0)
        return 0;
    int saved = errno, *fds[] = {&h->root_cache, &h->tree->mask_dir, &h->tree->mask_file};
    for (size_t i = 0; i < TC_COUNT(fds); i++) {
        if (*fds[i] >= 0)
            (void)close(*fds[i]);
        *fds[i] = -1;
    }
    errno = saved;
    return -1;
}

static int find_cgroups(struct tc_process_host *h, struct tc_outcome *outcome)
{
    struct toolcage_error *err = NULL;
    if (tc_cgroups_open(NULL, &h->cgroups, &err) == 0)
        return 0;
    tc_error_free(err);
    return fail_host(outcome, &(struct tc_why){.code = TOOLCAGE_EMEMORY, .stage = "cgroups"}, -1,
                     "out of memory");
}

/* Determines the ids and enters the helper's namespaces. */
static int enter_namespaces(struct tc_process_host *h, struct tc_outcome *outcome)
{
    (void)tc_self_path();
    h->tree->uid = geteuid();
    h->tree->gid = getegid();
    struct tc_root root = tc_host_root_user();
    h->landlock_abi = tc_landlock_abi();
    h->tree->privileged = h->tree->uid == root.uid;
    if (!h->tree->privileged && h->tree->gid == root.gid)
        return fail_host(outcome,
                         TC_WHY(TOOLCAGE_EUNENFORCEABLE, "ids", "gid 0",
                                "run toolcage with a primary group other than root's"),
                         TC_CLAUSE_IDS_UNPRIVILEGED, "a cage would have the host's gid 0");
    if (access("/proc/self/ns/user", F_OK) < 0)
        return fail_host(outcome,
                         TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "namespaces", "/proc", errno,
                                      "mount it: mount -t proc proc /proc"),
                         TC_CLAUSE_PROC_OWN, "no cage can be built where /proc is not mounted");
    if ((h->tree->privileged ? enter_root(h, outcome) : enter_user(h, outcome)) < 0)
        return -1;
    if (find_cgroups(h, outcome) < 0)
        return -1;
    h->entered = true;
    return 0;
}

/* Sets up everything that cages are built with. */
static int furnish(struct tc_process_host *h, struct tc_outcome *outcome)
{
    if (check_needs(outcome) < 0)
        return -1;
    /* mounts made on the host later appear here; mounts made here do not appear there */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        (h->root_cache < 0 && make_root_cache(h) < 0))
        return fail_host(outcome,
                         TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "namespaces", "mount", errno,
                                      tc_process_fix(TC_LACK_MOUNT, errno)),
                         TC_CLAUSE_FS_READ, "the helper cannot mount in its own namespace");
    _autobuf_ struct tc_buf mounts = TC_BUF_INIT;
    read_mounts(h, &mounts);
    h->ready = true;
    return 0;
}

int tc_process_host_enter(struct tc_outcome *outcome, struct tc_process_host **ret)
{
    *ret = &the_host;
    return the_host.entered ? 0 : enter_namespaces(&the_host, outcome);
}

int tc_process_host_get(struct tc_outcome *outcome, struct tc_process_host **ret)
{
    if (tc_process_host_enter(outcome, ret) < 0)
        return -1;
    return the_host.ready ? 0 : furnish(&the_host, outcome);
}

struct tc_process_host *tc_process_host_opened(void)
{
    return the_host.ready ? &the_host : NULL;
}

struct tc_process_host *tc_process_host_known(void)
{
    return &the_host;
}

/* ---- does this host allow cages with namespaces? ---- */

/* Does this error mean that the host permanently forbids namespaces? A temporary failure, such as
 * lack of memory or of free namespaces, must not lead to a weaker cage. */
static bool forbids(int64_t errnum)
{
    return errnum == EPERM || errnum == EACCES || errnum == ENOSYS || errnum == EINVAL;
}

/* In a test child: two steps that some hosts forbid although they allow the namespaces. All traces
 * disappear when the process ends. */
static int try_steps(void)
{
    int fs = tc_fsopen("proc");
    if (fs < 0 || tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0 || tc_fsmount(fs, 0) < 0)
        return forbids(errno) ? 1 : 2;
    if (tc_pivot_root(".", ".") < 0 && forbids(errno) && errno != EINVAL)
        return 1;
    return 0;
}

static int try_child(void)
{
    struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                       CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                       CLONE_CLEAR_SIGHAND,
                              .exit_signal = SIGCHLD};
    int status = 0;
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        _exit(try_steps());
    if (pid < 0)
        return forbids(errno) ? 1 : 2;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* True unless a full cage is certainly impossible. */
static bool whole(struct tc_process_host *h)
{
    if (h->whole)
        return h->whole > 0;
    int answer = try_child();
    if (answer < 2)
        h->whole = answer ? -1 : 1;
    return answer != 1;
}

bool tc_host_forbids_cages(void)
{
    struct tc_outcome found = {0};
    struct tc_process_host *host;
    int rc = tc_process_host_get(&found, &host);
    bool never = rc < 0 ? forbids(found.failure.errnum) : !whole(host);
    tc_outcome_done(&found);
    return never;
}

/* ---- other toolcage programs ---- */

static char *find_beside(const char *name)
{
    static const char *const places[] = {"", "../libexec/toolcage/"};
    const char *self = tc_self_path(), *slash = self ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash && i < TC_COUNT(places); i++) {
        _autofree_ char *path = tc_format("%.*s/%s%s", (int)(slash - self), self, places[i], name);
        if (path && access(path, F_OK) == 0)
            return TAKE(path);
    }
    return NULL;
}

int tc_beside(const char *name, const char **ret_lack)
{
    struct stat st;
    _autofree_ char *path = find_beside(name);
    _autofd_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    bool seen = fd >= 0 && fstat(fd, &st) == 0;
    *ret_lack = !path   ? "is not installed next to toolcage"
                : !seen ? "cannot be opened"
                        : tc_program_unsafe(&st);
    return *ret_lack ? -1 : TAKE_FD(fd);
}
