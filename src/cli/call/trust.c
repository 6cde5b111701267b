/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "cli/call/replace.h"
#include "text/shell.h"
#include "trust/trusted.h"

#define PREFIX "sha256:"

/* The author of two policies needs 2^(4n/2) attempts for digests with the same first n digits. */
enum { DIGITS_LEAST = 32, DIGITS = 64 };

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

static int load_record(const char *path, char **ret, struct tc_failure *failure)
{
    const char *what;
    *ret = tc_record_read(path, &what);
    return *ret ? 0 : broken(failure, path, what);
}

int tc_trust_check(const char *path, const char *digest, enum tc_trust *ret,
                   struct tc_failure *failure)
{
    _autofree_ char *record = tc_user_path("XDG_STATE_HOME", ".local/state", "trust");
    _autofree_ char *text = NULL;
    *ret = TC_TRUST_NEVER;
    if (!record)
        return 0; /* no record: nothing is trusted */
    if (load_record(record, &text, failure))
        return -1;
    const char *line = tc_trusted_line(text, path);
    if (line)
        *ret = tc_trusted_digest(line, digest) ? TC_TRUST_YES : TC_TRUST_CHANGED;
    return 0;
}

/* ---- the stored policy texts ---- */

static char *place_of_text(const char *digest)
{
    size_t prefix = strlen(PREFIX);
    if (strncmp(digest, PREFIX, prefix) != 0 || strchr(digest, '/'))
        return NULL;
    _autofree_ char *name = tc_cli_format("trusted/%s", digest + prefix);
    return name ? tc_user_path("XDG_STATE_HOME", ".local/state", name) : NULL;
}

/* Stores the text of a trusted policy, to list later what has changed. If the text cannot be
 * stored, a later change is listed as if the whole policy were new. */
static void keep_text(const char *digest, const char *text)
{
    _autofree_ char *path = place_of_text(digest);
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "trusted");
    if (path && directory && !tc_record_directory(directory))
        (void)tc_record_write(path, text, strlen(text));
}

static char *digest_of(const char *line)
{
    return line ? strndup(line, strcspn(line, " ")) : NULL;
}

/* Deletes the stored text of a line of the old record (NULL: none), unless the new record still
 * contains the line's digest. */
static void forget_text(const char *line, const char *record)
{
    _autofree_ char *old = digest_of(line);
    _autofree_ char *path = old && !strstr(record, old) ? place_of_text(old) : NULL;
    if (path)
        (void)unlink(path);
}

char *tc_trust_last(const char *path, char **ret_text)
{
    _autofree_ char *record = tc_user_path("XDG_STATE_HOME", ".local/state", "trust");
    const char *what;
    _autofree_ char *text = record ? tc_record_read(record, &what) : NULL;
    char *digest = text ? digest_of(tc_trusted_line(text, path)) : NULL;
    _autofree_ char *place = digest ? place_of_text(digest) : NULL;
    *ret_text = place && !access(place, F_OK) ? tc_record_read(place, &what) : NULL;
    return digest;
}

/* ---- digests from the user ---- */

static const char *digits_of(const char *digest)
{
    size_t prefix = strlen(PREFIX);
    return digest + (strncmp(digest, PREFIX, prefix) == 0 ? prefix : 0);
}

bool tc_trust_is_digest(const char *given)
{
    const char *digits = digits_of(given);
    size_t length = strlen(digits);
    return length >= DIGITS_LEAST && length <= DIGITS &&
           strspn(digits, "0123456789abcdef") == length;
}

bool tc_trust_matches(const char *given, const char *digest)
{
    const char *digits = digits_of(given);
    return tc_trust_is_digest(given) && !strncmp(digits, digits_of(digest), strlen(digits));
}

char *tc_trust_command(const char *path, const char *digest)
{
    _autofree_ char *word = tc_shell_quote(path);
    return word ? tc_cli_format("toolcage policy trust %s%s%s", word, digest ? " --digest " : "",
                                digest ? digest : "")
                : NULL;
}

/* ---- the record ---- */

static char *edited(const char *text, const char *path, const char *digest)
{
    const char *line = tc_trusted_line(text, path);
    const char *rest = line ? strchrnul(line, '\n') : text + strlen(text);
    return tc_cli_format("%.*s%s%s%s%s%s", line ? (int)(line - text) : (int)strlen(text), text,
                         digest ? digest : "", digest ? " " : "", digest ? path : "",
                         digest ? "\n" : "", *rest ? rest + 1 : "");
}

int tc_trust_set(const char *path, const char *digest, const char *text, struct tc_failure *failure)
{
    _autofree_ char *directory = tc_user_path("XDG_STATE_HOME", ".local/state", "");
    _autofree_ char *record = tc_user_path("XDG_STATE_HOME", ".local/state", "trust");
    _autofree_ char *before = NULL;
    if (!directory || !record)
        return no_state(failure);
    if (strchr(path, '\n'))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "rename it",
                              "a policy whose path has a line break cannot be trusted");
    if (tc_record_directory(directory))
        return broken(failure, directory, strerror(errno));
    /* the lock is on the directory, because the file itself is replaced */
    _autofd_ int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX))
        return broken(failure, directory, strerror(errno));
    if (load_record(record, &before, failure))
        return -1;
    _autofree_ char *next = edited(before, path, digest);
    if (!next || tc_record_write(record, next, strlen(next)))
        return broken(failure, record, next ? strerror(errno) : "out of memory");
    forget_text(tc_trusted_line(before, path), next);
    if (digest && text)
        keep_text(digest, text);
    return 0;
}
