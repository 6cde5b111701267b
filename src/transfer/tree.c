/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Directories are the frames of carry, whose reader follows no link and accepts each name once. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/strv.h"
#include "carry/carry.h"
#include "linux/walk.h"
#include "plan/protocol.h"
#include "state/store.h"
#include "transfer/transfer.h"

/* ---- send ---- */

/* A file of the kernel has size 0 and bytes nevertheless. */
static bool is_unmeasured(const struct tc_walk_entry *e)
{
    char byte;
    _autofd_ int fd =
        e->st->stx_size
            ? -1
            : openat(e->dirfd, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && pread(fd, &byte, 1, 0) != 0;
}

static int visit(void *userdata, const struct tc_walk_entry *e)
{
    unsigned mode = e->st->stx_mode;
    struct tc_transfer_state *t = userdata;
    if (S_ISLNK(mode))
        return 0;
    if (!S_ISREG(mode) && !S_ISDIR(mode))
        return tc_transfer_fail(t, e->relative, "is not a file, directory or link", 0);
    int access = S_ISDIR(mode) ? R_OK | X_OK : R_OK;
    if (faccessat(e->dirfd, e->name, access, 0) < 0)
        return tc_transfer_fail(t, e->relative, "cannot be read", errno);
    return S_ISREG(mode) && is_unmeasured(e)
               ? tc_transfer_fail(t, e->relative, "is a file of the kernel, which has no size", 0)
               : 0;
}

/* Names what the inventory would leave out. */
static int check_tree(struct tc_transfer_state *t, int parent, const char *name)
{
    struct tc_walk walk = {.visit = visit, .userdata = t, .entries_max = TC_TRANSFER_NAMES_MAX};
    _autofd_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return tc_transfer_fail(t, NULL, "cannot be read", errno);
    if (tc_walk(&walk, fd) < 0)
        return t->fault ? -1 : tc_transfer_fail(t, walk.path, "cannot be read", errno);
    return walk.skipped ? tc_transfer_fail(t, walk.left, "is beyond the limits of a directory", 0)
                        : 0;
}

/* Hashes a frame, and counts the size of a file with its holes, of which its bytes are a part. */
static int note_frame(struct tc_transfer_state *t, const struct tc_frame *f)
{
    const uint32_t kinds[] = {f->kind, (uint32_t)f->len};
    struct tc_carry_head head = {0};
    SHA256Update(&t->hash, (const unsigned char *)kinds, sizeof(kinds));
    SHA256Update(&t->hash, (const unsigned char *)f->bytes, f->len);
    if (f->kind == TC_FRAME_ENTRY && f->len >= sizeof(head))
        memcpy(&head, f->bytes, sizeof(head));
    if (head.kind != TC_CARRY_FILE)
        return 0;
    if (head.size > (uint64_t)(t->most - t->bytes))
        return tc_transfer_fail(t, NULL, "has more bytes than the limit allows (--max-size)", 0);
    t->bytes += (int64_t)head.size;
    return 0;
}

static int send_frames(struct tc_transfer_state *t, struct tc_pack *pack)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    int rc;
    while ((rc = tc_pack_next(pack, &out)) > 0) {
        struct tc_frame f = {.bytes = out.data + TC_FRAME_HEAD, .len = out.len - TC_FRAME_HEAD};
        memcpy(&f.kind, out.data, sizeof(f.kind));
        if (note_frame(t, &f) < 0 || tc_transfer_write(t, out.data, out.len) < 0)
            return -1;
        out.len = 0;
    }
    return rc < 0 ? tc_transfer_fail(t, NULL, "cannot be read", errno) : 0;
}

static int look(struct tc_transfer_state *t, struct tc_pack *pack)
{
    size_t root;
    if (tc_pack_look(pack, TC_TRANSFER_NAMES_MAX, &root) == 0)
        return 0;
    return errno == EFBIG ? tc_transfer_fail(t, NULL, "has too many or too long names", 0)
                          : tc_transfer_fail(t, NULL, "cannot be read", errno);
}

/* Has the tree changed since its first inventory? Then a change would be sent now. */
static int check_same(struct tc_transfer_state *t, struct tc_pack *pack)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (look(t, pack) < 0)
        return -1;
    if (tc_pack_next(pack, &out) < 0)
        return tc_transfer_fail(t, NULL, "cannot be read", errno);
    uint32_t kind = 0;
    memcpy(&kind, out.data, sizeof(kind));
    return kind == TC_FRAME_FILES_END
               ? 0
               : tc_transfer_fail(
                     t, NULL, "changed while it was read; try again when nothing writes to it", 0);
}

int tc_transfer_send_tree(struct tc_transfer_state *t, int parent, const char *name)
{
    struct tc_pack pack _auto_(tc_pack_done);
    tc_pack_init(&pack);
    pack.paths_max = TC_CARRY_PATHS_MAX;
    struct tc_pack_root *root = TC_PUSH(pack.roots, pack.count);
    if (!root)
        return tc_transfer_fail(t, NULL, "out of memory", 0);
    *root =
        (struct tc_pack_root){.parent = fcntl(parent, F_DUPFD_CLOEXEC, 0), .name = strdup(name)};
    if (root->parent < 0 || !root->name)
        return tc_transfer_fail(t, NULL, "cannot be read", errno);
    if (check_tree(t, parent, name) < 0 || look(t, &pack) < 0)
        return -1;
    t->names = pack.names;
    if (send_frames(t, &pack) < 0 || check_same(t, &pack) < 0)
        return -1;
    return tc_transfer_put_end(t);
}

/* ---- receive ---- */

struct receiver {
    struct tc_transfer_state *transfer;
    struct tc_unpack unpack;
    bool begun;
    char entry[TC_CARRY_ENTRY_MAX]; /* with its mode confined */
};

static int fail_malformed(struct tc_transfer_state *t)
{
    return tc_transfer_fail(t, NULL, "the stream is malformed", 0);
}

/* Does the target of a link in this real directory stay in the tree? `..` after a name could climb
 * from the target of another link, so only leading ones are counted. */
static bool stays_inside(const char *path, size_t path_len, const char *target, size_t len)
{
    size_t depth = 0;
    for (size_t i = 0; i < path_len; i++)
        depth += path[i] == '/';
    if (!len || target[0] == '/')
        return false;
    for (bool named = false; len;) {
        const char *slash = memchr(target, '/', len);
        size_t n = slash ? (size_t)(slash - target) : len;
        bool up = n == 2 && target[0] == '.' && target[1] == '.';
        if (up && (named || depth-- == 0))
            return false;
        named = named || (!up && n && !(n == 1 && target[0] == '.'));
        n += slash ? 1 : 0;
        target += n;
        len -= n;
    }
    return true;
}

/* 0; 1: the entry is left out; -1: malformed. */
static int confine_entry(struct receiver *r, struct tc_frame *f)
{
    struct tc_carry_head head;
    if (f->len < sizeof(head) || f->len > sizeof(r->entry))
        return -1;
    memcpy(&head, f->bytes, sizeof(head));
    const char *path = f->bytes + sizeof(head);
    size_t rest = f->len - sizeof(head);
    if (head.path_len > rest || r->begun != (head.path_len > 0) ||
        (!r->begun && head.kind != TC_CARRY_DIRECTORY))
        return -1;
    r->begun = true;
    if (!r->transfer->confines)
        return 0;
    if (head.kind == TC_CARRY_LINK &&
        !stays_inside(path, head.path_len, path + head.path_len, rest - head.path_len)) {
        r->transfer->left_out++;
        return 1;
    }
    head.mode &= ~(uint32_t)022;
    memcpy(r->entry, &head, sizeof(head));
    memcpy(r->entry + sizeof(head), path, rest);
    f->bytes = r->entry;
    return 0;
}

static int take_frame(struct receiver *r, struct tc_frame *f)
{
    struct tc_transfer_state *t = r->transfer;
    if (note_frame(t, f) < 0)
        return -1;
    if (!tc_unpack_takes(f) || f->kind == TC_FRAME_REMOVAL)
        return fail_malformed(t);
    int rc = 0;
    if (f->kind == TC_FRAME_ENTRY) {
        t->names++;
        rc = confine_entry(r, f);
    }
    if (rc)
        return rc < 0 ? fail_malformed(t) : 0;
    if (tc_unpack_take(&r->unpack, f) == 0)
        return 0;
    return r->unpack.fault
               ? tc_transfer_fail(t, "the stream", r->unpack.fault, 0)
               : tc_transfer_fail(t, r->unpack.last, "cannot be written", r->unpack.errnum);
}

static int receive_frames(struct receiver *r)
{
    struct tc_transfer_state *t = r->transfer;
    struct tc_frames frames _auto_(tc_frames_done) = tc_transfer_frames();
    struct tc_frame f;
    while (tc_transfer_next(t, &frames, &f) == 0) {
        if (f.kind == TC_FRAME_DONE)
            return r->unpack.ended && r->begun ? tc_transfer_take_end(t, &f) : fail_malformed(t);
        if (take_frame(r, &f) < 0)
            return -1;
    }
    return -1;
}

int tc_transfer_receive_tree(struct tc_transfer_state *t, int parent, const char *name)
{
    _autofree_ struct receiver *r = calloc(1, sizeof(*r));
    if (!r)
        return tc_transfer_fail(t, NULL, "out of memory", 0);
    r->transfer = t;
    tc_unpack_init(&r->unpack);
    r->unpack.bytes = t->most;
    r->unpack.names = TC_TRANSFER_NAMES_MAX;
    int rc = tc_unpack_add(&r->unpack, parent, name, true)
                 ? receive_frames(r)
                 : tc_transfer_fail(t, NULL, "out of memory", 0);
    tc_unpack_done(&r->unpack);
    if (rc < 0)
        (void)tc_remove_tree(parent, name);
    return tc_transfer_over(t, rc);
}
