/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/segments.h"
#include "base/cleanup.h"

/* The anchor's lines, read along with the records: both are in order. */
struct anchor {
    FILE *file; /* NULL: none, or read to its end */
    bool given;
    int64_t left;       /* bytes that it had at the beginning: later lines are of later records */
    uint64_t line, seq; /* of the current line */
    char hash[TC_DIGEST_SIZE];
};

struct verify {
    int dir;
    tc_audit_fault_fn *fault;
    void *context;
    struct tc_audit_found *found;
    struct anchor anchor;
    const char *segment; /* that is read */
    uint64_t line;       /* in it */
    /* the chain so far */
    bool begun, known; /* known: `last` is the hash of the record before */
    uint64_t first, seq;
    char first_prev[TC_DIGEST_SIZE], last[TC_DIGEST_SIZE];
    struct tc_segment_open open;    /* of the newest segment … */
    struct tc_segment_open covered; /* … and of the one with the newest record of the anchor */
};

static void report(struct verify *v, const char *segment, uint64_t line, const char *what)
{
    v->found->faults++;
    v->fault(v->context, segment, line, what);
}

/* ---- the anchor ---- */

static void report_anchor(struct verify *v, uint64_t seq, const char *what)
{
    char text[192];
    (void)snprintf(text, sizeof(text), "%s (the anchor's line %" PRIu64 ", record %" PRIu64 ")",
                   what, v->anchor.line, seq);
    report(v, NULL, 0, text);
}

/* Is it the beginning of a line, which was cut on a full disk? */
static bool is_cut_line(const char *text)
{
    static const char kind[] = " sha256:";
    size_t digits = strspn(text, "0123456789"), at = digits;
    for (size_t i = 0; kind[i] && text[at] == kind[i]; i++)
        at++;
    bool whole = at == digits + strlen(kind);
    size_t hex = whole ? strspn(text + at, "0123456789abcdef") : 0;
    bool end = text[at + hex] == '\n' || !text[at + hex];
    return digits && end && hex < TC_DIGEST_SIZE - sizeof(kind);
}

/* Reads the next line of the anchor; a line that is no line of an anchor is a fault. */
static void next_anchor(struct verify *v)
{
    struct anchor *a = &v->anchor;
    char text[160], end = '\0';
    uint64_t before = a->seq;
    bool first = !a->line;
    while (a->file && a->left > 0 && fgets(text, sizeof(text), a->file)) {
        a->left -= (int64_t)strlen(text);
        a->line++;
        if (is_cut_line(text))
            continue; /* its record was taken back */
        if (sscanf(text, "%" SCNu64 " %71[a-z0-9:]%c", &a->seq, a->hash, &end) != 3 || end != '\n')
            report_anchor(v, 0, "the anchor has a line that is not one of an anchor");
        else if (!first && a->seq <= before)
            report_anchor(v, a->seq, "the anchor has a record twice, or in another order");
        else
            return;
    }
    if (a->file)
        (void)fclose(a->file);
    a->file = NULL;
}

/* Does the anchor have this record? */
static void meet_anchor(struct verify *v, const struct tc_audit_line *line)
{
    struct anchor *a = &v->anchor;
    v->found->after++;
    for (; a->file && a->seq <= line->seq; next_anchor(v)) {
        if (a->seq < line->seq && a->seq >= v->first)
            report_anchor(v, a->seq, "the log has lost a record");
        if (a->seq != line->seq)
            continue;
        if (strcmp(a->hash, line->hash) != 0)
            report_anchor(v, a->seq, "the log has another record than its anchor");
        v->covered = v->open;
        v->found->anchored++;
        v->found->after = 0;
    }
}

static int open_anchor(struct verify *v, const char *path)
{
    if (!path)
        return 0;
    v->anchor.given = true;
    v->anchor.file = fopen(path, "re");
    struct stat st;
    if (!v->anchor.file || fstat(fileno(v->anchor.file), &st) < 0)
        return -1;
    v->anchor.left = st.st_size;
    next_anchor(v);
    return 0;
}

static void end_anchor(struct verify *v)
{
    if (v->anchor.file)
        report_anchor(v, v->anchor.seq, "the end of the log was cut off");
    else if (v->anchor.given && v->found->records && !v->found->anchored)
        report(v, NULL, 0, "the anchor has no record of this log");
    if (v->anchor.file)
        (void)fclose(v->anchor.file);
    v->anchor.file = NULL;
}

/* ---- records ---- */

/* The fault in the chain before this record; NULL: none. */
static const char *chain_fault(const struct verify *v, const struct tc_audit_line *line)
{
    if (line->seq > v->seq)
        return "does not follow the one before it: records are missing";
    if (line->seq < v->seq)
        return "does not follow the one before it: it is doubled or moved";
    return v->known && strcmp(line->prev, v->last) != 0
               ? "does not follow the one before it, which was replaced"
               : NULL;
}

/* Only the first record of a segment is an "open", and names its segment. */
static const char *open_fault(struct verify *v, const struct tc_audit_line *line)
{
    struct tc_segment_open open;
    bool is_open = strcmp(line->kind, "open") == 0;
    if (is_open != (v->line == 1))
        return is_open ? "begins a segment, and is not its first"
                       : "is the first, and does not begin the segment";
    if (!is_open)
        return NULL;
    if (!tc_segment_read_open(line, &open) || strcmp(open.segment, v->segment) != 0)
        return "belongs to another segment";
    v->open = open;
    return NULL;
}

static void count(struct verify *v, const struct tc_audit_line *line)
{
    v->found->run += strcmp(line->kind, "run") == 0;
    v->found->refused += strcmp(line->kind, "refused") == 0;
    v->found->results += strcmp(line->kind, "result") == 0;
    v->found->settle += strcmp(line->kind, "settle") == 0;
    v->found->settled += strcmp(line->kind, "settled") == 0;
}

static bool take_line(void *context, const char *text, size_t length)
{
    struct verify *v = context;
    struct tc_audit_line line;
    v->line++;
    v->found->records++;
    const char *fault = tc_audit_line_read(text, length, &line);
    fault = fault ? fault : tc_audit_line_check(text, length, &line);
    if (fault) {
        report(v, v->segment, v->line, fault);
        v->seq++;
        v->known = false; /* of the next record, only the number is known */
        return true;
    }
    if (!v->begun) {
        v->begun = true;
        v->first = v->seq = line.seq;
        memcpy(v->first_prev, line.prev, sizeof(v->first_prev));
    }
    fault = chain_fault(v, &line);
    fault = fault ? fault : open_fault(v, &line);
    if (fault)
        report(v, v->segment, v->line, fault);
    v->seq = line.seq + 1;
    v->known = true;
    memcpy(v->last, line.hash, sizeof(v->last));
    count(v, &line);
    meet_anchor(v, &line);
    return true;
}

/* ---- segments ---- */

/* A writer may be in the middle of a record. */
static int64_t read_rest(struct verify *v, int fd, int64_t from, bool *ret_cut)
{
    enum { TRIES = 5, PAUSE_NS = 10000000 };
    for (int i = 0; from >= 0 && *ret_cut && i < TRIES; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        from = tc_segment_each(fd, from, take_line, v, ret_cut);
    }
    return from;
}

static int check_segment(struct verify *v, const char *segment, bool newest)
{
    bool cut = false;
    _autofd_ int fd = tc_segment_open(v->dir, segment, O_RDONLY);
    v->segment = segment;
    v->line = 0;
    v->found->segments++;
    if (fd < 0 && (errno == EBADF || errno == ELOOP || errno == ENXIO)) {
        report(v, segment, 0, "is not a plain file");
        return 0;
    }
    int64_t end = fd < 0 ? -1 : tc_segment_each(fd, 0, take_line, v, &cut);
    if (end < 0 || read_rest(v, fd, end, &cut) < 0)
        return -1;
    v->found->unfinished = newest && (cut || !v->line); /* the next writer replaces it */
    if (cut && !newest)
        report(v, segment, v->line + 1, "was not written to its end, or was cut");
    else if (!v->line && !newest)
        report(v, segment, 0, "is empty");
    return 0;
}

/* The newest segment says which record was the first when it was begun. */
static void check_beginning(struct verify *v)
{
    const struct tc_segment_open *open = v->anchor.given ? &v->covered : &v->open;
    if (!v->begun || !open->segment[0])
        return;
    if (v->first > open->from ||
        (v->first == open->from && strcmp(v->first_prev, open->after) != 0))
        report(v, NULL, 0, "the beginning of the log is missing, or was replaced");
}

static int verify_all(struct verify *v, const struct tc_strv *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (check_segment(v, names->items[i], i + 1 == names->count) < 0)
            return -1;
    check_beginning(v);
    end_anchor(v);
    return 0;
}

static int verify_once(struct verify *v, const char *anchor)
{
    _autostrv_ struct tc_strv names = {0};
    int r = open_anchor(v, anchor); /* before the log: its records are in the log then */
    if (r == 0)
        r = tc_segments_list(v->dir, &names);
    if (r == 0)
        r = verify_all(v, &names);
    int saved = errno;
    if (v->anchor.file)
        (void)fclose(v->anchor.file);
    errno = saved;
    return r;
}

int tc_audit_verify(int dir, const char *anchor, tc_audit_fault_fn *fault, void *context,
                    struct tc_audit_found *ret)
{
    enum { TRIES = 5 };
    int r = -1;
    errno = ENOENT;
    /* a segment was removed meanwhile, as a policy says: once more */
    for (int i = 0; r < 0 && errno == ENOENT && !ret->faults && i < TRIES; i++) {
        struct verify v = {.dir = dir, .fault = fault, .context = context, .found = ret};
        *ret = (struct tc_audit_found){0};
        r = verify_once(&v, anchor);
    }
    return r;
}
