/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/show/io.h"

enum { RECORD_MAX = 1 << 20 };

/* Enters one component; -1 if it is a link or not a directory. Closes `at`. */
static int enter_step(int at, const char *name)
{
    int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), saved = errno;
    if (at >= 0)
        (void)close(at);
    return errno = saved, next;
}

int tc_replace_directory(const char *path)
{
    _autofree_ char *names = strdup(path);
    char *rest = names;
    int at = AT_FDCWD;
    if (!names)
        return errno = ENOMEM, -1;
    if (path[0] == '/') { /* with a trailing slash a link would be followed */
        for (size_t n = strlen(names); n > 1 && names[n - 1] == '/'; n--)
            names[n - 1] = '\0';
        return enter_step(at, names);
    }
    for (char *name; (name = strsep(&rest, "/"));)
        if (*name && (at = enter_step(at, name)) < 0)
            return -1;
    return at >= 0 ? at : (errno = ENOENT, -1);
}

int tc_replace_directory_strict(const char *path)
{
    _autofree_ char *names = strdup(path);
    char *rest = names;
    int at = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (char *name; names && at >= 0 && (name = strsep(&rest, "/"));)
        if (*name)
            at = enter_step(at, name);
    return names ? at : (errno = ENOMEM, -1);
}

int tc_replace_name(char ret_name[static TC_REPLACE_NAME])
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -1;
    (void)snprintf(ret_name, TC_REPLACE_NAME, ".toolcage-%016" PRIx64, number);
    return 0;
}

int tc_replace_begin(int at, mode_t mode, char ret_name[static TC_REPLACE_NAME])
{
    if (tc_replace_name(ret_name))
        return -1;
    return openat(at, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

/* A `kept` file is accessible to this user only and is synced before the rename. */
static int replace(int at, const char *name, bool kept, const char *bytes, size_t length)
{
    char temporary[TC_REPLACE_NAME];
    int fd = tc_replace_begin(at, kept ? 0600 : 0666, temporary);
    if (fd < 0)
        return -1;
    int rc = tc_cli_write(fd, bytes, length) || (kept && fsync(fd)) ? -1 : 0, saved = errno;
    if (close(fd) && !rc) { /* some file systems report a full disk only here */
        saved = errno;
        rc = -1;
    }
    if (!rc && !renameat(at, temporary, at, name))
        return 0;
    saved = rc ? saved : errno;
    (void)unlinkat(at, temporary, 0);
    return errno = saved, -1;
}

int tc_replace(int at, const char *name, const char *bytes, size_t length)
{
    return replace(at, name, false, bytes, length);
}

/* ---- records ---- */

char *tc_user_path(const char *variable, const char *fallback, const char *name)
{
    const char *base = secure_getenv(variable), *home = secure_getenv("HOME");
    if (base && base[0] == '/')
        return tc_cli_format("%s/toolcage%s%s", base, *name ? "/" : "", name);
    if (home && home[0] == '/')
        return tc_cli_format("%s/%s/toolcage%s%s", home, fallback, *name ? "/" : "", name);
    return errno = ENOENT, NULL;
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
        *ret_what = "another user owns it or can write it";
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
    const char *name = strrchr(record, '/') + 1;
    _autofree_ char *directory = strndup(record, (size_t)(name - record));
    _autofd_ int at = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    return at < 0 ? -1 : replace(at, name, true, text, length);
}

int tc_record_keep(const char *name, const char *text, size_t length)
{
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "");
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", name);
    if (!directory || !path || tc_record_directory(directory))
        return -1;
    return tc_record_write(path, text, length);
}
