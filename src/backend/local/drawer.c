/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files that are granted writable by themselves. A file that is bound cannot be replaced, and most
 * programs save by replacing, so such a file stands as a copy in a private directory, its drawer:
 * what the tool does there is its own, and only the file comes back. Where the directory is
 * readable as well, an overlay shows the rest of it below. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local/held.h"
#include "backend/local/journal.h"
#include "backend/local/workspace.h"
#include "base/path.h"
#include "linux/mounts.h"
#include "policy/system_paths.h"

static int fail(struct tc_cage *cage, const struct tc_item *item, int errnum, const char *before,
                const char *after)
{
    const char *hint = errnum == ENOSPC ? "the copy must fit into `disk`: raise it"
                                        : "grant the directory that holds it";
    return tc_process_refuse(cage, item->mount, errnum, hint, before, after);
}

/* Does the writable tree show this very file at this very place? */
static bool shown_by(const struct tc_item *tree, const struct tc_item *item, const char *parent)
{
    const char *below = parent + strlen(tree->path);
    struct stat here, there;
    _autofd_ int fd = tc_resolve_beneath(tree->fd, below + (*below == '/'));
    return fd >= 0 && fstat(fd, &here) == 0 && fstat(item->fd, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino &&
           strcmp(item->name, item->host_name) == 0;
}

/* The file comes back as a new version beside the old one, so the caller must be able to make one
 * that is like the old. */
static int check_writable(struct tc_cage *cage, const struct tc_item *item)
{
    const struct tc_process_host *host = TC_PRIV(cage)->host;
    if (faccessat(item->fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return fail(cage, item, errno, "the directory that holds ", " cannot be written");
    if (host->privileged || !item->id.dev)
        return 0;
    if (item->uid != host->uid)
        return fail(cage, item, 0, "", " belongs to somebody else, and a new version would not");
    if (faccessat(item->fd, item->host_name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
        return fail(cage, item, errno, "granted path ", " cannot be written");
    return 0;
}

static int own(const struct tc_process_cage *p, int dirfd, const char *name)
{
    return p->id == (uid_t)-1
               ? 0
               : fchownat(dirfd, name, p->id, (gid_t)p->id, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

int tc_process_own_directory(struct tc_process_cage *p, int storage, const char *at)
{
    int fd = tc_mkdirs(storage, at) < 0
                 ? -1
                 : openat(storage, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return tc_process_keep(p, fd) < 0 || own(p, fd, "") < 0 ? -1 : fd;
}

/* An overlay marks the directories that it merges, so all of them must be the tool's. */
int tc_drawer_point(const struct tc_process_cage *p, const struct tc_item *drawer,
                    const char *relative, bool directory)
{
    _autofree_ char *path = strdup(relative);
    for (char *slash = path; slash; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (!slash)
            break;
        *slash = '\0';
        if (mkdirat(drawer->copy, path, 0755) < 0 ? errno != EEXIST
                                                  : own(p, drawer->copy, path) < 0)
            return -1;
    }
    int rc = !path       ? -1
             : directory ? (mkdirat(drawer->copy, path, 0755) < 0 && errno != EEXIST ? -1 : 0)
                         : mknodat(drawer->copy, path, S_IFREG, 0);
    return rc < 0 ? -1 : own(p, drawer->copy, path);
}

static int open_drawer(struct tc_cage *cage, struct tc_item *drawer)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_limits *l = &cage->plan->limits;
    int storage = tc_process_keep(p, tc_tmpfs(l->disk, l->inodes, "0755", true));
    if (storage < 0)
        return -1;
    drawer->drawer = true;
    if (drawer->fd < 0) {
        drawer->copy = storage;
        return own(p, storage, "");
    }
    drawer->layers = storage;
    drawer->copy = tc_process_own_directory(p, storage, "u");
    return drawer->copy < 0 || tc_process_own_directory(p, storage, "w") < 0 ? -1 : 0;
}

static struct tc_item *find(const struct tc_process_cage *p, const char *path)
{
    for (size_t i = 0; i < p->item_count; i++)
        if (strcmp(p->items[i].path, path) == 0)
            return &p->items[i];
    return NULL;
}

/* The item of the file's directory; made where the grant names none. NULL with errno. */
static struct tc_item *drawer_at(struct tc_cage *cage, const struct tc_item *file, char *path)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_item *at = find(p, path);
    const struct tc_item *in = tc_process_holder(p, file->path);
    struct stat st = {.st_uid = p->host->uid, .st_gid = p->host->gid};
    int fd = -1;
    if (at)
        return at->drawer || open_drawer(cage, at) == 0 ? at : NULL;
    if (in && in->fd >= 0) {
        fd = tc_process_keep(p, tc_resolve_beneath(in->fd, path + strlen(in->path) + 1));
        if (fd < 0 ? !in->drawer || errno != ENOENT : fstat(fd, &st) < 0)
            return NULL;
    }
    at = &p->items[p->item_count];
    *at = (struct tc_item){.mount = file->mount,
                           .path = path,
                           .fd = fd,
                           .directory = true,
                           .copy = -1,
                           .layers = -1,
                           .uid = st.st_uid,
                           .gid = st.st_gid};
    if (open_drawer(cage, at) < 0)
        return NULL;
    p->item_count++;
    return at;
}

/* As it is on the host, and remembered as it was. */
static int copy_in(struct tc_process_cage *p, struct tc_item *item)
{
    struct statx host, after, copy;
    if (!item->id.dev)
        return 0;
    if (statx(item->fd, item->host_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &host) < 0 ||
        tc_workspace_copy_file(item->fd, item->host_name, item->copy, item->name, host.stx_mode) <
            0)
        return -1;
    if (own(p, item->copy, item->name) < 0 ||
        tc_workspace_copy_times(item->copy, item->name, &host) < 0 ||
        statx(item->copy, item->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &copy) < 0)
        return -1;
    /* nobody put another file in its place while it was read */
    const struct tc_version was = tc_workspace_version(&host);
    if (statx(item->fd, item->host_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &after) < 0)
        return -1;
    const struct tc_version now = tc_workspace_version(&after);
    if (!tc_version_same(&was, &now) || host.stx_ino != item->id.ino) {
        errno = ESTALE;
        return -1;
    }
    struct tc_copied *entry = TC_PUSH(p->copied, p->copied_count);
    if (!entry) {
        errno = ENOMEM;
        return -1;
    }
    *entry = (struct tc_copied){.item = item,
                                .relative = item->host_name,
                                .copy = tc_workspace_version(&copy),
                                .host = was};
    return 0;
}

static int refuse_place(struct tc_cage *cage, const struct tc_item *item, const char *parent)
{
    _autofree_ char *after =
        tc_format(" is to be written, but its directory %s is the cage's own", parent);
    return tc_process_refuse(
        cage, item->mount, 0,
        "grant it in a directory of its own: { path = \"/data/name\", from = \"…\" }", "",
        after ? after : " is in a directory of the cage");
}

/* Finds the directory in which the tool will see the file. */
static int place(struct tc_cage *cage, struct tc_item *item)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    _autofree_ char *parent = tc_path_parent(item->path);
    char *path = parent ? tc_arena_format(&p->arena, "%s", parent) : NULL;
    const struct tc_item *in = tc_process_holder(p, item->path);
    if (!path)
        return fail(cage, item, ENOMEM, "granted path ", " cannot be placed");
    if (in && in->writable) {
        item->part = shown_by(in, item, path);
        return item->part ? 0
                          : fail(cage, item, 0, "",
                                 " lies in a writable directory that shows "
                                 "something else there");
    }
    if (check_writable(cage, item) < 0)
        return -1;
    if (!in && tc_path_within("/tmp", path)) {
        item->copy = path[4] ? tc_process_own_directory(p, p->storage, path + 5) : p->storage;
    } else if (tc_process_reserved(path) || tc_system_path_find(path) ||
               tc_system_path_below(path)) {
        return refuse_place(cage, item, path);
    } else {
        const struct tc_item *drawer = drawer_at(cage, item, path);
        item->copy = drawer ? drawer->copy : -1;
    }
    return item->copy >= 0
               ? 0
               : fail(cage, item, errno, "the private directory of ", " cannot be made");
}

/* What was cut on its way back is told later, so a place for that is needed now. */
static int open_journals(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const char *where;
    for (size_t i = 0; i < p->item_count && p->journals < 0; i++) {
        const struct tc_item *item = &p->items[i];
        if (!(item->name && !item->part) && !tc_process_copied(cage->plan, item))
            continue;
        p->journals = tc_process_keep(p, tc_journal_open(&where));
        p->held = p->journals < 0 ? -1 : tc_process_keep(p, tc_held_open(&where));
        if (p->held < 0)
            return tc_cage_fail(cage,
                                &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                                 .stage = "journal",
                                                 .subject = where,
                                                 .errnum = errno,
                                                 .hint = "make it writable for you alone, or set "
                                                         "XDG_STATE_HOME to such a directory"},
                                TC_CLAUSE_FS_WRITE,
                                "no journal of what comes back can be kept in %s", where);
    }
    return 0;
}

int tc_process_drawers(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    size_t files = p->item_count;
    for (size_t i = 0; i < files; i++)
        if (p->items[i].name && place(cage, &p->items[i]) < 0)
            return -1;
    if (p->item_count != files)
        tc_process_sort(p);
    for (size_t i = 0; i < p->item_count; i++)
        if (p->items[i].name && !p->items[i].part && copy_in(p, &p->items[i]) < 0)
            return fail(cage, &p->items[i], errno, "cannot copy ", "");
    return open_journals(cage);
}
