/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "approve/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/jsontext.h"
#include "policy/policy.h"
#include "schema/schema.h"

/* All files of a call together: a tool may have made one of them, of any size. */
enum { FILES_MAX = 256 << 20 };

/* A file whose content was read. */
struct seen {
    const char *path;
    struct stat st;
};

struct files {
    struct tc_buf *out;
    int64_t left;
    struct seen *seen;
    size_t count;
};

static int fail_file(struct toolcage_error **err, const char *path, int errnum, const char *what)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "approve", path, errnum,
                                "an approval covers the content of the files that are executed or "
                                "named: make them readable, smaller, or read-only for tools"),
                   "%s %s", path, what);
}

/* Reads the `size` bytes that the file had when it was opened. */
static int digest_file(int fd, int64_t size, char ret[TC_DIGEST_SIZE])
{
    enum { BLOCK = 65536 };
    unsigned char block[BLOCK];
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    while (size > 0) {
        ssize_t n = read(fd, block, size < BLOCK ? (size_t)size : BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        SHA256Update(&ctx, block, (size_t)n);
        size -= n;
    }
    tc_digest_finish(&ctx, ret);
    return 0;
}

static void add_comma(struct tc_buf *out)
{
    if (out->len && out->data[out->len - 1] != '[')
        tc_buf_addc(out, ',');
}

/* Begins an object; a missing file has inode 0. */
static void add_identity(struct tc_buf *out, const char *path, const struct stat *st)
{
    add_comma(out);
    tc_buf_addc(out, '{');
    tc_json_member(out, "path", path);
    tc_json_number(out, "device", (int64_t)st->st_dev);
    tc_json_number(out, "inode", (int64_t)st->st_ino);
    tc_json_number(out, "mode", (int64_t)st->st_mode);
    tc_json_number(out, "uid", (int64_t)st->st_uid);
    tc_json_number(out, "gid", (int64_t)st->st_gid);
}

static int add_content(struct files *f, const char *path, int fd, const struct stat *st,
                       struct toolcage_error **err)
{
    char digest[TC_DIGEST_SIZE];
    if (st->st_size > f->left)
        return fail_file(err, path, 0, "is too large: all files of a call may have 256 MiB");
    f->left -= st->st_size;
    if (digest_file(fd, st->st_size, digest) < 0)
        return fail_file(err, path, errno, "cannot be read");
    struct seen *seen = TC_PUSH(f->seen, f->count);
    if (!seen)
        return tc_fail_memory(err);
    *seen = (struct seen){path, *st};
    tc_json_number(f->out, "bytes", (int64_t)st->st_size);
    tc_json_member(f->out, "digest", digest);
    return 0;
}

/* A directory is bound by its identity, a file also by its content. */
static int add_file(struct files *f, const char *path, struct toolcage_error **err)
{
    struct stat st = {0};
    int r = 0;
    _autofd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if ((fd < 0 && errno != ENOENT) || (fd >= 0 && fstat(fd, &st) < 0))
        return fail_file(err, path, errno, "cannot be read");
    add_identity(f->out, path, &st);
    if (fd >= 0 && S_ISREG(st.st_mode))
        r = add_content(f, path, fd, &st, err);
    tc_buf_addc(f->out, '}');
    return r;
}

/* Is every file still the one that was read? The first was read before the last. */
static int check_files(const struct files *f, struct toolcage_error **err)
{
    struct stat now;
    for (size_t i = 0; i < f->count; i++) {
        const struct stat *was = &f->seen[i].st;
        if (stat(f->seen[i].path, &now) < 0 || now.st_dev != was->st_dev ||
            now.st_ino != was->st_ino || now.st_size != was->st_size ||
            memcmp(&now.st_mtim, &was->st_mtim, sizeof(now.st_mtim)) != 0 ||
            memcmp(&now.st_ctim, &was->st_ctim, sizeof(now.st_ctim)) != 0)
            return fail_file(err, f->seen[i].path, 0, "changed while it was read");
    }
    return 0;
}

static int add_files(struct tc_buf *out, const struct tc_grant *grant, const struct tc_strv *files,
                     struct toolcage_error **err)
{
    struct files f = {.out = out, .left = FILES_MAX};
    int r = 0;
    tc_json_key(out, "files");
    tc_buf_addc(out, '[');
    for (size_t i = 0; r == 0 && i < files->count; i++)
        r = add_file(&f, files->items[i], err);
    for (size_t i = 0; r == 0 && i < grant->fs_count; i++)
        if (grant->fs[i].argument && grant->fs[i].from && !tc_strv_has(files, grant->fs[i].from))
            r = add_file(&f, grant->fs[i].from, err);
    if (r == 0 && grant->module)
        r = add_file(&f, grant->module, err);
    tc_buf_addc(out, ']');
    if (r == 0)
        r = check_files(&f, err);
    free(f.seen);
    return r;
}

static int add_arguments(struct tc_buf *out, const char *arguments, struct toolcage_error **err)
{
    if (!arguments)
        return 0;
    json_t *value = json_loads(arguments, JSON_REJECT_DUPLICATES, NULL);
    if (!value)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EARGUMENTS, "approve", "arguments",
                              "give a JSON object without duplicate keys"),
                       "the arguments are not JSON");
    tc_json_key(out, "arguments");
    tc_json_canonical(value, out);
    json_decref(value);
    return 0;
}

/* A pipe's content is not known. */
static void add_input(struct tc_buf *out, const struct tc_grant *grant,
                      const struct tc_subject *subject)
{
    if (grant->stdin_bytes)
        tc_json_bytes(out, "input", "input_base64", grant->stdin_bytes, grant->stdin_len);
    else if (subject->pipe)
        tc_json_bool(out, "pipe", true);
    else if (subject->input)
        tc_json_bytes(out, "input", "input_base64", subject->input, subject->input_length);
}

/* The granted paths of this access, and the host's objects at them. */
static void add_paths(struct tc_buf *out, const char *key, const struct tc_fs_entry *entries,
                      size_t count, enum tc_access access)
{
    tc_json_key(out, key);
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < count; i++) {
        struct stat st = {0};
        if (entries[i].access != access || !entries[i].from)
            continue;
        if (stat(entries[i].from, &st) < 0)
            st = (struct stat){0};
        add_identity(out, entries[i].path, &st);
        tc_json_member(out, "from", entries[i].from);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

static void add_grant(struct tc_buf *out, const struct tc_grant *grant)
{
    add_paths(out, "read", grant->fs, grant->fs_count, TC_ACCESS_READ);
    add_paths(out, "write", grant->fs, grant->fs_count, TC_ACCESS_WRITE);
    add_paths(out, "unix_sockets", grant->sockets, grant->socket_count, TC_ACCESS_CONNECT);
    tc_grant_write_reach(grant, out);
    tc_json_number(out, "umask", grant->umask);
}

int tc_subject_write(const struct tc_grant *grant, const struct tc_subject *subject,
                     struct tc_buf *ret, struct toolcage_error **err)
{
    struct stat st;
    const char *policy = grant->policy ? tc_policy_digest(grant->policy) : NULL;
    tc_buf_adds(ret, "{\"version\":1");
    tc_json_optional(ret, "tool", grant->tool);
    tc_json_optional(ret, "tier", grant->tier);
    tc_json_optional(ret, "policy", policy);
    tc_json_member(ret, "grant", grant->digest);
    tc_json_member(ret, "backend", grant->backend);
    tc_json_list(ret, "command", &grant->argv);
    add_input(ret, grant, subject);
    int r = add_arguments(ret, subject->arguments, err);
    add_grant(ret, grant);
    if (subject->cwd && stat(subject->cwd, &st) == 0) {
        tc_json_key(ret, "cwd");
        tc_buf_addc(ret, '[');
        add_identity(ret, subject->cwd, &st);
        tc_buf_adds(ret, "}]");
    }
    if (r == 0)
        r = add_files(ret, grant, subject->files, err);
    tc_buf_addc(ret, '}');
    return r == 0 && ret->failed ? tc_fail_memory(err) : r;
}
