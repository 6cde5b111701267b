/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Applies the list of a commit to the host. Each step checks that its target is still the version
 * that was decided upon; another one stays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "linux/mounts.h"
#include "tree/steering.h"
#include "workspace/copy.h"
#include "workspace/steps.h"

/* ---- the directories of a step ---- */

static void leave(struct tc_steps_near *n)
{
    if (n->fd >= 0)
        (void)close(n->fd);
    n->fd = -1;
}

/* The directory that contains `relative`, below `top`; an fd that the next call may close. */
static int parent_of(struct tc_steps_near *n, size_t root, int top, const char *relative)
{
    size_t len = (size_t)(tc_path_base(relative) - relative);
    if (n->fd >= 0 && n->root == root && strncmp(n->path, relative, len) == 0 && !n->path[len])
        return n->fd;
    leave(n);
    n->fd = tc_resolve_parent(top, relative);
    n->root = root;
    (void)snprintf(n->path, sizeof(n->path), "%.*s", (int)len, relative);
    return n->fd;
}

/* Its directory on the host has changed, or could not be used. */
static const char *elsewhere(void)
{
    return tc_resolve_gone(errno) || errno == EXDEV ? tc_commit_conflict : tc_commit_undone;
}

/* Where the new version of a file is before it gets its name on the host. */
struct made {
    int dir;
    char name[NAME_MAX + 1];
};

static int find_made(struct tc_steps *s, const struct tc_step *step, struct made *made)
{
    const struct tc_step_root *r = &s->roots[step->root];
    struct tc_steps_near *n = &s->from;
    if (step->place < 0) {
        made->dir = parent_of(n, step->root, r->copy, step->relative);
        tc_strcopy(made->name, sizeof(made->name), tc_path_base(step->relative));
        return made->dir;
    }
    size_t root = SIZE_MAX - (size_t)step->place; /* not a root of a layer */
    tc_steps_file_name(s, step, made->name);
    if (n->fd >= 0 && n->root == root)
        return made->dir = n->fd;
    leave(n);
    n->fd = tc_steps_open_place(s, (size_t)step->place);
    n->root = root;
    return made->dir = n->fd;
}

/* ---- versions ---- */

int64_t tc_step_born(const struct statx *st)
{
    return st->stx_mask & STATX_BTIME
               ? (int64_t)st->stx_btime.tv_sec * 1000000000 + st->stx_btime.tv_nsec
               : 0;
}

static int look(int dir, const char *name, struct statx *st)
{
    return statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, st);
}

/* Its ctime is not compared: taking or giving it a name changes that. */
static bool is_version(const struct tc_version *wanted, const struct statx *st)
{
    struct tc_version now = tc_workspace_version(st);
    now.ctime = wanted->ctime;
    return wanted->inode && tc_version_same(wanted, &now);
}

/* Is it the entry that the step was decided upon? */
static bool is_target(const struct tc_step *step, const struct statx *st)
{
    const struct tc_version *was = &step->was;
    if (step->born_ns && tc_step_born(st) && step->born_ns != tc_step_born(st))
        return false;
    if (S_ISDIR(was->mode)) /* removing entries has set its times */
        return was->inode == st->stx_ino && S_ISDIR(st->stx_mode);
    return is_version(was, st) && (step->loose || tc_time_same(&was->ctime, &st->stx_ctime));
}

void tc_step_expect(struct tc_step *step, const struct statx *st)
{
    step->was = tc_workspace_version(st);
    step->born_ns = tc_step_born(st);
    step->loose = st->stx_nlink > 1;
}

/* ---- steps ---- */

static const char *remove_name(struct tc_steps *s, const struct tc_step *step)
{
    const char *name = tc_path_base(step->relative);
    struct statx st;
    int dir = parent_of(&s->to, step->root, s->roots[step->root].fd, step->relative);
    if (dir < 0)
        return s->again && tc_resolve_gone(errno) ? NULL : elsewhere();
    if (look(dir, name, &st) < 0)
        return errno == ENOENT ? NULL : elsewhere();
    if (!is_target(step, &st))
        return tc_commit_conflict;
    bool directory = S_ISDIR(st.stx_mode);
    if (unlinkat(dir, name, directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
        return NULL;
    return errno == ENOTEMPTY || errno == EEXIST ? tc_commit_conflict : tc_commit_undone;
}

/* Gives a new entry to the owner of the workspace. The owner may have replaced it meanwhile, so
 * only an entry that this process made and that has a single name is given. */
int tc_step_give(int dir, const char *name, unsigned type, uid_t uid, gid_t gid)
{
    struct stat st;
    _autofd_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if ((st.st_mode & S_IFMT) != type || st.st_uid != geteuid() ||
        (type != S_IFDIR && st.st_nlink != 1)) {
        errno = ESTALE;
        return -1;
    }
    return st.st_uid == uid && st.st_gid == gid ? 0 : fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
}

static bool inherits(int dir)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
    return getxattr(path, "system.posix_acl_default", NULL, 0) >= 0;
}

/* A new directory has the mode that the step says, whatever the umask of this process is. */
static int set_made(int dir, const struct stat *st, unsigned made)
{
    char path[64];
    unsigned rights = inherits(dir) ? st->st_mode & 0777 : made & 0777;
    rights |= (st->st_mode | made) & S_ISGID;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
    return tc_rights(st->st_mode) == rights ? 0 : chmod(path, (st->st_mode & 05000) | rights);
}

static bool is_empty(int dir)
{
    struct dirent *e;
    _autodir_ DIR *all = tc_list_dir(dir);
    return all && tc_next_entry(all, &e) == 0;
}

/* Completes a directory that this process, or one that was killed, made a moment ago. The owner of
 * the workspace could have put another one in its place: one of this user's, even if no one else
 * could enter it. So it must be empty, and is used by its descriptor only. */
static int finish_directory(const struct tc_steps *s, const struct tc_step *step, int parent)
{
    const struct tc_step_root *r = &s->roots[step->root];
    struct stat st;
    _autofd_ int dir =
        openat(parent, tc_path_base(step->relative), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return -1;
    bool ours = st.st_uid == geteuid(), strict = s->privileged || s->again;
    errno = ESTALE;
    if ((!ours && st.st_uid != (uid_t)r->uid) || (strict && !is_empty(dir)))
        return -1;
    if (!ours) /* a process that was killed has given it already */
        return 0;
    if (set_made(dir, &st, step->made) < 0)
        return -1;
    return s->privileged ? fchownat(dir, "", (uid_t)r->uid, (gid_t)r->gid, AT_EMPTY_PATH) : 0;
}

/* A directory is writable until its entries are committed; then it gets its permissions. One that
 * this commit did not make is another one when a later process completes it. */
static const char *make_directory(struct tc_steps *s, const struct tc_step *step)
{
    const char *name = tc_path_base(step->relative);
    struct stat st;
    int dir = parent_of(&s->to, step->root, s->roots[step->root].fd, step->relative);
    if (dir < 0)
        return elsewhere();
    if (mkdirat(dir, name, step->made) < 0) {
        if (errno != EEXIST)
            return elsewhere();
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
            return tc_commit_conflict;
        if (!s->again)
            return NULL;
        if (!s->pending || st.st_mode & 0777 & ~step->made)
            return tc_commit_conflict;
    }
    return finish_directory(s, step, dir) == 0 ? NULL
           : errno == ESTALE && s->again       ? tc_commit_conflict
                                               : tc_commit_undone;
}

/* The host's entry is as it was, if the two directories turn out to be on different disks. */
static const char *not_renamed(void)
{
    return errno == EXDEV ? tc_commit_undone : elsewhere();
}

/* Installs the new version by one rename, so that readers see the old or the new version. If
 * another process replaces the name at this moment, its version is not lost: the rename is undone.
 */
static const char *replace_name(const struct made *made, int dir, const char *name,
                                const struct tc_step *step)
{
    struct statx st;
    if (!step->was.inode) {
        if (renameat2(made->dir, made->name, dir, name, RENAME_NOREPLACE) == 0)
            return NULL;
        if (errno != EINVAL) /* the file system does not support the flag */
            return errno == EEXIST ? tc_commit_conflict : not_renamed();
    } else {
        if (renameat2(made->dir, made->name, dir, name, RENAME_EXCHANGE) == 0) {
            if (look(made->dir, made->name, &st) == 0 && is_version(&step->was, &st))
                return NULL;
            if (renameat2(made->dir, made->name, dir, name, RENAME_EXCHANGE) < 0)
                (void)renameat2(made->dir, made->name, dir, name, RENAME_NOREPLACE);
            return tc_commit_conflict;
        }
        if (errno != EINVAL)
            return not_renamed();
    }
    return renameat(made->dir, made->name, dir, name) == 0 ? NULL : not_renamed();
}

/* Starts to write the data to the disk, so that after a power failure the file is not empty. File
 * systems do that themselves for a rename over another file, but not for RENAME_EXCHANGE. */
static void begin_writing(const struct made *made, const struct tc_step *step)
{
    bool wanted = step->was.inode && S_ISREG(step->now.mode);
    _autofd_ int fd =
        wanted ? openat(made->dir, made->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0)
        (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

bool tc_steps_waits(const char *held, int errnum)
{
    static const int passing[] = {ENOSPC, EDQUOT, EIO, ENOMEM, EMFILE, ENFILE};
    for (size_t i = 0; held == tc_commit_undone && i < TC_COUNT(passing); i++)
        if (passing[i] == errnum)
            return true;
    return false;
}

/* A later process has nothing but the list: it keeps that until it knows that the step will never
 * be taken. A file system may be read-only or not mounted for now. */
static bool stays(const struct tc_steps *s, const char *held, int errnum)
{
    bool final = errnum == ENOENT || errnum == ESTALE;
    return tc_steps_waits(held, errnum) || (s->again && held == tc_commit_undone && !final);
}

/* The new version has left its place: is it where it belongs, or did the user change it since? It
 * is lost if the host has still the old one. */
static const char *is_put(struct tc_steps *s, const struct tc_step *step)
{
    struct statx st;
    int dir = parent_of(&s->to, step->root, s->roots[step->root].fd, step->relative);
    bool old = step->was.inode && dir >= 0 && look(dir, tc_path_base(step->relative), &st) == 0 &&
               is_target(step, &st);
    errno = ENOENT;
    return old || !s->again ? tc_commit_undone : NULL;
}

/* The place of the new version has something else: the old version, if the step was taken. What
 * else it is may be forged, so it never gets the name on the host. */
static const char *is_exchanged(struct tc_steps *s, const struct tc_step *step,
                                const struct statx *there)
{
    struct statx st;
    int dir = parent_of(&s->to, step->root, s->roots[step->root].fd, step->relative);
    if (is_version(&step->was, there) ||
        (dir >= 0 && look(dir, tc_path_base(step->relative), &st) == 0 &&
         is_version(&step->now, &st)))
        return NULL;
    errno = ESTALE;
    return tc_commit_undone;
}

/* Another process could write to a staged file, or give it a second name. */
static bool is_untouched(const struct tc_step *step, const struct statx *staged)
{
    return staged->stx_nlink == 1 && tc_time_same(&step->now.ctime, &staged->stx_ctime);
}

static const char *put(struct tc_steps *s, const struct tc_step *step, const struct made *made)
{
    const char *name = tc_path_base(step->relative);
    struct statx st;
    if (look(made->dir, made->name, &st) < 0)
        return errno == ENOENT ? is_put(s, step) : tc_commit_undone;
    if (!is_version(&step->now, &st) || (step->place >= 0 && !is_untouched(step, &st)))
        return is_exchanged(s, step, &st);
    int dir = parent_of(&s->to, step->root, s->roots[step->root].fd, step->relative);
    if (dir < 0)
        return elsewhere();
    if (look(dir, name, &st) < 0) {
        if (errno != ENOENT)
            return elsewhere();
        if (step->was.inode)
            return tc_commit_conflict;
    } else if (!step->was.inode || !is_target(step, &st)) {
        return tc_commit_conflict;
    }
    begin_writing(made, step);
    return replace_name(made, dir, name, step);
}

static const char *put_new(struct tc_steps *s, const struct tc_step *step)
{
    struct made made;
    if (find_made(s, step, &made) < 0)
        return tc_resolve_gone(errno) ? is_put(s, step) : tc_commit_undone;
    const char *held = put(s, step, &made);
    int saved = errno;
    if (step->place >= 0 && !stays(s, held, saved))
        (void)unlinkat(made.dir, made.name, 0); /* the old version, if the two were exchanged */
    errno = saved;
    return held;
}

static const char *set_mode(struct tc_steps *s, const struct tc_step *step)
{
    const struct tc_step_root *r = &s->roots[step->root];
    struct statx st;
    char path[64];
    _autofd_ int fd = tc_resolve_beneath(r->fd, step->relative[0] ? step->relative : ".");
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
        return elsewhere();
    if (!S_ISDIR(st.stx_mode) || (step->was.inode && !is_target(step, &st)))
        return tc_commit_conflict;
    if (tc_rights(st.stx_mode) == step->mode)
        return NULL;
    errno = ESTALE;
    if (s->privileged && st.stx_uid != (uid_t)r->uid)
        return tc_commit_undone;
    if (tc_rights(st.stx_mode) != step->made)
        return step->fresh ? NULL : tc_commit_conflict;
    tc_steps_clear_in(s, step->root, step->relative); /* while it is writable */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, (st.stx_mode & 05000U) | step->mode) == 0 ? NULL : tc_commit_undone;
}

static bool has(int dir, const char *piece, const char *name)
{
    return strcmp(piece, name) == 0 || tc_steers_there(dir, piece);
}

/* With the name in it, would git read the directory as a bare repository, which the name steers or
 * completes? */
static bool steers_in(int dir, const char *name, bool link)
{
    const unsigned when = tc_bare_when(name);
    bool bare = has(dir, "HEAD", name) && ((has(dir, "objects", name) && has(dir, "refs", name)) ||
                                           has(dir, "commondir", name));
    if (!bare || link || when & TC_BARE_BACK)
        return bare;
    bool whole = !(when & TC_BARE_MAKES) || tc_steers_there(dir, name);
    for (const struct tc_bare *piece = tc_bare; !whole && piece->name; piece++)
        if (piece->when & TC_BARE_BACK && tc_steers_there(dir, piece->name))
            return true;
    return false;
}

bool tc_step_bare(int root, const struct tc_step *step)
{
    bool link = S_ISLNK(step->now.mode);
    char place[PATH_MAX], name[NAME_MAX + 1];
    tc_strcopy(place, sizeof(place), step->relative);
    for (char *end = strchr(place, '\0'), *at = end; at > place;) {
        *at = '\0'; /* without what is below, which was examined */
        char *slash = strrchr(place, '/');
        tc_strcopy(name, sizeof(name), tc_path_base(place));
        at = slash ? slash : place;
        if (!link && !tc_bare_when(name))
            continue;
        *at = '\0';
        if (strcmp(tc_path_base(place), ".git") == 0)
            continue;
        _autofd_ int dir = tc_resolve_beneath(root, place[0] ? place : ".");
        if (dir >= 0 ? steers_in(dir, name, link) : !tc_resolve_gone(errno))
            return true;
    }
    return false;
}

/* Are the pieces of a bare repository gone, without which the step steers nothing? */
static bool stands(const struct tc_steps *s, const struct tc_step *step)
{
    struct statx st;
    if (s->again && !step->bare && tc_step_bare(s->roots[step->root].fd, step))
        return false;
    for (const struct tc_step *r = s->steps; step->leans && r < step; r++) {
        const char *name = tc_path_base(r->relative);
        size_t above = (size_t)(name - r->relative);
        if (r->kind != TC_STEP_REMOVE || r->root != step->root || !tc_bare_when(name) ||
            strncmp(r->relative, step->relative, above) != 0)
            continue;
        _autofd_ int dir = tc_resolve_parent(s->roots[r->root].fd, r->relative);
        if (dir >= 0 ? look(dir, name, &st) == 0 || errno != ENOENT : !tc_resolve_gone(errno))
            return false;
    }
    return true;
}

/* Notes how many steps were taken. A file's new place shows that itself. */
static int note(struct tc_steps *s, uint64_t done)
{
    s->done = done++;
    s->pending = false;
    return s->journal < 0 ||
                   pwrite(s->journal, &done, sizeof(done), s->counter) == (ssize_t)sizeof(done)
               ? 0
               : -1;
}

int tc_steps_apply(struct tc_steps *s, tc_steps_failed *failed, void *userdata, size_t *ret_left)
{
    static const char *(*const take[TC_STEP_KINDS])(struct tc_steps *, const struct tc_step *) = {
        [TC_STEP_REMOVE] = remove_name,
        [TC_STEP_MAKE] = make_directory,
        [TC_STEP_PUT] = put_new,
        [TC_STEP_MODE] = set_mode};
    int rc = 0;
    bool stopped = false;
    size_t i = s->done;
    s->pending = s->again;
    for (; rc == 0 && i < s->count; i++) {
        const struct tc_step *step = &s->steps[i];
        const char *held =
            !stopped && stands(s, step) ? take[step->kind](s, step) : tc_commit_conflict;
        if (stays(s, held, errno))
            break;
        if (held)
            failed(userdata, i, held);
        /* what follows may be meant for this directory, and it is another one */
        stopped = stopped || (held && s->again && step->kind == TC_STEP_MAKE);
        if (step->kind != TC_STEP_PUT && !stopped)
            rc = note(s, i + 1);
    }
    int saved = errno;
    leave(&s->from);
    leave(&s->to);
    if (i == s->count && rc == 0)
        tc_steps_clear(s);
    *ret_left = i;
    errno = saved;
    return i == s->count && rc == 0 ? 0 : -1;
}
