/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/reader.h"
#include "audit/segments.h"
#include "base/fd.h"
#include "state/store.h"

enum { SEGMENT_BYTES = 32 << 20, INTERVAL_US = 1000000, LOCK_US = 2000000 };

/* A writer, for one record. */
struct writer {
    const struct tc_audit_options *options;
    int dir, fd; /* of the newest segment */
    struct tc_strv segments;
    int64_t size; /* of the newest segment */
    uint64_t seq; /* of the next record */
    char last[TC_DIGEST_SIZE];
};

static void writer_done(struct writer *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    if (w->dir >= 0) {
        (void)flock(w->dir, LOCK_UN); /* a fork of this program may hold a copy of the fd */
        (void)close(w->dir);
    }
    tc_strv_done(&w->segments);
}

static int fail(struct toolcage_error **err, const char *subject, int errnum, const char *hint)
{
    return tc_fail(err, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "audit", subject, errnum, hint),
                   "cannot write the audit log, without which no call runs");
}

static int fail_write(struct toolcage_error **err, const char *subject)
{
    return fail(err, subject, errno,
                errno == ENOSPC || errno == EDQUOT || errno == EFBIG
                    ? "free some space on its disk, or set keep in [audit]"
                    : "make the directory and its files writable for this user alone; if toolcage "
                      "ran as root with this user's HOME, root may own them");
}

static int fail_damaged(struct toolcage_error **err, const char *segment, const char *what)
{
    _autofree_ char *subject = tc_format("%s.jsonl, which %s", segment, what);
    return fail(err, subject ? subject : segment, 0,
                "toolcage audit verify shows what is wrong; move the log's directory away to begin "
                "a new log");
}

/* ---- the directory ---- */

static int open_directory(struct writer *w, struct toolcage_error **err)
{
    _autofree_ char *path = tc_audit_path();
    if (!path)
        return fail(err, "HOME", 0,
                    "set HOME or XDG_STATE_HOME: the log is in the state directory");
    w->dir = tc_audit_open(path, true);
    if (w->dir < 0 && errno == ENOENT && tc_make_directories(path) == 0)
        w->dir = tc_audit_open(path, true);
    struct stat st;
    if (w->dir < 0 || fstat(w->dir, &st) < 0)
        return fail_write(err, path);
    /* a user who can open the directory could hold the lock */
    if ((st.st_mode & 0077) && fchmod(w->dir, 0700) < 0)
        return fail_write(err, path);
    if (tc_store_wait(w->dir, LOCK_EX, LOCK_US) < 0)
        return fail(err, path, errno, "see which other program holds a lock on the directory");
    return tc_segments_list(w->dir, &w->segments) < 0 ? fail_write(err, path) : 0;
}

/* ---- one record ---- */

static int flush(const struct writer *w)
{
    const struct tc_audit_options *o = w->options;
    int64_t now = tc_now_us(), before = 0;
    if (o->sync == TC_SYNC_NONE)
        return 0;
    if (o->sync == TC_SYNC_INTERVAL) {
        before = o->synced_us ? atomic_load(o->synced_us) : now;
        if (!before && o->synced_us)
            atomic_store(o->synced_us, now);
        if (!before || now - before < INTERVAL_US)
            return 0;
        atomic_store(o->synced_us, now);
    }
    return fdatasync(w->fd);
}

/* A signal for a file that is too large would end the host. */
static bool is_too_large(int64_t size)
{
    struct rlimit most;
    errno = EFBIG;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && (rlim_t)size > most.rlim_cur;
}

/* Takes a part of a line back, if that is possible; keeps errno. */
static void cut_back(int fd, int64_t size)
{
    int saved = errno;
    (void)!ftruncate(fd, size);
    errno = saved;
}

/* A newline, if the anchor ends in a line that was cut on a full disk. NULL with errno. */
static const char *anchor_start(int fd, struct stat *ret)
{
    char last = '\n';
    if (fd < 0 || fstat(fd, ret) < 0)
        return NULL;
    errno = EPERM;
    if (!S_ISREG(ret->st_mode) || (ret->st_size && pread(fd, &last, 1, ret->st_size - 1) != 1))
        return NULL;
    return last == '\n' ? "" : "\n";
}

static int write_anchor(const struct writer *w, const char *hash)
{
    const int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    _autofd_ int fd = open(w->options->anchor, flags, 0600);
    struct stat st;
    const char *start = anchor_start(fd, &st);
    _autofree_ char *line = start ? tc_format("%s%" PRIu64 " %s\n", start, w->seq, hash) : NULL;
    if (!line || is_too_large(st.st_size + (int64_t)strlen(line)))
        return -1;
    if (tc_write_all(fd, line, strlen(line)) == 0 &&
        (w->options->sync != TC_SYNC_ALWAYS || fdatasync(fd) == 0))
        return 0;
    cut_back(fd, st.st_size);
    return -1;
}

static int put(struct writer *w, const char *kind, const struct tc_buf *members,
               struct toolcage_error **err)
{
    _autobuf_ struct tc_buf line = {.max = TC_AUDIT_LINE_MAX};
    char hash[TC_DIGEST_SIZE] = "";
    tc_audit_line_begin(&line, w->last, w->seq, kind);
    tc_buf_addc(&line, ',');
    tc_buf_add(&line, members->data, members->len);
    if (line.failed || members->failed || memchr(line.data, '\n', line.len))
        return tc_fail_memory(err);
    tc_audit_line_end(&line, hash);
    if (line.failed)
        return tc_fail_memory(err);
    if (is_too_large(w->size + (int64_t)line.len))
        return fail_write(err, "its newest file");
    if (tc_write_all(w->fd, line.data, line.len) < 0 || flush(w) < 0)
        return cut_back(w->fd, w->size), fail_write(err, "its newest file");
    if (w->options->anchor && write_anchor(w, hash) < 0)
        return cut_back(w->fd, w->size), fail_write(err, w->options->anchor);
    w->size += (int64_t)line.len;
    memcpy(w->last, hash, sizeof(hash));
    w->seq++;
    return 0;
}

/* ---- segments ---- */

/* Names sort in the order in which segments are begun, also within a millisecond and after the
 * clock was set back. */
static void place_after(char name[TC_ULID_SIZE], const char *newest)
{
    enum { TIME = 10 };
    static const char digits[] = TC_ULID_DIGITS;
    if (strcmp(name, newest) > 0)
        return;
    memcpy(name, newest, TIME);
    for (int i = TIME; i-- > 0;) {
        const char *next = strchr(digits, name[i]) + 1;
        name[i] = *next ? *next : digits[0];
        if (*next)
            return;
    }
}

/* How many of the oldest segments are too many, so that the rest and a new one fit. */
static size_t too_many(const struct writer *w)
{
    int64_t total = 0;
    char file[TC_SEGMENT_FILE_SIZE];
    struct stat st;
    for (size_t i = w->segments.count; w->options->keep && i-- > 0;) {
        tc_segment_file(w->segments.items[i], file);
        total += fstatat(w->dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
        if (total > w->options->keep)
            return i + 1 < w->segments.count ? i + 1 : i; /* the newest stays */
    }
    return 0;
}

/* The first record that is kept if so many of the oldest segments are removed. Without any it is
 * the one that the newest segment names. */
static const char *find_first(const struct writer *w, size_t removed, struct tc_segment_open *ret)
{
    struct tc_audit_line first;
    if (!w->segments.count) {
        ret->from = 0;
        memcpy(ret->after, tc_audit_nothing, sizeof(ret->after));
        return NULL;
    }
    size_t at = removed ? removed : w->segments.count - 1;
    _autofd_ int fd = tc_segment_open(w->dir, w->segments.items[at], O_RDONLY);
    const char *wrong = fd < 0 ? "cannot be opened" : tc_segment_first(fd, &first);
    if (!wrong && !tc_segment_read_open(&first, ret))
        wrong = "has no record at its beginning";
    if (!wrong && removed) {
        ret->from = first.seq;
        memcpy(ret->after, first.prev, sizeof(ret->after));
    }
    return wrong;
}

static void remove_oldest(const struct writer *w, size_t count)
{
    char file[TC_SEGMENT_FILE_SIZE];
    for (size_t i = 0; i < count; i++) {
        tc_segment_file(w->segments.items[i], file);
        if (unlinkat(w->dir, file, 0) < 0)
            return;
    }
}

/* Begins a segment; the lock keeps all others away until it has its first record. */
static int begin_segment(struct writer *w, struct toolcage_error **err)
{
    struct tc_segment_open open;
    char file[TC_SEGMENT_FILE_SIZE];
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    size_t count = w->segments.count, removed = too_many(w);
    const char *wrong = find_first(w, removed, &open);
    if (wrong)
        return fail_damaged(err, w->segments.items[removed ? removed : count - 1], wrong);
    if (tc_ulid(open.segment) < 0)
        return fail_write(err, "a random number");
    if (count)
        place_after(open.segment, w->segments.items[count - 1]);
    tc_segment_write_open(&open, &members);
    tc_segment_file(open.segment, file);
    if (w->fd >= 0)
        (void)close(TAKE_FD(w->fd));
    w->fd =
        openat(w->dir, file, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    w->size = 0;
    if (w->fd < 0 || (w->options->sync != TC_SYNC_NONE && fsync(w->dir) < 0))
        return fail_write(err, file);
    int r = put(w, "open", &members, err);
    if (r < 0)
        (void)unlinkat(w->dir, file, 0);
    else
        remove_oldest(w, removed);
    return r;
}

/* What a killed writer left is no record: it is replaced by one that says so. */
static int replace_cut(struct writer *w, const struct tc_segment_end *end,
                       struct toolcage_error **err)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    if (!end->cut)
        return 0;
    if (is_too_large(end->size + TC_AUDIT_HEAD_SIZE) || ftruncate(w->fd, end->size) < 0)
        return fail_write(err, "its newest file");
    tc_buf_addf(&members, "\"bytes\":%" PRId64, end->cut);
    return put(w, "cut", &members, err);
}

/* Opens the newest segment at its end. A segment without a whole line was being begun when its
 * writer was killed: it is removed. */
static int open_newest(struct writer *w, struct toolcage_error **err)
{
    struct tc_segment_end end = {.cut = 0};
    while (w->segments.count) {
        const char *name = w->segments.items[w->segments.count - 1];
        char file[TC_SEGMENT_FILE_SIZE];
        tc_segment_file(name, file);
        w->fd = tc_segment_open(w->dir, name, O_RDWR | O_APPEND);
        if (!tc_store_own(w->fd, S_IFREG))
            return w->fd < 0 && errno == EBADF ? fail_damaged(err, name, "is not a plain file")
                                               : fail_write(err, file);
        bool begun = tc_segment_has_line(w->fd);
        const char *wrong = begun ? tc_segment_end(w->fd, &end) : NULL;
        if (wrong)
            return fail_damaged(err, name, wrong);
        if (begun)
            break;
        (void)close(TAKE_FD(w->fd));
        if (unlinkat(w->dir, file, 0) < 0)
            return fail_write(err, file);
        free(w->segments.items[--w->segments.count]);
        w->segments.items[w->segments.count] = NULL;
    }
    w->size = end.size;
    w->seq = w->fd < 0 ? 0 : end.last.seq + 1;
    memcpy(w->last, w->fd < 0 ? tc_audit_nothing : end.last.hash, sizeof(w->last));
    return w->fd < 0 ? 0 : replace_cut(w, &end, err);
}

int tc_audit_append(const struct tc_audit_options *options, const char *kind,
                    const struct tc_buf *members, struct toolcage_error **err)
{
    _auto_(writer_done) struct writer w = {.options = options, .dir = -1, .fd = -1};
    int64_t most = options->segment ? options->segment : SEGMENT_BYTES;
    int r = open_directory(&w, err);
    if (r == 0)
        r = open_newest(&w, err);
    if (r == 0 && (w.fd < 0 || w.size >= most))
        r = begin_segment(&w, err);
    return r < 0 ? r : put(&w, kind, members, err);
}
