/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Places in a writable directory that a repository's configuration makes git obey: they steer the
 * host, whatever they are called. */
#include <string.h>

#include "base/path.h"
#include "tree/git_config.h"
#include "tree/tree.h"

/* The rest of `path` below `above`; NULL: it is not below. */
static const char *rest_below(const char *above, const char *path)
{
    size_t n = strlen(above);
    n -= above[n - 1] == '/'; /* the root directory */
    return strncmp(above, path, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static int add(struct tc_trees *t, struct tc_item *item, const char *relative)
{
    struct tc_obeyed *o = tc_arena_alloc(&t->arena, sizeof(*o));
    if (!o || !(o->relative = tc_arena_format(&t->arena, "%s", relative)))
        return -1;
    o->next = item->obeyed;
    item->obeyed = o;
    return 0;
}

bool tc_item_obeyed(const struct tc_item *item, const char *relative)
{
    for (const struct tc_obeyed *o = item->obeyed; o; o = o->next)
        if (tc_path_below(o->relative, relative))
            return true;
    return false;
}

/* Of a repository with its work tree there. One that has its hooks in a directory around itself
 * would leave nothing to write. */
static int learn(struct tc_trees *t, struct tc_item *item, const char *top)
{
    _autostrv_ struct tc_strv paths = {0};
    if (!tc_git_obeys(top, &paths))
        return -1;
    for (size_t i = 0; i < paths.count; i++) {
        const char *relative = rest_below(item->context, paths.items[i]);
        if (relative && !tc_path_within(paths.items[i], top) && !tc_item_obeyed(item, relative) &&
            add(t, item, relative) < 0)
            return -1;
    }
    return 0;
}

int tc_item_learn(struct tc_trees *t, struct tc_item *item, const char *directory)
{
    _autofree_ char *top =
        directory[0] ? tc_path_join(item->context, directory) : strdup(item->context);
    return top ? learn(t, item, top) : -1;
}

int tc_item_learn_around(struct tc_trees *t, struct tc_item *item)
{
    _autofree_ char *top = strdup(item->context);
    while (top && learn(t, item, top) == 0) {
        if (strcmp(top, "/") == 0)
            return 0;
        char *parent = tc_path_parent(top);
        free(top);
        top = parent;
    }
    return -1;
}

int tc_item_learn_above(struct tc_trees *t, struct tc_item *item, const char *relative)
{
    const char *last = item->learned ? item->learned : "";
    const char *base = tc_path_base(relative);
    size_t n = (size_t)(base - relative);
    if (n == strlen(last) && strncmp(relative, last, n) == 0)
        return 0;
    for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - relative);
        bool known = strncmp(relative, last, length + 1) == 0;
        _autofree_ char *directory = known ? NULL : strndup(relative, length);
        if (!known && (!directory || tc_item_learn(t, item, directory) < 0))
            return -1;
    }
    item->learned = tc_arena_format(&t->arena, "%.*s", (int)n, relative);
    return item->learned ? 0 : -1;
}
