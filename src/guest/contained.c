/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The guest in a container whose runtime runs it on a separate kernel (Kata). The container has the
 * capabilities that creating process cages needs, which is safe only if nothing else runs on that
 * kernel. So the guest refuses to serve on the host's kernel. The image's parts are in one
 * directory; a root is built from them on a tmpfs. The call arrives on standard input, and its
 * results leave on standard output; standard error is the VM's console. */
#include "guest/relay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "helper/serve.h"
#include "plan/guest.h"

/* The root is built on a tmpfs over this directory of the container, which is no longer used. */
#define ROOT "/.toolcage/talk"

static _Noreturn void fail_contained(const char *what, const char *why)
{
    (void)fprintf(stderr, TC_GUEST_LAST_WORD "%s: %s\n", what, why);
    _exit(1);
}

static _Noreturn void fail_errno(const char *what)
{
    fail_contained(what, strerror(errno));
}

/* ---- the kernel ---- */

/* Ends the guest if it runs on the host's kernel: each boot of a kernel has a unique boot id. */
static void refuse_hosts_kernel(const char *hosts)
{
    char id[64];
    _autofd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id));
    size_t len = strlen(hosts);
    if (n <= 0 || !len)
        fail_contained("boot_id", "cannot determine whether this is the host's kernel");
    if ((size_t)n >= len && memcmp(id, hosts, len) == 0)
        fail_contained("kernel",
                       "this container runs on the host's kernel: its runtime is not Kata");
}

/* ---- the root ---- */

static bool is_ours(const char *name)
{
    static const char *const made[] = {".", "..", "proc", "sys", "dev", "run", "tmp"};
    for (size_t i = 0; i < TC_COUNT(made); i++)
        if (strcmp(name, made[i]) == 0)
            return true;
    return false;
}

static void copy_link(int from, int to, const char *name)
{
    char target[4096];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
    target[n < 0 ? 0 : n] = '\0';
    if (n < 0 || symlinkat(target, to, name) < 0)
        fail_errno(name);
}

static void bind(const char *from, const char *to)
{
    if ((mkdir(to, 0755) < 0 && errno != EEXIST) ||
        mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        fail_errno(to);
}

/* Shows directories and links; tools need no other files at the top of an image. */
static void show_entry(int from, int to, const char *name)
{
    struct stat st;
    char source[300], target[300];
    if (is_ours(name) || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    (void)snprintf(source, sizeof(source), TC_GUEST_IMAGE "/%s", name);
    (void)snprintf(target, sizeof(target), ROOT "/%s", name);
    if (S_ISLNK(st.st_mode))
        copy_link(from, to, name);
    else if (S_ISDIR(st.st_mode))
        bind(source, target);
}

static void show_image(void)
{
    struct dirent *e;
    _autofd_ int from = open(TC_GUEST_IMAGE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _autofd_ int to = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _autodir_ DIR *dir = tc_list_dir(from);
    if (!dir || to < 0)
        fail_errno(TC_GUEST_IMAGE);
    while (tc_next_entry(dir, &e) > 0)
        show_entry(from, to, e->d_name);
}

struct place {
    const char *type, *path, *options;
    unsigned long flags;
};

static int mount_one(const struct place *p)
{
    (void)mkdir(p->path, 0755);
    return mount(p->type, p->path, p->type, p->flags, p->options);
}

static void mount_all(const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mount_one(&places[i]) < 0)
            fail_errno(places[i].path);
}

/* Mounts cgroups of either version, whichever the kernel has; without any, the engine reports the
 * lack. */
static void mount_groups(void)
{
    static const struct place groups[] = {
        {"cgroup2", ROOT "/sys/fs/cgroup/unified", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"cgroup", ROOT "/sys/fs/cgroup/memory", "memory", MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"cgroup", ROOT "/sys/fs/cgroup/pids", "pids", MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"cgroup", ROOT "/sys/fs/cgroup/cpu", "cpu", MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"cgroup", ROOT "/sys/fs/cgroup/cpuacct", "cpuacct", MS_NOSUID | MS_NODEV | MS_NOEXEC},
    };
    static const struct place parent = {"tmpfs", ROOT "/sys/fs/cgroup", "mode=0755,size=64k",
                                        MS_NOSUID | MS_NODEV | MS_NOEXEC};
    if (mount_one(&parent) < 0)
        fail_errno(parent.path);
    for (size_t i = 0; i < TC_COUNT(groups); i++)
        if (mount_one(&groups[i]) < 0)
            (void)rmdir(groups[i].path);
}

static void make_root(void)
{
    static const struct place first[] = {
        {"tmpfs", ROOT, "mode=0755,size=16m", MS_NOSUID | MS_NODEV}};
    static const struct place places[] = {
        {"proc", ROOT "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"sysfs", ROOT "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"tmpfs", ROOT "/run", "mode=0755,size=16m", MS_NOSUID | MS_NODEV},
        {"tmpfs", ROOT "/tmp", "mode=1777,size=16m", MS_NOSUID | MS_NODEV},
        /* limited by the container's memory; tools write elsewhere */
        {"tmpfs", ROOT TC_GUEST_GRANTS, "mode=0711,size=100%,nr_inodes=0", MS_NOSUID | MS_NODEV},
    };
    mount_all(first, TC_COUNT(first));
    show_image();
    mount_all(places, TC_COUNT(places));
    bind("/dev", ROOT "/dev");
    mount_groups();
    if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
        chdir("/") < 0)
        fail_errno("root");
}

/* ---- serving ---- */

/* Takes the stream from fds 0 and 1, so that only the serving code has it. The standard output of
 * its children is the console. */
static void take_stream(int *ret_from, int *ret_to)
{
    enum { ABOVE = 10 };
    *ret_from = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, ABOVE);
    *ret_to = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, ABOVE);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (*ret_from < 0 || *ret_to < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        fail_errno("streams");
    (void)close(null);
}

static _Noreturn void serve_contained(void)
{
    int from, to;
    take_stream(&from, &to);
    tc_helper_serve_stream(
        from, to, &(struct tc_serve_place){.grants = TC_GUEST_GRANTS, .owner = TC_GUEST_ID});
}

void tc_guest_contained(int argc, char **argv)
{
    refuse_hosts_kernel(argc > 1 ? argv[1] : "");
    make_root();
    pid_t engine = fork();
    if (engine == 0)
        serve_contained();
    if (engine < 0)
        fail_errno("fork");
    /* else the stream would stay open after the engine's end */
    (void)close(STDIN_FILENO);
    (void)close(STDOUT_FILENO);
    for (pid_t pid = 0; pid != engine && (pid >= 0 || errno == EINTR);)
        pid = waitpid(-1, NULL, 0);
    _exit(0);
}
