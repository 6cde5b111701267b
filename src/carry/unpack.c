/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Writes entries below their grants and nowhere else. Each grant's removals come first, the deepest
 * first, then its entries in the order of strcmp(). The order alone rules out duplicates, so the
 * names need not be remembered. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carry/carry.h"
#include "plan/protocol.h"

enum { STRANGER = 65534, MODES = 0777, SECOND_NS = 1000000000 };

static const char malformed[] = "sent a malformed frame";

void tc_unpack_init(struct tc_unpack *u)
{
    *u = (struct tc_unpack){.place = -1, .owner = (uid_t)-1, .way = TC_WAY(-1), .file = -1};
    u->fresh = true;
    u->paths_max = TC_CARRY_PATHS_MAX;
}

static bool add_root(struct tc_unpack *u, const struct tc_unpack_root *like, char *name)
{
    struct tc_unpack_root *root = name ? TC_PUSH(u->roots, u->count) : NULL;
    if (!root) {
        free(name);
        return false;
    }
    *root = *like;
    root->name = name;
    return true;
}

bool tc_unpack_add(struct tc_unpack *u, int parent, const char *name, bool writable)
{
    const struct tc_unpack_root like = {.parent = parent, .writable = writable};
    return add_root(u, &like, strdup(name));
}

bool tc_unpack_takes(const struct tc_frame *f)
{
    return f->kind == TC_FRAME_ENTRY || f->kind == TC_FRAME_REMOVAL || f->kind == TC_FRAME_BYTES ||
           f->kind == TC_FRAME_FILES_END;
}

/* ---- errors ---- */

static int blame(struct tc_unpack *u, const char *fault)
{
    u->fault = fault;
    return -1;
}

/* A lack of resources is an error of this side; any other failure is the fault of the sender. */
static int fail_unpack(struct tc_unpack *u)
{
    static const int ours[] = {ENOSPC, EFBIG, ENOMEM, EDQUOT, EMFILE, ENFILE, EIO, EINTR};
    for (size_t i = 0; i < TC_COUNT(ours); i++)
        if (errno == ours[i]) {
            u->errnum = errno;
            return -1;
        }
    return blame(u, "sent a change that cannot be applied");
}

/* ---- names ---- */

/* Prefixes the path with its grant's name, relative to the directory that holds the grant. */
static int go_to(struct tc_unpack *u, uint32_t grant, const char *path, const char **ret_name)
{
    const struct tc_unpack_root *root = &u->roots[grant];
    if (u->way_grant != grant || u->way.root != root->parent) {
        tc_way_done(&u->way);
        u->way = TC_WAY(root->parent);
        u->way_grant = grant;
    }
    int n = snprintf(u->full, sizeof(u->full), "%s%s%s", root->name, path[0] ? "/" : "", path);
    if (n < 0 || (size_t)n >= sizeof(u->full)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return tc_way_to(&u->way, u->full, ret_name);
}

static bool in_order(const struct tc_unpack *u, uint32_t grant, bool removing, const char *path)
{
    if (u->fresh || grant != u->grant)
        return u->fresh ? grant >= u->grant : grant > u->grant;
    if (removing != u->removing)
        return !removing;
    int order = strcmp(path, u->last);
    return removing ? order < 0 : order > 0;
}

/* Checks a name and counts it. `path` is not NUL-terminated. */
static int enter_name(struct tc_unpack *u, uint32_t grant, bool removing, const char *path,
                      size_t len)
{
    char text[TC_CARRY_PATH_MAX + 1];
    if (grant >= u->count || (u->place < 0 && !u->roots[grant].writable))
        return blame(u, "modified a read-only grant");
    if (!tc_carry_path(path, len))
        return blame(u, "sent an invalid path");
    memcpy(text, path, len);
    text[len] = '\0';
    if (!in_order(u, grant, removing, text))
        return blame(u, "sent a path twice, or out of order");
    if (u->names-- <= 0)
        return blame(u, "sent more names than its grant allows");
    tc_strcopy(u->last, sizeof(u->last), text);
    u->grant = grant;
    u->removing = removing;
    u->fresh = false;
    return 0;
}

/* ---- owners, modes and times ---- */

static int set_owner(const struct tc_unpack *u, int dir, const char *name,
                     const struct tc_carry_head *head)
{
    uid_t uid = head->flags & TC_CARRY_FOREIGN ? STRANGER : u->owner;
    return u->owner == (uid_t)-1 ? 0 : fchownat(dir, name, uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW);
}

static void set_times(struct timespec *times, const struct tc_carry_head *head)
{
    times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    times[1] = (struct timespec){.tv_sec = head->mtime, .tv_nsec = head->mtime_ns};
}

static int close_file(struct tc_unpack *u)
{
    struct timespec times[2];
    if (u->file < 0)
        return 0;
    set_times(times, &u->head);
    _autofd_ int file = TAKE_FD(u->file);
    uid_t uid = u->head.flags & TC_CARRY_FOREIGN ? STRANGER : u->owner;
    bool fine = ftruncate(file, (off_t)u->head.size) == 0 &&
                (u->owner == (uid_t)-1 || fchown(file, uid, (gid_t)uid) == 0) &&
                fchmod(file, u->head.mode) == 0 && futimens(file, times) == 0;
    return fine ? 0 : fail_unpack(u);
}

static int remember(struct tc_unpack *u, const struct tc_carry_head *head, const char *path)
{
    u->paths += strlen(path) + 1;
    if (u->paths > u->paths_max)
        return blame(u, "sent too many long names of directories");
    struct tc_unpack_directory *d = TC_PUSH(u->directories, u->directory_count);
    if (d)
        *d =
            (struct tc_unpack_directory){.grant = head->grant, .path = strdup(path), .head = *head};
    if (d && d->path)
        return 0;
    errno = ENOMEM;
    return fail_unpack(u);
}

/* ---- entries ---- */

static int take_directory(struct tc_unpack *u, int dir, const char *name,
                          const struct tc_carry_head *head)
{
    const struct tc_unpack_root *root = &u->roots[head->grant];
    struct stat st;
    bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there ? !S_ISDIR(st.st_mode) : mkdirat(dir, name, 0700) < 0) {
        errno = there ? EEXIST : errno;
        return fail_unpack(u);
    }
    if (u->store && root->writable && !u->last[0] &&
        u->store(dir, name, root->room, root->names) < 0)
        return fail_unpack(u);
    return set_owner(u, dir, name, head) < 0 ? fail_unpack(u) : remember(u, head, u->last);
}

/* An entry of the same type may already have this name. */
static int make_room(int dir, const char *name)
{
    return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -1 : 0;
}

static int take_file(struct tc_unpack *u, int dir, const char *name,
                     const struct tc_carry_head *head)
{
    if (head->size > INT64_MAX)
        return blame(u, malformed);
    if (make_room(dir, name) < 0)
        return fail_unpack(u);
    u->file =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    u->offset = 0;
    u->head = *head;
    return u->file < 0 ? fail_unpack(u) : 0;
}

static int take_link(struct tc_unpack *u, int dir, const char *name,
                     const struct tc_carry_head *head, const char *target, size_t len)
{
    struct timespec times[2];
    if (len == 0 || len > TC_CARRY_PATH_MAX || memchr(target, '\0', len))
        return blame(u, malformed);
    _autofree_ char *text = strndup(target, len);
    set_times(times, head);
    bool fine = text && make_room(dir, name) == 0 && symlinkat(text, dir, name) == 0 &&
                set_owner(u, dir, name, head) == 0 &&
                utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) == 0;
    return fine ? 0 : fail_unpack(u);
}

static int take_grant(struct tc_unpack *u, const struct tc_carry_head *head)
{
    if (u->place < 0 || head->grant != u->count || u->count == TC_CARRY_GRANTS_MAX ||
        head->path_len)
        return blame(u, "sent a frame that only the host may send");
    const struct tc_unpack_root like = {.parent = u->place,
                                        .writable = head->flags & TC_CARRY_WRITABLE,
                                        .room = head->size,
                                        .names = head->names};
    u->grant = head->grant;
    u->fresh = true;
    errno = ENOMEM;
    return add_root(u, &like, tc_format("%u", head->grant)) ? 0 : fail_unpack(u);
}

static int take_entry(struct tc_unpack *u, const struct tc_frame *f)
{
    struct tc_carry_head head;
    const char *path = f->bytes + sizeof(head), *name;
    if (f->len < sizeof(head))
        return blame(u, malformed);
    memcpy(&head, f->bytes, sizeof(head));
    size_t rest = f->len - sizeof(head);
    if (head.path_len > rest || head.mode & ~(unsigned)MODES || head.mtime_ns >= SECOND_NS ||
        (head.kind != TC_CARRY_LINK && head.path_len != rest))
        return blame(u, malformed);
    if (head.kind == TC_CARRY_GRANT)
        return take_grant(u, &head);
    if (head.kind < TC_CARRY_DIRECTORY || head.kind > TC_CARRY_LINK)
        return blame(u, "sent an entry that is not a file, directory or link");
    if (enter_name(u, head.grant, false, path, head.path_len) < 0)
        return -1;
    int dir = go_to(u, head.grant, u->last, &name);
    if (dir < 0)
        return fail_unpack(u);
    if (head.kind == TC_CARRY_DIRECTORY)
        return take_directory(u, dir, name, &head);
    if (head.kind == TC_CARRY_FILE)
        return take_file(u, dir, name, &head);
    return take_link(u, dir, name, &head, path + head.path_len, rest - head.path_len);
}

static int take_removal(struct tc_unpack *u, const struct tc_frame *f)
{
    uint32_t grant;
    const char *name;
    struct stat st;
    if (f->len < sizeof(grant))
        return blame(u, malformed);
    memcpy(&grant, f->bytes, sizeof(grant));
    if (enter_name(u, grant, true, f->bytes + sizeof(grant), f->len - sizeof(grant)) < 0)
        return -1;
    int dir = go_to(u, grant, u->last, &name);
    bool fine = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) == 0;
    return fine ? 0 : fail_unpack(u);
}

/* ---- bytes ---- */

static int take_bytes(struct tc_unpack *u, const struct tc_frame *f)
{
    uint64_t at;
    if (u->file < 0 || f->len <= sizeof(at))
        return blame(u, "sent bytes without a file");
    memcpy(&at, f->bytes, sizeof(at));
    const char *bytes = f->bytes + sizeof(at);
    size_t len = f->len - sizeof(at);
    if (at < u->offset || at > u->head.size || len > u->head.size - at)
        return blame(u, "sent bytes beyond the end of their file");
    u->bytes -= (int64_t)len;
    if (u->bytes < 0)
        return blame(u, "sent more bytes than its grant allows");
    u->offset = at + len;
    while (len) {
        ssize_t n = pwrite(u->file, bytes, len, (off_t)at);
        if (n < 0 && errno != EINTR)
            return fail_unpack(u);
        bytes += n > 0 ? n : 0;
        at += n > 0 ? (uint64_t)n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* ---- the end ---- */

/* Another process may have exchanged the directory for a link. AT_SYMLINK_NOFOLLOW needs /proc. */
static int set_mode(int dir, const char *name, mode_t mode)
{
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return fchmod(fd, mode);
    return errno == EACCES ? fchmodat(dir, name, mode, AT_SYMLINK_NOFOLLOW) : -1;
}

/* Modes come last because they could forbid creating the entries, times because creating entries
 * changes them. */
static int finish_unpack(struct tc_unpack *u)
{
    for (size_t i = u->directory_count; i-- > 0;) {
        const struct tc_unpack_directory *d = &u->directories[i];
        struct timespec times[2];
        const char *name;
        set_times(times, &d->head);
        int dir = go_to(u, d->grant, d->path, &name);
        if (dir < 0 || set_mode(dir, name, d->head.mode) < 0 ||
            utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
            return fail_unpack(u);
    }
    u->ended = true;
    return 0;
}

int tc_unpack_take(struct tc_unpack *u, const struct tc_frame *f)
{
    if (u->fault || u->errnum)
        return -1;
    if (u->ended)
        return blame(u, "sent files after the last one");
    if (f->kind == TC_FRAME_BYTES)
        return take_bytes(u, f);
    if (close_file(u) < 0)
        return -1;
    switch (f->kind) {
    case TC_FRAME_ENTRY:
        return take_entry(u, f);
    case TC_FRAME_REMOVAL:
        return take_removal(u, f);
    case TC_FRAME_FILES_END:
        return f->len ? blame(u, malformed) : finish_unpack(u);
    default:
        return blame(u, malformed);
    }
}

void tc_unpack_done(struct tc_unpack *u)
{
    if (u->file >= 0)
        (void)close(TAKE_FD(u->file));
    tc_way_done(&u->way);
    for (size_t i = 0; i < u->count; i++)
        free(u->roots[i].name);
    free(u->roots);
    for (size_t i = 0; i < u->directory_count; i++)
        free(u->directories[i].path);
    free(u->directories);
    tc_unpack_init(u);
}
