/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The child of a process cage, from clone3 to the complete sandbox. The table at the end lists all
 * stages in order. A stage that fails returns -1 with errno; the child then reports the stage and
 * exits.
 *
 * Runs as PID 1 of the cage. The child is a copy of one helper thread, and other threads may have
 * held any lock. So it allocates nothing, logs nothing and calls no libc function that takes a lock
 * or waits for threads. A prestarted child waits between two stages until its call arrives; nothing
 * else differs. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cage/init_config.h"
#include "cage/stages.h"
#include "linux/mounts.h"
#include "linux/privileges.h"
#include "linux/seccomp_filter.h"
#include "live/inside/execute.h"
#include "policy/clauses.h"
#include "policy/names/system_paths.h"

enum { HIDES_MAX = 64 };

/* Roots of the overlays that hide names, in mount order, for the Landlock rules. The child's own
 * copy. */
static int hide_fds[HIDES_MAX];
static int report;        /* the child's end of the report socket, at its current number */
static int terminal = -1; /* the tool's */
static int mounting = -1; /* index of the mount being attached */

/* Creates the other namespaces. The user namespace from clone3 owns them. */
static int make_namespaces(const struct tc_init_config *init)
{
    (void)init;
    return unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}

/* Detaches from the caller's terminal and resets the helper's signal state. */
int tc_stage_session(const struct tc_init_config *init)
{
    (void)init;
    (void)umask(0022);
    (void)signal(SIGPIPE, SIG_DFL);
    /* when the host runs out of memory, the kernel kills cages first */
    if (tc_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000") < 0)
        return -1;
    return setsid() < 0 ? -1 : 0;
}

/* A privileged helper writes the id maps and then sends one byte; otherwise the child maps its own
 * ids. Uses raw system calls: libc's wrappers would wait for the helper's other threads, which do
 * not exist here. */
int tc_stage_ids(const struct tc_init_config *init)
{
    if (init->wait_for_maps) {
        char go;
        if (recv(report, &go, 1, 0) != 1) {
            errno = EPIPE; /* the helper has ended */
            return -1;
        }
        if (tc_sys(SYS_setgroups, 0, 0, 0, 0, 0, 0) < 0)
            return -1;
    } else if (tc_write_id_maps("self", init->uid_map, init->gid_map, 1) < 0) {
        return -1;
    }
    if (tc_sys(SYS_setresgid, init->gid, init->gid, init->gid, 0, 0, 0) < 0)
        return -1;
    return (int)tc_sys(SYS_setresuid, init->uid, init->uid, init->uid, 0, 0, 0);
}

/* A prestarted child receives its root by message, because the root is built while the child
 * creates its namespaces. */
static int take_root(const struct tc_init_config *init)
{
    int fd = -1;
    size_t count = 0;
    char go;
    if (!init->parks)
        return init->root;
    if (tc_recv(report, &go, 1, &fd, 1, &count, NULL, NULL, true) == 1 && count == 1)
        return fd;
    errno = EPIPE;
    return -1;
}

/* From here on mounts do not propagate in or out. The new root is mounted on top of the old one,
 * and all later paths are relative to it. */
static int attach_root(const struct tc_init_config *init)
{
    int root = take_root(init);
    if (root < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -1;
    if (tc_move_mount(root, AT_FDCWD, "/") < 0)
        return -1;
    return fchdir(root);
}

/* Makes a tmpfs that contains only whiteouts for the names: the top layer of an overlay. */
static int whiteouts(const char *const *names)
{
    _autofd_ int fd = tc_tmpfs(1 << 20, 0, "0755", false);
    if (fd < 0 || tc_move_mount(fd, AT_FDCWD, TC_ROOT_SPARE) < 0)
        return -1;
    for (; *names; names++) {
        char parent[PATH_MAX];
        const char *slash = strrchr(*names, '/');
        size_t n = slash ? (size_t)(slash - *names) : 0;
        if (n >= sizeof(parent))
            return -1;
        memcpy(parent, *names, n);
        parent[n] = '\0';
        if (n && tc_mkdirs(fd, parent) < 0)
            return -1;
        if (mknodat(fd, *names, S_IFCHR, 0) < 0 && errno != EEXIST)
            return -1;
    }
    return TAKE_FD(fd);
}

/* Layers are given as /proc/self/fd paths, so that no character needs escaping. */
static int set_layer(int fs, const char *key, int fd, const char *below)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "/proc/self/fd/%d%s", fd, below);
    return tc_fsconfig(fs, FSCONFIG_SET_STRING, key, text);
}

/* Gives an overlay its layers: the tree, and the whiteouts above it. If the tool may write, its
 * changes go to the upper directory. */
static int set_layers(const struct tc_init_mount *m, int fs, int top, int tree)
{
    char below[32];
    (void)snprintf(below, sizeof(below), ":/proc/self/fd/%d", tree);
    if ((top < 0 ? set_layer(fs, "lowerdir", tree, "") : set_layer(fs, "lowerdir", top, below)) < 0)
        return -1;
    if (!m->layered)
        return 0;
    if (tc_move_mount(m->layers, AT_FDCWD, TC_ROOT_SPARE) < 0 ||
        set_layer(fs, "upperdir", m->layers, "/u") < 0)
        return -1;
    /* else the end of the mount waits until the whole disk is synchronised */
    (void)tc_fsconfig(fs, FSCONFIG_SET_FLAG, "volatile", NULL);
    return set_layer(fs, "workdir", m->layers, "/w");
}

/* Detaches the layers: they had to be attached only until the overlay was created. */
static int detach_layers(const struct tc_init_mount *m, int top)
{
    int rc = 0;
    for (int i = 0; i < m->layered + (top >= 0) && rc == 0; i++)
        rc = umount2(TC_ROOT_SPARE, MNT_DETACH);
    return rc;
}

/* Mounts the overlay on the attached tree by fd, because the path may resolve to another file by
 * now. A directory of the prepared root has no fd and is opened by path. */
static int cover(const struct tc_init_mount *m)
{
    unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    _autofd_ int top = m->hide ? whiteouts(m->hide) : -1;
    _autofd_ int own = m->fd < 0 ? open(m->path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int tree = m->fd < 0 ? own : m->fd;
    _autofd_ int fs = tc_fsopen("overlay");
    if ((top < 0 && m->hide) || tree < 0 || fs < 0)
        return -1;
    if (set_layers(m, fs, top, tree) < 0 ||
        tc_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL) < 0 ||
        tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    _autofd_ int overlay = tc_fsmount(fs, attributes | (m->layered ? 0 : MOUNT_ATTR_RDONLY));
    if (overlay < 0 || detach_layers(m, top) < 0 || tc_move_mount(overlay, tree, "") < 0)
        return -1;
    return TAKE_FD(overlay);
}

/* File times come from a clock that advances in ticks. Until the first tick after the overlay was
 * opened, a change of the host still gets an earlier time, and would count as made before the call.
 */
static void wait_for_tick(int64_t opened_ns)
{
    enum { TICKS = 1000, STEP_NS = 200000, SECOND_NS = 1000000000 };
    struct timespec now;
    for (int i = 0; i < TICKS && clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 &&
                    (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec < opened_ns;
         i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

/* Mounts a clone of `what` over `name`; skips names unknown to the kernel. */
static int mask(const char *what, const char *name)
{
    if (access(name, F_OK) < 0)
        return errno == ENOENT ? 0 : -1;
    _autofd_ int fd = tc_open_tree(AT_FDCWD, what, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return fd < 0 ? -1 : tc_move_mount(fd, AT_FDCWD, name);
}

int tc_stage_trees(const struct tc_init_config *init)
{
    size_t hidden = 0;
    for (size_t i = 0; i < init->mount_count; i++) {
        const struct tc_init_mount *m = &init->mounts[i];
        mounting = (int)i;
        if (m->fd >= 0 && tc_init_mount_attach(AT_FDCWD, m) < 0)
            return -1;
        if (m->tmp && mask("tmp", m->path) < 0)
            return -1;
        if (!m->hide && !m->layered)
            continue;
        if (hidden == HIDES_MAX && !m->no_rule) {
            errno = E2BIG;
            return -1;
        }
        int overlay = cover(m);
        if (overlay < 0)
            return -1;
        if (m->no_rule)
            (void)close(overlay);
        else
            hide_fds[hidden++] = overlay;
    }
    mounting = -1;
    wait_for_tick(init->not_before);
    return 0;
}

/* A devpts instance that only this cage has. Terminals use kernel memory that no limit covers, and
 * their number is limited for the whole host, so a cage gets few. */
static int mount_devpts(void)
{
    static const char *const options[][2] = {{"mode", "0600"}, {"ptmxmode", "0666"}, {"max", "16"}};
    _autofd_ int fs = tc_fsopen("devpts");
    for (size_t i = 0; fs >= 0 && i < TC_COUNT(options); i++)
        if (tc_fsconfig(fs, FSCONFIG_SET_STRING, options[i][0], options[i][1]) < 0)
            return -1;
    if (fs < 0 || tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    _autofd_ int mounted = tc_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    return mounted < 0 ? -1 : tc_move_mount(mounted, AT_FDCWD, "dev/pts");
}

/* On a kernel without devpts the cage has no terminals, as if the tool had none of its own; a call
 * with a terminal then fails when it opens it. */
static int mount_terminals(const struct tc_init_config *init)
{
    (void)init;
    (void)mount_devpts();
    return 0;
}

/* Opens a terminal in the private devpts: the tool can resolve its name, and cannot reach a
 * terminal of the caller. The tool gets one end, the helper the other. */
static int open_terminal(const struct tc_init_config *init)
{
    const struct winsize size = {.ws_row = init->rows, .ws_col = init->columns};
    int unlocked = 0;
    if (!init->terminal)
        return 0;
    _autofd_ int other = open("dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (other < 0 || ioctl(other, TIOCSPTLCK, &unlocked) < 0)
        return -1;
    terminal = ioctl(other, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || ioctl(terminal, TIOCSWINSZ, &size) < 0)
        return -1;
    struct tc_report said = {.kind = TC_REPORT_TERMINAL, .us = tc_now_us()};
    return tc_send(report, &said, sizeof(said), &other, 1);
}

static int mask_proc(void)
{
    int rc = 0;
    for (const struct tc_masked_proc *m = tc_masked_proc; m->path && rc == 0; m++)
        rc = mask(m->directory ? TC_ROOT_SPARE : "dev/null", m->path + 1);
    return rc;
}

enum {
    PROC_ATTRIBUTES = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
};

/* A procfs with only the cage's processes. All of it is read-only, including the paths that OCI
 * protects one by one; tools do not need the rest writable. */
static int own_proc(const struct tc_init_config *init)
{
    (void)init;
    _autofd_ int fs = tc_fsopen("proc");
    if (fs < 0 || tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    _autofd_ int proc = tc_fsmount(fs, PROC_ATTRIBUTES);
    return proc < 0 || tc_move_mount(proc, AT_FDCWD, "proc") < 0 ? -1 : mask_proc();
}

/* After this no path in this mount namespace reaches the host's tree. */
static int leave_host(const struct tc_init_config *init)
{
    (void)init;
    if (tc_pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
        return -1;
    return chdir("/");
}

static int name_host(const struct tc_init_config *init)
{
    (void)init;
    return sethostname("cage", 4);
}

/* Begins anywhere, so that cages side by side do not share their CPUs. Ignores errors: with more
 * CPUs than the set holds, the tool sees them all. */
static void choose_cpus(int64_t wanted)
{
    cpu_set_t all, some;
    if (!wanted || sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) <= wanted)
        return;
    CPU_ZERO(&some);
    int64_t skip = tc_now_us() % CPU_COUNT(&all);
    for (size_t i = 0; CPU_COUNT(&some) < wanted; i++)
        if (CPU_ISSET(i % CPU_SETSIZE, &all) && skip-- <= 0)
            CPU_SET(i % CPU_SETSIZE, &some);
    (void)sched_setaffinity(0, sizeof(some), &some);
}

/* Also sets the tool's umask: nothing below creates files. */
int tc_stage_rlimits(const struct tc_init_config *init)
{
    (void)umask(init->umask);
    choose_cpus(init->cpus);
    for (size_t i = 0; i < init->limit_count; i++)
        /* PID 1 of a live session needs more files than one command may open */
        if (!(init->live && init->limits[i].resource == RLIMIT_NOFILE) &&
            setrlimit((__rlimit_resource_t)init->limits[i].resource, &init->limits[i].value) < 0)
            return -1;
    return 0;
}

int tc_stage_cwd(const struct tc_init_config *init)
{
    return tc_enter_first(init->directories);
}

/* Drops all capabilities; neither exec nor a set-id file can restore any. */
int tc_stage_privileges(const struct tc_init_config *init)
{
    (void)init;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0) < 0)
        return -1;
    if (tc_drop_capabilities(TC_BOUNDING_EMPTIED) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The second layer of defence behind the mounts: Landlock rules for the same paths, by fd. */
static int confine(const struct tc_init_config *init, enum tc_landlock_kind root)
{
    static const char *const readable[] = {"/usr", "/etc", "/var"};
    /* on most systems these are links to /usr and need no rule */
    static const char *const unmerged[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
    int abi = init->landlock_abi;
    if (abi == 0)
        return 0;
    _autofd_ int ruleset = tc_landlock_open(abi, 0);
    if (ruleset < 0 || tc_landlock_allow_path(ruleset, abi, "/", root) < 0 ||
        tc_landlock_allow_path(ruleset, abi, "/proc", TC_LANDLOCK_READ_TREE) < 0 ||
        tc_landlock_allow_path(ruleset, abi, "/dev", TC_LANDLOCK_DEVICE) < 0)
        return -1;
    for (size_t i = 0; i < TC_COUNT(readable); i++)
        if (tc_landlock_allow_path(ruleset, abi, readable[i], TC_LANDLOCK_READ_TREE) < 0 &&
            errno != ENOENT)
            return -1;
    for (size_t i = 0; i < TC_COUNT(unmerged); i++)
        if (tc_landlock_allow_directory(ruleset, abi, unmerged[i], TC_LANDLOCK_READ_TREE) < 0)
            return -1;
    for (size_t i = 0, hidden = 0; i < init->mount_count; i++) {
        const struct tc_init_mount *m = &init->mounts[i];
        if (m->no_rule)
            continue;
        int fd = m->hide || m->layered ? hide_fds[hidden++] : m->fd;
        if (tc_landlock_allow(ruleset, abi, fd, m->rights) < 0)
            return -1;
    }
    return tc_landlock_restrict(ruleset);
}

static int raise_landlock(const struct tc_init_config *init)
{
    return confine(init, TC_LANDLOCK_LIST);
}

/* Closes all fds above `last`. */
static int keep_report(int last)
{
    if (report != TC_INIT_REPORT && dup3(report, TC_INIT_REPORT, O_CLOEXEC) < 0)
        return -1;
    report = TC_INIT_REPORT;
    return tc_close_range((unsigned)last + 1, ~0U, 0);
}

static int place_streams(const struct tc_init_config *init)
{
    /* no dup2 overwrites a later source: the helper keeps 0 to 4 open, so the sources are 5 or
     * higher; a prestarted child keeps 0 to 3 open and received its fds before it opened a
     * terminal */
    int in = init->in >= 0 || init->terminal ? init->in : tc_open_null();
    int ends[] = {in, init->out, init->err};
    for (int i = 0; i < 3; i++)
        if (dup2(init->terminal ? terminal : ends[i], i) < 0)
            return -1;
    return 0;
}

/* 0, 1 and 2 are the call's pipes or its terminal (0 without input: the null device), 3 is the
 * report socket (closed by exec); all other fds are closed. */
int tc_stage_descriptors(const struct tc_init_config *init)
{
    if (place_streams(init) < 0)
        return -1;
    if (!init->talks)
        return keep_report(TC_INIT_REPORT);
    return dup2(init->talk, TC_INIT_TALK) < 0 ? -1 : keep_report(TC_INIT_TALK);
}

int tc_stage_ruleset(const struct tc_init_config *init)
{
    if (place_streams(init) < 0 || dup3(init->ruleset, TC_INIT_RULESET, O_CLOEXEC) < 0)
        return -1;
    return keep_report(TC_INIT_RULESET);
}

/* Sets the parent-death signal, after the last change of credentials, which would clear it. If the
 * helper died before, its socket end is closed: detected here, or later by PID 1. (getppid() is
 * always 0 here.) */
int tc_stage_parent(const struct tc_init_config *init)
{
    (void)init;
    struct pollfd p = {.fd = TC_INIT_REPORT};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&p, 1, 0) < 0)
        return -1;
    if (p.revents & (POLLHUP | POLLERR)) {
        errno = EPIPE;
        return -1;
    }
    return 0;
}

/* Until its call arrives, the child has run only this file, sees what every cage sees, and holds no
 * fds of others. It waits for one message; if the helper ends, the socket is closed. */
static int wait_for_call(const struct tc_init_config *init)
{
    int fds[TC_FDS_MAX];
    size_t count = 0;
    char go;
    if (!init->parks)
        return 0;
    if (keep_report(TC_INIT_REPORT) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        tc_stage_parent(init) < 0)
        return -1;
    if (tc_recv(report, &go, 1, fds, TC_FDS_MAX, &count, NULL, NULL, true) != 1)
        _exit(1);
    for (size_t i = 0; i < count && fds[i] == TC_INIT_HANDED + (int)i; i++)
        if (i + 1 == init->handed)
            return 0;
    errno = EBADF;
    return -1;
}

static int open_network(const struct tc_init_config *init)
{
    return tc_stage_network(init, report);
}

/* Installs the seccomp filter, in the last stage, because it forbids most system calls of the
 * stages before. Sends the notification listener to the helper. */
int tc_stage_filter(const struct tc_init_config *init)
{
    bool listens = init->watch || init->unix_sockets;
    struct sock_fprog own;
    const struct sock_fprog *filter = tc_init_filter(init, &own);
    int listener = filter ? tc_seccomp_install(filter, listens) : -1;
    if (listener < 0)
        return -1;
    if (!listens)
        return 0;
    struct tc_report said = {.kind = TC_REPORT_LISTENER, .us = tc_now_us()};
    int rc = tc_send(TC_INIT_REPORT, &said, sizeof(said), &listener, 1);
    (void)close(listener);
    return rc;
}

/* ---- in a container created by an engine ---- */

/* Creates all namespaces except PID, which the container provides. The container's process has no
 * privileges; in a new user namespace it gets those for the others. */
static int leave_container(const struct tc_init_config *init)
{
    (void)init;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                   CLONE_NEWCGROUP);
}

/* No setsid: the container's first process is a session leader already. */
static int begin_contained(const struct tc_init_config *init)
{
    (void)init;
    (void)umask(0022);
    (void)signal(SIGPIPE, SIG_DFL);
    return tc_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
}

int tc_stage_devices(int base)
{
    for (size_t i = 0; i <= TC_DEVICES; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "dev/%s", i < TC_DEVICES ? tc_devices[i] : "tty");
        _autofd_ int fd = tc_open_tree(base, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (fd < 0 || tc_move_mount(fd, AT_FDCWD, path) < 0)
            return -1;
    }
    return 0;
}

/* An overlay of the prepared root (with its mount points) over the image, both read-only. */
static int lay_over_image(const struct tc_init_config *init)
{
    char layers[64];
    _autofd_ int fs = tc_fsopen("overlay");
    (void)snprintf(layers, sizeof(layers), "/proc/self/fd/%d:/proc/self/fd/%d", init->root,
                   init->image);
    if (fs < 0 || tc_move_mount(init->image, AT_FDCWD, TC_ROOT_SPARE) < 0 ||
        tc_fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", layers) < 0 ||
        tc_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL) < 0 ||
        tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    _autofd_ int overlay = tc_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (overlay < 0 || umount2(TC_ROOT_SPARE, MNT_DETACH) < 0 ||
        tc_move_mount(overlay, AT_FDCWD, ".") < 0 || fchdir(overlay) < 0)
        return -1;
    return tc_stage_devices(init->root);
}

static int attach_contained(const struct tc_init_config *init)
{
    return attach_root(init) < 0 ? -1 : init->image < 0 ? 0 : lay_over_image(init);
}

/* Clones the container's /proc with the engine's masks. A new procfs cannot be mounted, because
 * this user namespace does not own the PID namespace. */
static int take_proc(const struct tc_init_config *init)
{
    const struct mount_attr attr = {.attr_set = PROC_ATTRIBUTES};
    (void)init;
    _autofd_ int proc =
        tc_open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (proc < 0 || tc_mount_setattr(proc, AT_RECURSIVE, &attr) < 0)
        return -1;
    return tc_move_mount(proc, AT_FDCWD, "proc") < 0 ? -1 : mask_proc();
}

/* The tool may read every directory of an image. */
static int raise_contained(const struct tc_init_config *init)
{
    return confine(init, init->image < 0 ? TC_LANDLOCK_LIST : TC_LANDLOCK_READ_TREE);
}

static const struct tc_stage whole[] = {
    {"namespaces", make_namespaces, TC_CLAUSE_PRIV_NONE, TC_LACK_USERNS}, /* for all below */
    {"session", tc_stage_session, TC_CLAUSE_TTY_NONE},   /* before a terminal could be opened */
    {"ids", tc_stage_ids, TC_CLAUSE_IDS_UNPRIVILEGED},   /* first: mounts use the cage's ids */
    {"loopback", tc_stage_loopback, TC_CLAUSE_NET_NONE}, /* needs the namespace's capabilities */
    {"hostname", name_host, TC_CLAUSE_PROC_OWN},
    {"root", attach_root, TC_CLAUSE_FS_READ},             /* system directories and mount points */
    {"proc", own_proc, TC_CLAUSE_PROC_OWN, TC_LACK_PROC}, /* needs the host's /proc still mounted */
    {"terminals", mount_terminals, TC_CLAUSE_TTY_NONE},   /* below the root's /dev */
    {"pivot", leave_host, TC_CLAUSE_FS_READ}, /* the host's tree is unreachable after this */
    {"call", wait_for_call, TC_CLAUSE_PROC_SURVIVORS}, /* no stage above depends on the call */
    {"network", open_network, TC_CLAUSE_NET_ALLOW, TC_LACK_FILTER}, /* needs capabilities, too */
    {"trees", tc_stage_trees, TC_CLAUSE_FS_READ, TC_LACK_PATH},     /* detached, no host path */
    {"terminal", open_terminal, TC_CLAUSE_TTY_NONE},                /* opens before Landlock */
    {"cwd", tc_stage_cwd, TC_CLAUSE_FS_READ, TC_LACK_CWD},      /* before Landlock: a clear errno */
    {"privileges", tc_stage_privileges, TC_CLAUSE_PRIV_NONE},   /* Landlock needs no_new_privs */
    {"landlock", raise_landlock, TC_CLAUSE_FS_WRITE},           /* uses the trees' fds */
    {"descriptors", tc_stage_descriptors, TC_CLAUSE_FDS_CLEAN}, /* not needed later */
    {"rlimits", tc_stage_rlimits, TC_CLAUSE_LIMIT_OPEN_FILES},  /* later stages open no fd */
    {"parent", tc_stage_parent, TC_CLAUSE_PROC_SURVIVORS}, /* after the last credential change */
    {"seccomp", tc_stage_filter, TC_CLAUSE_SYSCALLS},      /* last: it forbids the calls above */
};

/* The stages of the first process in an engine's container. */
static const struct tc_stage contained[] = {
    {"contained session", begin_contained, TC_CLAUSE_TTY_NONE},
    {"namespaces", leave_container, TC_CLAUSE_PRIV_NONE, TC_LACK_USERNS}, /* for all below */
    {"ids", tc_stage_ids, TC_CLAUSE_IDS_UNPRIVILEGED},
    {"loopback", tc_stage_loopback, TC_CLAUSE_NET_NONE},
    {"hostname", name_host, TC_CLAUSE_PROC_OWN},
    {"root", attach_contained, TC_CLAUSE_FS_READ},
    {"proc", take_proc, TC_CLAUSE_PROC_OWN, TC_LACK_PROC}, /* needs the container's still mounted */
    {"terminals", mount_terminals, TC_CLAUSE_TTY_NONE},
    {"pivot", leave_host, TC_CLAUSE_FS_READ}, /* the container's tree is unreachable after this */
    {"network", open_network, TC_CLAUSE_NET_ALLOW, TC_LACK_FILTER},
    {"trees", tc_stage_trees, TC_CLAUSE_FS_READ, TC_LACK_PATH},
    {"cwd", tc_stage_cwd, TC_CLAUSE_FS_READ, TC_LACK_CWD},
    {"privileges", tc_stage_privileges, TC_CLAUSE_PRIV_NONE},
    {"landlock", raise_contained, TC_CLAUSE_FS_WRITE},
    {"descriptors", tc_stage_descriptors, TC_CLAUSE_FDS_CLEAN},
    {"rlimits", tc_stage_rlimits, TC_CLAUSE_LIMIT_OPEN_FILES},
    {"parent", tc_stage_parent, TC_CLAUSE_PROC_SURVIVORS},
    {"seccomp", tc_stage_filter, TC_CLAUSE_SYSCALLS},
};

const struct tc_stages tc_contained_stages = {contained, TC_COUNT(contained), 100, tc_init_main,
                                              NULL};

static const struct tc_stages whole_stages = {whole, TC_COUNT(whole), 0, tc_init_main, NULL};

static const struct tc_stages *stages_of(const struct tc_init_config *init)
{
    return init->stages ? init->stages : &whole_stages;
}

const struct tc_stage *tc_init_stage(const struct tc_init_config *init, int stage)
{
    static const struct tc_stage fork = {"fork", NULL, -1},
                                 ruleset = {"landlock", NULL, TC_CLAUSE_FS_READ},
                                 group = {"cgroup", NULL, TC_CLAUSE_LIMIT_MEMORY},
                                 unknown = {"unknown", NULL, -1};
    for (const struct tc_stages *t = stages_of(init); t; t = t->inner)
        if (stage >= t->base && (size_t)(stage - t->base) < t->count)
            return &t->items[stage - t->base];
    if (stage == TC_INIT_STAGE_RULESET)
        return &ruleset;
    if (stage == TC_INIT_STAGE_CGROUP)
        return &group;
    return stage == TC_INIT_STAGE_FORK ? &fork : &unknown;
}

static _Noreturn void fail_stage(int stage)
{
    struct tc_report failed = {.kind = TC_REPORT_FAILED,
                               .stage = stage,
                               .errnum = errno,
                               .status = mounting,
                               .us = tc_now_us()};
    (void)tc_send(report, &failed, sizeof(failed), NULL, 0);
    _exit(1);
}

void tc_init_run_stages(const struct tc_init_config *init)
{
    const struct tc_stages *t = stages_of(init);
    report = init->report;
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].run(init) < 0)
            fail_stage(t->base + (int)i);
    t->then(init);
    _exit(1);
}

void tc_init_enter(const struct tc_init_config *init, const struct tc_cgroup *group)
{
    (void)close(init->helper); /* while it is open, waiting for a killed helper would never end */
    report = init->report;
    /* a cgroup namespace shows the groups of its creation as the root */
    if (group && (tc_cgroup_enter(group) < 0 || unshare(CLONE_NEWCGROUP) < 0))
        fail_stage(TC_INIT_STAGE_CGROUP);
    tc_init_run_stages(init);
}
