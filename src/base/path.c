/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strv.h"
#include "base/sys.h"

/* Appends the components of `path` to the clean path in `out`, which has no trailing slash. ".."
 * removes the last component, without a look at the file system. */
static void append_clean(struct tc_buf *out, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");
        bool up = n == 2 && path[0] == '.' && path[1] == '.';
        bool stay = n == 0 || (n == 1 && path[0] == '.');
        if (up) {
            while (out->len && out->data[--out->len] != '/')
                ;
            if (out->data)
                out->data[out->len] = '\0';
        } else if (!stay) {
            tc_buf_addc(out, '/');
            tc_buf_add(out, path, n);
        }
        path += n + (path[n] == '/');
    }
}

bool tc_path_is_clean(const char *path)
{
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        size_t n = strcspn(at + 1, "/");
        if (n == 0 || n > NAME_MAX || (n <= 2 && strspn(at + 1, ".") >= n))
            return false;
    }
    return path[0] == '/';
}

char *tc_path_absolute(const char *base, const char *path)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (path[0] != '/')
        append_clean(&out, base);
    append_clean(&out, path);
    if (out.len == 0)
        tc_buf_addc(&out, '/');
    return tc_buf_steal(&out);
}

bool tc_path_within(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    if (n == 1)
        return path[0] == '/';
    return strncmp(dir, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool tc_path_within_any(const struct tc_strv *dirs, const char *path)
{
    for (size_t i = 0; i < dirs->count; i++)
        if (tc_path_within(dirs->items[i], path))
            return true;
    return false;
}

char *tc_path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return strdup("/");
    return strndup(path, (size_t)(slash - path));
}

const char *tc_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *tc_path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name), slash = n == 0 || dir[n - 1] != '/';
    char *path = malloc(n + slash + m + 1);
    if (!path)
        return NULL;
    memcpy(path, dir, n);
    path[n] = '/';
    memcpy(path + n + slash, name, m + 1);
    return path;
}

size_t tc_path_depth(const char *path)
{
    size_t depth = 0;
    for (const char *p = path; *p; p++)
        depth += *p == '/' && p[1] != '\0' && p[1] != '/';
    return depth;
}

bool tc_path_below(const char *name, const char *path)
{
    size_t n = strlen(name);
    return strncmp(path, name, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool tc_path_holds(const char *path, const char *components)
{
    size_t n = strlen(components);
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
        if (strncmp(at + 1, components, n) == 0 && (!at[1 + n] || at[1 + n] == '/'))
            return true;
    return false;
}

int tc_path_straight(const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = tc_openat2(AT_FDCWD, path, &how);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 1 : errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* The target of a link to a name in the same directory (libx.so -> libx.so.1), without the cost of
 * realpath(). Owned; NULL: a different kind of link. */
static char *real_beside(const char *path)
{
    char target[NAME_MAX + 1];
    ssize_t n = readlink(path, target, sizeof(target));
    if (n <= 0 || n == (ssize_t)sizeof(target) || memchr(target, '/', (size_t)n))
        return NULL;
    target[n] = '\0';
    _autofree_ char *dir = tc_path_parent(path);
    _autofree_ char *real = dir ? tc_path_join(dir, target) : NULL;
    return real && tc_path_is_clean(real) && tc_path_straight(real) > 0 ? TAKE(real) : NULL;
}

char *tc_path_real(const char *path)
{
    bool clean = tc_path_is_clean(path);
    if (clean && tc_path_straight(path) > 0)
        return strdup(path);
    char *real = clean && errno == ELOOP ? real_beside(path) : NULL;
    return real ? real : realpath(path, NULL);
}
