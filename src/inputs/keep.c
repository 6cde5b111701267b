/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stores a directory. An index of the last time has the digest of each file with its identity,
 * size and times: a file that has all of them unchanged is not read again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "inputs/store.h"
#include "linux/walk.h"
#include "state/store.h"

enum { ENTRIES_MAX = 50000, BYTES_MAX = 256 << 20, TIME_US = 2000000 };
/* The walk keeps a directory of the host's open for each level, and uses the host's stack. */
enum { DEEPEST = 64 };
/* A file that was changed so recently can change again within the same tick of the clock. */
enum { SETTLED_NS = 1000000000 };

/* A file in the index; padding is zero. */
struct known {
    uint64_t dev, ino;
    int64_t size, changed_ns, modified_ns;
    char digest[TC_DIGEST_SIZE];
};

struct keeping {
    struct tc_inputs *store;
    struct tc_inputs_tree *tree;
    struct known *before, *now; /* `before` is sorted */
    size_t before_count, now_count;
    bool changed; /* the index has to be written */
    int64_t start_ns;
    struct tc_strv *open; /* texts of the entries of each open directory, by depth */
};

static const char too_slow[] = "reading the workspace takes more than 2 seconds";
static const char too_large[] = "the workspace has more than 256 MiB";
static const char too_many[] = "the workspace has more than 50000 entries";

static int fail(struct keeping *k, const char *why)
{
    tc_strcopy(k->tree->why, sizeof(k->tree->why), why);
    return -1;
}

static int fail_at(struct keeping *k, const char *name, const char *why)
{
    (void)snprintf(k->tree->why, sizeof(k->tree->why), "%.80s: %s", name, why);
    return -1;
}

static int fail_errno(struct keeping *k, const char *name)
{
    switch (errno) {
    case EDQUOT:
        return fail(k, "the store of inputs is full (toolcage audit prune)");
    case ETIMEDOUT:
        return fail(k, too_slow);
    case EFBIG:
        return fail_at(k, name, "it was growing, or is longer than this process may write");
    default:
        return fail_at(k, name, strerror(errno));
    }
}

static int64_t ns_of(struct statx_timestamp t)
{
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the index ---- */

static int compare_known(const void *x, const void *y)
{
    const struct known *a = x, *b = y;
    if (a->dev != b->dev)
        return a->dev < b->dev ? -1 : 1;
    return a->ino < b->ino ? -1 : a->ino > b->ino;
}

static void name_index(const char *path, char ret[32])
{
    (void)snprintf(ret, 32, "index-%016" PRIx64, tc_hash(path));
}

static void read_index(struct keeping *k, const char *path)
{
    char name[32];
    struct tc_buf bytes = TC_BUF_INIT;
    name_index(path, name);
    if (tc_read_file(k->store->dir, name, &bytes) == 0 && bytes.len % sizeof(*k->before) == 0) {
        k->before_count = bytes.len / sizeof(*k->before);
        k->before = (void *)tc_buf_steal(&bytes);
    }
    k->before_count = k->before ? k->before_count : 0;
    tc_buf_done(&bytes);
}

static void write_index(struct keeping *k, const char *path)
{
    char name[32];
    size_t size = k->now_count * sizeof(*k->now);
    name_index(path, name);
    if ((!k->changed && k->now_count == k->before_count) || (int64_t)size > k->store->largest)
        return;
    if (k->now)
        qsort(k->now, k->now_count, sizeof(*k->now), compare_known);
    (void)tc_store_write(k->store->dir, name, k->now ? (void *)k->now : "", size, 0600);
}

/* There a file that is mapped into memory changes without a new time. */
static bool is_in_memory(int dir)
{
    struct statfs fs;
    return fstatfs(dir, &fs) < 0 || fs.f_type == TMPFS_MAGIC;
}

static void remove_index(const struct keeping *k, const char *path)
{
    char name[32];
    name_index(path, name);
    (void)unlinkat(k->store->dir, name, 0);
}

static struct known identity_of(const struct statx *st)
{
    struct known f;
    memset(&f, 0, sizeof(f));
    f.dev = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
    f.ino = st->stx_ino;
    f.size = (int64_t)st->stx_size;
    f.changed_ns = ns_of(st->stx_ctime);
    f.modified_ns = ns_of(st->stx_mtime);
    return f;
}

/* The digest of a file that has not changed since it was stored; NULL: it must be read. */
static const char *known_digest(const struct keeping *k, const struct known *f)
{
    struct known *found =
        k->before_count ? bsearch(f, k->before, k->before_count, sizeof(*f), compare_known) : NULL;
    if (!found || found->size != f->size || found->changed_ns != f->changed_ns ||
        found->modified_ns != f->modified_ns)
        return NULL;
    found->digest[sizeof(found->digest) - 1] = '\0';
    return tc_inputs_has(k->store, found->digest, f->size) ? found->digest : NULL;
}

static bool remember(struct keeping *k, const struct known *f)
{
    if (k->start_ns - f->changed_ns <= SETTLED_NS)
        return true;
    struct known *to = TC_PUSH(k->now, k->now_count);
    if (to)
        *to = *f;
    return to;
}

/* ---- entries ---- */

static int add_entry(struct keeping *k, const struct tc_walk_entry *e, char type,
                     const char *digest)
{
    struct tc_inputs_entry entry = {.name = e->name,
                                    .name_length = strlen(e->name),
                                    .type = type,
                                    .mode = e->st->stx_mode & 0777,
                                    .seconds = e->st->stx_mtime.tv_sec,
                                    .nanoseconds = e->st->stx_mtime.tv_nsec};
    tc_strcopy(entry.digest, sizeof(entry.digest), digest);
    errno = ENOMEM;
    k->tree->entries++;
    return tc_strv_take(&k->open[e->depth], tc_inputs_entry_text(&entry))
               ? 0
               : fail_errno(k, e->relative);
}

static int read_content(struct keeping *k, const struct tc_walk_entry *e,
                        char digest[TC_DIGEST_SIZE])
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    _autofd_ int fd = openat(e->dirfd, e->name, flags);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    errno = ESTALE;
    return S_ISREG(st.st_mode) ? tc_inputs_put_file(k->store, fd, (int64_t)e->st->stx_size, digest)
                               : -1;
}

static int keep_file(struct keeping *k, const struct tc_walk_entry *e)
{
    struct known f = identity_of(e->st);
    const char *digest = known_digest(k, &f);
    k->tree->bytes += f.size;
    if (k->tree->bytes > BYTES_MAX)
        return fail(k, too_large);
    if (digest)
        tc_strcopy(f.digest, sizeof(f.digest), digest);
    else if (read_content(k, e, f.digest) < 0)
        return fail_errno(k, e->relative);
    k->changed |= !digest;
    errno = ENOMEM;
    return remember(k, &f) ? add_entry(k, e, 'f', f.digest) : fail_errno(k, e->relative);
}

static int keep_link(struct keeping *k, const struct tc_walk_entry *e)
{
    char target[PATH_MAX], digest[TC_DIGEST_SIZE];
    ssize_t length = readlinkat(e->dirfd, e->name, target, sizeof(target));
    if (length < 0 || tc_inputs_put(k->store, target, (size_t)length, digest) < 0)
        return fail_errno(k, e->relative);
    return add_entry(k, e, 'l', digest);
}

/* Sockets, pipes and devices have no content. */
static int visit(void *context, const struct tc_walk_entry *e)
{
    struct keeping *k = context;
    bool directory = S_ISDIR(e->st->stx_mode);
    if (!k->tree->shows(k->tree->context, e->relative, directory))
        return 1;
    if (e->depth >= DEEPEST)
        return fail_at(k, e->relative, "it is too deep");
    if (e->st->stx_uid != geteuid()) /* the tool sees another owner, and may not read it */
        return fail_at(k, e->relative, "it belongs to another user");
    if (tc_now_us() > k->store->deadline_us)
        return fail(k, too_slow);
    if (directory)
        return 0;
    return S_ISREG(e->st->stx_mode)   ? keep_file(k, e)
           : S_ISLNK(e->st->stx_mode) ? keep_link(k, e)
                                      : 0;
}

/* ---- the size of it all ---- */

static int count_entry(void *context, const struct tc_walk_entry *e)
{
    struct keeping *k = context;
    if (!k->tree->shows(k->tree->context, e->relative, S_ISDIR(e->st->stx_mode)))
        return 1;
    if (e->depth >= DEEPEST)
        return 1;
    k->tree->bytes += S_ISREG(e->st->stx_mode) ? (int64_t)e->st->stx_size : 0;
    return k->tree->bytes > BYTES_MAX ? fail(k, too_large) : 0;
}

/* Without an index every file is read and stored: is it all of a size that is kept? */
static int check_size(struct keeping *k, int dir)
{
    struct tc_walk walk = {.visit = count_entry,
                           .userdata = k,
                           .entries_max = ENTRIES_MAX,
                           .deadline_us = k->store->deadline_us};
    int r = k->before ? 0 : tc_walk(&walk, dir);
    k->tree->bytes = 0;
    if (r == 0 && !k->before && walk.skipped && walk.seen >= ENTRIES_MAX)
        return fail(k, too_many);
    return r < 0 && !k->tree->why[0] ? fail_errno(k, "the workspace") : r;
}

/* ---- directories ---- */

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Stores the directory whose entries are those of this depth, and forgets them. */
static int close_directory(struct keeping *k, int depth, char digest[TC_DIGEST_SIZE])
{
    struct tc_strv *texts = &k->open[depth];
    _autobuf_ struct tc_buf object = TC_BUF_INIT;
    if (texts->count)
        qsort(texts->items, texts->count, sizeof(*texts->items), compare_texts);
    for (size_t i = 0; i < texts->count; i++)
        tc_buf_add(&object, texts->items[i], strlen(texts->items[i]) + 1);
    tc_strv_done(texts);
    errno = EFBIG;
    return object.failed
               ? -1
               : tc_inputs_put(k->store, object.len ? object.data : "", object.len, digest);
}

/* The walk cannot be stopped here: an empty `why` means that all is well. */
static void leave(void *context, const struct tc_walk_entry *e)
{
    struct keeping *k = context;
    char digest[TC_DIGEST_SIZE];
    if (close_directory(k, e->depth + 1, digest) < 0)
        (void)fail_errno(k, e->relative);
    else
        (void)add_entry(k, e, 'd', digest);
}

/* The whole is a directory of one entry, so that it has the mode and the times of the root. */
static int close_root(struct keeping *k, int dir)
{
    char digest[TC_DIGEST_SIZE];
    struct statx st;
    struct tc_walk_entry root = {.name = TC_INPUTS_ROOT, .relative = "the workspace", .st = &st};
    if (close_directory(k, 0, digest) < 0 ||
        statx(dir, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
        return fail_errno(k, root.relative);
    k->tree->entries--; /* it does not count */
    if (add_entry(k, &root, 'd', digest) < 0)
        return -1;
    return close_directory(k, 0, k->tree->digest) < 0 ? fail_errno(k, root.relative) : 0;
}

static int walk(struct keeping *k, int dir)
{
    struct tc_walk walk = {.visit = visit,
                           .leave = leave,
                           .userdata = k,
                           .entries_max = ENTRIES_MAX,
                           .deadline_us = k->store->deadline_us};
    if (tc_walk(&walk, dir) < 0)
        return k->tree->why[0] ? -1 : fail_errno(k, "the workspace");
    if (walk.skipped && walk.seen >= ENTRIES_MAX)
        return fail(k, too_many);
    if (walk.skipped)
        return fail_at(k, walk.left, "it cannot be read");
    return k->tree->why[0] ? -1 : close_root(k, dir);
}

int tc_inputs_keep(struct tc_inputs *s, const char *path, struct tc_inputs_tree *tree)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct keeping k = {
        .store = s, .tree = tree, .start_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec};
    _autofd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tree->why[0] = '\0';
    s->deadline_us = tc_now_us() + TIME_US;
    k.open = calloc(DEEPEST + 2, sizeof(*k.open));
    if (dir < 0 || !k.open) {
        free(k.open);
        return fail_errno(&k, "the workspace");
    }
    if (!is_in_memory(dir))
        read_index(&k, path);
    int r = check_size(&k, dir);
    if (r == 0)
        r = walk(&k, dir);
    if (r == 0 || strcmp(tree->why, too_slow) == 0) /* the next call continues */
        write_index(&k, path);
    else
        remove_index(&k, path);
    s->deadline_us = 0;
    for (size_t i = 0; i < DEEPEST + 2; i++)
        tc_strv_done(&k.open[i]);
    free(k.open);
    free(k.before);
    free(k.now);
    return r;
}
