/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process that becomes the container runtime or its shim (backend/gvisor/shim.c). It is PID 1
 * of namespaces around the runtime's: killing it ends the runtime, the container and all their
 * processes, and none of their mounts or files is visible outside. The runtime is root of a user
 * namespace whose only id is the cage's. A compromised runtime therefore has no more rights on the
 * host than the tool. As in every child of the helper: no allocation, and no libc function that
 * takes a lock. */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "backend/oci/bundle.h"
#include "backend/oci/config.h"
#include "backend/oci/own.h"
#include "base/sys.h"
#include "cage/stages.h"
#include "linux/mounts.h"
#include "policy/clauses.h"

/* The network namespace, too: runsc talks to its sandbox over an abstract socket named after the
 * container, and all containers have the same name. */
static int make_namespaces(const struct tc_init_config *init)
{
    (void)init;
    return unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}

/* Mounts toolcage's root with its mount points over the image, both read-only. */
static int lay_over_image(const struct tc_init_config *init)
{
    if (tc_move_mount(init->root, AT_FDCWD, TC_OCI_BASE) < 0 ||
        tc_move_mount(init->image, AT_FDCWD, TC_OCI_IMAGE) < 0)
        return -1;
    _autofd_ int fs = tc_fsopen("overlay");
    if (fs < 0 ||
        tc_fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", TC_OCI_BASE ":" TC_OCI_IMAGE) < 0 ||
        tc_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL) < 0 ||
        tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    _autofd_ int overlay = tc_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (overlay < 0 || tc_move_mount(overlay, AT_FDCWD, TC_OCI_ROOT) < 0 || fchdir(overlay) < 0)
        return -1;
    _autofd_ int base = open(TC_OCI_BASE, O_PATH | O_CLOEXEC);
    return tc_stage_devices(base);
}

/* Leaves the working directory at the container's root; later stages use relative paths. */
static int attach_bundle(const struct tc_init_config *init)
{
    const struct tc_oci_template *b = init->own;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        tc_move_mount(b->bundle, AT_FDCWD, TC_OCI_BUNDLE) < 0)
        return -1;
    if (init->image >= 0)
        return lay_over_image(init);
    return tc_move_mount(init->root, AT_FDCWD, TC_OCI_ROOT) < 0 ? -1 : fchdir(init->root);
}

/* The runtime looks for its own executable in /proc, and must not see the host's /proc. */
static int mount_proc(const struct tc_init_config *init)
{
    (void)init;
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* The helper manages cgroups: the runtime runs in the cage's cgroup and creates none. crun fails if
 * both cgroup versions are mounted; runc requires the read-only hierarchy to be visible. */
static int show_groups(const struct tc_init_config *init)
{
    const struct tc_oci_template *b = init->own;
    if (!b->runtime->hides_groups || access("/sys/fs/cgroup", F_OK) < 0)
        return 0;
    return mount("tmpfs", "/sys/fs/cgroup", "tmpfs", MS_RDONLY, "size=4k");
}

/* The directory where PID 1 in gVisor finds the report socket. As a mount of runsc it would need a
 * separate file server. */
static int show_talk(const struct tc_init_config *init)
{
    const struct tc_oci_template *b = init->own;
    if (strcmp(b->argv[0], TC_OCI_KEEPER) != 0)
        return 0;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                          MOUNT_ATTR_NOEXEC};
    _autofd_ int talk = tc_open_tree(AT_FDCWD, TC_OCI_BUNDLE "/talk", OPEN_TREE_CLONE);
    return talk < 0 || tc_mount_setattr(talk, 0, &attr) < 0
               ? -1
               : tc_move_mount(talk, AT_FDCWD, TC_OCI_ROOT TC_OCI_TALK);
}

static int stand_in_bundle(const struct tc_init_config *init)
{
    (void)init;
    return chdir(TC_OCI_BUNDLE);
}

/* The runtime passes the socket on to PID 1. gVisor passes only fds 0 to 2; there PID 1 connects to
 * the socket. */
static int pass_report(const struct tc_init_config *init)
{
    (void)init;
    return fcntl(TC_INIT_REPORT, F_SETFD, 0);
}

static void become_runtime(const struct tc_init_config *init)
{
    static const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", NULL};
    const struct tc_oci_template *b = init->own;
    (void)execve(b->argv[0], (char *const *)b->argv, (char *const *)envp);
    _exit(127);
}

/* The container uses this network namespace, which is as empty as its own would be: creating one
 * takes a millisecond, and removing it another. (In gVisor it has its own if it has no network.) */
static int open_network(const struct tc_init_config *init)
{
    return tc_stage_loopback(init) < 0 ? -1 : tc_stage_network(init, init->report);
}

static const struct tc_stage stages[] = {
    {"namespaces", make_namespaces, TC_CLAUSE_PRIV_NONE, TC_LACK_USERNS}, /* for later stages */
    {"session", tc_stage_session, TC_CLAUSE_TTY_NONE},
    {"ids", tc_stage_ids, TC_CLAUSE_IDS_UNPRIVILEGED}, /* first: mounts need these ids */
    {"network", open_network, TC_CLAUSE_NET_ALLOW, TC_LACK_FILTER},
    {"bundle", attach_bundle, TC_CLAUSE_FS_READ},
    {"proc", mount_proc, TC_CLAUSE_PROC_OWN, TC_LACK_PROC}, /* needs the host's /proc visible */
    {"trees", tc_stage_trees, TC_CLAUSE_FS_READ, TC_LACK_PATH},
    {"talk", show_talk, TC_CLAUSE_PROC_SURVIVORS},
    {"groups", show_groups, TC_CLAUSE_LIMIT_MEMORY},
    {"directory", stand_in_bundle, TC_CLAUSE_FS_READ},
    {"descriptors", tc_stage_descriptors, TC_CLAUSE_FDS_CLEAN}, /* no later stage needs them */
    {"report", pass_report, TC_CLAUSE_PROC_SURVIVORS},
    {"parent", tc_stage_parent, TC_CLAUSE_PROC_SURVIVORS}, /* after the last credential change */
};

const struct tc_stages tc_oci_stages = {stages, TC_COUNT(stages), 0, become_runtime,
                                        &tc_oci_inner_stages};
