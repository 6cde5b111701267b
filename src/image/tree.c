/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Packs a directory as a layer: the same names, contents and modes give the same bytes. */
#include "image/import.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/strv.h"
#include "image/entry.h"
#include "progress/progress.h"

enum { BLOCK = 1 << 17 };

/* A file with several names: later names become hard links. */
struct seen {
    dev_t dev;
    ino_t ino;
    char *name;
};

struct layer {
    struct archive *tar, *packed; /* the archive, and its compressed stream */
    SHA2_CTX digest;
    int64_t epoch;
    struct seen *seen;
    size_t seen_count;
    struct tc_unpack_report *report;
    char *block;
};

static int stop(struct layer *l, const char *name)
{
    if (!l->report->errnum)
        l->report->errnum = errno ? errno : EIO;
    if (!l->report->subject[0])
        tc_strcopy(l->report->subject, sizeof(l->report->subject), name);
    return -1;
}

/* Digests the uncompressed bytes. */
static la_ssize_t push(struct archive *tar, void *ud, const void *bytes, size_t size)
{
    struct layer *l = ud;
    (void)tar;
    SHA256Update(&l->digest, bytes, size);
    return archive_write_data(l->packed, bytes, size) == (la_ssize_t)size ? (la_ssize_t)size : -1;
}

static bool open_layer(struct layer *l, int to)
{
    struct archive_entry *all = archive_entry_new();
    l->packed = archive_write_new();
    l->tar = archive_write_new();
    l->block = malloc(BLOCK);
    SHA256Init(&l->digest);
    bool fine = all && l->packed && l->tar && l->block;
    if (fine) {
        archive_entry_set_filetype(all, AE_IFREG);
        archive_entry_set_pathname(all, "layer");
        fine = archive_write_set_format_raw(l->packed) == ARCHIVE_OK &&
               archive_write_add_filter_zstd(l->packed) == ARCHIVE_OK &&
               archive_write_set_bytes_in_last_block(l->packed, 1) == ARCHIVE_OK &&
               archive_write_open_fd(l->packed, to) == ARCHIVE_OK &&
               archive_write_header(l->packed, all) == ARCHIVE_OK &&
               archive_write_set_format_pax_restricted(l->tar) == ARCHIVE_OK &&
               archive_write_open(l->tar, l, NULL, push, NULL) == ARCHIVE_OK;
    }
    archive_entry_free(all);
    return fine;
}

static bool close_layer(struct layer *l, char ret_diff[TC_IMAGE_DIGEST_SIZE])
{
    bool fine = l->tar && archive_write_close(l->tar) == ARCHIVE_OK && l->packed &&
                archive_write_close(l->packed) == ARCHIVE_OK;
    tc_digest_finish(&l->digest, ret_diff);
    if (l->tar)
        (void)archive_write_free(l->tar);
    if (l->packed)
        (void)archive_write_free(l->packed);
    for (size_t i = 0; i < l->seen_count; i++)
        free(l->seen[i].name);
    free(l->seen);
    free(l->block);
    return fine;
}

/* NULL: new. */
static const char *seen_as(struct layer *l, const struct stat *st, const char *name)
{
    for (size_t i = 0; i < l->seen_count; i++)
        if (l->seen[i].ino == st->st_ino && l->seen[i].dev == st->st_dev)
            return l->seen[i].name;
    struct seen *seen = TC_PUSH(l->seen, l->seen_count);
    if (seen)
        *seen = (struct seen){st->st_dev, st->st_ino, strdup(name)};
    return NULL;
}

static int64_t time_of(const struct layer *l, const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return l->epoch < 0 ? 0 : l->epoch;
    return l->epoch >= 0 && st->st_mtime > l->epoch ? l->epoch : st->st_mtime;
}

static struct archive_entry *new_entry(const struct layer *l, const struct stat *st,
                                       const char *name)
{
    struct archive_entry *e = archive_entry_new();
    if (!e)
        return NULL;
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, st->st_mode & S_IFMT);
    archive_entry_set_perm(e, st->st_mode & (S_ISDIR(st->st_mode) ? 01777 : 0777));
    archive_entry_set_uid(e, 0);
    archive_entry_set_gid(e, 0);
    archive_entry_set_mtime(e, time_of(l, st), 0);
    archive_entry_set_size(e, 0);
    return e;
}

static int write_content(struct layer *l, int fd, int64_t size, const char *name)
{
    while (size > 0) {
        ssize_t n = read(fd, l->block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || n > size || archive_write_data(l->tar, l->block, (size_t)n) != n)
            return stop(l, name); /* the file changed while it was read */
        size -= n;
        l->report->bytes += n;
        tc_progress_step(l->report->bytes >> 20, 0);
    }
    return 0;
}

static int add_file(struct layer *l, int dir, const char *base, const struct stat *st,
                    const char *name)
{
    _autofd_ int fd = openat(dir, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat now;
    if (fd < 0 || fstat(fd, &now) < 0 || now.st_ino != st->st_ino || !S_ISREG(now.st_mode))
        return stop(l, name);
    const char *other = now.st_nlink > 1 ? seen_as(l, &now, name) : NULL;
    struct archive_entry *e = new_entry(l, &now, name);
    if (!e)
        return stop(l, name);
    if (other)
        archive_entry_set_hardlink(e, other);
    else
        archive_entry_set_size(e, now.st_size);
    int r = archive_write_header(l->tar, e) == ARCHIVE_OK ? 0 : stop(l, name);
    archive_entry_free(e);
    l->report->cleared += (now.st_mode & (S_ISUID | S_ISGID)) != 0;
    return r < 0 || other ? r : write_content(l, fd, now.st_size, name);
}

static int add_other(struct layer *l, int dir, const char *base, const struct stat *st,
                     const char *name)
{
    char target[PATH_MAX];
    struct archive_entry *e = new_entry(l, st, name);
    ssize_t n = S_ISLNK(st->st_mode) ? readlinkat(dir, base, target, sizeof(target) - 1) : 0;
    if (!e || n < 0) {
        archive_entry_free(e);
        return stop(l, name);
    }
    target[n] = '\0';
    if (S_ISLNK(st->st_mode))
        archive_entry_set_symlink(e, target);
    int r = archive_write_header(l->tar, e) == ARCHIVE_OK ? 0 : stop(l, name);
    archive_entry_free(e);
    return r;
}

static int names_of(int dir, struct tc_strv *ret)
{
    _autodir_ DIR *all = tc_list_dir(dir);
    struct dirent *e;
    int more = -1;
    while (all && (more = tc_next_entry(all, &e)) > 0)
        if (!tc_strv_add(ret, e->d_name))
            return -1;
    tc_strv_sort(ret);
    return more;
}

static int add_directory(struct layer *l, int dir, const char *name, int depth);

static int add_one(struct layer *l, int dir, const char *base, const char *name, int depth)
{
    struct stat st;
    const char *meant;
    l->report->files++;
    if (tc_entry_kind(base, &meant) != TC_ENTRY_PLAIN) {
        errno = EINVAL; /* unpacking would take the name for a whiteout */
        return stop(l, name);
    }
    if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return stop(l, name);
    if (S_ISREG(st.st_mode))
        return add_file(l, dir, base, &st, name);
    if (!S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) {
        l->report->left_out++;
        return 0;
    }
    if (add_other(l, dir, base, &st, name) < 0 || S_ISLNK(st.st_mode))
        return l->report->errnum ? -1 : 0;
    _autofd_ int below = openat(dir, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return below < 0 ? stop(l, name) : add_directory(l, below, name, depth + 1);
}

static int add_directory(struct layer *l, int dir, const char *name, int depth)
{
    _autostrv_ struct tc_strv names = {0};
    errno = ELOOP;
    if (depth > TC_ENTRY_DEEPEST || names_of(dir, &names) < 0)
        return stop(l, name);
    for (size_t i = 0; i < names.count; i++) {
        _autofree_ char *whole = tc_format("%s%s%s", name, *name ? "/" : "", names.items[i]);
        errno = ENAMETOOLONG;
        if (!whole || strlen(whole) >= PATH_MAX ||
            add_one(l, dir, names.items[i], whole, depth) < 0)
            return stop(l, whole ? whole : name);
    }
    return 0;
}

int tc_tree_layer(int dir, const char *name, int64_t epoch, int to,
                  char ret_diff[TC_IMAGE_DIGEST_SIZE], struct tc_unpack_report *ret,
                  struct toolcage_error **err)
{
    *ret = (struct tc_unpack_report){.over = 0};
    struct layer l = {.epoch = epoch, .report = ret};
    errno = ENOMEM;
    tc_progress_start("packing a layer", "MiB");
    int r = open_layer(&l, to) ? add_directory(&l, dir, "", 0) : stop(&l, name);
    if (!close_layer(&l, ret_diff) && r == 0)
        r = stop(&l, name);
    tc_progress_end();
    if (r == 0)
        return 0;
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "pack", ret->subject, ret->errnum,
                                "its files must be readable, and must not change meanwhile; names "
                                "starting with .wh. are reserved"),
                   "%s cannot become an image: %s", name, ret->subject);
}
