/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { TRUST_FILE_MAX = 1 << 20 };

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

static int no_state(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                          "set HOME or XDG_STATE_HOME to an absolute path",
                          "there is no place for the record of trusted policies");
}

static int broken(struct tc_failure *failure, const char *path, const char *what)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                          "make it a file that only you can write, or remove it",
                          "cannot use the record of trusted policies %s: %s", path, what);
}

/* The whole file as text, "" when there is none. A record that others can write proves nothing. */
static int load(const char *path, char **ret, struct tc_failure *failure)
{
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        *ret = strdup("");
        return *ret ? 0 : broken(failure, path, "out of memory");
    }
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return broken(failure, path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size > TRUST_FILE_MAX)
        return broken(failure, path, "not a regular file, or too large");
    if (st.st_uid != geteuid() || (st.st_mode & 022))
        return broken(failure, path, "somebody else owns it or can write it");
    _autofree_ char *text = calloc(1, (size_t)st.st_size + 1);
    ssize_t n = text ? read(fd, text, (size_t)st.st_size) : -1;
    if (n != st.st_size)
        return broken(failure, path, n < 0 ? strerror(errno) : "it changed while it was read");
    *ret = text;
    text = NULL;
    return 0;
}

/* The entry of `path` in the record's text: where its line starts, or NULL. */
static const char *find(const char *text, const char *path)
{
    size_t length = strlen(path);
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n'), *space = memchr(line, ' ', (size_t)(end - line));
        if (space && (size_t)(end - space - 1) == length && !memcmp(space + 1, path, length))
            return line;
        line = *end ? end + 1 : end;
    }
    return NULL;
}

int tc_trust_check(const char *path, const char *digest, enum tc_trust *ret,
                   struct tc_failure *failure)
{
    _autofree_ char *record = tc_user_path("XDG_STATE_HOME", ".local/state", "trust");
    _autofree_ char *text = NULL;
    *ret = TC_TRUST_NEVER;
    if (!record)
        return 0; /* no record: nothing is trusted */
    if (load(record, &text, failure))
        return -1;
    const char *line = find(text, path);
    size_t length = strlen(digest);
    if (line)
        *ret =
            !strncmp(line, digest, length) && line[length] == ' ' ? TC_TRUST_YES : TC_TRUST_CHANGED;
    return 0;
}

static int make_directory(char *path)
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

/* The new record beside the old one, then renamed over it: readers see one or the other. */
static int replace(const char *record, const char *text, size_t length)
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

static char *edited(const char *text, const char *path, const char *digest)
{
    const char *line = find(text, path);
    const char *rest = line ? strchrnul(line, '\n') : text + strlen(text);
    char *out = NULL;
    int n = asprintf(&out, "%.*s%s%s%s%s%s", line ? (int)(line - text) : (int)strlen(text), text,
                     digest ? digest : "", digest ? " " : "", digest ? path : "",
                     digest ? "\n" : "", *rest ? rest + 1 : "");
    return n < 0 ? NULL : out;
}

int tc_trust_set(const char *path, const char *digest, struct tc_failure *failure)
{
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "");
    _autofree_ char *record = tc_user_path("XDG_STATE_HOME", ".local/state", "trust");
    _autofree_ char *text = NULL;
    if (!directory || !record)
        return no_state(failure);
    if (strchr(path, '\n'))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "rename it",
                              "a policy whose path has a line break cannot be trusted");
    if (make_directory(directory))
        return broken(failure, directory, strerror(errno));
    /* the lock is on the directory: the file itself is replaced */
    _autofd_ int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX))
        return broken(failure, directory, strerror(errno));
    if (load(record, &text, failure))
        return -1;
    _autofree_ char *next = edited(text, path, digest);
    if (!next || replace(record, next, strlen(next)))
        return broken(failure, record, next ? strerror(errno) : "out of memory");
    return 0;
}
