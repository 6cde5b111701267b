/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files that steer the host: what a program of the user runs or obeys without being asked. Those
 * that exist below a writable tree are mounted read-only over themselves, and every directory
 * between the tree and them is mounted on itself, because a mount point cannot be renamed away. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/process/process.h"
#include "backend/process/steering.h"
#include "base/path.h"

enum { DEEPEST = 2, DIRECTORIES_MAX = 512 };

/* Relative to a directory; a bare repository's own names are told apart by its layout. */
static const char *const names[] = {
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/modules",
    ".git/info/attributes",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".config/nvim",
    ".emacs",
    ".emacs.d",
    ".dir-locals.el",
    ".vscode",
    ".idea",
    ".zed",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".mcp.json",
    ".husky",
    ".direnv",
    "toolcage.toml",
    ".config/toolcage",
};

bool tc_steers_host(const char *path)
{
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        const char *at = path;
        size_t n = strlen(names[i]);
        while ((at = strstr(at, names[i])) != NULL) {
            bool whole = (at == path || at[-1] == '/') && (at[n] == '\0' || at[n] == '/');
            if (whole)
                return true;
            at++;
        }
    }
    /* as a file: points to a directory elsewhere */
    return strcmp(path, ".git") == 0 || tc_endswith(path, "/.git");
}

struct scan {
    struct tc_cage *cage;
    const struct tc_item *item;
    struct tc_strv bound; /* directories mounted on themselves already */
    int directories;
};

static bool named(const struct scan *s, const char *path)
{
    const struct tc_process_cage *p = TC_PRIV(s->cage);
    for (size_t i = 0; i < p->item_count; i++)
        if (p->items[i].writable && &p->items[i] != s->item && strcmp(p->items[i].path, path) == 0)
            return true;
    return false;
}

/* Mounts every directory strictly between the item and `relative` on itself. */
static int bind_between(struct scan *s, const char *relative)
{
    for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/')) {
        _autofree_ char *part = strndup(relative, (size_t)(slash - relative));
        if (!part)
            return -1;
        if (tc_strv_has(&s->bound, part))
            continue;
        char *path = tc_arena_format(&TC_PRIV(s->cage)->arena, "%s/%s", s->item->path, part);
        _autofd_ int fd = tc_resolve_beneath(s->item->fd, part);
        if (fd < 0 || !path || tc_process_rebind(s->cage, s->item, fd, path, true) < 0 ||
            !tc_strv_add(&s->bound, part))
            return -1;
    }
    return 0;
}

/* One object that steers the host, `relative` to the item. */
static int protect(struct scan *s, const char *relative)
{
    struct tc_process_cage *p = TC_PRIV(s->cage);
    char *path = tc_arena_format(&p->arena, "%s/%s", s->item->path, relative);
    if (!path || named(s, path))
        return path ? 0 : -1;
    _autofd_ int fd = tc_resolve_beneath(s->item->fd, relative);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
    if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return 0;
    if (bind_between(s, relative) < 0)
        return -1;
    return tc_process_rebind(s->cage, s->item, fd, path, false);
}

static char *below(const char *prefix, const char *name)
{
    return prefix[0] ? tc_path_join(prefix, name) : strdup(name);
}

static int protect_below(struct scan *s, const char *prefix, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _autofree_ char *relative = below(prefix, list[i]);
        if (!relative || protect(s, relative) < 0)
            return -1;
    }
    return 0;
}

static bool exists(int dirfd, const char *name)
{
    struct stat st;
    return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A repository without a work tree keeps config and hooks beside HEAD, and git finds it unasked. */
static int protect_bare(struct scan *s, int dirfd, const char *prefix)
{
    static const char *const bare[] = {"config", "hooks"};
    if (!exists(dirfd, "HEAD") || !exists(dirfd, "objects") || !exists(dirfd, "refs"))
        return 0;
    return protect_below(s, prefix, bare, TC_COUNT(bare));
}

static int scan_directory(struct scan *s, int path_fd, const char *prefix, int depth);

static int scan_children(struct scan *s, int dirfd, DIR *dir, const char *prefix, int depth)
{
    struct dirent *e;
    while ((e = readdir(dir))) {
        bool skip = e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 ||
                    strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, ".git") == 0 ||
                    strcmp(e->d_name, "node_modules") == 0;
        if (skip || s->directories >= DIRECTORIES_MAX)
            continue;
        _autofree_ char *relative = below(prefix, e->d_name);
        _autofd_ int fd = openat(dirfd, e->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (!relative || (fd >= 0 && scan_directory(s, fd, relative, depth + 1) < 0))
            return -1;
    }
    return 0;
}

static int scan_directory(struct scan *s, int path_fd, const char *prefix, int depth)
{
    struct stat st;
    s->directories++;
    if (protect_below(s, prefix, names, TC_COUNT(names)) < 0 ||
        protect_bare(s, path_fd, prefix) < 0)
        return -1;
    if (fstatat(path_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        protect_below(s, prefix, &(const char *){".git"}, 1) < 0)
        return -1;
    if (depth == DEEPEST)
        return 0;
    int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _autodir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    return dir ? scan_children(s, fd, dir, prefix, depth) : 0;
}

int tc_process_steering(struct tc_cage *cage, const struct tc_item *item)
{
    struct scan s = {.cage = cage, .item = item};
    int rc = scan_directory(&s, item->fd, "", 0);
    tc_strv_done(&s.bound);
    if (rc == 0 || cage->outcome->failure.code)
        return rc;
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                         .stage = "steering",
                                         .subject = item->mount->from,
                                         .errnum = errno,
                                         .hint = "use workspace = { mode = \"copy\" }"},
                        TC_CLAUSE_FS_STEERING, "cannot protect the files in %s that steer the host",
                        item->mount->from);
}
