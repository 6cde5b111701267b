/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Opens one component after another: the host side runs in a cage whose seccomp filter rejects
 * openat2. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "carry/carry.h"
#include "linux/walk.h"

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_MAX && !(len == 1 && name[0] == '.') &&
           !(len == 2 && name[0] == '.' && name[1] == '.') && !memchr(name, '\0', len);
}

bool tc_carry_path(const char *path, size_t len)
{
    size_t depth = 0;
    if (len == 0)
        return true;
    if (len > TC_CARRY_PATH_MAX)
        return false;
    for (const char *end = path + len; depth <= TC_WALK_DEEPEST; depth++) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        size_t n = (size_t)((slash ? slash : end) - path);
        if (!is_name(path, n))
            return false;
        if (!slash)
            return true;
        path = slash + 1;
    }
    return false;
}

/* Returns an owned fd of the directory at the path, and leaves the path unchanged. */
static int walk(int root, char *path)
{
    int at = -1;
    for (char *name = path, *slash; name; name = slash ? slash + 1 : NULL) {
        slash = strchr(name, '/');
        if (slash)
            *slash = '\0';
        errno = EINVAL;
        int next =
            is_name(name, strlen(name))
                ? openat(at < 0 ? root : at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                : -1;
        int saved = errno;
        if (slash)
            *slash = '/';
        if (at >= 0)
            (void)close(at);
        errno = saved;
        at = next;
        if (at < 0)
            break;
    }
    return at;
}

int tc_way_to(struct tc_way *w, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    *ret_name = slash ? slash + 1 : path;
    if (!slash)
        return w->root;
    if (w->dir >= 0 && strlen(w->at) == len && memcmp(w->at, path, len) == 0)
        return w->dir;
    int root = w->root;
    tc_way_done(w);
    *w = TC_WAY(root);
    w->at = strndup(path, len);
    w->dir = w->at ? walk(root, w->at) : -1;
    return w->dir;
}

void tc_way_done(struct tc_way *w)
{
    int saved = errno;
    if (w->dir >= 0)
        (void)close(w->dir);
    free(w->at);
    w->dir = -1;
    w->at = NULL;
    errno = saved;
}
