/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static const char ending[] = ".jsonl";

void tc_segment_file(const char *segment, char out[TC_SEGMENT_FILE_SIZE])
{
    (void)stpcpy(stpcpy(out, segment), ending);
}

int tc_segments_list(int dir, struct tc_strv *ret)
{
    _autodir_ DIR *entries = tc_list_dir(dir);
    struct dirent *e;
    int more = entries ? 1 : -1;
    while (more > 0 && (more = tc_next_entry(entries, &e)) > 0) {
        char name[TC_ULID_SIZE];
        if (tc_ulid_named(e->d_name, ending, name) && !tc_strv_add(ret, name))
            return -1;
    }
    tc_strv_sort(ret);
    return more;
}

int tc_segment_open(int dir, const char *segment, int flags)
{
    char file[TC_SEGMENT_FILE_SIZE];
    tc_segment_file(segment, file);
    _autofd_ int fd = openat(dir, file, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    errno = EBADF;
    return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -1;
}

/* ---- lines ---- */

/* A block of a file, with room for the longest line and its newline. */
struct block {
    char text[TC_AUDIT_LINE_MAX + 1];
    size_t have;
    bool skips; /* the rest of an overlong line, which was passed on */
    tc_segment_line_fn *fn;
    void *context;
    bool more;
};

/* Passes on the lines of the block; returns their bytes. */
static size_t take_lines(struct block *b)
{
    size_t done = 0;
    for (char *end; b->more && (end = memchr(b->text + done, '\n', b->have - done));) {
        if (!b->skips)
            b->more = b->fn(b->context, b->text + done, (size_t)(end - b->text) - done);
        b->skips = false;
        done = (size_t)(end - b->text) + 1;
    }
    if (b->more && !done && b->have == sizeof(b->text)) {
        b->more = b->skips || b->fn(b->context, b->text, b->have);
        b->skips = true;
        done = b->have;
    }
    return done;
}

int64_t tc_segment_each(int fd, int64_t from, tc_segment_line_fn *fn, void *context, bool *ret_cut)
{
    _autofree_ struct block *b = malloc(sizeof(*b));
    ssize_t n = b ? 1 : -1;
    if (b) {
        b->have = 0;
        b->skips = false;
        b->more = true;
        b->fn = fn;
        b->context = context;
    }
    while (b && b->more && n > 0) {
        n = pread(fd, b->text + b->have, sizeof(b->text) - b->have, from + (int64_t)b->have);
        if (n < 0 && errno == EINTR) {
            n = 1;
        } else if (n > 0) {
            b->have += (size_t)n;
            size_t done = take_lines(b);
            memmove(b->text, b->text + done, b->have - done);
            from += (int64_t)done;
            b->have -= done;
        }
    }
    *ret_cut = b && b->more && (b->have || b->skips);
    return n < 0 ? -1 : from;
}

/* Reads the last whole line, which is in the last `want` bytes of the file, or NULL. *ret_begun:
 * the bytes begin in the middle of it. */
static const char *read_end(const char *text, size_t want, bool all, struct tc_segment_end *ret,
                            bool *ret_begun)
{
    const char *end = memrchr(text, '\n', want);
    const char *before = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
    *ret_begun = !end || (!before && !all);
    if (*ret_begun)
        return NULL;
    const char *line = before ? before + 1 : text;
    ret->cut = (int64_t)(text + want - end) - 1;
    return tc_audit_line_read(line, (size_t)(end - line), &ret->last);
}

const char *tc_segment_end(int fd, struct tc_segment_end *ret)
{
    static const char none[] = "has no whole record at its end";
    struct stat st;
    if (fstat(fd, &st) < 0)
        return none;
    for (int64_t size = 16 << 10; size <= 4 * TC_AUDIT_LINE_MAX; size *= 16) {
        size_t want = (size_t)(size < st.st_size ? size : st.st_size);
        bool all = (int64_t)want == st.st_size, begun;
        _autofree_ char *text = malloc(want + 1);
        if (!text || pread(fd, text, want, st.st_size - (int64_t)want) != (ssize_t)want)
            return none;
        const char *wrong = read_end(text, want, all, ret, &begun);
        ret->size = st.st_size - ret->cut;
        if (!begun || all)
            return begun || wrong ? none : NULL;
    }
    return none;
}

bool tc_segment_has_line(int fd)
{
    enum { FIRST = 4096 }; /* an "open" is much shorter */
    char text[FIRST];
    ssize_t n = pread(fd, text, sizeof(text), 0);
    return n < 0 || n == sizeof(text) || memchr(text, '\n', (size_t)n);
}

static bool take_first(void *context, const char *text, size_t length)
{
    struct tc_audit_line *line = context;
    if (tc_audit_line_read(text, length, line))
        line->kind[0] = '\0';
    return false;
}

const char *tc_segment_first(int fd, struct tc_audit_line *ret)
{
    bool cut;
    ret->kind[0] = '\0';
    return tc_segment_each(fd, 0, take_first, ret, &cut) < 0 || !ret->kind[0]
               ? "has no record at its beginning"
               : NULL;
}

/* ---- "open" ---- */

void tc_segment_write_open(const struct tc_segment_open *open, struct tc_buf *members)
{
    tc_buf_addf(members, "\"segment\":\"%s\",\"from\":%" PRIu64 ",\"after\":\"%s\"", open->segment,
                open->from, open->after);
}

bool tc_segment_read_open(const struct tc_audit_line *line, struct tc_segment_open *ret)
{
    return strcmp(line->kind, "open") == 0 &&
           sscanf(line->rest,
                  ",\"time\":\"%*[^\"]\",\"segment\":\"%26[0-9A-Z]\",\"from\":%" SCNu64
                  ",\"after\":\"%71[a-z0-9:]\"",
                  ret->segment, &ret->from, ret->after) == 3;
}
