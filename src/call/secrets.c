/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Values of secrets, from the sources in the policy to a memory file that only the proxy reads. */
#include "call/call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "call/result/result.h"
#include "spawn/spawn.h"

/* Shorter values would match ordinary text in a response; no server accepts a longer header. */
enum { BYTES_MIN = 8, BYTES_MAX = 16384, TEXT_MAX = 4 * BYTES_MAX };
enum { COMMAND_MS = 10000 };

struct reading {
    const struct toolcage_policy *policy;
    const struct tc_grant *grant;
    const struct tc_secret *secret;
    struct tc_provenance writers;
    struct tc_strv values;
    struct toolcage_error **err;
};

static int fail_secret(const struct reading *r, int errnum, const char *hint, const char *what)
{
    const struct tc_secret *secret = r->secret;
    return tc_fail(r->err,
                   &(struct tc_why){.code = TOOLCAGE_ENOT_FOUND,
                                    .stage = "secrets",
                                    .subject = secret->from,
                                    .errnum = errnum,
                                    .hint = hint,
                                    .file = tc_policy_file(r->policy, secret->line),
                                    .line = tc_policy_number(secret->line),
                                    .column = 1},
                   "the secret %s has no value that can be used: %s", secret->name, what);
}

/* A growing buffer would leave unwiped copies behind. */
static struct tc_buf in_one_place(size_t size)
{
    struct tc_buf buf = {.max = 2 * size};
    (void)tc_buf_room(&buf, size);
    return buf;
}

static void wipe(struct tc_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->cap);
    tc_buf_done(buf);
}

/* The value is written to a header unchanged. */
static const char *value_wrong(const char *value, size_t len)
{
    if (len < BYTES_MIN)
        return len ? "it has fewer than 8 bytes" : "it is empty";
    if (len > BYTES_MAX)
        return "it has more than 16384 bytes";
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
            return "it holds a line break or another control character";
    return NULL;
}

/* Within the limits of SOCKS5 and HTTP. */
static bool is_pair(const char *value, size_t len)
{
    enum { PART_MAX = 255 };
    const char *colon = memchr(value, ':', len);
    size_t user = colon ? (size_t)(colon - value) : 0;
    return user > 0 && user <= PART_MAX && len - user > 1 && len - user - 1 <= PART_MAX;
}

static int take_value(struct reading *r, const char *value, size_t len)
{
    const char *wrong = value_wrong(value, len);
    if (wrong)
        return fail_secret(r, 0, "put the value there alone, in one line of 8 to 16384 bytes",
                           wrong);
    if (strcmp(r->secret->name, TC_UPSTREAM_SECRET) == 0 && !is_pair(value, len))
        return fail_secret(r, 0, "write USER:PASSWORD, each of 1 to 255 bytes",
                           "it is not a user and a password");
    return tc_strv_take(&r->values, strndup(value, len)) ? 0 : tc_fail_memory(r->err);
}

static int read_variable(struct reading *r, const char *name)
{
    const char *value = getenv(name);
    return value ? take_value(r, value, strlen(value))
                 : fail_secret(r, 0, "set the variable where toolcage is started", "it is not set");
}

/* The file's path without links. */
static bool real_path(int fd, char ret[PATH_MAX])
{
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, ret, PATH_MAX - 1);
    ret[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

/* Is the file granted under another path? The policy's path is hidden by the grant. */
static bool is_shown(const struct tc_grant *grant, const char *real, const char *path)
{
    if (strcmp(real, path) == 0)
        return false;
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].from && tc_path_within(grant->fs[i].from, real))
            return true;
    return false;
}

static int open_file(struct reading *r, const char *path, int *ret)
{
    struct stat st;
    char real[PATH_MAX];
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_secret(r, errno, "create the file, readable for the user who runs toolcage",
                           "it cannot be opened");
    if (!S_ISREG(st.st_mode))
        return fail_secret(r, 0, "name a file", "it is not a file");
    if (!real_path(fd, real) || is_shown(r->grant, real, path))
        return fail_secret(r, 0, "keep the file outside all grants",
                           "it is a link into a directory that the tool may read");
    /* a tool that can put a link there would choose which file is sent */
    if (tc_provenance_tool(&r->writers, path) || tc_provenance_tool(&r->writers, real))
        return fail_secret(r, 0, "keep the file where no tool writes",
                           "a tool may have written it");
    *ret = TAKE_FD(fd);
    return 0;
}

/* Editors add a line end, which is not part of the value. */
static int take_line(struct reading *r, const struct tc_buf *text)
{
    size_t len = text->len;
    if (len && text->data[len - 1] == '\n')
        len--;
    if (len && text->data[len - 1] == '\r')
        len--;
    return take_value(r, text->data ? text->data : "", len);
}

static int read_file(struct reading *r, const char *path)
{
    struct tc_buf text = in_one_place(TEXT_MAX);
    _autofd_ int fd = -1;
    int rc = open_file(r, path, &fd);
    if (rc < 0)
        return rc;
    if (tc_read_all(fd, &text) < 0)
        rc = fail_secret(r, errno, "put the value there alone", "it cannot be read");
    else
        rc = take_line(r, &text);
    wipe(&text);
    return rc;
}

/* "WORD WORD", separated by single spaces: the policy parser ensures that. */
static bool split(const char *words, struct tc_strv *ret)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!tc_strv_take(ret, strndup(at, strcspn(at, " "))))
            return false;
    return true;
}

static int fail_written(const struct reading *r, const char *path)
{
    _autofree_ char *what = tc_format("a tool may have written %s", path);
    return what ? fail_secret(r, 0, "keep what the command runs where no tool writes", what)
                : tc_fail_memory(r->err);
}

/* Checks each part of an argument that can be a path, relative to "/", where the command runs:
 * the whole argument, the rest after '=', '@', ':' or ',', and the rest from each '/' on, as in
 * -f/path. */
static int check_word(struct reading *r, const char *word)
{
    for (const char *at = word; *at; at++) {
        if (at > word && *at != '/' && !strchr("=@:,", at[-1]))
            continue;
        _autofree_ char *name = strndup(at, strcspn(at, ":,"));
        _autofree_ char *path = name ? tc_path_absolute("/", name) : NULL;
        if (!path)
            return tc_fail_memory(r->err);
        if (path[1] && tc_provenance_tool(&r->writers, path))
            return fail_written(r, path);
    }
    /* env runs a program with this name */
    _autofree_ char *program = strchr(word, '/') ? NULL : tc_spawn_find(&r->writers, word);
    return program || strchr(word, '/') || errno != EPERM ? 0 : fail_written(r, word);
}

static int fail_program(const struct reading *r, const char *name)
{
    if (errno == EPERM)
        return fail_written(r, name);
    return fail_secret(
        r, errno == ENOENT ? 0 : errno,
        "install it, or name it by its absolute path: the caller's PATH is not searched",
        "there is no such command in the system's program directories");
}

static int read_command(struct reading *r, const char *words)
{
    struct tc_buf text = in_one_place(TEXT_MAX);
    _autostrv_ struct tc_strv argv = {0};
    if (!split(words, &argv) || !argv.count)
        return tc_fail_memory(r->err);
    _autofree_ char *path = tc_spawn_find(&r->writers, argv.items[0]);
    int rc = path ? 0 : fail_program(r, argv.items[0]);
    for (size_t i = 1; i < argv.count && rc == 0; i++)
        rc = check_word(r, argv.items[i]);
    if (rc < 0)
        return rc;
    const char *wrong = tc_output_of(path, argv.items, COMMAND_MS, &text);
    rc = wrong ? fail_secret(
                     r, errno,
                     "run the command in / with env -i HOME=\"$HOME\": it prints the value, alone, "
                     "within 10 s; variables that it needs go in front: command:env NAME=VALUE …",
                     wrong)
               : take_line(r, &text);
    wipe(&text);
    return rc;
}

static int read_one(struct reading *r)
{
    const char *from = r->secret->from;
    if (tc_startswith(from, "command:"))
        return read_command(r, from + strlen("command:"));
    return tc_startswith(from, "env:") ? read_variable(r, from + strlen("env:"))
                                       : read_file(r, from + strlen("file:"));
}

static int write_down(struct reading *r, int *ret_fd)
{
    enum { AROUND = 64 };
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    size_t size = AROUND;
    for (size_t i = 0; i < r->values.count; i++)
        size += strlen(r->values.items[i]) + AROUND;
    wire.out = in_one_place(size);
    tc_secret_values_visit(&wire, &r->values);
    bool written = !wire.failed && !wire.out.failed;
    *ret_fd = written ? tc_memfd("toolcage-secrets", wire.out.data, wire.out.len) : -1;
    int errnum = errno;
    wipe(&wire.out);
    if (!written)
        return tc_fail_memory(r->err);
    return *ret_fd >= 0 ? 0
                        : tc_fail(r->err,
                                  TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "secrets", "memfd_create", errnum,
                                               "free memory or file descriptors on this host"),
                                  "the values of secrets cannot be passed to the egress proxy");
}

int tc_secrets_read(const struct toolcage_policy *policy, const struct tc_grant *grant, int *ret_fd,
                    struct toolcage_error **err)
{
    struct reading r = {.policy = policy, .grant = grant, .err = err};
    int rc = 0;
    *ret_fd = -1;
    if (!grant->secret_count)
        return 0;
    if (!tc_provenance_here(&r.writers, &grant->tool_writable, tc_policy_writable(grant->policy)))
        rc = tc_fail_memory(err);
    for (size_t i = 0; i < grant->secret_count && rc == 0; i++) {
        r.secret = &grant->secrets[i];
        rc = read_one(&r);
    }
    if (rc == 0 && r.values.count)
        rc = write_down(&r, ret_fd);
    tc_secret_values_done(&r.values);
    tc_provenance_done(&r.writers);
    return rc;
}
