/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Journals of commits: of running ones, and of interrupted ones, which are completed. */
#include "workspace/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "state/seal.h"
#include "state/store.h"
#include "workspace/copy.h"
#include "workspace/layer.h"
#include "workspace/state.h"

/* A record is a letter and a string that ends with NUL: the tool, the suffix of the names of staged
 * files, a directory on the host, and a directory below it in which they are in a directory, or
 * alone. Then come the letter of the list, the count of its steps that were taken, its seal, and
 * the list. */
enum { TOOL = 'T', ID = 'I', ROOT = 'R', DIRECTORY_IN = 'D', FILE_IN = 'F', LIST = 'L' };
enum {
    ID_LENGTH = 16,
    SEAL_LENGTH = TC_DIGEST_SIZE - 1,
    REPORT_MAX = 16 << 10,
    LIST_MAX = 512 << 20,
};
enum mark { LIVE, CUT, TOLD };
static const char *const suffixes[] = {[LIVE] = "", [CUT] = ".cut", [TOLD] = ".told"};
static const char prefix[] = ".toolcage-", digits[] = "0123456789abcdef";

static _Atomic bool untold; /* a sweep found an interrupted commit that no call has reported yet */

static const char commits[] = TC_STATE_COMMITS, key[] = "commits.key"; /* in the state directory */

int tc_journal_open(const char **ret_where)
{
    return tc_state_open(commits, ret_where);
}

static DIR *open_journals(void)
{
    return tc_take_dir(tc_state_look(commits));
}

/* ---- the committing process ---- */

/* The journal of a process that commits repeatedly: creating a file takes longer than most commits.
 * A commit takes it out; a concurrent commit creates its own file. */
static _Atomic(struct tc_journal *) lasting;

static void add_field(struct tc_buf *to, char kind, const char *text)
{
    tc_buf_addc(to, kind);
    tc_buf_add(to, text, strlen(text) + 1);
}

/* Would a sweep still find the file in this directory? */
static bool is_found(const struct tc_journal *j, int dir)
{
    struct stat its, found;
    return fstat(j->fd, &its) == 0 && fstatat(dir, j->name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           its.st_dev == found.st_dev && its.st_ino == found.st_ino;
}

static bool take_journal(struct tc_journal *j, int dir)
{
    struct tc_journal *kept = atomic_exchange(&lasting, NULL);
    bool good = kept && is_found(kept, dir);
    if (good) {
        j->fd = TAKE_FD(kept->fd);
        memcpy(j->name, kept->name, sizeof(j->name));
    } else if (kept) {
        (void)close(kept->fd);
    }
    free(kept);
    return good;
}

/* Keeps the file for the next commit; an empty journal counts as none. */
static bool keep_journal(struct tc_journal *j)
{
    struct tc_journal *none = NULL, *kept = j->lasting ? malloc(sizeof(*kept)) : NULL;
    if (!kept)
        return false;
    *kept = *j;
    if (ftruncate(j->fd, 0) == 0 && lseek(j->fd, 0, SEEK_SET) == 0 &&
        atomic_compare_exchange_strong(&lasting, &none, kept))
        return true;
    free(kept);
    return false;
}

static int make_file(struct tc_journal *j, int dir)
{
    j->fd = openat(dir, j->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return j->fd < 0 ? -1 : tc_store_lock(j->fd, false); /* a sweep may have locked it first */
}

/* Each commit has another temporary name: a process that saw one could create the next one's
 * file. */
int tc_journal_begin(struct tc_journal *j, int dir, const char *tool, bool lasts)
{
    uint64_t random;
    *j = (struct tc_journal){
        .dir = dir, .fd = -1, .lasting = lasts, .tool = tool ? tool : "", .root = SIZE_MAX};
    if (dir < 0 || getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -1;
    (void)snprintf(j->name, sizeof(j->name), "%016llx", (unsigned long long)random);
    (void)snprintf(j->temporary, sizeof(j->temporary), "%s%s", prefix, j->name);
    return lasts && take_journal(j, dir) ? 0 : make_file(j, dir);
}

/* The first record says whose commit this is. */
static void add_head(const struct tc_journal *j, struct tc_buf *text)
{
    if (j->size)
        return;
    add_field(text, TOOL, j->tool);
    add_field(text, ID, j->temporary + strlen(prefix));
}

static int append(struct tc_journal *j, const struct tc_buf *text)
{
    errno = ENOMEM;
    if (text->failed || tc_write_all(j->fd, text->data, text->len) < 0)
        return -1;
    j->size += (int64_t)text->len;
    return 0;
}

int tc_journal_stage(struct tc_journal *j, const struct tc_steps *s, const struct tc_step_place *p)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    add_head(j, &text);
    if (j->root != p->root)
        add_field(&text, ROOT, s->roots[p->root].path);
    add_field(&text, p->alone ? FILE_IN : DIRECTORY_IN, p->above);
    j->root = p->root;
    return append(j, &text);
}

/* The seal of a list. Only its journal and its tool make it valid. */
static bool seal(const char *id, const char *tool, const char *bytes, size_t len, const char *held,
                 char out[TC_DIGEST_SIZE])
{
    char digest[TC_DIGEST_SIZE], dir[64];
    _autofd_ int keys = held ? tc_state_look(key) : tc_state_open(key, NULL);
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    SHA256Update(&ctx, (const uint8_t *)bytes, len);
    tc_digest_finish(&ctx, digest);
    _autofree_ char *text = tc_format("toolcage-commit 1\n%s\n%s\n%s\n", id, tool, digest);
    (void)snprintf(dir, sizeof(dir), "/proc/self/fd/%d", keys);
    return keys >= 0 && text && (held ? tc_seal_holds(dir, text, held) : tc_seal(dir, text, out));
}

int tc_journal_list(struct tc_journal *j, struct tc_steps *s)
{
    static const uint64_t none = 0, begun = 1;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tc_wire w = TC_WIRE_PUT_INIT;
    char mac[TC_DIGEST_SIZE];
    text.max = w.out.max = LIST_MAX;
    tc_steps_visit(&w, s);
    add_head(j, &text);
    tc_buf_addc(&text, LIST);
    s->counter = j->size + (int64_t)text.len;
    errno = ENOMEM;
    bool sealed =
        !w.failed && seal(j->temporary + strlen(prefix), j->tool, w.out.data, w.out.len, NULL, mac);
    if (sealed) {
        tc_buf_add(&text, &none, sizeof(none));
        tc_buf_add(&text, mac, SEAL_LENGTH);
        tc_buf_add(&text, w.out.data, w.out.len);
    }
    tc_buf_done(&w.out);
    if (!sealed || append(j, &text) < 0 ||
        pwrite(j->fd, &begun, sizeof(begun), s->counter) != sizeof(begun))
        return -1;
    s->journal = j->fd;
    return 0;
}

void tc_journal_leave(struct tc_journal *j)
{
    if (j->fd >= 0)
        (void)close(TAKE_FD(j->fd));
}

void tc_journal_end(struct tc_journal *j)
{
    if (j->fd < 0 || keep_journal(j))
        return;
    (void)unlinkat(j->dir, j->name, 0);
    (void)close(TAKE_FD(j->fd));
}

void tc_journal_close(void)
{
    struct tc_journal *kept = atomic_exchange(&lasting, NULL);
    _autofd_ int dir = kept ? tc_journal_open(NULL) : -1;
    if (kept && is_found(kept, dir))
        (void)unlinkat(dir, kept->name, 0);
    if (kept)
        (void)close(kept->fd);
    free(kept);
}

/* ---- the remains of dead processes ---- */

struct entry {
    const char *tool, *id;
    const char *list; /* NULL: none */
    size_t list_length;
    const char *seal;
    uint64_t counted; /* 0: no step was taken, else one more than the steps that were */
    int64_t counter;
};

static void parse(const struct tc_buf *text, const char *name, struct entry *e)
{
    *e = (struct entry){.tool = "", .id = name};
    const char *at = text->data, *end = at + text->len;
    for (; at && at < end && *at != LIST && memchr(at, '\0', (size_t)(end - at));
         at += strlen(at) + 1) {
        e->tool = *at == TOOL ? at + 1 : e->tool;
        e->id = *at == ID ? at + 1 : e->id;
    }
    if (!at || at >= end || *at != LIST || end - at < 1 + 8 + SEAL_LENGTH)
        return;
    e->counter = ++at - text->data;
    memcpy(&e->counted, at, sizeof(e->counted));
    e->seal = at + sizeof(e->counted);
    e->list = e->seal + SEAL_LENGTH;
    e->list_length = (size_t)(end - e->list);
}

static int open_root(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return path[0] == '/' ? tc_openat2(AT_FDCWD, path, &how) : -1;
}

static bool name_temporary(const struct entry *e, char name[sizeof(prefix) + ID_LENGTH])
{
    (void)snprintf(name, sizeof(prefix) + ID_LENGTH, "%s%.16s", prefix, e->id);
    return strspn(e->id, digits) == ID_LENGTH && !e->id[ID_LENGTH];
}

/* Removes what was staged, as the records say. Follows no link. */
static void clear_staged(const struct tc_buf *text, const struct entry *e)
{
    char name[sizeof(prefix) + ID_LENGTH];
    struct tc_steps s;
    const char *at = text->data, *end = at + text->len;
    if (!name_temporary(e, name))
        return;
    tc_steps_begin(&s, name, false);
    for (; at && at < end && *at != LIST && memchr(at, '\0', (size_t)(end - at));
         at += strlen(at) + 1) {
        struct tc_step_root *r = *at == ROOT ? TC_PUSH(s.roots, s.root_count) : NULL;
        if (r)
            *r = (struct tc_step_root){.fd = open_root(at + 1)};
        bool staged = s.root_count && (*at == DIRECTORY_IN || *at == FILE_IN);
        struct tc_step_place *p = staged ? TC_PUSH(s.places, s.place_count) : NULL;
        if (p)
            *p = (struct tc_step_place){
                .root = s.root_count - 1, .above = strdup(at + 1), .alone = *at == FILE_IN};
    }
    bool whole = true;
    for (size_t i = 0; i < s.place_count; i++)
        whole = whole && s.places[i].above;
    if (whole)
        tc_steps_clear(&s);
    for (size_t i = 0; i < s.root_count; i++)
        if (s.roots[i].fd >= 0)
            (void)close(s.roots[i].fd);
    tc_steps_done(&s);
}

static int is_mark(const char *name, enum mark mark)
{
    return strspn(name, digits) == ID_LENGTH && strcmp(name + ID_LENGTH, suffixes[mark]) == 0;
}

static int read_journal(int fd, struct tc_buf *text)
{
    text->max = LIST_MAX;
    return lseek(fd, 0, SEEK_SET) == 0 ? tc_read_all(fd, text) : -1;
}

static void mark_name(const char *name, enum mark mark, char marked[ID_LENGTH + 8])
{
    (void)snprintf(marked, ID_LENGTH + 8, "%.16s%s", name, suffixes[mark]);
}

static int set_mark(int dir, const char *name, enum mark mark)
{
    char marked[ID_LENGTH + 8];
    mark_name(name, mark, marked);
    return renameat(dir, name, dir, marked);
}

/* ---- completing a commit ---- */

/* An inode number is used again, so it identifies a file only with the time of creation. */
static bool is_root(const struct tc_step_root *r, const struct statx *st)
{
    return r->born_ns && tc_step_born(st) == r->born_ns && (int64_t)st->stx_ino == r->inode &&
           (int64_t)makedev(st->stx_dev_major, st->stx_dev_minor) == r->device;
}

/* Opens the granted directories, if they are still the same, and the layers. NULL, or which cannot
 * be used, with errno. */
static const char *open_all(struct tc_steps *s)
{
    struct statx st;
    for (size_t i = 0; i < s->root_count; i++) {
        struct tc_step_root *r = &s->roots[i];
        r->fd = open_root(r->path);
        if (r->fd < 0 || statx(r->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
            return r->path;
        errno = ESTALE;
        if (!is_root(r, &st))
            return r->path;
        if (r->layer && (r->copy = tc_layer_look(r->layer)) < 0)
            return r->path;
    }
    return NULL;
}

static void close_all(struct tc_steps *s)
{
    for (size_t i = 0; i < s->root_count; i++) {
        if (s->roots[i].fd >= 0)
            (void)close(s->roots[i].fd);
        if (s->roots[i].copy >= 0)
            (void)close(s->roots[i].copy);
    }
}

/* Steps that were not taken. */
struct refused {
    size_t changed, first_changed; /* the user has changed their targets since */
    size_t lost, first_lost;       /* the new version or the directory is missing */
};

static void note_refused(void *userdata, size_t index, const char *held)
{
    struct refused *r = userdata;
    bool changed = held == tc_commit_conflict;
    size_t *first = changed ? &r->first_changed : &r->first_lost;
    if (!(*(changed ? &r->changed : &r->lost))++)
        *first = index;
}

static void say_refused(struct tc_buf *out, const struct tc_steps *s, size_t count, size_t first,
                        const char *why)
{
    const struct tc_step *step = count ? &s->steps[first] : NULL;
    if (step)
        tc_buf_addf(out, ", except for %zu of its %zu steps: %s, as in %s/%s", count, s->count, why,
                    s->roots[step->root].path, step->relative);
}

static void say_whose(struct tc_buf *out, const struct entry *e, const struct tc_steps *s)
{
    tc_buf_addf(out, "a commit to %s%s%s was interrupted", s->root_count ? s->roots[0].path : "?",
                e->tool[0] ? " by tool " : "", e->tool);
}

/* Takes the steps that are left. True: all is done that can be. */
static bool complete(struct tc_steps *s, const struct entry *e, struct tc_buf *out)
{
    struct refused refused = {0};
    size_t left = 0;
    const char *missing = open_all(s);
    bool ended = !missing && tc_steps_apply(s, note_refused, &refused, &left) == 0;
    int saved = errno;
    say_whose(out, e, s);
    if (ended)
        tc_buf_addf(out, "; it is complete now");
    else
        tc_buf_addf(out,
                    " and waits: %s (%s); toolcage completes it at a later start, and `toolcage "
                    "doctor --clean` gives it up",
                    missing           ? missing
                    : left < s->count ? s->steps[left].relative
                                      : "its journal",
                    strerror(saved));
    say_refused(out, s, refused.changed, refused.first_changed,
                "the host changed the entry meanwhile");
    say_refused(out, s, refused.lost, refused.first_lost, "the new version is lost");
    return ended;
}

/* Writes the report. One that waits is reported once. */
static bool report(int dir, const char *name, const struct tc_buf *out, bool ended)
{
    char cut[ID_LENGTH + 8], told[ID_LENGTH + 8];
    mark_name(name, CUT, cut);
    mark_name(name, TOLD, told);
    if (!ended && (faccessat(dir, told, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
                   faccessat(dir, cut, F_OK, AT_SYMLINK_NOFOLLOW) == 0))
        return false;
    _autofd_ int fd =
        openat(dir, cut, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (out->failed || fd < 0 || tc_write_all(fd, out->data, out->len) < 0)
        return false;
    (void)unlinkat(dir, told, 0);
    return !ended || unlinkat(dir, name, 0) == 0;
}

static bool finish(int dir, const char *name, int fd, struct entry *e)
{
    char temporary[sizeof(prefix) + ID_LENGTH] = "";
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct tc_steps s;
    struct tc_wire w = TC_WIRE_GET_INIT(e->list, e->list_length);
    tc_steps_begin(&s, temporary, false);
    s.again = true;
    s.journal = fd;
    s.counter = e->counter;
    s.done = e->counted ? e->counted - 1 : 0;
    tc_steps_visit(&w, &s);
    bool ended = true;
    if (name_temporary(e, temporary) && !w.failed && !w.left) {
        ended = complete(&s, e, &out);
        close_all(&s);
    } else {
        ended = !w.memory;
        say_whose(&out, e, &s);
        tc_buf_adds(&out, ", and its journal cannot be read: compare the directory with your last "
                          "version of it");
    }
    tc_steps_done(&s);
    return report(dir, name, &out, ended);
}

/* Was this an interrupted commit? Holds the lock until all is done. */
static bool handle(int dir, const char *name)
{
    struct stat st;
    struct entry e;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || tc_store_lock(fd, false) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        read_journal(fd, &text) < 0)
        return false;
    parse(&text, name, &e);
    if (e.list && seal(e.id, e.tool, e.list, e.list_length, e.seal, NULL))
        return finish(dir, name, fd, &e);
    clear_staged(&text, &e);
    if (!e.counted) /* nothing was committed yet */
        return unlinkat(dir, name, 0) == 0;
    e.list_length = 0; /* it was changed, so the intended steps are unknown */
    return finish(dir, name, fd, &e);
}

unsigned tc_journal_sweep(void)
{
    _autodir_ DIR *dir = open_journals();
    const struct dirent *e;
    unsigned found = 0;
    bool cut = false;
    while (dir && (e = readdir(dir))) {
        found += is_mark(e->d_name, LIVE) && handle(dirfd(dir), e->d_name);
        cut = cut || is_mark(e->d_name, CUT);
    }
    if (cut || found)
        atomic_store(&untold, true);
    return found;
}

static void describe_file(struct tc_buf *out, int dir, const char *name)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    text.max = REPORT_MAX;
    if (fd < 0 || tc_read_all(fd, &text) < 0 || !text.len)
        return;
    size_t from = out->len;
    tc_buf_add(out, text.data, text.len);
    for (size_t i = from; !out->failed && i < out->len; i++)
        if ((unsigned char)out->data[i] < 0x20 || (unsigned char)out->data[i] >= 0x7f)
            out->data[i] = '?';
    tc_buf_addc(out, '\n');
}

char *tc_journal_cuts(void)
{
    _autodir_ DIR *dir = open_journals();
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct dirent *e;
    int more = dir || errno == ENOENT ? 0 : -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0)
        if (is_mark(e->d_name, CUT) || is_mark(e->d_name, TOLD))
            describe_file(&out, dirfd(dir), e->d_name);
    if (more < 0)
        tc_buf_addf(&out, "the journals of commits cannot be read: %s\n", strerror(errno));
    return out.len ? tc_buf_steal(&out) : NULL;
}

char *tc_journal_notice(void)
{
    if (!atomic_exchange(&untold, false))
        return NULL;
    _autodir_ DIR *dir = open_journals();
    struct dirent *e;
    size_t told = 0;
    int more = dir || errno == ENOENT ? 0 : -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0)
        told += is_mark(e->d_name, CUT) && set_mark(dirfd(dir), e->d_name, TOLD) == 0;
    if (more < 0)
        atomic_store(&untold, true); /* the next call tries again */
    return told ? tc_format("%zu earlier commit%s to the host %s interrupted: `toolcage "
                            "doctor` says what was done about it, `toolcage doctor --clean` "
                            "forgets it",
                            told, told == 1 ? "" : "s", told == 1 ? "was" : "were")
                : NULL;
}

/* What a sweep could not complete stays as it is. */
static bool give_up(int dir, const char *name)
{
    struct entry e;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || tc_store_lock(fd, false) < 0 || read_journal(fd, &text) < 0)
        return false;
    parse(&text, name, &e);
    clear_staged(&text, &e);
    return unlinkat(dir, name, 0) == 0;
}

unsigned tc_journal_forget(void)
{
    _autodir_ DIR *dir = open_journals();
    const struct dirent *e;
    unsigned gone = 0;
    while (dir && (e = readdir(dir)))
        gone += ((is_mark(e->d_name, CUT) || is_mark(e->d_name, TOLD)) &&
                 unlinkat(dirfd(dir), e->d_name, 0) == 0) ||
                (is_mark(e->d_name, LIVE) && give_up(dirfd(dir), e->d_name));
    return gone;
}
