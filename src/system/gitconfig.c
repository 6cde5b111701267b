/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads git's system configuration: with git-lfs it declares the filters without which large files
 * are committed as they are. It may also name programs that have credentials, or addresses with
 * passwords, so only a file with nothing but well-known sections is shown. */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fd.h"
#include "system/rule.h"

/* Sections without addresses of servers, programs that log in, and other files. */
static const char *const sections[] = {"advice", "branch", "color",  "column", "commit", "core",
                                       "diff",   "fetch",  "filter", "gc",     "init",   "log",
                                       "merge",  "pack",   "pull",   "push",   "rebase", "rerere",
                                       "safe",   "status", "tag",    "user"};

/* What no value may contain: an address with a password, a command with a token. */
static const char *const closed[] = {"://", "@", "token", "passw", "secret", "authoriz"};

static bool is_section(const char *name, size_t length)
{
    for (size_t i = 0; i < TC_COUNT(sections); i++)
        if (strlen(sections[i]) == length && strncasecmp(sections[i], name, length) == 0)
            return true;
    return false;
}

/* A header must be alone on its line: [name] or [name "subsection"]. */
static bool is_known(const char *line)
{
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *at = line + length;
    if (at[0] == ' ' && at[1] == '"') {
        at += 2 + strcspn(at + 2, "\"\\]");
        at += *at == '"';
    }
    return is_section(line, length) && at[0] == ']' && !at[1 + strspn(at + 1, " \t\r")];
}

static bool is_plain(char *line)
{
    line += strspn(line, " \t\r");
    for (size_t i = 0; i < TC_COUNT(closed); i++)
        if (strcasestr(line, closed[i]) && !(closed[i][0] == '@' && strncmp(line, "email", 5) == 0))
            return false;
    return line[0] != '[' || is_known(line + 1);
}

bool tc_system_git_plain(int dir, const char *name)
{
    enum { MOST = 64 << 10 };
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    text.max = MOST;
    if (tc_read_file(dir, name, &text) < 0 || !text.data || memchr(text.data, '\0', text.len))
        return false;
    char *rest = text.data, *line;
    while ((line = strsep(&rest, "\n")))
        if (!is_plain(line))
            return false;
    return true;
}
