/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Journals of commits: of running ones, and the remains of interrupted ones. */
#include "workspace/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "linux/mounts.h"
#include "state/store.h"
#include "workspace/copy.h"
#include "workspace/state.h"

/* A record is a letter and a string that ends with NUL: the tool, the suffix of the temporary
 * file's name, the directory on the host, the name in it that is about to change. */
enum { TOOL = 'T', ID = 'I', ROOT = 'R', WRITES = 'W', ID_LENGTH = 16, TEXT_MAX = 64 << 20 };
enum mark { LIVE, CUT, TOLD };
static const char *const suffixes[] = {[LIVE] = "", [CUT] = ".cut", [TOLD] = ".told"};
static const char prefix[] = ".toolcage-", digits[] = "0123456789abcdef";

static _Atomic bool untold; /* a sweep found an interrupted commit that no call has reported yet */

static const char commits[] = "commits"; /* in the state directory */

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
    if (ftruncate(j->fd, 0) == 0 && atomic_compare_exchange_strong(&lasting, &none, kept))
        return true;
    free(kept);
    return false;
}

static int make_file(struct tc_journal *j, int dir)
{
    j->fd =
        openat(dir, j->name, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return j->fd < 0 ? -1 : tc_store_lock(j->fd, false); /* a sweep may have locked it first */
}

/* Each commit has another temporary name: a process that saw one could create the next one's
 * file. */
int tc_journal_begin(struct tc_journal *j, int dir, const char *tool, bool lasts)
{
    uint64_t random;
    *j = (struct tc_journal){.dir = dir, .fd = -1, .lasting = lasts, .tool = tool ? tool : ""};
    if (dir < 0 || getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -1;
    (void)snprintf(j->name, sizeof(j->name), "%016llx", (unsigned long long)random);
    (void)snprintf(j->temporary, sizeof(j->temporary), "%s%s", prefix, j->name);
    return lasts && take_journal(j, dir) ? 0 : make_file(j, dir);
}

int tc_journal_write(struct tc_journal *j, const struct tc_item *item, const char *relative)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    char root[PATH_MAX];
    if (j->item != item && tc_resolve_name(item->fd, root) < 0)
        return -1;
    if (!j->item) {
        add_field(&text, TOOL, j->tool);
        add_field(&text, ID, j->temporary + strlen(prefix));
    }
    if (j->item != item)
        add_field(&text, ROOT, root);
    add_field(&text, WRITES, relative);
    j->item = item;
    if (!text.failed)
        return tc_write_all(j->fd, text.data, text.len);
    errno = ENOMEM;
    return -1;
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
    const char *tool, *id, *root, *last;
    size_t begun;
};

static void parse(const struct tc_buf *text, const char *name, struct entry *e)
{
    *e = (struct entry){.tool = "", .id = name, .root = ""};
    const char *end = text->data + text->len;
    for (const char *at = text->data; at && at < end && memchr(at, '\0', (size_t)(end - at));
         at += strlen(at) + 1) {
        e->tool = *at == TOOL ? at + 1 : e->tool;
        e->id = *at == ID ? at + 1 : e->id;
        e->root = *at == ROOT ? at + 1 : e->root;
        e->last = *at == WRITES ? at + 1 : e->last;
        e->begun += *at == WRITES;
    }
}

/* Only the last target can have a temporary file. Follows no link. */
static void remove_temporary(const struct entry *e)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    char name[sizeof(prefix) + ID_LENGTH];
    bool written = e->last && e->root[0] == '/';
    _autofd_ int root = written ? tc_openat2(AT_FDCWD, e->root, &how) : -1;
    _autofd_ int dir = root < 0 ? -1 : tc_resolve_parent(root, e->last);
    (void)snprintf(name, sizeof(name), "%s%.16s", prefix, e->id);
    if (dir >= 0 && strspn(e->id, digits) >= ID_LENGTH)
        (void)unlinkat(dir, name, 0);
}

static int is_mark(const char *name, enum mark mark)
{
    return strspn(name, digits) == ID_LENGTH && strcmp(name + ID_LENGTH, suffixes[mark]) == 0;
}

static int read_journal(int fd, struct tc_buf *text)
{
    text->max = TEXT_MAX;
    return lseek(fd, 0, SEEK_SET) == 0 ? tc_read_all(fd, text) : -1;
}

static int set_mark(int dir, const char *name, enum mark mark)
{
    char marked[ID_LENGTH + 8];
    (void)snprintf(marked, sizeof(marked), "%.16s%s", name, suffixes[mark]);
    return renameat(dir, name, dir, marked);
}

/* Was this an interrupted commit? Holds the lock until the file is renamed. */
static bool handle(int dir, const char *name)
{
    struct stat st;
    struct entry e;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || tc_store_lock(fd, false) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        read_journal(fd, &text) < 0)
        return false;
    parse(&text, name, &e);
    remove_temporary(&e);
    if (!e.begun) /* nothing was committed yet */
        return unlinkat(dir, name, 0) == 0;
    return set_mark(dir, name, CUT) == 0;
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
    struct entry e;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || read_journal(fd, &text) < 0)
        return;
    parse(&text, name, &e);
    if (!e.last)
        return;
    size_t from = out->len;
    tc_buf_addf(
        out,
        "a commit to %s%s%s was interrupted: what it listed before %s has been applied (%zu "
        "names), %s itself may have been, and nothing after it",
        e.root, e.tool[0] ? " by tool " : "", e.tool, e.last, e.begun - 1, e.last);
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
                            "doctor` says what was applied, `toolcage doctor --clean` forgets "
                            "it",
                            told, told == 1 ? "" : "s", told == 1 ? "was" : "were")
                : NULL;
}

unsigned tc_journal_forget(void)
{
    _autodir_ DIR *dir = open_journals();
    const struct dirent *e;
    unsigned gone = 0;
    while (dir && (e = readdir(dir)))
        gone += (is_mark(e->d_name, CUT) || is_mark(e->d_name, TOLD)) &&
                unlinkat(dirfd(dir), e->d_name, 0) == 0;
    return gone;
}
