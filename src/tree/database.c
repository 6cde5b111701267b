/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An SQLite database keeps its newest changes in a file next to it until they are in the database:
 * the write-ahead log, or the journal of an unfinished change (SQLite's "Database File Format",
 * sections 1.3.1, 3 and 4). Without that file the database is an older one, or a damaged one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/tree.h"

/* Does the regular file begin with these bytes? */
static bool begins(int dirfd, const char *name, const char *bytes, size_t length)
{
    char head[16];
    struct stat st;
    _autofd_ int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           pread(fd, head, length, 0) == (ssize_t)length && memcmp(head, bytes, length) == 0;
}

const char *tc_tree_companion(int dirfd, const char *name)
{
    static const struct {
        const char *suffix, *bytes;
        size_t length;
    } rows[] = {{"-wal", "\x37\x7f\x06", 3}, /* the fourth byte says the order of the others */
                {"-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8}};
    static const char magic[16] = "SQLite format 3";
    char other[NAME_MAX + 1];
    if (!begins(dirfd, name, magic, sizeof(magic)))
        return NULL;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (snprintf(other, sizeof(other), "%s%s", name, rows[i].suffix) < NAME_MAX &&
            begins(dirfd, other, rows[i].bytes, rows[i].length))
            return rows[i].suffix;
    return NULL;
}
