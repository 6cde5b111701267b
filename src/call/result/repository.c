/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A hint for a tool that found no git repository: the repository is above the granted directories,
 * or the directory is a linked work tree of a repository elsewhere. A tool could have written the
 * file that names that repository, so it counts only if the repository names the work tree, too. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "base/display.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "call/result/result.h"
#include "policy/model.h"

/* The host path of the directory in which the tool started; owned, NULL: unknown. *ret_moved: the
 * tool sees it under another path, like /workspace. */
static char *start_of(const struct tc_grant *grant, bool *ret_moved)
{
    const char *starts[3];
    for (size_t i = 0, n = tc_grant_starts(grant, starts); i < n; i++) {
        const struct tc_fs_entry *entry = tc_grant_shows(grant, starts[i]);
        if (!entry || !entry->from)
            continue;
        *ret_moved = strcmp(entry->from, entry->path) != 0;
        return tc_format("%s%s", entry->from, starts[i] + strlen(entry->path));
    }
    return NULL;
}

/* The first line of a small file, reached from `dirfd` on its mount and without links; owned. */
static char *read_line(int dirfd, const char *path)
{
    enum { MOST = 4096 };
    struct open_how how = {.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                           .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
    struct stat st;
    char text[MOST];
    _autofd_ int fd = tc_openat2(dirfd, path, &how);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return strdup(text);
}

/* The path from the root as one from a directory of the same mount; owned. */
static char *path_from(const char *directory, const char *path)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (size_t i = 0; i < tc_path_depth(directory); i++)
        tc_buf_adds(&buf, "../");
    tc_buf_adds(&buf, path + 1);
    return tc_buf_steal(&buf);
}

/* The `.git` directory to which the linked work tree in `directory` belongs; owned, NULL: none. */
static char *main_repository(const char *directory)
{
    static const char word[] = "gitdir: /", middle[] = "/.git/worktrees/";
    _autofd_ int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _autofree_ char *line = fd < 0 ? NULL : read_line(fd, ".git");
    char *own = line && tc_startswith(line, word) ? line + strlen(word) - 1 : NULL;
    char *end = own ? strstr(own, middle) : NULL;
    if (!end || strchr(end + strlen(middle), '/') || !tc_path_is_clean(own))
        return NULL;
    _autofree_ char *place = tc_format("%s/gitdir", own);
    _autofree_ char *from = place ? path_from(directory, place) : NULL;
    _autofree_ char *back = from ? read_line(fd, from) : NULL;
    _autofree_ char *expected = tc_format("%s/.git", directory);
    return back && expected && strcmp(back, expected) == 0
               ? strndup(own, (size_t)(end - own) + strlen("/.git"))
               : NULL;
}

/* `key` NULL: only an option grants it. */
static char *say(const struct tc_result_frame *frame, const char *what, const char *path,
                 const char *option, const char *key)
{
    _autofree_ char *word = tc_shell_quote(path);
    if (!word)
        return NULL;
    return !key || tc_policy_is_default(frame->policy)
               ? tc_format("%s %s, which is not granted: %s %s", what, word, option, word)
               : tc_format("%s %s, which is not granted: %s = [\"%s\"]", what, word, key, path);
}

char *tc_result_advise_repository(const struct tc_result_frame *frame, const struct tc_outcome *o)
{
    struct stat st;
    if (!tc_contains(o->err.head, o->err.head_len, "not a git repository"))
        return NULL;
    bool moved = false;
    _autofree_ char *at = start_of(frame->grant, &moved);
    while (at && at[1]) {
        _autofree_ char *git = tc_path_join(at, ".git");
        bool there = git && lstat(git, &st) == 0;
        if (there && S_ISREG(st.st_mode)) {
            _autofree_ char *repository = main_repository(at);
            return repository && !tc_grant_find(frame->grant, repository)
                       ? say(frame, "this work tree belongs to the repository", repository,
                             "--write", "filesystem.writable")
                       : NULL;
        }
        if (there)
            return tc_grant_find(frame->grant, at) ? NULL
                   : moved
                       ? say(frame, "the repository is in", at, "--workspace", NULL)
                       : say(frame, "the repository is in", at, "--read", "filesystem.readable");
        char *parent = tc_path_parent(at);
        free(at);
        at = parent;
    }
    return NULL;
}
