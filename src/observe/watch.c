/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From a call to its path, in the cage's view, and whether the grant covers it. A path is
 * resolved with the cage's root, never through a magic link; files are opened only by O_PATH. */
#include "observe/watch.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sys.h"
#include "linux/seccomp_watched.h"
#include "observe/observe.h"
#include "policy/names/system_paths.h"

enum { LINKS_MAX = 40 };

/* Where a path resolves to in the cage. */
struct place {
    char path[PATH_MAX];
    bool exists, read_only;
    ino_t directory; /* 0: it is none */
    bool foreign;    /* a file of another user or group, which the tool may write */
};

/* ---- from text to path ---- */

static bool is_link(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The target path of a /proc link, in that process's mount namespace. */
static bool read_path(const char *link, char *to, size_t size)
{
    ssize_t n = readlink(link, to, size - 1);
    if (n <= 0 || to[0] != '/')
        return false;
    to[n] = '\0';
    return true;
}

/* `head` is a link: replaces it with its target, which is relative to the link's directory. */
static bool follow(int fd, char *head, size_t size)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    _autofree_ char *dir = tc_path_parent(head);
    _autofree_ char *whole = dir ? tc_path_absolute(dir, target) : NULL;
    return whole && (size_t)snprintf(head, size, "%s", whole) < size;
}

/* Moves the last component of `head` to the front of `tail`. False: `head` has none, or `tail` is
 * full. */
static bool cut(char *head, char *tail, size_t size)
{
    char longer[PATH_MAX];
    char *slash = strrchr(head, '/');
    if (!slash || !slash[1] ||
        (size_t)snprintf(longer, sizeof(longer), "%s%s", slash, tail) >= sizeof(longer))
        return false;
    (void)snprintf(tail, size, "%s", longer);
    *(slash == head ? slash + 1 : slash) = '\0';
    return true;
}

static void settle_place(struct place *place, int fd, const char *tail)
{
    char link[64], dir[PATH_MAX];
    struct statvfs fs;
    struct stat st;
    place->read_only = fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
    place->exists = !tail[0];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (place->exists && fstat(fd, &st) == 0) {
        place->directory = S_ISDIR(st.st_mode) ? st.st_ino : 0;
        place->foreign = S_ISREG(st.st_mode) &&
                         (st.st_uid != geteuid() || st.st_gid != getegid()) &&
                         access(link, W_OK) == 0;
    }
    if (!read_path(link, dir, sizeof(dir)))
        return;
    _autofree_ char *whole =
        tail[0] ? tc_path_absolute(dir, tail[0] == '/' ? tail + 1 : tail) : strdup(dir);
    if (whole && strlen(whole) < sizeof(place->path))
        (void)snprintf(place->path, sizeof(place->path), "%s", whole);
}

/* Resolves the existing part of a path and keeps the rest as it is; dangling links are followed,
 * too. */
static bool locate(int root, const char *path, bool follows, struct place *place)
{
    char head[PATH_MAX], tail[PATH_MAX] = "";
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    if ((size_t)snprintf(head, sizeof(head), "%s", path) >= sizeof(head))
        return false;
    place->path[0] = '\0';
    for (int links = 0; links < LINKS_MAX;) {
        _autofd_ int fd = tc_openat2(root, head, &how);
        if (fd < 0) {
            if (!cut(head, tail, sizeof(tail)))
                return false;
        } else if ((follows || tail[0]) && is_link(fd)) {
            if (!follow(fd, head, sizeof(head)))
                return false;
            links++;
        } else {
            settle_place(place, fd, tail);
            return place->path[0] != '\0';
        }
    }
    return false;
}

/* ---- from path to verdict ---- */

static bool granted(const struct tc_plan *plan, const char *path, bool write)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (tc_path_within(plan->mounts[i].path, path) &&
            (!write || plan->mounts[i].kind == TC_MOUNT_WRITE))
            return true;
    return false;
}

static bool covered(const struct tc_plan *plan, const char *path, bool write)
{
    return granted(plan, path, write) || tc_system_path_private(path) ||
           (!write && tc_system_shows(plan->system, path));
}

/* Is it a parent directory of a path that the cage shows? */
static bool leads(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (tc_path_within(path, plan->mounts[i].path))
            return true;
    return tc_path_within(path, "/tmp") || tc_system_leads(plan->system, path);
}

static bool refused(const struct tc_cage *cage, const struct place *at, bool write)
{
    bool mounts = cage->observer->of.mounts; /* else Landlock decides by the rules alone */
    if (tc_path_within("/proc", at->path) || tc_path_within("/dev", at->path))
        return false;
    if (tc_tree_denied(cage->plan, at->path))
        return true;
    if (write)
        return mounts ? at->read_only : !covered(cage->plan, at->path, true);
    return !(mounts && at->exists) && !covered(cage->plan, at->path, false) &&
           !leads(cage->plan, at->path);
}

/* Files that programs look for, but do not need. */
static bool is_probe(const char *path)
{
    static const char *const trees[] = {"/sys",
                                        "/etc/ld.so.preload",
                                        "/etc/gitconfig",
                                        "/etc/gitattributes",
                                        "/etc/pip.conf",
                                        "/etc/xdg",
                                        "/etc/host.conf",
                                        "/etc/gai.conf",
                                        "/etc/services",
                                        "/etc/protocols",
                                        "/etc/mime.types",
                                        "/etc/mailcap",
                                        "/etc/inputrc",
                                        "/etc/profile",
                                        "/etc/bash.bashrc",
                                        "/etc/locale.alias",
                                        "/etc/timezone",
                                        "/etc/machine-id",
                                        "/etc/os-release",
                                        "/etc/debian_version",
                                        "/etc/lsb-release",
                                        "/etc/npmrc",
                                        "/etc/ldap",
                                        "/etc/netsvc.conf",
                                        "/etc/svc.conf",
                                        "/run/systemd",
                                        "/run/nscd",
                                        "/var/run/nscd"};
    for (size_t i = 0; i < TC_COUNT(trees); i++)
        if (tc_path_within(trees[i], path))
            return true;
    return false;
}

/* ---- from call to text ---- */

static bool start_of(pid_t pid, int dir, char *to, size_t size)
{
    char link[64];
    if (dir == AT_FDCWD)
        (void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
    else
        (void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, dir);
    return read_path(link, to, size);
}

/* The path in the tool's memory, made absolute. */
static char *spoken(pid_t pid, int dir, uint64_t at)
{
    char text[PATH_MAX], start[PATH_MAX];
    if (!tc_notify_text(pid, at, text, sizeof(text)) || !text[0])
        return NULL;
    if (text[0] != '/' && !start_of(pid, dir, start, sizeof(start)))
        return NULL;
    return text[0] == '/' ? strdup(text) : tc_path_join(start, text);
}

static enum tc_denial_kind kind_of(const struct tc_seccomp_watched *row, const uint64_t *args,
                                   bool exists)
{
    uint64_t flags = args[(row->path + 1) % 6];
    switch (row->use) {
    case TC_SECCOMP_READS:
        return TC_DENIAL_READ;
    case TC_SECCOMP_LOOKS:
        return TC_DENIAL_LOOK;
    case TC_SECCOMP_OPENS:
        if (flags & O_PATH)
            return TC_DENIAL_LOOK;
        if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) || (!exists && (flags & O_CREAT)))
            return TC_DENIAL_WRITE;
        return TC_DENIAL_READ;
    case TC_SECCOMP_MAKES:
        return exists ? TC_DENIAL_LOOK : TC_DENIAL_WRITE;
    case TC_SECCOMP_WRITES:
    case TC_SECCOMP_NAMES:
    default:
        return TC_DENIAL_WRITE;
    }
}

static bool follows(const struct tc_seccomp_watched *row, const uint64_t *args)
{
    if (row->use == TC_SECCOMP_OPENS)
        return !(args[(row->path + 1) % 6] & O_NOFOLLOW);
    return row->use != TC_SECCOMP_NAMES && row->use != TC_SECCOMP_MAKES;
}

/* Does a search end here? Not where the tool itself may have put the file; and for files that
 * are only read, only in system directories: two files with one name in a tool's data are
 * unrelated. */
static void follow_search(struct tc_cage *cage, enum tc_denial_kind kind, const char *said,
                          const struct place *at, bool no, pid_t pid)
{
    if (kind != TC_DENIAL_READ && kind != TC_DENIAL_EXEC)
        return;
    if (no && !tc_tree_denied(cage->plan, at->path))
        tc_search_missed(cage, kind, at->path, said, pid);
    else if (!no && at->exists && !covered(cage->plan, at->path, true) &&
             (kind == TC_DENIAL_EXEC || tc_system_path_find(at->path)))
        tc_search_found(cage, kind, said, pid);
}

/* Is this a name that the cage keeps read-only in a writable directory? */
static bool is_held(const struct tc_cage *cage, const struct place *at)
{
    return cage->observer->of.mounts && at->read_only && !tc_tree_denied(cage->plan, at->path) &&
           granted(cage->plan, at->path, true);
}

/* Is this directory of an overlay the host's, too? On one file system it has the same inode. */
static bool is_hosts(const struct tc_mount *m, const struct place *at)
{
    struct stat st;
    _autofree_ char *host = tc_format("%s%s", m->from, at->path + strlen(m->path));
    return host && lstat(host, &st) == 0 && S_ISDIR(st.st_mode) && st.st_ino == at->directory;
}

/* Which change is impossible in an overlay? TC_DENIAL_WRITE: none. */
static enum tc_denial_kind unlayered(const struct tc_cage *cage, const struct place *at,
                                     bool renames)
{
    const struct tc_plan *plan = cage->plan;
    for (size_t i = 0; plan->workspace == TC_WORKSPACE_OVERLAY && i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if (m->kind != TC_MOUNT_WRITE || !tc_path_within(m->path, at->path))
            continue;
        if (renames && at->directory && is_hosts(m, at))
            return TC_DENIAL_MOVED;
        if (at->foreign && !cage->trees->host->privileged)
            return TC_DENIAL_FOREIGN;
    }
    return TC_DENIAL_WRITE;
}

static void note(struct tc_cage *cage, enum tc_denial_kind kind, const char *said,
                 const struct place *at, pid_t pid)
{
    struct tc_seen *w = cage->observer->seen;
    bool all = cage->plan->denials == TC_DENIALS_ACCESSES;
    bool no = refused(cage, at, kind == TC_DENIAL_WRITE);
    bool look = kind == TC_DENIAL_LOOK;
    /* the tool sees that the path is missing, so a hint may depend on it */
    bool creates = kind == TC_DENIAL_WRITE && !at->exists && covered(cage->plan, at->path, false);
    bool held = no && kind == TC_DENIAL_WRITE && is_held(cage, at);
    if (no && !(look && is_probe(at->path))) /* lookups: the library tells which exist */
        tc_seen_list(w, &(struct tc_listed){.kind = held      ? TC_DENIAL_HELD
                                                    : creates ? TC_DENIAL_CREATE
                                                              : kind,
                                            .target = at->path,
                                            .probe = look || is_probe(at->path)});
    follow_search(cage, kind, said, at, no, pid);
    if (no || !all || (!at->exists && kind != TC_DENIAL_WRITE))
        return;
    tc_seen_list(w, &(struct tc_listed){.kind = kind, .target = at->path, .allowed = true});
    _autofree_ char *clean = tc_path_absolute("/", said);
    if (clean &&
        strcmp(clean, at->path) != 0) /* the tool used a link, which a policy must grant, too */
        tc_seen_list(w,
                     &(struct tc_listed){.kind = TC_DENIAL_LOOK, .target = clean, .allowed = true});
}

static int root_of(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Is it the path that a rename takes away? */
static bool is_source(const struct tc_seccomp_watched *row)
{
    return tc_startswith(row->name, "rename") && row->path < 2;
}

static void watch_path(struct tc_cage *cage, const struct seccomp_notif *n,
                       const struct tc_seccomp_watched *row, bool runs)
{
    const uint64_t *args = (const uint64_t *)n->data.args;
    struct place at = {.path = ""};
    pid_t pid = (pid_t)n->pid;
    int dir = row->dir < 0 ? AT_FDCWD : (int)args[row->dir];
    _autofree_ char *said = spoken(pid, dir, args[row->path]);
    _autofd_ int root = said ? root_of(pid) : -1;
    if (root < 0 || !locate(root, said, follows(row, args), &at) ||
        !tc_notify_waits(cage->observer->listener, n))
        return;
    enum tc_denial_kind kind = runs ? TC_DENIAL_EXEC : kind_of(row, args, at.exists);
    note(cage, kind, said, &at, pid);
    if (kind == TC_DENIAL_WRITE && !refused(cage, &at, true) &&
        (kind = unlayered(cage, &at, is_source(row))) != TC_DENIAL_WRITE)
        tc_seen_list(cage->observer->seen, &(struct tc_listed){.kind = kind, .target = at.path});
}

void tc_watch_call(struct tc_cage *cage, const struct seccomp_notif *n)
{
    size_t count = 0;
    const struct tc_seccomp_watched *rows = tc_seccomp_paths(n->data.nr, &count);
    for (size_t i = 0; i < count; i++)
        watch_path(cage, n, &rows[i], false);
}

void tc_watch_exec(struct tc_cage *cage, const struct seccomp_notif *n)
{
    static const struct tc_seccomp_watched row = {"execve", TC_SECCOMP_READS, -1, 0};
    watch_path(cage, n, &row, true);
}
