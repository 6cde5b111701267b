/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Names that are commands in a shell only, and names that are almost those of programs. */
#include <string.h>

#include "base/fd.h"
#include "call/exec/exec_error.h"
#include "call/host/search_path.h"
#include "text/near.h"

static bool is_builtin(const char *name)
{
    static const char *const names[] = {
        ".",    "alias",  "bg",     "builtin",  "cd",    "command", "declare", "dirs",  "eval",
        "exec", "exit",   "export", "fg",       "hash",  "history", "jobs",    "let",   "local",
        "popd", "pushd",  "read",   "readonly", "set",   "shopt",   "source",  "times", "trap",
        "type", "ulimit", "umask",  "unalias",  "unset", "wait",    "if",      "for",   "while"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The most similar name on the PATH; NULL: none, or out of memory. Owned. */
static char *find_similar(const char *path, const char *name)
{
    struct tc_near nearest = tc_near_to(name);
    _autofree_ char *copy = strdup(path), *found = NULL;
    char *rest = copy;
    for (char *place = copy ? strsep(&rest, ":") : NULL; place; place = strsep(&rest, ":")) {
        _autodir_ DIR *dir = place[0] == '/' && tc_program_is_shown(place) ? opendir(place) : NULL;
        for (struct dirent *e; dir && tc_next_entry(dir, &e) > 0;) {
            if (!tc_near_is(&nearest, e->d_name))
                continue;
            free(found);
            found = strdup(e->d_name);
        }
    }
    return TAKE(found);
}

char *tc_command_name_hint(const struct tc_grant *grant, bool is_default, const char *name)
{
    const char *path = tc_strv_value(&grant->env, "PATH");
    if (strcmp(name, "cd") == 0)
        return strdup("cd is built into shells: sh -c 'cd DIR && COMMAND'");
    if (!is_default && strpbrk(name, " \t"))
        return strdup(
            "write each argument as a separate string, as in command = [\"ls\", \"-la\"]");
    if (strcmp(name, "sudo") == 0 || strcmp(name, "doas") == 0)
        return tc_format("leave %s out: a tool never runs as root", name);
    if (is_builtin(name))
        return tc_format("%s is built into shells: run the whole line with sh -c or bash -c", name);
    _autofree_ char *similar = strlen(name) > 2 ? find_similar(path ? path : "", name) : NULL;
    return tc_format("%s%s%s%s", similar ? "did you mean " : "", similar ? similar : "",
                     similar ? "? otherwise " : "",
                     is_default
                         ? "install it, or name it by its path; aliases and functions of your "
                           "shell do not exist in a cage"
                         : "install it, or list it in `programs` of the policy, if it is on "
                           "your PATH");
}
