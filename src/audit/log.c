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

enum { SEGMENT_BYTES = 32 << 20, INTERVAL_US = 1000000, LOCK_US = 10000000, PAUSE_NS = 200000 };

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
    if (w->dir >= 0)
        (void)close(w->dir);
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

/* A stopped program that has the lock must not stop all others for good. */
static int lock_directory(int dir)
{
    for (int64_t us = 0; flock(dir, LOCK_EX | LOCK_NB) < 0; us += PAUSE_NS / 1000) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || us > LOCK_US)
            return -1;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}

static int open_directory(struct writer *w, struct toolcage_error **err)
{
    _autofree_ char *path = tc_audit_path();
    if (!path)
        return fail(err, "HOME", 0,
                    "set HOME or XDG_STATE_HOME: the log is in the state directory");
    w->dir = tc_audit_open(path, true);
    if (w->dir < 0 && errno == ENOENT && tc_make_directories(path) == 0)
        w->dir = tc_audit_open(path, true);
    if (w->dir < 0)
        return fail_write(err, path);
    if (lock_directory(w->dir) < 0)
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

static int write_anchor(const struct writer *w, const char *hash)
{
    _autofree_ char *line = tc_format("%" PRIu64 " %s\n", w->seq, hash);
    _autofd_ int fd =
        line ? open(w->options->anchor,
                    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                    0600)
             : -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    errno = EPERM;
    if (!S_ISREG(st.st_mode) || is_too_large(st.st_size + (int64_t)strlen(line)))
        return -1;
    if (tc_write_all(fd, line, strlen(line)) == 0)
        return 0;
    int saved = errno;
    if (ftruncate(fd, st.st_size) == 0)
        errno = saved;
    return -1;
}

/* Takes a part of a record back. */
static int undo(const struct writer *w, struct toolcage_error **err, const char *subject)
{
    int saved = errno;
    if (ftruncate(w->fd, w->size) == 0)
        errno = saved;
    return fail_write(err, subject);
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
        return undo(w, err, "its newest file");
    if (w->options->anchor && write_anchor(w, hash) < 0)
        return undo(w, err, w->options->anchor);
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
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
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
    if (w->fd < 0)
        return fail_write(err, file);
    int r = put(w, "open", &members, err);
    if (r == 0 && w->options->sync != TC_SYNC_NONE && fsync(w->dir) < 0)
        r = fail_write(err, file);
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
    if (ftruncate(w->fd, end->size) < 0)
        return fail_write(err, "its newest file");
    tc_buf_addf(&members, "\"bytes\":%" PRId64, end->cut);
    return put(w, "cut", &members, err);
}

/* Opens the newest segment at its end. A segment that is empty was being begun when its writer was
 * killed: it is removed. */
static int open_newest(struct writer *w, struct toolcage_error **err)
{
    struct tc_segment_end end = {.cut = 0};
    struct stat st;
    while (w->segments.count) {
        const char *name = w->segments.items[w->segments.count - 1];
        char file[TC_SEGMENT_FILE_SIZE];
        tc_segment_file(name, file);
        w->fd = tc_segment_open(w->dir, name, O_RDWR | O_APPEND);
        if (!tc_store_own(w->fd, S_IFREG) || fstat(w->fd, &st) < 0)
            return w->fd < 0 && errno == EBADF ? fail_damaged(err, name, "is not a plain file")
                                               : fail_write(err, file);
        const char *wrong = st.st_size ? tc_segment_end(w->fd, &end) : NULL;
        if (wrong)
            return fail_damaged(err, name, wrong);
        if (st.st_size)
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
