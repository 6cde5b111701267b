/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * For each tree, first the removed names, the deepest first, then the entries, directories first. A
 * tree may change while it is read: entries removed meanwhile are left out, and a file that became
 * shorter is padded with zeros. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "carry/carry.h"
#include "plan/protocol.h"

enum phase { ANNOUNCE, REMOVALS, ENTRIES, END, OVER };
enum { BLOCK = 512, PIECE = TC_MESSAGE_BYTES_MAX - (int)sizeof(uint64_t) };

void tc_pack_init(struct tc_pack *p)
{
    *p = (struct tc_pack){.paths_max = SIZE_MAX, .file = -1, .way = TC_WAY(-1)};
}

bool tc_pack_add(struct tc_pack *p, uint32_t grant, const char *path, bool writable)
{
    struct tc_pack_root *root = TC_PUSH(p->roots, p->count);
    _autofree_ char *parent = tc_path_parent(path);
    if (!root)
        return false;
    *root = (struct tc_pack_root){.grant = grant, .parent = -1, .writable = writable};
    root->name = strdup(tc_path_base(path));
    if (!parent || !root->name)
        return false;
    root->parent = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root->parent >= 0 || errno == ENOENT || errno == ENOTDIR;
}

int64_t tc_pack_bytes(const struct tc_carry_seen *seen)
{
    uint64_t held = seen->blocks * BLOCK;
    if (!S_ISREG(seen->mode))
        return 0;
    return (int64_t)(held < seen->size ? held : seen->size);
}

int tc_pack_look(struct tc_pack *p, size_t most, size_t *ret_root)
{
    p->bytes = p->names = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct tc_pack_root *root = &p->roots[i];
        *ret_root = i;
        tc_inventory_done(&root->before);
        root->before = root->after;
        root->after = (struct tc_inventory){0};
        if (root->parent >= 0 &&
            tc_inventory_take(&root->after, root->parent, root->name, &root->skip,
                              most - (size_t)p->names, p->paths_max) < 0)
            return -1;
        p->names += (int64_t)root->after.count;
        for (size_t k = 0; k < root->after.count; k++)
            p->bytes += tc_pack_bytes(&root->after.items[k]);
    }
    p->root = p->at = p->was = 0;
    p->phase = p->announces ? ANNOUNCE : REMOVALS;
    p->was = p->count ? p->roots[0].before.count : 0;
    return 0;
}

/* ---- changes ---- */

static bool same_time(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct tc_carry_seen *a, const struct tc_carry_seen *b)
{
    if (a->mode != b->mode || a->uid != b->uid)
        return false;
    return S_ISDIR(a->mode) || (a->inode == b->inode && a->size == b->size &&
                                same_time(&a->mtime, &b->mtime) && same_time(&a->ctime, &b->ctime));
}

static int compare_seen(const void *path, const void *seen)
{
    return strcmp(path, ((const struct tc_carry_seen *)seen)->path);
}

static const struct tc_carry_seen *find_seen(const struct tc_inventory *c, const char *path)
{
    return c->count ? bsearch(path, c->items, c->count, sizeof(*c->items), compare_seen) : NULL;
}

static bool gone(const struct tc_pack_root *root, const struct tc_carry_seen *was)
{
    const struct tc_carry_seen *now = find_seen(&root->after, was->path);
    return !now || (now->mode & S_IFMT) != (was->mode & S_IFMT);
}

/* ---- frames ---- */

static void put_frame(struct tc_buf *out, enum tc_frame_kind kind, const void *head,
                      size_t head_len, const char *const *texts)
{
    _autobuf_ struct tc_buf body = TC_BUF_INIT;
    tc_buf_add(&body, head, head_len);
    for (; *texts; texts++)
        tc_buf_adds(&body, *texts);
    out->failed = out->failed || body.failed;
    if (!body.failed)
        tc_frame_put(out, kind, body.data, body.len);
}

static void put_entry(struct tc_buf *out, struct tc_carry_head *head, const char *path,
                      const char *target)
{
    head->path_len = (uint32_t)strlen(path);
    put_frame(out, TC_FRAME_ENTRY, head, sizeof(*head), (const char *const[]){path, target, NULL});
}

static void announce(const struct tc_pack *p, struct tc_buf *out)
{
    const struct tc_pack_root *root = &p->roots[p->root];
    struct tc_carry_head head = {.grant = root->grant,
                                 .kind = TC_CARRY_GRANT,
                                 .flags = root->writable ? TC_CARRY_WRITABLE : 0,
                                 .size = root->room,
                                 .names = root->names};
    put_entry(out, &head, "", NULL);
}

static void remove_entry(const struct tc_pack *p, const char *path, struct tc_buf *out)
{
    uint32_t grant = p->roots[p->root].grant;
    put_frame(out, TC_FRAME_REMOVAL, &grant, sizeof(grant), (const char *const[]){path, NULL});
}

/* A file that its owner cannot read is sent empty with mode 0: unreadable in the VM, too. */
static void open_file(struct tc_pack *p, int dir, const char *name, struct tc_carry_head *head)
{
    struct stat st;
    p->file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    p->offset = p->size = 0;
    if (p->file >= 0 && fstat(p->file, &st) == 0 && S_ISREG(st.st_mode))
        p->size = head->size = (uint64_t)st.st_size;
    else
        head->mode = 0;
}

static int add_entry(struct tc_pack *p, const struct tc_carry_seen *seen, struct tc_buf *out)
{
    struct tc_pack_root *root = &p->roots[p->root];
    _autofree_ char *path = tc_format("%s%s%s", root->name, seen->path[0] ? "/" : "", seen->path);
    char target[TC_CARRY_PATH_MAX + 1] = "";
    const char *name;
    struct tc_carry_head head = {.grant = root->grant,
                                 .mode = seen->mode & 0777,
                                 .flags = seen->uid == geteuid() ? 0 : TC_CARRY_FOREIGN,
                                 .mtime = seen->mtime.tv_sec,
                                 .mtime_ns = seen->mtime.tv_nsec};
    p->way.root = root->parent;
    int dir = path ? tc_way_to(&p->way, path, &name) : -1;
    if (!path)
        return -1;
    if (dir < 0)
        return 0; /* removed meanwhile */
    head.kind = S_ISDIR(seen->mode)   ? TC_CARRY_DIRECTORY
                : S_ISLNK(seen->mode) ? TC_CARRY_LINK
                                      : TC_CARRY_FILE;
    if (head.kind == TC_CARRY_FILE)
        open_file(p, dir, name, &head);
    ssize_t n = head.kind == TC_CARRY_LINK ? readlinkat(dir, name, target, sizeof(target)) : 1;
    if (n <= 0 || (size_t)n == sizeof(target))
        return 0; /* removed meanwhile; or the target exceeds TC_CARRY_PATH_MAX */
    put_entry(out, &head, seen->path, head.kind == TC_CARRY_LINK ? target : NULL);
    return 0;
}

static void close_file(struct tc_pack *p)
{
    if (p->file >= 0)
        (void)close(TAKE_FD(p->file));
}

/* Skips holes. */
static int add_bytes(struct tc_pack *p, struct tc_buf *out)
{
    char bytes[sizeof(uint64_t) + PIECE];
    off_t data = p->offset < p->size ? lseek(p->file, (off_t)p->offset, SEEK_DATA) : -1;
    off_t end = data < 0 ? -1 : lseek(p->file, data, SEEK_HOLE);
    if (data < 0 || end < 0 || (uint64_t)data >= p->size) {
        close_file(p);
        return 0;
    }
    if ((uint64_t)end > p->size)
        end = (off_t)p->size;
    size_t most = end - data < PIECE ? (size_t)(end - data) : PIECE;
    ssize_t n = pread(p->file, bytes + sizeof(uint64_t), most, data);
    if (n < 0)
        return -1;
    if (n == 0) {
        close_file(p);
        return 0;
    }
    uint64_t at = (uint64_t)data;
    memcpy(bytes, &at, sizeof(at));
    tc_frame_put(out, TC_FRAME_BYTES, bytes, sizeof(at) + (size_t)n);
    p->offset = at + (uint64_t)n;
    return 0;
}

/* ---- the sequence ---- */

static void next_root(struct tc_pack *p)
{
    tc_way_done(&p->way);
    p->root++;
    p->at = 0;
    p->was = p->root < p->count ? p->roots[p->root].before.count : 0;
    p->phase = p->announces ? ANNOUNCE : REMOVALS;
}

static int advance(struct tc_pack *p, struct tc_buf *out)
{
    struct tc_pack_root *root = p->root < p->count ? &p->roots[p->root] : NULL;
    if (p->file >= 0)
        return add_bytes(p, out);
    if (!root) {
        tc_frame_put(out, TC_FRAME_FILES_END, NULL, 0);
        p->phase = OVER;
        return 0;
    }
    if (p->phase == ANNOUNCE) {
        announce(p, out);
        p->phase = REMOVALS;
    } else if (p->phase == REMOVALS && p->was) {
        const struct tc_carry_seen *was = &root->before.items[--p->was];
        if (gone(root, was))
            remove_entry(p, was->path, out);
    } else if (p->phase == REMOVALS) {
        p->phase = ENTRIES;
    } else if (p->at < root->after.count) {
        const struct tc_carry_seen *now = &root->after.items[p->at++];
        const struct tc_carry_seen *was = find_seen(&root->before, now->path);
        return was && same(was, now) ? 0 : add_entry(p, now, out);
    } else {
        next_root(p);
    }
    return 0;
}

int tc_pack_next(struct tc_pack *p, struct tc_buf *out)
{
    size_t before = out->len;
    while (p->phase != OVER && out->len == before && !out->failed)
        if (advance(p, out) < 0)
            return -1;
    if (out->failed)
        errno = ENOMEM;
    return out->failed ? -1 : p->phase != OVER || out->len != before;
}

void tc_pack_done(struct tc_pack *p)
{
    close_file(p);
    tc_way_done(&p->way);
    for (size_t i = 0; i < p->count; i++) {
        struct tc_pack_root *root = &p->roots[i];
        if (root->parent >= 0)
            (void)close(root->parent);
        free(root->name);
        tc_strv_done(&root->skip);
        tc_inventory_done(&root->before);
        tc_inventory_done(&root->after);
    }
    free(p->roots);
    tc_pack_init(p);
}
