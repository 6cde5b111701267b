/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * PID 1 of the container: the helper's executable under another name. The runtime has built its
 * isolation before; this adds the exact filter, the limits and a separate id for the tool, and then
 * acts as the same PID 1 as in every cage. It is an ordinary program, so it may allocate. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/oci/bundle.h"
#include "backend/oci/config.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cage/stages.h"
#include "linux/privileges.h"
#include "linux/seccomp_filter.h"
#include "policy/clauses.h"
#include "policy/names/system_paths.h"
#include "state/store.h"

enum { NOBODY = 65534 };

/* The tool must not be the container's root, which has rights over files and over PID 1. A new
 * mount namespace, too: only the user namespace that owns a mount namespace may change its mounts.
 */
static int leave_root(const struct tc_init_config *init)
{
    (void)init;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

/* Not left to the runtime, because the stage before writes id maps in /proc. On the host, PID 1 and
 * the tool have the same id, which is enough to write some files of PID 1 in /proc. */
static int freeze_proc(const struct tc_init_config *init)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    (void)init;
    _autofd_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc < 0 ? -1 : tc_mount_setattr(proc, 0, &attr);
}

/* In gVisor the trees are mounts made by the runtime. */
static int keep_trees(const struct tc_init_config *init)
{
    (void)init;
    return 0;
}

/* gVisor has no host groups; versions with /proc/self/setgroups require "deny" there. */
static int take_ids_in_sentry(const struct tc_init_config *init)
{
    int deny = access("/proc/self/setgroups", F_OK) == 0 || errno != ENOENT;
    if (tc_write_id_maps("self", init->uid_map, init->gid_map, deny) < 0 ||
        tc_sys(SYS_setresgid, init->gid, init->gid, init->gid, 0, 0, 0) < 0)
        return -1;
    return (int)tc_sys(SYS_setresuid, init->uid, init->uid, init->uid, 0, 0, 0);
}

/* Writes to /proc reach only gVisor's kernel. In versions from 2023 on that matters: the tool owns
 * the ids and could change kernel settings and PID 1's files. Older versions cannot remount, and
 * have none of these files. */
static int freeze_proc_in_sentry(const struct tc_init_config *init)
{
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    (void)init;
    if (mount(NULL, "/proc", NULL, flags, NULL) == 0)
        return 0;
    if (errno != EINVAL && errno != EPERM)
        return -1;
    return access("/proc/sysrq-trigger", F_OK) < 0 && errno == ENOENT ? 0 : -1;
}

/* gVisor has no securebits; with no_new_privs they would add nothing. */
static int drop_in_sentry(const struct tc_init_config *init)
{
    (void)init;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || tc_drop_capabilities(TC_BOUNDING_EMPTIED) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* gVisor creates devices by itself, on a file system without a size limit. Removes those that the
 * cage does not promise, and makes /dev unwritable: the tool is not its owner. */
static int tidy_devices(void)
{
    static const char *const kept[] = {"fd", "stdin", "stdout", "stderr"};
    (void)umount2("/dev/pts", MNT_DETACH);
    _autodir_ DIR *dir = opendir("/dev");
    struct dirent *e;
    int rc = dir ? 1 : -1;
    while (rc > 0 && (rc = tc_next_entry(dir, &e)) > 0) {
        bool keep = false;
        for (size_t i = 0; i < TC_COUNT(kept); i++)
            keep = keep || strcmp(kept[i], e->d_name) == 0;
        for (size_t i = 0; i < TC_DEVICES; i++)
            keep = keep || strcmp(tc_devices[i], e->d_name) == 0;
        if (!keep && tc_remove_tree(dirfd(dir), e->d_name) < 0)
            return -1;
    }
    return rc < 0 || symlink("/tmp", "/dev/shm") < 0 ? -1 : chown("/dev", NOBODY, NOBODY);
}

static int leave_root_in_sentry(const struct tc_init_config *init)
{
    return tidy_devices() < 0 ? -1 : leave_root(init);
}

/* runsc passes a call's pipes on, and without input the host's null device, which is replaced by
 * that of gVisor's kernel. */
static int descriptors_in_sentry(const struct tc_init_config *init)
{
    struct stat st;
    (void)init;
    if (fstat(STDIN_FILENO, &st) < 0)
        return -1;
    if (S_ISCHR(st.st_mode) && dup2(tc_open_null(), STDIN_FILENO) < 0)
        return -1;
    return close_range(TC_INIT_REPORT + 1, INT_MAX, 0); /* gVisor rejects larger numbers */
}

/* The init config of this process: the stages before the orders need only the ids. */
static struct tc_init_config ours;

/* Until the orders arrive, which may take long in a prestarted container, this process has no data
 * of a call. */
static int await_orders(const struct tc_init_config *init)
{
    struct tc_init_config told = {.stages = init->stages};
    if (!tc_init_receive(TC_INIT_REPORT, &told))
        _exit(1); /* the helper has exited */
    ours = told;
    return 0;
}

static int have_orders(const struct tc_init_config *init)
{
    (void)init;
    return 0;
}

static const struct tc_stage inner[] = {
    {"inner namespace", leave_root, TC_CLAUSE_IDS_UNPRIVILEGED},
    {"inner ids", tc_stage_ids, TC_CLAUSE_IDS_UNPRIVILEGED},
    {"inner proc", freeze_proc, TC_CLAUSE_PROC_OWN},
    {"orders", await_orders, TC_CLAUSE_PROC_SURVIVORS}, /* stages above use nothing of the call */
    {"trees", tc_stage_trees, TC_CLAUSE_FS_READ, TC_LACK_PATH},
    {"cwd", tc_stage_cwd, TC_CLAUSE_FS_READ, TC_LACK_CWD},
    {"inner privileges", tc_stage_privileges, TC_CLAUSE_PRIV_NONE},
    {"inner descriptors", tc_stage_descriptors, TC_CLAUSE_FDS_CLEAN},
    {"inner rlimits", tc_stage_rlimits, TC_CLAUSE_LIMIT_OPEN_FILES},
    {"inner seccomp", tc_stage_filter, TC_CLAUSE_SYSCALLS},
};
/* The stages in gVisor, with the same numbers. */
static const struct tc_stage inner_in_sentry[] = {
    {"inner namespace", leave_root_in_sentry, TC_CLAUSE_IDS_UNPRIVILEGED},
    {"inner ids", take_ids_in_sentry, TC_CLAUSE_IDS_UNPRIVILEGED},
    {"inner proc", freeze_proc_in_sentry, TC_CLAUSE_PROC_OWN},
    {"orders", have_orders, TC_CLAUSE_PROC_SURVIVORS},
    {"trees", keep_trees, TC_CLAUSE_FS_READ, TC_LACK_PATH},
    {"cwd", tc_stage_cwd, TC_CLAUSE_FS_READ, TC_LACK_CWD},
    {"inner privileges", drop_in_sentry, TC_CLAUSE_PRIV_NONE},
    {"inner descriptors", descriptors_in_sentry, TC_CLAUSE_FDS_CLEAN},
    {"inner rlimits", tc_stage_rlimits, TC_CLAUSE_LIMIT_OPEN_FILES},
    {"inner seccomp", tc_stage_filter, TC_CLAUSE_SYSCALLS},
};

_Static_assert(TC_COUNT(inner) == TC_COUNT(inner_in_sentry), "the helper knows one of them");
static const struct tc_stages sentry_stages = {inner_in_sentry, TC_COUNT(inner_in_sentry), 100,
                                               tc_init_main, NULL};

const struct tc_stages tc_oci_inner_stages = {inner, TC_COUNT(inner), 100, tc_init_main, NULL};

/* crun and runc pass the socket as an fd; in gVisor PID 1 connects to the socket's path. */
static bool has_report(void)
{
    int type = 0;
    socklen_t len = sizeof(type);
    return getsockopt(TC_INIT_REPORT, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

static bool connect_report(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = TC_OCI_TALK "/report"};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
        return false;
    return fd == TC_INIT_REPORT || dup3(fd, TC_INIT_REPORT, O_CLOEXEC) >= 0;
}

/* Every candidate path of the command, in the order of PATH. */
static const char **list_programs(const char *command)
{
    struct tc_strv list = {0};
    const char *path = getenv("PATH");
    path = path ? path : "/usr/local/bin:/usr/bin:/bin";
    if (strchr(command, '/') || !command[0])
        return tc_strv_add(&list, command) ? (const char **)list.items : NULL;
    for (; *path; path += *path == ':') {
        size_t len = strcspn(path, ":");
        _autofree_ char *place = tc_format("%.*s/%s", (int)len, path, command);
        if (path[0] == '/' && (!place || !tc_strv_add(&list, place)))
            return NULL;
        path += len;
    }
    return (const char **)list.items;
}

static _Noreturn void go(struct tc_init_config *init)
{
    tc_id_map(init->uid_map, init->uid, 0);
    tc_id_map(init->gid_map, init->gid, 0);
    tc_init_run_stages(init);
    _exit(1);
}

/* The helper sends the tool's ids first, and the call later. */
static _Noreturn void run_by_orders(void)
{
    unsigned ids[2];
    if (fcntl(TC_INIT_REPORT, F_SETFD, FD_CLOEXEC) < 0 ||
        recv(TC_INIT_REPORT, ids, sizeof(ids), 0) != (ssize_t)sizeof(ids))
        _exit(1);
    ours = (struct tc_init_config){
        .stages = &tc_oci_inner_stages, .report = TC_INIT_REPORT, .uid = ids[0], .gid = ids[1]};
    go(&ours);
}

/* The command and its variables come from the runtime. */
static _Noreturn void run_in_sentry(char **argv)
{
    static const char *nothing[] = {NULL};
    struct tc_init_config init = {.stages = &sentry_stages};
    if (!connect_report() || !tc_init_receive(TC_INIT_REPORT, &init))
        _exit(1);
    init.programs = list_programs(argv[0]);
    init.argv = argv;
    init.envp = environ;
    init.told = true; /* signals from the host do not reach PID 1 in gVisor */
    if (!init.programs)
        init.programs = nothing;
    go(&init);
}

void tc_inner_main(int argc, char **argv)
{
    if (has_report())
        run_by_orders();
    if (argc < 2)
        _exit(1);
    run_in_sentry(argv + 1);
}
