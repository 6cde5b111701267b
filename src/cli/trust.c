/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "cli/record.h"

static int no_state(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                          "set HOME or XDG_STATE_HOME to an absolute path",
                          "there is no directory for the record of trusted policies");
}

static int broken(struct tc_failure *failure, const char *path, const char *what)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                          "make it a file that only you can write, or remove it",
                          "cannot use the record of trusted policies %s: %s", path, what);
}

static int load(const char *path, char **ret, struct tc_failure *failure)
{
    const char *what;
    *ret = tc_record_read(path, &what);
    return *ret ? 0 : broken(failure, path, what);
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
    if (tc_record_directory(directory))
        return broken(failure, directory, strerror(errno));
    /* the lock is on the directory: the file itself is replaced */
    _autofd_ int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX))
        return broken(failure, directory, strerror(errno));
    if (load(record, &text, failure))
        return -1;
    _autofree_ char *next = edited(text, path, digest);
    if (!next || tc_record_write(record, next, strlen(next)))
        return broken(failure, record, next ? strerror(errno) : "out of memory");
    return 0;
}
