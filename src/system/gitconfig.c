/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads git's system configuration: with git-lfs it declares the filters without which large files
 * are committed as they are. It may also name programs that have credentials, or addresses with
 * passwords, so only a file with nothing but well-known settings is shown. */
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/strv.h"
#include "system/rule.h"
#include "system/system.h"

/* A key; or a whole section, whose values choose colours and hints. No value is a program, a
 * server or another file. */
static const char *const settings[] = {
    "advice.",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "color.",
    "column.",
    "commit.cleanup",
    "commit.gpgsign",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.attributesfile",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.compression",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.fscache",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.safecrlf",
    "core.sharedrepository",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.indentheuristic",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renamelimit",
    "diff.renames",
    "diff.submodule",
    "fetch.fsckobjects",
    "fetch.parallel",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.writecommitgraph",
    "gc.auto",
    "gc.autodetach",
    "gc.autopacklimit",
    "gc.pruneexpire",
    "gc.writecommitgraph",
    "init.defaultbranch",
    "init.defaultobjectformat",
    "log.abbrevcommit",
    "log.date",
    "log.decorate",
    "log.follow",
    "log.showsignature",
    "merge.conflictstyle",
    "merge.ff",
    "merge.log",
    "merge.renamelimit",
    "merge.renames",
    "merge.stat",
    "pack.compression",
    "pack.threads",
    "pack.windowmemory",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.autoupdate",
    "rerere.enabled",
    "safe.barerepository",
    "safe.directory",
    "status.branch",
    "status.short",
    "status.showuntrackedfiles",
    "status.submodulesummary",
    "tag.gpgsign",
    "tag.sort",
    "user.email",
    "user.name",
    "user.useconfigonly",
};

/* Subsections with commands: only those of git-lfs. */
static const char *const drivers[] = {"diff", "filter", "merge"};

/* What no value may contain: an address with a password, a command with a token. */
static const char *const closed[] = {"://", "@", "token", "passw", "secret", "authoriz"};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

struct section {
    char name[16];
    bool driver; /* has a subsection, of a driver */
};

/* A header must be alone on its line: [name], or [name "subsection"]. */
static bool is_header(const char *line, struct section *section)
{
    size_t length = strspn(line, letters);
    const char *at = line + length;
    *section = (struct section){0};
    if (!length || length >= sizeof(section->name))
        return false;
    memcpy(section->name, line, length);
    if (at[0] == ' ' && at[1] == '"') {
        at += 2 + strcspn(at + 2, "\"\\]");
        at += *at == '"';
        for (size_t i = 0; i < TC_COUNT(drivers); i++)
            section->driver = section->driver || strcasecmp(drivers[i], section->name) == 0;
        if (!section->driver && strcasecmp(section->name, "color") != 0)
            return false;
    }
    return at[0] == ']' && !at[1 + strspn(at + 1, " \t\r")];
}

static bool is_word(const char *value, const char *word)
{
    size_t length = strlen(word);
    return strncasecmp(value, word, length) == 0 && !value[length + strspn(value + length, " \t")];
}

static bool is_lfs(const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz-%. \t\"";
    const char *command = value + (*value == '"');
    return is_word(value, "") || is_word(value, "true") || is_word(value, "false") ||
           ((tc_startswith(command, "git-lfs ") || tc_startswith(command, "git lfs ")) &&
            !value[strspn(value, plain)]);
}

static bool is_setting(const struct section *section, const char *key, size_t length)
{
    size_t begin = strlen(section->name);
    for (size_t i = 0; i < TC_COUNT(settings); i++) {
        const char *dot = strchr(settings[i], '.');
        if ((size_t)(dot - settings[i]) == begin &&
            strncasecmp(settings[i], section->name, begin) == 0 &&
            (!dot[1] || (strlen(dot + 1) == length && strncasecmp(dot + 1, key, length) == 0)))
            return true;
    }
    return false;
}

static bool holds_closed(const char *line)
{
    for (size_t i = 0; i < TC_COUNT(closed); i++)
        if (strcasestr(line, closed[i]) && !(closed[i][0] == '@' && tc_startswith(line, "email")))
            return true;
    return false;
}

static bool is_open(const char *line, const struct section *section)
{
    size_t length = strspn(line, letters);
    const char *value = line + length;
    value += strspn(value, " \t");
    if (!length || (*value && *value != '='))
        return false;
    value += *value == '=';
    value += strspn(value, " \t");
    return section->driver ? is_lfs(value) : is_setting(section, line, length);
}

static bool is_plain(char *line, struct section *section)
{
    size_t length = strlen(line);
    if (length && line[length - 1] == '\r')
        line[--length] = '\0';
    line += strspn(line, " \t");
    if (!*line)
        return true;
    if (holds_closed(line) || strchr(line, '\\')) /* the value may go on in the next line */
        return false;
    if (*line == '#' || *line == ';')
        return true;
    return *line == '[' ? is_header(line + 1, section) : is_open(line, section);
}

bool tc_system_git(int dir, const char *name, struct tc_buf *ret)
{
    enum { MOST = 64 << 10 };
    struct section section = {0};
    ret->max = MOST;
    if (tc_read_file(dir, name, ret) < 0 || !ret->data || memchr(ret->data, '\0', ret->len))
        return false;
    _autofree_ char *text = strdup(ret->data);
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        if (!is_plain(line, &section))
            return false;
    return text != NULL;
}
