/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { FILE_MAX = 256 << 10, WORD_MAX_BYTES = 512 };

int tc_secret_check(const char *path, struct tc_writers writers, struct tc_failure *failure)
{
    int written =
        toolcage_policy_written(writers.policy, path, writers.workspace, tc_failure_error(failure));
    if (written <= 0)
        return written;
    (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, "keep it where no tool writes",
                         "%s may have been written by a tool", path);
    return tc_failure_about(failure, path);
}

static int open_text(const char *path, bool secret, struct tc_failure *failure)
{
    struct stat st;
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return tc_failure_set(failure, errno == ENOENT ? TOOLCAGE_ENOT_FOUND : TOOLCAGE_ESYSTEM,
                              "name a file that you can read", "cannot read %s: %s", path,
                              strerror(errno));
    if (secret && S_ISREG(st.st_mode) && (st.st_mode & (S_IRWXG | S_IRWXO))) {
        (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, "chmod 600 it, and use another secret",
                             "other users can read or write %s", path);
        return tc_failure_about(failure, path);
    }
    int ret = fd;
    fd = -1;
    return ret;
}

char *tc_secret_read(const char *path, bool secret, struct tc_writers writers,
                     struct tc_failure *failure)
{
    if (tc_secret_check(path, writers, failure))
        return NULL;
    _autofd_ int fd = open_text(path, secret, failure);
    if (fd < 0)
        return NULL;
    _autofree_ char *text = calloc(1, FILE_MAX + 1);
    size_t length = 0;
    ssize_t n = 1;
    while (text && n > 0 && length < FILE_MAX) {
        n = read(fd, text + length, FILE_MAX - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (!text || n < 0 || length == FILE_MAX || strlen(text) != length) {
        (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name the right file",
                             "%s cannot be read, is too large, or is not text", path);
        return NULL;
    }
    char *ret = text;
    text = NULL;
    return ret;
}

char *tc_secret_take_env(const char *name, const char *option, struct tc_failure *failure)
{
    const char *value = getenv(name);
    char *copy = value ? strdup(value) : NULL;
    if (copy) {
        (void)unsetenv(name);
        return copy;
    }
    _autofree_ char *hint = tc_cli_format("export it, or use --%s", option);
    (void)tc_failure_set(failure, value ? TOOLCAGE_EMEMORY : TOOLCAGE_ENOT_FOUND, hint,
                         value ? "out of memory" : "there is no variable %s", name);
    return NULL;
}

int tc_secret_judge(char *text, size_t least, const char *from, struct tc_failure *failure)
{
    text[strcspn(text, "\r\n")] = '\0';
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                  "use printable ASCII characters without spaces",
                                  "the secret from %s cannot be sent in an HTTP header", from);
    if (length >= least && length <= WORD_MAX_BYTES)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "make one: openssl rand -hex 32",
                          "the secret from %s has %zu characters; the length must be %zu to %d",
                          from, length, least, WORD_MAX_BYTES);
}

int tc_secret_hand_over(char *text, struct tc_failure *failure)
{
    _autofree_ char *owned = text;
    _autofd_ int fd = memfd_create("toolcage", MFD_CLOEXEC);
    ssize_t length = text ? (ssize_t)strlen(text) : -1;
    bool good = text && fd >= 0 && write(fd, text, (size_t)length) == length;
    if (text)
        explicit_bzero(text, (size_t)length);
    if (!good)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    int ret = fd;
    fd = -1;
    return ret;
}

long long tc_read_time(const char *option, const char *given, struct tc_failure *failure)
{
    static const struct {
        char unit;
        long long ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}};
    char *end = NULL;
    long long n = given[0] >= '1' && given[0] <= '9' ? strtoll(given, &end, 10) : 0;
    for (size_t i = 0; n > 0 && n <= 100000 && i < TC_COUNT(units); i++)
        if (end[0] == units[i].unit && !end[1])
            return n * units[i].ms;
    _autofree_ char *hint =
        tc_cli_format("write --%s 90s, --%s 30m or --%s 8h", option, option, option);
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint, "--%s %s is not a duration", option,
                          given);
}
