/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/files/list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "transfer/transfer.h"

/* A list leaves longer targets of links out, so that its size is bounded. */
enum { NAMES_MAX = 10000, LISTED_TARGET_MAX = 800 };

static void add_entry(struct tc_buf *out, int dir, const char *name, const struct stat *st,
                      size_t target_max)
{
    char mode[8], target[PATH_MAX];
    (void)snprintf(mode, sizeof(mode), "%04o", (unsigned)st->st_mode & 07777);
    tc_buf_addc(out, '{');
    tc_json_bytes(out, "name", "name_base64", name, strlen(name));
    tc_json_member(out, "type", tc_files_type(st->st_mode));
    tc_json_member(out, "mode", mode);
    tc_json_number(out, "bytes", (int64_t)st->st_size);
    tc_json_number(out, "modified", (int64_t)st->st_mtim.tv_sec);
    ssize_t n = S_ISLNK(st->st_mode) ? readlinkat(dir, name, target, sizeof(target)) : -1;
    if (n >= 0 && (size_t)n <= target_max)
        tc_json_bytes(out, "target", "target_base64", target, (size_t)n);
    tc_buf_adds(out, "}\n");
}

/* *ret_more: there are more than NAMES_MAX names. */
static int read_names(const struct tc_files_path *p, int fd, struct tc_strv *names, bool *ret_more)
{
    struct dirent *entry;
    int rc;
    _autodir_ DIR *dir = tc_list_dir(fd);
    if (!dir)
        return tc_files_fail(p->path, "cannot be read", errno);
    while ((rc = tc_next_entry(dir, &entry)) > 0) {
        if (names->count == NAMES_MAX) {
            *ret_more = true;
            return 0;
        }
        if (!tc_strv_add(names, entry->d_name))
            return tc_files_fail(p->path, "out of memory", 0);
    }
    return rc < 0 ? tc_files_fail(p->path, "cannot be read", errno) : 0;
}

static int send_names(struct tc_transfer_state *t, int fd, const struct tc_strv *names)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; i < names->count; i++) {
        struct stat st;
        if (fstatat(fd, names->items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* removed meanwhile */
        out.len = 0;
        add_entry(&out, fd, names->items[i], &st, LISTED_TARGET_MAX);
        if (out.failed)
            return tc_transfer_fail(t, NULL, "out of memory", 0);
        if (tc_transfer_add(t, out.data, out.len) < 0)
            return -1;
    }
    return tc_transfer_put_end(t);
}

static int list_directory(const struct tc_files_path *p)
{
    struct tc_transfer_state t;
    bool more = false;
    _autostrv_ struct tc_strv names = {0};
    if (tc_files_need_directory(p) < 0)
        return -1;
    _autofd_ int fd = openat(p->dir, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return tc_files_fail(p->path, "cannot be read", errno);
    if (read_names(p, fd, &names, &more) < 0)
        return -1;
    tc_strv_sort(&names);
    tc_transfer_init(&t, STDIN_FILENO, INT64_MAX);
    if (send_names(&t, fd, &names) < 0)
        return tc_files_fail(p->path, t.fault, t.errnum);
    (void)dprintf(STDOUT_FILENO, "{\"names\":%zu,\"complete\":%s}\n", names.count,
                  more ? "false" : "true");
    return 0;
}

int tc_files_list(const char *path)
{
    struct tc_files_path p _auto_(tc_files_path_done);
    return tc_files_resolve(path, &p) < 0 ? -1 : list_directory(&p);
}

int tc_files_stat(const char *path)
{
    struct tc_files_path p _auto_(tc_files_path_done);
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (tc_files_resolve(path, &p) < 0 || tc_files_need(&p) < 0)
        return -1;
    add_entry(&out, p.dir, p.name, &p.st, PATH_MAX);
    return out.failed ? tc_files_fail(path, "out of memory", 0)
                      : tc_write_all(STDOUT_FILENO, out.data, out.len);
}
