/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RECORD_MAX = 1 << 20 };

char *tc_user_path(const char *variable, const char *fallback, const char *name)
{
    const char *base = secure_getenv(variable), *home = secure_getenv("HOME");
    char *path = NULL;
    int n = -1;
    errno = ENOENT;
    if (base && base[0] == '/')
        n = asprintf(&path, "%s/toolcage%s%s", base, *name ? "/" : "", name);
    else if (home && home[0] == '/')
        n = asprintf(&path, "%s/%s/toolcage%s%s", home, fallback, *name ? "/" : "", name);
    return n < 0 ? NULL : path;
}

static char *read_all(int fd, size_t size, const char **ret_what)
{
    char *text = calloc(1, size + 1);
    ssize_t n = text ? read(fd, text, size) : -1;
    if (n == (ssize_t)size)
        return text;
    *ret_what = n < 0 ? strerror(errno) : "it changed while it was read";
    free(text);
    return NULL;
}

char *tc_record_read(const char *path, const char **ret_what)
{
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    *ret_what = "out of memory";
    if (fd < 0 && errno == ENOENT)
        return strdup("");
    if (fd < 0 || fstat(fd, &st))
        *ret_what = strerror(errno);
    else if (!S_ISREG(st.st_mode) || st.st_size > RECORD_MAX)
        *ret_what = "not a regular file, or too large";
    else if (st.st_uid != geteuid() || (st.st_mode & 022))
        *ret_what = "somebody else owns it or can write it";
    else
        return read_all(fd, (size_t)st.st_size, ret_what);
    return NULL;
}

int tc_record_directory(char *path)
{
    for (char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
        if (at)
            *at = '\0';
        int rc = mkdir(path, 0700);
        int saved = errno;
        if (at)
            *at = '/';
        if (rc && saved != EEXIST)
            return errno = saved, -1;
        if (!at)
            return 0;
    }
}

int tc_record_write(const char *record, const char *text, size_t length)
{
    _autofree_ char *temporary = NULL;
    if (asprintf(&temporary, "%s.%ld", record, (long)getpid()) < 0) {
        temporary = NULL;
        return errno = ENOMEM, -1;
    }
    (void)unlink(temporary);
    _autofd_ int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, length);
    if (n == (ssize_t)length && !fsync(fd) && !rename(temporary, record))
        return 0;
    int saved = n >= 0 && n != (ssize_t)length ? ENOSPC : errno;
    (void)unlink(temporary);
    return errno = saved, -1;
}

int tc_record_keep(const char *name, const char *text, size_t length)
{
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "");
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", name);
    if (!directory || !path || tc_record_directory(directory))
        return -1;
    return tc_record_write(path, text, length);
}
