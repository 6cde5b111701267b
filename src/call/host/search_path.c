/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/host/search_path.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/names/system_paths.h"

bool tc_program_is_shown(const char *path)
{
    static const char *const roots[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                        "/lib32", "/lib64", "/libx32"};
    for (size_t i = 0; i < TC_COUNT(roots); i++)
        if (tc_path_within(roots[i], path))
            return true;
    return false;
}

static bool set_path(struct tc_grant *grant, const struct tc_strv *before, const char *middle,
                     const struct tc_strv *after)
{
    _autobuf_ struct tc_buf path = TC_BUF_INIT;
    for (size_t i = 0; i < before->count; i++)
        tc_buf_addf(&path, "%s:", before->items[i]);
    tc_buf_adds(&path, middle);
    for (size_t i = 0; i < after->count; i++)
        tc_buf_addf(&path, ":%s", after->items[i]);
    return !path.failed && tc_strv_put(&grant->env, "PATH", path.data);
}

bool tc_search_path_begin(struct tc_grant *grant, const struct tc_strv *directories)
{
    const char *middle = tc_strv_value(&grant->env, "PATH");
    return set_path(grant, directories, middle ? middle : TC_SEARCH_PATH, &(struct tc_strv){0});
}

/* Does a cage show the directory, through all links on the way, and could no tool write it? */
static bool is_usable(const char *directory, struct tc_provenance *writers)
{
    struct stat st;
    if (!tc_program_is_shown(directory) || stat(directory, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    _autofree_ char *real = tc_path_real(directory);
    return real && tc_program_is_shown(real) && !tc_provenance_tool(writers, directory);
}

bool tc_search_path_follow(struct tc_grant *grant, const char *callers,
                           struct tc_provenance *writers)
{
    _autostrv_ struct tc_strv before = {0}, after = {0};
    struct tc_strv *list = &before;
    const char *path = tc_strv_value(&grant->env, "PATH");
    _autofree_ char *copy = strdup(callers);
    char *rest = copy;
    if (!tc_streq(path, TC_SEARCH_PATH))
        return true;
    for (char *word = copy ? strsep(&rest, ":") : NULL; word; word = strsep(&rest, ":")) {
        _autofree_ char *directory = word[0] == '/' ? tc_path_absolute("/", word) : NULL;
        if (!directory)
            continue;
        if (tc_system_path_searched(directory))
            list = &after;
        else if (!tc_strv_has(&before, directory) && !tc_strv_has(&after, directory) &&
                 is_usable(directory, writers) && !tc_strv_add(list, directory))
            return false;
    }
    return copy &&
           (!(before.count + after.count) || set_path(grant, &before, TC_SEARCH_PATH, &after));
}
