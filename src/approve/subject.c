/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "approve/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/jsontext.h"
#include "policy/policy.h"
#include "schema/schema.h"

static int fail_file(struct toolcage_error **err, const char *path)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "approve", path, errno,
                                "make it readable: an approval covers the content of the files "
                                "that the arguments name"),
                   "%s cannot be read", path);
}

static int digest_file(int fd, char ret[TC_DIGEST_SIZE])
{
    enum { BLOCK = 65536 };
    unsigned char block[BLOCK];
    SHA2_CTX ctx;
    ssize_t n;
    SHA256Init(&ctx);
    while ((n = read(fd, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR))
        SHA256Update(&ctx, block, n > 0 ? (size_t)n : 0);
    tc_digest_finish(&ctx, ret);
    return n < 0 ? -1 : 0;
}

static void add_identity(struct tc_buf *out, const char *path, const struct stat *st)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "path", path);
    tc_json_number(out, "device", (int64_t)st->st_dev);
    tc_json_number(out, "inode", (int64_t)st->st_ino);
}

/* A directory is bound by its identity, a file also by its content. One that does not exist yet is
 * bound by that. */
static int add_file(struct tc_buf *out, const char *path, struct toolcage_error **err)
{
    struct stat st = {0};
    char digest[TC_DIGEST_SIZE];
    _autofd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return fail_file(err, path);
    if (fd >= 0 && fstat(fd, &st) < 0)
        return fail_file(err, path);
    if (out->len && out->data[out->len - 1] != '[')
        tc_buf_addc(out, ',');
    add_identity(out, path, &st);
    if (fd >= 0 && S_ISREG(st.st_mode)) {
        if (digest_file(fd, digest) < 0)
            return fail_file(err, path);
        tc_json_number(out, "bytes", (int64_t)st.st_size);
        tc_json_member(out, "digest", digest);
    }
    tc_buf_addc(out, '}');
    return 0;
}

static int add_files(struct tc_buf *out, const struct tc_grant *grant, const struct tc_strv *files,
                     struct toolcage_error **err)
{
    int r = 0;
    tc_json_key(out, "files");
    tc_buf_addc(out, '[');
    for (size_t i = 0; r == 0 && i < files->count; i++)
        r = add_file(out, files->items[i], err);
    for (size_t i = 0; r == 0 && i < grant->fs_count; i++)
        if (grant->fs[i].argument && grant->fs[i].from)
            r = add_file(out, grant->fs[i].from, err);
    if (r == 0 && grant->module)
        r = add_file(out, grant->module, err);
    tc_buf_addc(out, ']');
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

/* The caller's input; the policy's own is in the grant. A pipe's content is not known. */
static void add_input(struct tc_buf *out, const struct tc_subject *subject)
{
    char digest[TC_DIGEST_SIZE];
    if (subject->pipe)
        tc_json_member(out, "stdin", "pipe");
    else if (subject->input) {
        tc_digest(subject->input, subject->input_length, digest);
        tc_json_member(out, "stdin", digest);
    }
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
    add_input(ret, subject);
    if (subject->session)
        tc_json_member(ret, "session", subject->session);
    int r = add_arguments(ret, subject->arguments, err);
    if (r == 0 && grant->caller_cwd && stat(grant->caller_cwd, &st) == 0) {
        tc_json_key(ret, "cwd");
        add_identity(ret, grant->caller_cwd, &st);
        tc_buf_addc(ret, '}');
    }
    if (r == 0)
        r = add_files(ret, grant, subject->files, err);
    tc_buf_addc(ret, '}');
    return r == 0 && ret->failed ? tc_fail_memory(err) : r;
}
