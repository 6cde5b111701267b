/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "image/form.h"
#include "image/say.h"
#include "progress/progress.h"
#include "state/store.h"

enum { BLOCK = 1 << 17 };

int tc_images_fail(const struct tc_images *store, const char *what, struct toolcage_error **err)
{
    return tc_fail(
        err,
        TC_WHY_ERRNO(TOOLCAGE_EPATH, "store", store->path, errno,
                     errno == ENOSPC
                         ? "make room on its file system"
                         : "it must be your own directory, writable only by you, with free space"),
        "%s in the image store %s", what, store->path);
}

static int fail_damaged(const char *name, const char *is, const char *wanted,
                        struct toolcage_error **err)
{
    return tc_fail(
        err, TC_WHY(TOOLCAGE_EPATH, "digest", name, "fetch or make it again; do not use this one"),
        "%s has the digest %s, not %s", name, is, wanted);
}

/* ---- opening ---- */

static int enter_or_make(int dirfd, const char *name)
{
    if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
        return -1;
    return tc_store_enter(dirfd, name);
}

/* Prints the message before the removal, which may take long. */
static bool is_left(int own, const char *name)
{
    static bool said;
    if (!tc_store_is_begun(own, name) || tc_store_lock(own, false) < 0)
        return false;
    if (!said)
        tc_image_say("removing what a killed `toolcage image` left");
    return said = true;
}

static int put_layout_file(int dir)
{
    static const char text[] = "{\"imageLayoutVersion\":\"1.0.0\"}\n";
    _autofd_ int fd = openat(dir, "oci-layout", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -1;
    return tc_write_all(fd, text, strlen(text));
}

static int take_lock(struct tc_images *store, enum tc_images_use use)
{
    int how = use == TC_IMAGES_REMOVES ? LOCK_EX : LOCK_SH;
    store->lock = openat(store->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (store->lock < 0)
        return -1;
    if (flock(store->lock, how | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return -1;
    tc_image_say("waiting for another toolcage image");
    while (flock(store->lock, how) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

static int open_parts(struct tc_images *store)
{
    _autofd_ int blobs = enter_or_make(store->dir, "blobs");
    store->blobs = blobs < 0 ? -1 : enter_or_make(blobs, "sha256");
    store->roots = enter_or_make(store->dir, "roots");
    return store->blobs < 0 || store->roots < 0 ? -1 : put_layout_file(store->dir);
}

int tc_images_open(enum tc_images_use use, struct tc_images *ret, struct toolcage_error **err)
{
    *ret = TC_IMAGES_INIT;
    if (!tc_image_store_path(&ret->path))
        return tc_fail_memory(err);
    if (!ret->path)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EPATH,
                                        .stage = "store",
                                        .hint = "set HOME to your home directory"},
                       "there is no directory for images: neither HOME nor XDG_DATA_HOME is "
                       "set");
    if (use != TC_IMAGES_READS && tc_make_directories(ret->path) < 0)
        return tc_images_fail(ret, "images cannot be stored", err);
    ret->dir = tc_store_enter(AT_FDCWD, ret->path);
    if (ret->dir < 0 && errno == ENOENT && use == TC_IMAGES_READS)
        return 0;
    if (ret->dir < 0 || open_parts(ret) < 0 || take_lock(ret, use) < 0)
        return tc_images_fail(ret, "it cannot be opened", err);
    (void)tc_store_sweep(ret->dir, is_left);
    if (use == TC_IMAGES_ADDS && (ret->own = tc_store_begin(ret->dir, &ret->own_name)) < 0)
        return tc_images_fail(ret, "images cannot be stored", err);
    return 0;
}

void tc_images_close(struct tc_images *store)
{
    if (store->own >= 0)
        (void)tc_remove_tree(store->dir, store->own_name);
    const int fds[] = {store->own, store->lock, store->roots, store->blobs, store->dir};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    free(store->own_name);
    free(store->path);
}

/* ---- blobs ---- */

static int copy(int from, int to, char digest[TC_DIGEST_SIZE], int64_t *ret_size)
{
    _autofree_ char *block = malloc(BLOCK);
    SHA2_CTX ctx;
    ssize_t n = 0;
    errno = ENOMEM;
    *ret_size = 0;
    SHA256Init(&ctx);
    while (block && ((n = read(from, block, BLOCK)) > 0 || (n < 0 && errno == EINTR))) {
        if (n < 0)
            continue;
        SHA256Update(&ctx, (const uint8_t *)block, (size_t)n);
        if (tc_write_all(to, block, (size_t)n) < 0)
            return -1;
        *ret_size += n;
        tc_progress_step(*ret_size >> 20, 0);
    }
    tc_digest_finish(&ctx, digest);
    return block && n == 0 ? 0 : -1;
}

static int place_blob(const struct tc_images *store, const char *digest)
{
    const char *hex = strchr(digest, ':') + 1;
    return renameat(store->own, "blob", store->blobs, hex);
}

int tc_images_put(struct tc_images *store, int from, const char *name, struct tc_image_blob *blob,
                  struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE] = "";
    int64_t size = 0;
    _autofd_ int to =
        openat(store->own, "blob", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    tc_progress_start("storing the image", "MiB");
    bool stored = to >= 0 && lseek(from, 0, SEEK_SET) >= 0 && copy(from, to, digest, &size) == 0 &&
                  fsync(to) == 0;
    tc_progress_end();
    if (!stored)
        return tc_images_fail(store, "a blob cannot be stored", err);
    if (blob->digest[0] && strcmp(digest, blob->digest) != 0)
        return fail_damaged(name, digest, blob->digest, err);
    if (place_blob(store, digest) < 0)
        return tc_images_fail(store, "a blob cannot be stored", err);
    tc_strcopy(blob->digest, sizeof(blob->digest), digest);
    blob->size = size;
    return 0;
}

int tc_images_put_text(struct tc_images *store, const char *text, struct tc_image_blob *ret,
                       struct toolcage_error **err)
{
    _autofd_ int fd = tc_memfd("blob", text, strlen(text));
    *ret = (struct tc_image_blob){.size = 0};
    return fd < 0 ? tc_images_fail(store, "a blob cannot be stored", err)
                  : tc_images_put(store, fd, "a document", ret, err);
}

int tc_images_blob(const struct tc_images *store, const char *digest, struct toolcage_error **err)
{
    int fd = openat(store->blobs, strchr(digest, ':') + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? tc_images_fail(store, "a blob is lost", err) : fd;
}

/* ---- roots and names ---- */

bool tc_images_has_root(const struct tc_images *store, const char *digest)
{
    return faccessat(store->roots, strchr(digest, ':') + 1, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* If two processes made the same root, the first stays: a call may already use it. */
int tc_images_keep_root(struct tc_images *store, const char *digest, struct toolcage_error **err)
{
    tc_progress_start("writing the image to the disk", NULL);
    bool written = syncfs(store->own) == 0;
    tc_progress_end();
    if (!written ||
        tc_store_place(store->own, "root", store->roots, strchr(digest, ':') + 1, false) < 0)
        return tc_images_fail(store, "an image cannot be stored", err);
    return 0;
}

static int write_index(struct tc_images *store, int where, const struct tc_image_index *index)
{
    _autofree_ char *text = tc_image_index_text(index);
    errno = ENOMEM;
    _autofd_ int fd = text ? openat(where, "new-index",
                                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
                           : -1;
    if (fd < 0 || tc_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0)
        return -1;
    return renameat(where, "new-index", store->dir, "index.json") < 0 ? -1 : fsync(store->dir);
}

/* Serialized by index.lock: adders share the store's lock. */
int tc_images_name(struct tc_images *store, const char *name, const struct tc_image_blob *manifest,
                   struct toolcage_error **err)
{
    _autoindex_ struct tc_image_index index = {0};
    _autofd_ int lock =
        openat(store->dir, "index.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return tc_images_fail(store, "the index cannot be changed", err);
    int r = tc_image_index_read(store->dir, store->path, &index, err);
    if (r < 0)
        return r;
    if (!tc_image_index_put(&index, name, manifest->digest, manifest->size))
        return tc_fail_memory(err);
    return write_index(store, store->own, &index) < 0
               ? tc_images_fail(store, "the index cannot be changed", err)
               : 0;
}

/* ---- removing ---- */

static bool is_meant(const struct tc_image_entry *e, const struct tc_image_ref *ref)
{
    return strcmp(e->name, ref->name) == 0 &&
           (!ref->digest[0] || strcmp(e->digest, ref->digest) == 0);
}

struct locks {
    int *fds;
    size_t count;
};

/* The digests of all blobs that an entry needs, without "sha256:". False: unknown, so nothing may
 * be removed. */
static bool add_needed(const struct tc_images *store, const char *digest, struct tc_strv *needed)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tc_image_manifest manifest;
    text.max = TC_IMAGE_JSON_MAX;
    if (tc_read_file(store->blobs, strchr(digest, ':') + 1, &text) < 0 ||
        tc_image_read_manifest(text.data, text.len, &manifest))
        return false;
    bool fine = tc_strv_add(needed, strchr(digest, ':') + 1) &&
                tc_strv_add(needed, strchr(manifest.config.digest, ':') + 1);
    for (size_t i = 0; fine && i < manifest.count; i++)
        fine = tc_strv_add(needed, strchr(manifest.layers[i].digest, ':') + 1);
    return fine;
}

static void remove_unneeded(int where, const struct tc_strv *needed)
{
    _autodir_ DIR *dir = tc_list_dir(where);
    struct dirent *e;
    while (dir && tc_next_entry(dir, &e) > 0)
        if (!tc_strv_has(needed, e->d_name))
            (void)tc_remove_tree(where, e->d_name);
}

static bool is_named(const struct tc_image_index *left, const char *hex)
{
    for (size_t i = 0; i < left->count; i++)
        if (strcmp(strchr(left->items[i].digest, ':') + 1, hex) == 0)
            return true;
    return false;
}

static void close_all(struct locks *locks)
{
    for (size_t i = 0; i < locks->count; i++)
        (void)close(locks->fds[i]);
    free(locks->fds);
}

/* A root in use prevents the removal of all. A new user of a locked root does not wait: the image
 * is not found. */
static int lock_roots(struct tc_images *store, const struct tc_image_index *left,
                      const struct tc_strv *gone, struct locks *locks, struct toolcage_error **err)
{
    for (size_t i = 0; i < gone->count; i++) {
        _autofd_ int own =
            is_named(left, gone->items[i]) ? -1 : tc_store_enter(store->roots, gone->items[i]);
        if (own >= 0 && tc_store_lock(own, false) < 0)
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EBACKEND, "store", gone->items[i],
                                  "wait until that call has ended, then try again"),
                           "a call is using the image sha256:%s", gone->items[i]);
        int *lock = own < 0 ? NULL : TC_PUSH(locks->fds, locks->count);
        if (lock)
            *lock = TAKE_FD(own);
        else if (own >= 0)
            return tc_fail_memory(err);
    }
    return 0;
}

static int collect(struct tc_images *store, const struct tc_image_index *left)
{
    _autostrv_ struct tc_strv needed = {0};
    for (size_t i = 0; i < left->count; i++)
        if (!add_needed(store, left->items[i].digest, &needed))
            return -1;
    remove_unneeded(store->blobs, &needed);
    return 0;
}

static bool split(const struct tc_image_index *all, const struct tc_image_ref *ref,
                  struct tc_image_index *left, struct tc_strv *gone)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct tc_image_entry *e = &all->items[i];
        if (is_meant(e, ref)) {
            if (!tc_strv_add(gone, strchr(e->digest, ':') + 1))
                return false;
            continue;
        }
        struct tc_image_entry *kept = TC_PUSH(left->items, left->count);
        if (!kept)
            return false;
        *kept = *e;
        kept->name = strdup(e->name);
        if (!kept->name)
            return false;
    }
    return true;
}

int tc_images_remove(struct tc_images *store, const struct tc_image_ref *ref, unsigned *ret_count,
                     struct toolcage_error **err)
{
    _autoindex_ struct tc_image_index all = {0}, left = {0};
    _autostrv_ struct tc_strv gone = {0};
    struct locks locks = {0};
    int r = tc_image_index_read(store->dir, store->path, &all, err);
    if (r == 0 && !split(&all, ref, &left, &gone))
        r = tc_fail_memory(err);
    if (r == 0)
        r = lock_roots(store, &left, &gone, &locks, err);
    if (r == 0 && gone.count && write_index(store, store->dir, &left) < 0)
        r = tc_images_fail(store, "the index cannot be changed", err);
    for (size_t i = 0; r == 0 && i < gone.count; i++)
        if (!is_named(&left, gone.items[i]))
            (void)tc_store_discard(store->roots, gone.items[i], store->dir);
    if (r == 0 && gone.count)
        (void)collect(store, &left);
    close_all(&locks);
    *ret_count = (unsigned)gone.count;
    return r;
}
