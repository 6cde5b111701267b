/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "live/files/list.h"
#include "live/files/path.h"
#include "state/store.h"
#include "transfer/transfer.h"

enum { STREAM = STDIN_FILENO, TEMPORARY = sizeof(".toolcage-0123456789abcdef") };

/* The action then fails like one whose client has gone, and removes what is not complete. */
static void end_stream(int sig)
{
    (void)sig;
    (void)shutdown(STREAM, SHUT_RDWR);
}

static int fail_transfer(const char *path, const struct tc_transfer_state *t)
{
    _autofree_ char *subject = t->subject[0] ? tc_format("%s (%s)", path, t->subject) : NULL;
    return tc_files_fail(subject ? subject : path, t->fault, t->errnum);
}

static int report(const char *path, const struct tc_transfer_state *t, bool tree)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "path", path);
    tc_json_number(&out, "bytes", t->bytes);
    if (tree)
        tc_json_number(&out, "entries", t->names);
    else
        tc_json_member(&out, "sha256", t->digest + strlen("sha256:"));
    tc_buf_adds(&out, "}\n");
    return out.failed ? -1 : tc_write_all(STDOUT_FILENO, out.data, out.len);
}

/* ---- get ---- */

static int get(const char *path, int64_t most)
{
    struct tc_transfer_state t;
    struct tc_files_path p _auto_(tc_files_path_done);
    if (tc_files_resolve(path, &p) < 0 || tc_files_need_file(&p) < 0)
        return -1;
    _autofd_ int fd =
        openat(p.dir, p.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return tc_files_fail(path, "cannot be read", errno);
    if (fstat(fd, &p.st) < 0 || tc_files_need_file(&p) < 0)
        return -1;
    tc_transfer_init(&t, STREAM, most);
    return tc_transfer_send(&t, fd) < 0 ? fail_transfer(path, &t) : report(path, &t, false);
}

static int get_tree(const char *path, int64_t most)
{
    struct tc_transfer_state t;
    struct tc_files_path p _auto_(tc_files_path_done);
    if (tc_files_resolve(path, &p) < 0 || tc_files_need_directory(&p) < 0)
        return -1;
    tc_transfer_init(&t, STREAM, most);
    return tc_transfer_send_tree(&t, p.dir, p.name) < 0 ? fail_transfer(path, &t)
                                                        : report(path, &t, true);
}

/* ---- put ---- */

static int choose_temporary(const char *path, char ret[TEMPORARY])
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return tc_files_fail(path, "cannot be written", errno);
    (void)snprintf(ret, TEMPORARY, ".toolcage-%016llx", (unsigned long long)number);
    return 0;
}

static int fail_write(const char *path)
{
    return tc_files_fail(path,
                         errno == EBUSY ? "is granted as a single file, which cannot be replaced; "
                                          "write to it with a command"
                                        : "cannot be written",
                         errno);
}

/* A link that another process creates in the meantime is replaced, not followed. */
static int receive_file(const struct tc_files_path *p, const char *temporary, mode_t mode)
{
    struct tc_transfer_state t;
    _autofd_ int fd =
        openat(p->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_write(p->path);
    tc_transfer_init(&t, STREAM, INT64_MAX);
    int rc = tc_transfer_receive(&t, fd) < 0 ? fail_transfer(p->path, &t) : 0;
    if (rc == 0 && (fchmod(fd, mode) < 0 || renameat(p->dir, temporary, p->dir, p->name) < 0))
        rc = fail_write(p->path);
    if (rc < 0)
        (void)unlinkat(p->dir, temporary, 0);
    return rc < 0 ? -1 : report(p->path, &t, false);
}

static int put(const char *path, mode_t mode)
{
    char temporary[TEMPORARY];
    struct tc_files_path p _auto_(tc_files_path_done);
    if (tc_files_resolve(path, &p) < 0 || (p.exists && tc_files_need_file(&p) < 0) ||
        choose_temporary(path, temporary) < 0)
        return -1;
    return receive_file(&p, temporary, mode);
}

static int receive_tree(const struct tc_files_path *p, const char *temporary)
{
    struct tc_transfer_state t;
    tc_transfer_init(&t, STREAM, INT64_MAX);
    if (tc_transfer_receive_tree(&t, p->dir, temporary) < 0)
        return fail_transfer(p->path, &t);
    if (renameat2(p->dir, temporary, p->dir, p->name, RENAME_NOREPLACE) == 0)
        return report(p->path, &t, true);
    (void)fail_write(p->path);
    (void)tc_remove_tree(p->dir, temporary);
    return -1;
}

static int put_tree(const char *path)
{
    char temporary[TEMPORARY];
    struct tc_files_path p _auto_(tc_files_path_done);
    if (tc_files_resolve(path, &p) < 0)
        return -1;
    if (p.exists)
        return tc_files_fail(path, "exists; remove it, or choose another path", 0);
    return choose_temporary(path, temporary) < 0 ? -1 : receive_tree(&p, temporary);
}

/* ---- remove ---- */

static int remove_path(const char *path, bool tree)
{
    struct tc_files_path p _auto_(tc_files_path_done);
    if (tc_files_resolve(path, &p) < 0 || tc_files_need(&p) < 0)
        return -1;
    if (S_ISDIR(p.st.st_mode) && !tree)
        return tc_files_fail(path, "is a directory (it needs --recursive)", 0);
    int rc = tree ? tc_remove_tree(p.dir, p.name) : unlinkat(p.dir, p.name, 0);
    return rc < 0 ? tc_files_fail(path, "cannot be removed", errno) : 0;
}

/* ---- the action ---- */

static int run(const char *action, const char *path, const char *more)
{
    if (!strcmp(action, "put"))
        return put(path, (mode_t)strtoul(more, NULL, 8) & 0777);
    if (!strcmp(action, "get"))
        return get(path, strtoll(more, NULL, 10));
    if (!strcmp(action, "put-tree"))
        return put_tree(path);
    if (!strcmp(action, "get-tree"))
        return get_tree(path, strtoll(more, NULL, 10));
    if (!strcmp(action, "list"))
        return tc_files_list(path);
    if (!strcmp(action, "stat"))
        return tc_files_stat(path);
    if (!strcmp(action, "remove") || !strcmp(action, "remove-tree"))
        return remove_path(path, !strcmp(action, "remove-tree"));
    return tc_files_fail(action, "is not a file action", 0);
}

int tc_files_run(const char *const *argv)
{
    (void)signal(SIGTERM, end_stream);
    if (!argv[0] || !argv[1])
        return 1;
    return run(argv[0], argv[1], argv[2] ? argv[2] : "") < 0;
}
