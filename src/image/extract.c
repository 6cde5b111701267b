/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The child's work: archive entries become files below its root. Parent directories are opened with
 * openat2 and RESOLVE_IN_ROOT, so that a symlink in the path leads to the same directory as in the
 * image. The entry's own name is always replaced, never written through. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/strv.h"
#include "base/sys.h"
#include "image/entry.h"
#include "image/unpack.h"
#include "state/store.h"

enum { BLOCK = 1 << 16, TICK_US = 100000 };

struct extract {
    const struct tc_unpack_job *job;
    struct tc_unpack_report *report;
    struct archive *stream, *tar; /* the decompressed stream, and the tar in it */
    SHA2_CTX digest;
    int64_t streamed, ticked;
    int say;
    char *block;
    int parent; /* cached parent of the last entry; -1: none */
    char parent_name[PATH_MAX];
};

static int fault(struct extract *x, enum tc_unpack_fault fault, const char *subject)
{
    if (!x->report->fault) {
        x->report->fault = fault;
        x->report->errnum = fault == TC_UNPACK_SYSTEM ? errno : 0;
        tc_strcopy(x->report->subject, sizeof(x->report->subject), subject ? subject : "");
    }
    return -1;
}

static void tick(struct extract *x)
{
    int64_t now = tc_now_us();
    if (x->say < 0 || now - x->ticked < TICK_US)
        return;
    x->ticked = now;
    (void)!write(x->say, x->report, sizeof(*x->report));
}

/* ---- the stream ---- */

/* Counts and digests the decompressed bytes on their way to the tar reader. */
static la_ssize_t pull(struct archive *tar, void *ud, const void **ret)
{
    struct extract *x = ud;
    la_ssize_t n = archive_read_data(x->stream, x->block, BLOCK);
    (void)tar;
    *ret = x->block;
    if (n < 0)
        return fault(x, TC_UNPACK_FORMAT, "");
    x->streamed += n;
    if (x->streamed > x->job->limits.bytes)
        return fault(x, TC_UNPACK_BYTES, "");
    SHA256Update(&x->digest, (const uint8_t *)x->block, (size_t)n);
    tick(x);
    return n;
}

static bool open_stream(struct extract *x)
{
    struct archive_entry *all;
    x->stream = archive_read_new();
    x->tar = archive_read_new();
    x->streamed = 0;
    SHA256Init(&x->digest);
    return x->stream && x->tar && lseek(x->job->archive, 0, SEEK_SET) == 0 &&
           archive_read_support_filter_gzip(x->stream) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(x->stream) == ARCHIVE_OK &&
           archive_read_support_filter_xz(x->stream) == ARCHIVE_OK &&
           archive_read_support_filter_bzip2(x->stream) == ARCHIVE_OK &&
           archive_read_support_format_raw(x->stream) == ARCHIVE_OK &&
           archive_read_support_format_tar(x->tar) == ARCHIVE_OK &&
           archive_read_open_fd(x->stream, x->job->archive, BLOCK) == ARCHIVE_OK &&
           archive_read_next_header(x->stream, &all) == ARCHIVE_OK &&
           archive_read_open(x->tar, x, NULL, pull, NULL) == ARCHIVE_OK;
}

static void close_stream(struct extract *x)
{
    if (x->tar)
        (void)archive_read_free(x->tar);
    if (x->stream)
        (void)archive_read_free(x->stream);
    x->tar = x->stream = NULL;
}

/* Bytes after the archive's end belong to its digest. */
static int drain(struct extract *x)
{
    const void *block;
    la_ssize_t n;
    while ((n = pull(x->tar, x, &block)) > 0)
        ;
    if (n == 0)
        tc_digest_finish(&x->digest, x->report->digest);
    return n < 0 ? -1 : 0;
}

/* ---- parent directories ---- */

static void forget_parent(struct extract *x)
{
    if (x->parent >= 0)
        (void)close(TAKE_FD(x->parent));
}

static int count_file(struct extract *x, const char *name)
{
    return ++x->report->files > x->job->limits.files ? fault(x, TC_UNPACK_FILES, name) : 0;
}

static int find_directory(struct extract *x, const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    return tc_openat2(x->job->target, path[0] ? path : ".", &how);
}

/* Symlinks could make a tree deeper than its names, and too deep to be removed. */
static bool too_deep(int directory)
{
    char path[PATH_MAX];
    size_t depth = 0;
    if (fchdir(directory) < 0 || !getcwd(path, sizeof(path)))
        return true;
    for (const char *at = path; *at; at++)
        depth += *at == '/';
    return depth > 2 * (size_t)TC_ENTRY_DEEPEST;
}

/* Creates a parent directory that has no entry in the archive. */
static int make_implied(struct extract *x, const char *path)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    (void)snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) : 0, path);
    _autofd_ int parent = find_directory(x, above);
    if (parent < 0 || too_deep(parent))
        return fault(x, TC_UNPACK_LINK, path);
    if (mkdirat(parent, slash ? slash + 1 : path, 0755) < 0)
        return fault(x, errno == EEXIST ? TC_UNPACK_LINK : TC_UNPACK_SYSTEM, path);
    return count_file(x, path);
}

static int make_way(struct extract *x, const char *path)
{
    char part[PATH_MAX];
    tc_strcopy(part, sizeof(part), path);
    for (char *slash = strchr(part, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        _autofd_ int there = find_directory(x, part);
        if (there < 0 && errno != ENOENT)
            return fault(x, TC_UNPACK_LINK, part);
        if (there < 0 && make_implied(x, part) < 0)
            return -1;
        if (!slash)
            return 0;
        *slash = '/';
    }
}

/* The parent directory of a clean name, and its last component. `make`: creates missing
 * directories; otherwise -1 without a fault says that one is missing. */
static int open_parent(struct extract *x, const char *name, bool make, const char **ret_base)
{
    char above[PATH_MAX];
    const char *slash = strrchr(name, '/');
    *ret_base = slash ? slash + 1 : name;
    (void)snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - name) : 0, name);
    if (x->parent >= 0 && strcmp(above, x->parent_name) == 0)
        return x->parent;
    forget_parent(x);
    x->parent = find_directory(x, above);
    if (x->parent < 0 && errno == ENOENT && make)
        x->parent = make_way(x, above) < 0 ? -1 : find_directory(x, above);
    if (x->parent < 0)
        return make ? fault(x, TC_UNPACK_LINK, name) : -1;
    tc_strcopy(x->parent_name, sizeof(x->parent_name), above);
    return x->parent;
}

/* Removes an existing file of that name. */
static int clear_name(struct extract *x, int parent, const char *base, const char *name)
{
    if (unlinkat(parent, base, 0) == 0 || errno == ENOENT)
        return 0;
    return tc_remove_tree(parent, base) < 0 ? fault(x, TC_UNPACK_SYSTEM, name) : 0;
}

/* ---- entries ---- */

static void set_times(int fd, struct archive_entry *e)
{
    struct timespec times[2] = {
        {.tv_sec = archive_entry_mtime(e), .tv_nsec = archive_entry_mtime_nsec(e)}};
    times[1] = times[0];
    (void)futimens(fd, times);
}

/* A sparse file may claim any size. */
static int fill_file(struct extract *x, int fd, struct archive_entry *e, const char *name)
{
    const void *block;
    size_t size;
    la_int64_t at, end = archive_entry_size_is_set(e) ? archive_entry_size(e) : 0;
    int r;
    if (end < 0 || end > x->job->limits.bytes - x->report->bytes)
        return fault(x, TC_UNPACK_BYTES, name);
    while ((r = archive_read_data_block(x->tar, &block, &size, &at)) == ARCHIVE_OK) {
        if (at < 0 || at > x->job->limits.bytes - (la_int64_t)size)
            return fault(x, TC_UNPACK_BYTES, name);
        if (lseek(fd, at, SEEK_SET) < 0 || tc_write_all(fd, block, size) < 0)
            return fault(x, TC_UNPACK_SYSTEM, name);
        end = at + (la_int64_t)size > end ? at + (la_int64_t)size : end;
    }
    if (r != ARCHIVE_EOF)
        return fault(x, TC_UNPACK_FORMAT, name);
    x->report->bytes += end;
    if (x->report->bytes > x->job->limits.bytes)
        return fault(x, TC_UNPACK_BYTES, name);
    return ftruncate(fd, end) < 0 ? fault(x, TC_UNPACK_SYSTEM, name) : 0;
}

/* The owner can always read the file: the archive's owner is ignored, and set-id bits are removed.
 */
static int put_file(struct extract *x, int parent, const char *base, struct archive_entry *e,
                    const char *name)
{
    mode_t mode = archive_entry_perm(e);
    if (clear_name(x, parent, base, name) < 0 || count_file(x, name) < 0)
        return -1;
    _autofd_ int fd =
        openat(parent, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fault(x, TC_UNPACK_SYSTEM, name);
    if (fill_file(x, fd, e, name) < 0)
        return -1;
    if (fchmod(fd, (mode & 0777) | S_IRUSR) < 0)
        return fault(x, TC_UNPACK_SYSTEM, name);
    x->report->cleared += (mode & (S_ISUID | S_ISGID)) != 0;
    set_times(fd, e);
    return 0;
}

static int put_directory(struct extract *x, int parent, const char *base, struct archive_entry *e,
                         const char *name)
{
    struct stat st;
    bool there = fstatat(parent, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISDIR(st.st_mode) && clear_name(x, parent, base, name) < 0)
        return -1;
    if (!there || !S_ISDIR(st.st_mode)) {
        if (too_deep(parent))
            return fault(x, TC_UNPACK_NAME, name);
        if (mkdirat(parent, base, 0700) < 0)
            return fault(x, TC_UNPACK_SYSTEM, name);
        if (count_file(x, name) < 0)
            return -1;
    }
    _autofd_ int fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, (archive_entry_perm(e) & 01777) | S_IRWXU) < 0)
        return fault(x, TC_UNPACK_SYSTEM, name);
    return 0;
}

static int put_symlink(struct extract *x, int parent, const char *base, struct archive_entry *e,
                       const char *name)
{
    const char *target = archive_entry_symlink(e);
    struct timespec times[2] = {{.tv_sec = archive_entry_mtime(e)},
                                {.tv_sec = archive_entry_mtime(e)}};
    if (!target || !*target)
        return fault(x, TC_UNPACK_FORMAT, name);
    if (clear_name(x, parent, base, name) < 0 || count_file(x, name) < 0)
        return -1;
    if (symlinkat(target, parent, base) < 0)
        return fault(x, TC_UNPACK_SYSTEM, name);
    (void)utimensat(parent, base, times, AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* The target must be a regular file of this root; symlinks are not followed. */
static int put_hardlink(struct extract *x, struct archive_entry *e, const char *name)
{
    char target[PATH_MAX], above[PATH_MAX];
    const char *base;
    struct stat st;
    if (!tc_entry_clean(archive_entry_hardlink(e), target) || !target[0])
        return fault(x, TC_UNPACK_NAME, name);
    if (strcmp(target, name) == 0)
        return 0;
    const char *slash = strrchr(target, '/');
    (void)snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - target) : 0, target);
    _autofd_ int from = find_directory(x, above);
    const char *from_base = slash ? slash + 1 : target;
    if (from < 0 || fstatat(from, from_base, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return fault(x, TC_UNPACK_LINK, name);
    int parent = open_parent(x, name, true, &base);
    if (parent < 0 || clear_name(x, parent, base, name) < 0 || count_file(x, name) < 0)
        return -1;
    return linkat(from, from_base, parent, base, 0) < 0 ? fault(x, TC_UNPACK_LINK, name) : 0;
}

static int put_entry(struct extract *x, struct archive_entry *e, const char *name)
{
    const char *base;
    if (archive_entry_hardlink(e))
        return put_hardlink(x, e, name);
    int parent = open_parent(x, name, true, &base);
    if (parent < 0)
        return -1;
    if (archive_entry_filetype(e) == AE_IFREG)
        return put_file(x, parent, base, e, name);
    int r;
    if (archive_entry_filetype(e) == AE_IFDIR) {
        r = put_directory(x, parent, base, e, name);
    } else if (archive_entry_filetype(e) == AE_IFLNK) {
        r = put_symlink(x, parent, base, e, name);
    } else {
        x->report->left_out++;
        r = clear_name(x, parent, base, name);
    }
    forget_parent(x); /* the cached parent may have been replaced */
    return r;
}

/* ---- whiteouts ---- */

static int clear_directory(struct extract *x, int fd, const char *name)
{
    _autodir_ DIR *dir = tc_list_dir(fd);
    struct dirent *e;
    int more = -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0)
        if (tc_remove_tree(fd, e->d_name) < 0)
            return fault(x, TC_UNPACK_SYSTEM, name);
    return more < 0 ? fault(x, TC_UNPACK_SYSTEM, name) : 0;
}

/* Whiteouts refer only to lower layers, wherever they are in this one, so they are applied first.
 */
static int remove_lower(struct extract *x, struct archive_entry *e, const char *name)
{
    const char *base, *meant;
    enum tc_entry_kind kind = tc_entry_kind(name, &meant);
    (void)e;
    if (kind == TC_ENTRY_PLAIN || kind == TC_ENTRY_IGNORED)
        return 0;
    if (kind == TC_ENTRY_BAD)
        return fault(x, TC_UNPACK_WHITEOUT, name);
    int parent = open_parent(x, name, false, &base);
    if (parent < 0)
        return 0; /* nothing to remove */
    int r = kind == TC_ENTRY_OPAQUE ? clear_directory(x, parent, name)
                                    : clear_name(x, parent, meant, name);
    forget_parent(x);
    return r;
}

static int put_upper(struct extract *x, struct archive_entry *e, const char *name)
{
    const char *meant;
    enum tc_entry_kind kind = tc_entry_kind(name, &meant);
    if (kind == TC_ENTRY_BAD && x->job->layer)
        return fault(x, TC_UNPACK_WHITEOUT, name);
    return kind == TC_ENTRY_PLAIN || !x->job->layer ? put_entry(x, e, name) : 0;
}

/* ---- the archive ---- */

static int each(struct extract *x,
                int (*take)(struct extract *, struct archive_entry *, const char *))
{
    struct archive_entry *e;
    char name[PATH_MAX];
    int r;
    while ((r = archive_read_next_header(x->tar, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN) {
        const char *said = archive_entry_pathname(e);
        if (!said || !tc_entry_clean(said, name))
            return fault(x, TC_UNPACK_NAME, said);
        if (name[0] && take(x, e, name) < 0)
            return -1;
        tick(x);
    }
    return r == ARCHIVE_EOF ? drain(x) : fault(x, TC_UNPACK_FORMAT, "");
}

static int pass(struct extract *x,
                int (*take)(struct extract *, struct archive_entry *, const char *))
{
    int r = open_stream(x) ? each(x, take) : fault(x, TC_UNPACK_FORMAT, "");
    close_stream(x);
    forget_parent(x);
    return r;
}

void tc_unpack_here(const struct tc_unpack_job *job, struct tc_unpack_report *report, int say)
{
    struct extract x = {.job = job, .report = report, .say = say, .parent = -1};
    x.block = malloc(BLOCK);
    errno = ENOMEM;
    if (!x.block)
        (void)fault(&x, TC_UNPACK_SYSTEM, "");
    else if (!job->layer || job->first || pass(&x, remove_lower) == 0)
        (void)pass(&x, put_upper);
    free(x.block);
}
