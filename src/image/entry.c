/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/entry.h"

#include <string.h>

#include "base/strv.h"

/* Appends a component of a path in an archive. False: the component or the path is not allowed. */
static bool add_component(char ret[PATH_MAX], size_t *used, const char *part, size_t length,
                          int *depth)
{
    if (length == 0 || (length == 1 && part[0] == '.'))
        return true;
    if (length > NAME_MAX || (length == 2 && part[0] == '.' && part[1] == '.') ||
        ++*depth > TC_ENTRY_DEEPEST || *used + length + 2 > PATH_MAX)
        return false;
    if (*used)
        ret[(*used)++] = '/';
    memcpy(ret + *used, part, length);
    *used += length;
    ret[*used] = '\0';
    return true;
}

bool tc_entry_clean(const char *name, char ret[PATH_MAX])
{
    size_t used = 0;
    int depth = 0;
    ret[0] = '\0';
    if (name[0] == '/' || name[0] == '\0')
        return false;
    while (*name) {
        size_t length = strcspn(name, "/");
        if (!add_component(ret, &used, name, length, &depth))
            return false;
        name += length;
        name += strspn(name, "/");
    }
    return true;
}

enum tc_entry_kind tc_entry_kind(const char *name, const char **ret_name)
{
    static const char whiteout[] = ".wh.", own[] = ".wh..wh.", opaque[] = ".wh..wh..opq";
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    *ret_name = base;
    if (slash && (tc_startswith(name, whiteout) || strstr(name, "/.wh.") != strstr(slash, "/.wh.")))
        return TC_ENTRY_IGNORED; /* the entry is below a whiteout */
    if (strcmp(base, opaque) == 0)
        return TC_ENTRY_OPAQUE;
    if (tc_startswith(base, own))
        return TC_ENTRY_IGNORED;
    if (!tc_startswith(base, whiteout))
        return TC_ENTRY_PLAIN;
    base += strlen(whiteout);
    *ret_name = base;
    return !*base || !strcmp(base, ".") || !strcmp(base, "..") ? TC_ENTRY_BAD : TC_ENTRY_WHITEOUT;
}
