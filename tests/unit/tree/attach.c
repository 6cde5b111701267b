/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Mounts over paths that another process has replaced since they were resolved. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../backend/test.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "linux/mounts.h"
#include "linux/userns.h"
#include "tree/mount.h"

enum { NO_NAMESPACE = 77 };

static int put(int dir, const char *name)
{
    return tc_put_file(dir, name, "x", 1, 0644);
}

/* Resolves `name` and replaces it, by renaming another object to it. */
static struct tc_init_mount resolve_and_replace(int dir, const char *name, const char *other)
{
    struct tc_init_mount m = {.fd = -1, .path = name, .layers = -1, .frozen = true, .itself = true};
    struct stat st;
    _autofd_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return m;
    m.dev = st.st_dev;
    m.ino = st.st_ino;
    m.fd = tc_tree_open(fd, &(struct tc_tree){.userns = -1}, NULL);
    if (other && renameat(dir, other, dir, name) < 0)
        m.fd = -1;
    return m;
}

/* Can the file be written? 0, or an errno. */
static int write_errno(int dir, const char *name)
{
    _autofd_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? errno : 0;
}

/* Each returns the number of the step that failed, or 0. */
static int replaced_file_is_read_only(int dir)
{
    if (put(dir, ".envrc") < 0 || put(dir, "new") < 0)
        return 1;
    const struct tc_init_mount m = resolve_and_replace(dir, ".envrc", "new");
    if (m.fd < 0 || tc_init_mount_attach(dir, &m) < 0)
        return 2;
    return write_errno(dir, ".envrc") == EROFS ? 0 : 3;
}

static int replaced_directory_is_read_only(int dir)
{
    if (tc_mkdirs(dir, ".vscode") < 0 || put(dir, "new/tasks.json") < 0)
        return 1;
    const struct tc_init_mount m = resolve_and_replace(dir, ".vscode", "new");
    if (m.fd < 0 || tc_init_mount_attach(dir, &m) < 0)
        return 2;
    return write_errno(dir, ".vscode/tasks.json") == EROFS ? 0 : 3;
}

/* A directory between stays writable, but cannot be moved. */
static int replaced_parent_cannot_be_moved(int dir)
{
    if (tc_mkdirs(dir, "a") < 0 || put(dir, "new/f") < 0)
        return 1;
    struct tc_init_mount m = resolve_and_replace(dir, "a", "new");
    m.frozen = false;
    if (m.fd < 0 || tc_init_mount_attach(dir, &m) < 0)
        return 2;
    if (write_errno(dir, "a/f") != 0)
        return 3;
    return renameat(dir, "a", dir, "b") < 0 && errno == EBUSY ? 0 : 4;
}

static int link_is_not_followed(int dir)
{
    if (put(dir, ".envrc") < 0 || put(dir, "target") < 0 || symlinkat("target", dir, "new") < 0)
        return 1;
    const struct tc_init_mount m = resolve_and_replace(dir, ".envrc", "new");
    if (m.fd < 0 || tc_init_mount_attach(dir, &m) < 0)
        return 2;
    if (write_errno(dir, "target") != 0)
        return 3;
    return unlinkat(dir, ".envrc", 0) < 0 && errno == EBUSY ? 0 : 4;
}

/* A grant has no meaning at another object. */
static int grant_is_not_moved(int dir)
{
    if (put(dir, "f") < 0 || put(dir, "new") < 0)
        return 1;
    struct tc_init_mount m = resolve_and_replace(dir, "f", "new");
    m.itself = false;
    return m.fd >= 0 && tc_init_mount_attach(dir, &m) < 0 && errno == ESTALE ? 0 : 2;
}

static int free_name_fails(int dir)
{
    if (put(dir, ".envrc") < 0)
        return 1;
    const struct tc_init_mount m = resolve_and_replace(dir, ".envrc", NULL);
    if (m.fd < 0 || unlinkat(dir, ".envrc", 0) < 0)
        return 2;
    return tc_init_mount_attach(dir, &m) < 0 && errno == ENOENT ? 0 : 3;
}

static int enter_namespaces(void)
{
    char uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    tc_id_map(uid_map, geteuid(), geteuid());
    tc_id_map(gid_map, getegid(), getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -1
                                                    : tc_write_id_maps("self", uid_map, gid_map, 1);
}

/* In a child with a mount namespace, on a tmpfs. */
static int run_in_namespace(int (*step)(int dir))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        int dir = enter_namespaces() < 0 || mount("tmpfs", "/mnt", "tmpfs", 0, "") < 0
                      ? -1
                      : open("/mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _exit(dir < 0 ? NO_NAMESPACE : step(dir));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void attach_after_replacing(void **state)
{
    static const struct {
        const char *name;
        int (*step)(int dir);
    } steps[] = {
        {"a replaced file is read-only", replaced_file_is_read_only},
        {"a replaced directory is read-only", replaced_directory_is_read_only},
        {"a replaced parent cannot be moved", replaced_parent_cannot_be_moved},
        {"a link is not followed", link_is_not_followed},
        {"a grant is not moved to another object", grant_is_not_moved},
        {"a free name fails", free_name_fails},
    };
    for (size_t i = 0; i < TC_COUNT(steps); i++) {
        int rc = run_in_namespace(steps[i].step);
        if (rc == NO_NAMESPACE) {
            print_message("no mount namespace on this host\n");
            skip();
        }
        if (rc != 0)
            fail_msg("%s: step %d", steps[i].name, rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(attach_after_replacing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
