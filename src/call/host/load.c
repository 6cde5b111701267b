/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads policy text: the policy layer makes no system call. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "call/host/facts.h"
#include "document/yaml/yaml.h"
#include "policy/edit/amend.h"
#include "policy/model.h"
#include "policy/pathrule.h"
#include "provenance/provenance.h"

enum { POLICY_MAX = 4 << 20, GROWN = 1 << 16 /* room for a file that grows while it is read */ };

tc_document_reader *tc_reader_of(const char *name)
{
    return tc_endswith(name, ".yaml") || tc_endswith(name, ".yml") ? tc_yaml_read
                                                                   : tc_document_read_toml;
}

/* The base of relative paths in a text with this name. NULL: out of memory. */
static char *directory_of(const char *cwd, const char *name)
{
    _autofree_ char *full = tc_path_absolute(cwd, name);
    return !full ? NULL : strchr(name, '/') ? tc_path_parent(full) : strdup(cwd);
}

static int fail_read(struct toolcage_error **err, const char *path, int errnum)
{
    struct tc_why why = {.code = TOOLCAGE_ESYSTEM,
                         .stage = "policy",
                         .subject = path,
                         .errnum = errnum,
                         .hint = "see whether its file system is well, or save it elsewhere"};
    if (errnum == ENOENT || errnum == ENOTDIR) {
        why.code = TOOLCAGE_ENOT_FOUND;
        why.hint = "write one with `toolcage init`, or give the right path";
    } else if (errnum == EACCES || errnum == EPERM) {
        why.hint = "make it readable for this user";
    }
    return tc_fail(err, &why, "cannot read the policy file %s", path);
}

static int fail_kind(struct toolcage_error **err, const char *path, const char *what,
                     const char *hint)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EPOLICY, "policy", path, hint), "the policy file %s %s",
                   path, what);
}

/* The path of the open file, links resolved. */
static int where(int fd, const char *path, char **ret, struct toolcage_error **err)
{
    char link[64], real[PATH_MAX];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, sizeof(real));
    if (n < 0)
        return fail_read(err, path, errno);
    if (n == 0 || real[0] != '/' || (size_t)n == sizeof(real))
        return fail_kind(err, path, "is where it has no name", "save it under a shorter path");
    *ret = strndup(real, (size_t)n);
    return *ret ? 0 : tc_fail_memory(err);
}

/* An extended file has the rights of the first file, so only users who could write the first may
 * own or write it. */
static int check_owner(const char *path, const struct stat *first, const struct stat *st,
                       struct toolcage_error **err)
{
    bool owned = st->st_uid == 0 || st->st_uid == geteuid() || st->st_uid == first->st_uid;
    bool shared = (st->st_mode & S_IWOTH) && !(first->st_mode & S_IWOTH);
    if (owned && !shared)
        return 0;
    return fail_kind(err, path,
                     shared ? "is world-writable, and the first one is not"
                            : "belongs to another user",
                     "make it writable only by you, or extend a copy that you own");
}

/* `first` is the file that extends this one, directly or not; NULL: this is the first. */
static int read_file(const char *path, const struct stat *first, struct tc_buf *text,
                     struct stat *ret_st, char **ret_real, struct toolcage_error **err)
{
    /* O_NONBLOCK: do not block on a named pipe before its type is known. */
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_read(err, path, errno);
    if (first && check_owner(path, first, &st, err))
        return TOOLCAGE_EPOLICY;
    if (S_ISDIR(st.st_mode))
        return fail_kind(err, path, "is a directory",
                         "name the file in it, as in DIR/toolcage.toml");
    if (!S_ISREG(st.st_mode))
        return fail_kind(err, path, "is not a regular file", "save it as a plain file first");
    int rc = st.st_size > POLICY_MAX ? 0 : tc_read_all(fd, text);
    if (st.st_size > POLICY_MAX || text->len > POLICY_MAX)
        return fail_kind(err, path, "is larger than 4 MiB",
                         "split it: one policy file per "
                         "project");
    if (text->failed)
        return tc_fail_memory(err);
    if (rc < 0)
        return fail_read(err, path, errno); /* a partial policy is a different policy */
    if (ret_st)
        *ret_st = st;
    rc = where(fd, path, ret_real, first ? err : NULL);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_fail_memory(err);
    return first ? rc
                 : 0; /* a policy that extends nothing may be anywhere, and works without /proc */
}

/* Reads an extended file. It is identified by its real path, taken from the open fd, so that
 * renaming it meanwhile has no effect. */
static int read_extended(void *context, const char *path, struct tc_policy_found *ret,
                         struct toolcage_error **err)
{
    const struct stat *first = context;
    _autobuf_ struct tc_buf text = {.max = POLICY_MAX + GROWN};
    _autofree_ char *real = NULL;
    int rc = read_file(path, first, &text, NULL, &real, err);
    if (rc)
        return rc;
    size_t length = text.len;
    _autofree_ char *whole = length ? tc_buf_steal(&text) : strdup("");
    if (!whole)
        return tc_fail_memory(err);
    *ret = (struct tc_policy_found){
        .text = TAKE(whole), .real = TAKE(real), .length = length, .reader = tc_reader_of(path)};
    return 0;
}

int tc_policy_load_file(const char *path, struct toolcage_policy **ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf text = {.max = POLICY_MAX + GROWN};
    _autosurroundings_ struct tc_surroundings here = {0};
    _autofree_ char *real = NULL;
    struct stat first;
    int rc = read_file(path, NULL, &text, &first, &real, err);
    if (!rc)
        rc = tc_surroundings_gather(&here, err);
    if (rc)
        return rc;
    _autofree_ char *full = tc_path_absolute(here.cwd, path);
    _autofree_ char *dir = full ? tc_path_parent(full) : NULL;
    if (!dir)
        return tc_fail_memory(err);
    const struct tc_policy_source source = {.text = text.data ? text.data : "",
                                            .length = text.len,
                                            .name = path,
                                            .path = full,
                                            .real = real,
                                            .reader = tc_reader_of(path),
                                            .read = read_extended,
                                            .context = &first};
    return tc_policy_compile_source(&source, dir, here.home, ret, err);
}

static struct tc_policy_source source_of(const char *text, size_t length, const char *name,
                                         struct stat *mine)
{
    return (struct tc_policy_source){.text = text,
                                     .length = length,
                                     .name = name,
                                     .reader = tc_reader_of(name),
                                     .read = read_extended,
                                     .context = mine};
}

/* The file is known only by its name, and the files that it extends are read now. */
static int compile_text(const struct tc_policy_source *source, struct toolcage_policy **ret,
                        struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    int r = tc_surroundings_gather(&here, err);
    if (r < 0)
        return r;
    _autofree_ char *dir = directory_of(here.cwd, source->name);
    if (!dir)
        return tc_fail_memory(err);
    return tc_policy_compile_source(source, dir, here.home, ret, err);
}

int tc_policy_load_buffer(const char *text, size_t length, const char *name,
                          struct toolcage_policy **ret, struct toolcage_error **err)
{
    struct stat mine = {.st_uid = geteuid()};
    const struct tc_policy_source source = source_of(text, length, name, &mine);
    return compile_text(&source, ret, err);
}

int tc_policy_new_preset(const char *name, struct toolcage_policy **ret,
                         struct toolcage_error **err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    bool fine = !name[strspn(name, letters)]; /* else no profile has the name */
    _autofree_ char *text = tc_format("extends = \"profile:%s\"\n", fine ? name : "-");
    int r =
        text ? tc_policy_load_buffer(text, strlen(text), "preset", ret, err) : tc_fail_memory(err);
    if (r == 0)
        (*ret)->is_preset = true;
    return r;
}

int tc_policy_allow(const char *text, size_t length, const char *name, const char *tool,
                    const char *access, char **ret, struct toolcage_error **err)
{
    struct toolcage_policy *policy = NULL;
    struct stat mine = {.st_uid = geteuid()};
    _autofree_ char *whole = strndup(text, length);
    if (!whole)
        return tc_fail_memory(err);
    const struct tc_policy_source source = source_of(whole, length, name, &mine);
    int r = compile_text(&source, &policy, err);
    if (r == 0)
        r = tc_policy_amend(policy, &source, tool, access, ret, err);
    (void)tc_policy_unref(policy);
    return r;
}

/* ---- may a tool have written a file that a program outside the library is about to load? ---- */

static int ask_files(const struct toolcage_policy *policy, struct toolcage_error **err)
{
    _autoprovenance_ struct tc_provenance writers;
    bool written = false;
    if (!tc_provenance_here(&writers, NULL, NULL))
        return tc_fail_memory(err);
    for (size_t i = 0; i < policy->file_count && !written; i++)
        written = policy->files[i].path && tc_provenance_tool(&writers, policy->files[i].path);
    return written &&
           !tc_provenance_knows(policy->files[0].path ? policy->files[0].path : "", policy->digest);
}

/* Paths in the workspace that tools of the policy can write. */
static bool list_workspace(const struct toolcage_policy *policy, const char *workspace,
                           struct tc_strv *ret)
{
    const struct tc_strv *inside = &policy->workspace_writable;
    for (size_t i = 0; i < inside->count; i++)
        if (!tc_strv_take(ret, tc_path_move(TC_WORKSPACE, workspace, inside->items[i])))
            return false;
    return true;
}

static int ask_path(const struct toolcage_policy *policy, const char *path, const char *workspace,
                    struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    _autoprovenance_ struct tc_provenance writers = {0};
    _autostrv_ struct tc_strv places = {0};
    int r = tc_surroundings_begin(&here, err);
    if (r < 0)
        return r;
    _autofree_ char *file = tc_path_absolute(here.cwd, path);
    _autofree_ char *root = tc_path_absolute(here.cwd, workspace ? workspace : ".");
    if (!file || !root || (policy && !list_workspace(policy, root, &places)) ||
        !tc_provenance_here(&writers, &places, tc_policy_writable(policy)))
        return tc_fail_memory(err);
    return tc_provenance_tool(&writers, file);
}

int tc_policy_tool_writable(const struct toolcage_policy *policy, const char *path,
                            const char *workspace, struct toolcage_error **err)
{
    return path ? ask_path(policy, path, workspace, err) : ask_files(policy, err);
}
