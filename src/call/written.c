/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/written.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/places.h"
#include "base/store.h"
#include "call/facts.h"

/* Larger, it is written anew without the places that are gone: all of them go with each call. */
enum { LARGE = 16 << 10, LARGEST = 16 << 20 };

/* The user's own file and no other's, through no link; -1 with errno: there is none, or no memory.
 */
static int open_record(int flags)
{
    _autofree_ char *directory = NULL;
    errno = ENOMEM;
    if (!tc_state_directory(&directory))
        return -1;
    errno = ENOENT;
    if (!directory)
        return -1;
    for (char *slash = strchr(directory + 1, '/'); flags & O_CREAT && slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(directory, 0700);
        *slash = '/';
    }
    if (flags & O_CREAT)
        (void)mkdir(directory, 0700);
    _autofree_ char *path = tc_path_join(directory, "written");
    errno = path ? errno : ENOMEM;
    _autofd_ int fd = path ? open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600) : -1;
    return tc_store_own(fd, S_IFREG) ? TAKE_FD(fd) : -1;
}

static bool read_paths(int fd, struct tc_buf *to)
{
    to->max = LARGEST;
    if (tc_read_all(fd, to) == 0)
        return true;
    to->len = 0;
    return errno != ENOMEM && errno != EFBIG; /* no memory, or far too large, which is not ours */
}

/* The next of them, and in *at the one behind it; NULL: there is none. */
static const char *next_path(const struct tc_buf *paths, size_t *at)
{
    while (*at < paths->len) {
        const char *path = paths->data + *at;
        *at += strlen(path) + 1;
        if (path[0] == '/')
            return path;
    }
    return NULL;
}

static bool has(const struct tc_buf *paths, const char *wanted)
{
    size_t at = 0;
    for (const char *path; (path = next_path(paths, &at));)
        if (strcmp(path, wanted) == 0)
            return true;
    return false;
}

bool tc_written_load(struct tc_buf *to)
{
    _autofd_ int fd = open_record(O_RDONLY);
    if (fd < 0)
        return errno != ENOMEM;
    (void)flock(fd, LOCK_SH); /* who shortens it empties it first */
    return read_paths(fd, to);
}

/* Under the lock: what is gone needs no mention. */
static void shorten(int fd)
{
    _autobuf_ struct tc_buf paths = TC_BUF_INIT, text = {.max = LARGEST};
    struct stat st;
    size_t at = 0;
    if (lseek(fd, 0, SEEK_SET) < 0 || !read_paths(fd, &paths))
        return;
    for (const char *path; (path = next_path(&paths, &at));)
        if (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
            tc_buf_add(&text, path, strlen(path) + 1);
    /* over the old text, so that nothing is lost where it cannot be written */
    if (text.failed || fcntl(fd, F_SETFL, 0) < 0)
        return;
    if (pwrite(fd, text.data, text.len, 0) == (ssize_t)text.len)
        (void)!ftruncate(fd, (off_t)text.len);
    (void)fcntl(fd, F_SETFL, O_APPEND);
}

static bool append(const struct tc_strv *paths)
{
    struct stat st;
    _autofd_ int fd = open_record(O_RDWR | O_APPEND | O_CREAT);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return errno != ENOMEM;
    if (fstat(fd, &st) == 0 && st.st_size > LARGE)
        shorten(fd);
    for (size_t i = 0; i < paths->count; i++)
        (void)!write(fd, paths->items[i], strlen(paths->items[i]) + 1);
    return true;
}

bool tc_written_note(const struct tc_grant *grant, const struct tc_buf *known)
{
    _autostrv_ struct tc_strv fresh = {0};
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &grant->fs[i];
        const char *place = entry->bound ? entry->bound : entry->from;
        if (entry->access == TC_ACCESS_WRITE && place && !entry->setup && !has(known, place) &&
            !tc_strv_has(&fresh, place) && !tc_strv_add(&fresh, place))
            return false;
    }
    return !fresh.count || append(&fresh);
}
