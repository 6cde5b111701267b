/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of all paths that a tool could ever write, under any policy. Each user's is in the
 * state directory. Root's is /var/lib/toolcage/written and is read by every user's calls, because
 * root's tools may write in other users' directories.
 *
 * Entries end with a NUL:
 *
 *   DEVICE:INODE:BIRTH /path/   a directory, in hexadecimal: found by its inode, even renamed
 *   DEVICE:INODE:BIRTH /path    a file, or without a time of birth: found by inode and path
 *   /path                       did not exist yet
 *   sha256:... /path            digest of a file at such a path, which a call used before a tool
 *                               could write there, or protected from its tools */
#include "provenance/provenance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "state/seal.h"
#include "state/store.h"

/* LARGE: the record is shortened each time its size in bytes passes a multiple of this. LARGEST:
 * its maximum size. NEWEST: so many entries at the end of the record, counted with digests, stay in
 * a shortened record even if their path no longer exists. */
enum { LARGE = 64 << 10, LARGEST = 16 << 20, NEWEST = 500 };

static char *record_path(const char *directory)
{
    return tc_path_join(directory, "written");
}

/* ---- entries ---- */

struct entry {
    struct tc_file_id id; /* ino 0: none */
    const char *path;     /* borrowed; "": none */
    bool digest;          /* a digest, not a path that tools could write */
};

static const char digest_prefix[] = "sha256:";

/* The text of an entry. Owned; NULL: out of memory. */
static char *format(const struct entry *e)
{
    if (!e->id.ino)
        return strdup(e->path);
    return tc_format("%jx:%jx:%jx %s", (uintmax_t)e->id.dev, (uintmax_t)e->id.ino,
                     (uintmax_t)e->id.born, e->path);
}

static bool parse_number(const char **at, char end, uintmax_t *ret)
{
    char *stop;
    *ret = strtoumax(*at, &stop, 16);
    bool good = stop != *at && (*stop == end || (end == ' ' && !*stop));
    *at = stop + (*stop != '\0');
    return good;
}

/* An invalid entry gets neither inode nor path. */
static struct entry parse(const char *text)
{
    uintmax_t dev, ino, born;
    const char *at = text;
    if (text[0] == '/')
        return (struct entry){.path = text};
    if (tc_startswith(text, digest_prefix))
        return (struct entry){.path = strchr(text, '/') ? strchr(text, '/') : "", .digest = true};
    if (!parse_number(&at, ':', &dev) || !parse_number(&at, ':', &ino) ||
        !parse_number(&at, ' ', &born))
        return (struct entry){.path = ""};
    return (struct entry){.id = {.dev = (dev_t)dev, .ino = (ino_t)ino, .born = (int64_t)born},
                          .path = at};
}

/* The entry at offset *at, which then moves to the next entry; NULL: none is left. */
static const char *next_text(const struct tc_buf *text, size_t *at)
{
    const char *entry = *at < text->len ? text->data + *at : NULL;
    if (entry)
        *at += strlen(entry) + 1;
    return entry;
}

static bool has_text(const struct tc_buf *text, const char *wanted)
{
    size_t at = 0;
    for (const char *entry; (entry = next_text(text, &at));)
        if (strcmp(entry, wanted) == 0)
            return true;
    return false;
}

/* ---- reading ---- */

/* -1 with errno: it cannot be opened; ENOENT: no record. Root makes its directory searchable before
 * it adds the first path, so a directory that may not be searched has no record. */
static int open_record(const char *directory)
{
    _autofree_ char *path = record_path(directory);
    int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0)
        errno = !path ? ENOMEM : errno == ENOTDIR || errno == EACCES ? ENOENT : errno;
    return fd;
}

static int read_record(int fd, struct tc_buf *to)
{
    (void)flock(fd, LOCK_SH); /* shortening overwrites the file */
    to->max = LARGEST;
    return tc_read_all(fd, to);
}

/* Adds to the resolver what tools could write: the entry's inode, and its path, unless the entry is
 * a digest or a directory (its inode suffices). */
static int learn_entry(struct tc_resolver *r, const char *text)
{
    const struct entry e = parse(text);
    if (e.id.ino && tc_resolver_add_id(r, &e.id) < 0)
        return -1;
    size_t n = strlen(e.path);
    bool found = e.digest || (n && e.path[n - 1] == '/');
    return found ? 0 : tc_resolver_add(r, e.path);
}

/* Entries only forbid, so the owner of the record does not matter. */
static int learn_record(const char *directory, struct tc_resolver *r)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = open_record(directory);
    size_t at = 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    int rc = read_record(fd, &text);
    for (const char *entry; rc == 0 && (entry = next_text(&text, &at));)
        rc = learn_entry(r, entry);
    return rc;
}

int tc_provenance_record_learn(const struct tc_records *records, struct tc_resolver *r)
{
    for (size_t i = 0; i < records->states->count; i++)
        if (learn_record(records->states->items[i], r) < 0)
            return -1;
    return learn_record(records->root, r);
}

/* ---- writing ---- */

/* Opens the caller's own file, following no link; -1 with errno. */
static int open_in(const char *directory)
{
    _autofree_ char *path = record_path(directory);
    if (!path) {
        errno = ENOMEM;
        return -1;
    }
    if (tc_make_directories(directory) < 0 && errno == ENOMEM)
        return -1;
    return tc_open_own(path, O_RDWR | O_APPEND | O_CREAT);
}

/* Readable by all users, whatever the umask, and whoever made the directory. */
static int open_roots(const char *directory)
{
    struct stat st;
    _autofd_ int fd = open_in(directory);
    if (fd < 0 || fchmod(fd, 0644) < 0 || stat(directory, &st) < 0 ||
        ((st.st_mode & 0111) != 0111 && chmod(directory, (st.st_mode & 07777) | 0111) < 0))
        return -1;
    return TAKE_FD(fd);
}

/* The file's last entry with a digest, or NULL. */
static const char *find_known(const struct tc_buf *known, const char *path)
{
    const char *last = NULL;
    size_t at = 0;
    for (const char *text; (text = next_text(known, &at));) {
        const struct entry e = parse(text);
        if (e.digest && strcmp(e.path, path) == 0)
            last = text;
    }
    return last;
}

/* Does the entry's path still exist (for a directory: with the same inode)? True if that cannot be
 * found out. */
static bool is_there(const struct entry *e)
{
    struct tc_file_id id;
    if (!e->path[0])
        return false;
    if (tc_file_identify(AT_FDCWD, e->path, &id) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return e->path[strlen(e->path) - 1] != '/' || id.ino == e->id.ino;
}

/* Selects the entries that stay. A digest stays if it is the last one of its file and the file
 * exists. A path stays if it exists, or if its entry is one of the last NEWEST: most paths that no
 * longer exist were removed, but a few were renamed. */
static void select_entries(const struct tc_buf *text, struct tc_buf *ret)
{
    size_t at = 0, later = 0;
    while (next_text(text, &at))
        later++;
    at = 0;
    for (const char *one; (one = next_text(text, &at)); later--) {
        const struct entry e = parse(one);
        if (e.digest ? find_known(text, e.path) == one && is_there(&e)
                     : later <= NEWEST || is_there(&e))
            tc_buf_add(ret, one, strlen(one) + 1);
    }
}

static int write_front(int fd, const struct tc_buf *text)
{
    return lseek(fd, 0, SEEK_SET) < 0 ? -1 : tc_write_all(fd, text->data, text->len);
}

/* Overwrites the old text, under the lock. A failed write is undone, because it may have cut an
 * entry. */
static void shorten(int fd)
{
    _autobuf_ struct tc_buf text = {.max = LARGEST}, kept = {.max = LARGEST};
    if (lseek(fd, 0, SEEK_SET) < 0 || tc_read_all(fd, &text) < 0)
        return;
    select_entries(&text, &kept);
    if (kept.failed || fcntl(fd, F_SETFL, 0) < 0)
        return;
    if (write_front(fd, &kept) == 0)
        (void)!ftruncate(fd, (off_t)kept.len);
    else
        (void)write_front(fd, &text);
    (void)fcntl(fd, F_SETFL, O_APPEND);
}

/* The entry of a path; owned, NULL: out of memory. */
static char *describe_place(const char *place)
{
    struct stat st;
    struct entry e = {.path = place};
    if (tc_file_identify(AT_FDCWD, place, &e.id) < 0)
        e.id = (struct tc_file_id){0};
    bool directory = e.id.born && stat(place, &st) == 0 && S_ISDIR(st.st_mode);
    _autofree_ char *path = directory ? tc_format("%s/", place) : strdup(place);
    e.path = path;
    return path ? format(&e) : NULL;
}

/* Adds to *ret the entries of the places that the record does not contain. False: out of memory. */
static bool find_fresh(const struct tc_buf *known, const struct tc_strv *places,
                       struct tc_strv *ret)
{
    for (size_t i = 0; i < places->count; i++) {
        char *text = describe_place(places->items[i]);
        if (text && (has_text(known, text) || tc_strv_has(ret, text)))
            free(text);
        else if (!tc_strv_take(ret, text))
            return false;
    }
    return true;
}

/* Adds the entry of a file's digest, if the record's last digest for that file differs; path NULL:
 * nothing. False: out of memory. */
static bool add_known(const struct tc_buf *known, const char *path, const char *digest,
                      struct tc_strv *ret)
{
    char *text = path ? tc_format("%s %s", digest, path) : NULL;
    const char *last = path ? find_known(known, path) : NULL;
    if (!path || (text && last && strcmp(last, text) == 0)) {
        free(text);
        return true;
    }
    return tc_strv_take(ret, text);
}

/* Appends all or none: a partial entry would swallow the next. False: out of memory. */
static bool append(int fd, const struct tc_buf *known, const struct tc_strv *entries)
{
    _autobuf_ struct tc_buf text = {.max = LARGEST};
    struct stat st;
    for (size_t i = 0; i < entries->count; i++)
        tc_buf_add(&text, entries->items[i], strlen(entries->items[i]) + 1);
    if (text.failed || flock(fd, LOCK_EX) < 0)
        return !text.failed;
    if (known->len / LARGE != (known->len + text.len) / LARGE)
        shorten(fd);
    if (fstat(fd, &st) == 0 && write(fd, text.data, text.len) != (ssize_t)text.len)
        (void)!ftruncate(fd, st.st_size);
    return true;
}

/* Adds the places and the file's digest to an open record. False: out of memory. */
static bool note(int fd, const struct tc_strv *places, const char *file, const char *digest)
{
    _autobuf_ struct tc_buf known = TC_BUF_INIT;
    _autostrv_ struct tc_strv fresh = {0};
    if (read_record(fd, &known) < 0 && !known.len)
        return !known.failed;
    if (!find_fresh(&known, places, &fresh) || !add_known(&known, file, digest, &fresh))
        return false;
    return !fresh.count || append(fd, &known, &fresh);
}

bool tc_provenance_record_note(const struct tc_records *records, const struct tc_strv *places,
                               const char *file, const char *digest)
{
    errno = 0;
    _autofd_ int roots = geteuid() == 0 ? open_roots(records->root) : -1;
    bool fine = roots < 0 ? errno != ENOMEM : note(roots, places, file, digest);
    for (size_t i = 0; i < records->states->count && roots < 0 && fine; i++) {
        _autofd_ int fd = open_in(records->states->items[i]);
        fine = fd < 0 ? errno != ENOMEM : note(fd, places, file, digest);
    }
    return fine;
}

/* Does the record in this directory hold the digest for the file? 1: yes, 0: a different digest,
 * -1: no digest for the file, or the record cannot be read. */
static int has_known(const char *directory, const char *file, const char *digest)
{
    _autobuf_ struct tc_buf known = TC_BUF_INIT;
    _autofd_ int fd = open_record(directory);
    size_t n = strlen(digest);
    if (!tc_store_own(fd, S_IFREG) || read_record(fd, &known) < 0)
        return -1;
    const char *last = find_known(&known, file);
    return !last ? -1 : strncmp(last, digest, n) == 0 && last[n] == ' ';
}

bool tc_provenance_record_knows(const struct tc_records *records, const char *file,
                                const char *digest)
{
    int known = geteuid() == 0 ? has_known(records->root, file, digest) : -1;
    for (size_t i = 0; i < records->states->count && known < 0; i++)
        known = has_known(records->states->items[i], file, digest);
    return known > 0;
}
