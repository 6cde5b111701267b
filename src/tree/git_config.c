/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds paths that a repository's configuration makes git load in addition to the fixed ones: the
 * directory of hooks (core.hooksPath), and more configuration files (include.path). Such paths in a
 * writable directory are steering files, whatever their names. */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "tree/tree.h"

/* ---- configuration files ---- */

/* The syntax is that of git-config(1). A tool may have written the file: the worst effect of its
 * content is one more protected name. */

enum { FILE_MAX = 1 << 18, FILES_MAX = 16, WORD_MAX = 32 };

struct reader {
    const char *at, *end;
    char section[WORD_MAX], key[WORD_MAX]; /* longer names are irrelevant here */
};

static int next(struct reader *r)
{
    return r->at < r->end ? (unsigned char)*r->at++ : -1;
}

static int peek(const struct reader *r)
{
    return r->at < r->end ? (unsigned char)*r->at : -1;
}

static void skip_blanks(struct reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\r')
        r->at++;
}

static void skip_line(struct reader *r)
{
    for (int c = next(r); c != '\n' && c >= 0;)
        c = next(r);
}

static void read_word(struct reader *r, char *word)
{
    size_t n = 0;
    for (int c = peek(r); c >= 0 && (isalnum(c) || c == '-' || c == '.'); c = peek(r)) {
        word[n] = (char)tolower(c);
        n += n + 1 < WORD_MAX;
        r->at++;
    }
    word[n] = '\0';
}

/* [section "subsection"] */
static void read_section(struct reader *r)
{
    bool quoted = false;
    read_word(r, r->section);
    for (int c = next(r); c >= 0 && c != '\n' && (quoted || c != ']'); c = next(r)) {
        if (c == '\\')
            (void)next(r);
        quoted = quoted != (c == '"');
    }
}

/* The character for this escape sequence; 0: none, the line continues. */
static char escaped(struct reader *r)
{
    int c = next(r);
    if (c == '\r' && peek(r) == '\n')
        c = next(r);
    switch (c) {
    case '\n':
        return '\0';
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    default:
        return (char)(c < 0 ? '\0' : c);
    }
}

/* Reads to the end of the line, without a comment and without trailing blanks. */
static void read_value(struct reader *r, struct tc_buf *value)
{
    bool quoted = false;
    size_t kept = 0;
    int c;
    for (c = next(r); c >= 0 && c != '\n' && (quoted || (c != '#' && c != ';')); c = next(r)) {
        char plain = c == '\\' ? escaped(r) : (char)c;
        if (c == '"') {
            quoted = !quoted;
            kept = value->len;
        } else if (plain) {
            tc_buf_addc(value, plain);
            kept = quoted || c == '\\' || !isspace(c) ? value->len : kept;
        }
    }
    if (c == '#' || c == ';')
        skip_line(r);
    if (!value->failed && value->len > kept)
        value->data[value->len = kept] = '\0';
}

/* key = value, or a key alone, which has no path */
static bool read_variable(struct reader *r, struct tc_strv *hooks, struct tc_strv *includes)
{
    _autobuf_ struct tc_buf value = TC_BUF_INIT;
    read_word(r, r->key);
    skip_blanks(r);
    if (peek(r) != '=') {
        skip_line(r);
        return true;
    }
    r->at++;
    skip_blanks(r);
    read_value(r, &value);
    if (value.failed)
        return false;
    bool hook = !strcmp(r->section, "core") && !strcmp(r->key, "hookspath"),
         include = (!strcmp(r->section, "include") || !strcmp(r->section, "includeif")) &&
                   !strcmp(r->key, "path");
    if (!value.len || (!hook && !include))
        return true;
    return tc_strv_add(hook ? hooks : includes, value.data);
}

bool tc_git_config_read(const char *text, size_t length, struct tc_strv *hooks,
                        struct tc_strv *includes)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark of UTF-8, which git skips */
    struct reader r = {.at = text, .end = text + length};
    if (length >= sizeof(mark) - 1 && memcmp(text, mark, sizeof(mark) - 1) == 0)
        r.at += sizeof(mark) - 1;
    while (r.at < r.end) {
        skip_blanks(&r);
        int c = peek(&r);
        if (c == '[') {
            r.at++;
            read_section(&r);
        } else if (c >= 0 && isalpha(c)) {
            if (!read_variable(&r, hooks, includes))
                return false;
        } else if (next(&r) != '\n') {
            r.at--;
            skip_line(&r);
        }
    }
    return true;
}

/* Reads a regular file, following no link. False: there is none, or out of memory. */
static bool read_plain(const char *path, struct tc_buf *text)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    struct stat st;
    _autofd_ int fd = tc_openat2(AT_FDCWD, path, &how);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MAX &&
           tc_read_all(fd, text) == 0 && text->data;
}

/* Relative paths begin at `base`; those in a home directory are ignored, because the home is not
 * known here. */
static bool add_paths(struct tc_strv *to, const char *base, const struct tc_strv *values)
{
    for (size_t i = 0; i < values->count; i++) {
        if (values->items[i][0] == '~' || values->items[i][0] == '%')
            continue;
        _autofree_ char *path = tc_path_absolute(base, values->items[i]);
        if (!path || (!tc_strv_has(to, path) && !tc_strv_add(to, path)))
            return false;
    }
    return true;
}

/* Reads `files`, and the files that they include, up to a limit; appends all paths that git
 * loads. */
static bool follow(const char *top, struct tc_strv *files, struct tc_strv *paths)
{
    for (size_t i = 0; i < files->count && i < FILES_MAX; i++) {
        _autobuf_ struct tc_buf text = {.max = FILE_MAX};
        _autostrv_ struct tc_strv hooks = {0}, includes = {0};
        if (!read_plain(files->items[i], &text))
            continue;
        _autofree_ char *base = tc_path_parent(files->items[i]);
        if (!base || !tc_git_config_read(text.data, text.len, &hooks, &includes) ||
            !add_paths(paths, top, &hooks) || !add_paths(paths, base, &includes) ||
            !add_paths(files, base, &includes))
            return false;
    }
    return true;
}

/* The path in the first line of a file that points elsewhere, made absolute from `base`. */
static char *leads_to(const char *file, const char *before, const char *base)
{
    _autobuf_ struct tc_buf text = {.max = FILE_MAX};
    size_t n = strlen(before);
    if (!read_plain(file, &text) || text.len <= n || strncmp(text.data, before, n) != 0)
        return NULL;
    text.data[n + strcspn(text.data + n, "\r\n")] = '\0';
    return tc_path_absolute(base, text.data + n);
}

/* Where a repository keeps its configuration. In a linked work tree or a submodule, .git is a file
 * with the path. */
static bool add_configs(const char *top, struct tc_strv *files)
{
    _autofree_ char *git = tc_path_join(top, ".git");
    _autofree_ char *elsewhere = git ? leads_to(git, "gitdir: ", top) : NULL;
    const char *directory = elsewhere ? elsewhere : git;
    _autofree_ char *common = directory ? tc_path_join(directory, "commondir") : NULL;
    _autofree_ char *shared = common ? leads_to(common, "", directory) : NULL;
    if (!common)
        return false;
    const char *const places[] = {directory, shared};
    for (size_t i = 0; i < TC_COUNT(places) && places[i]; i++)
        if (!tc_strv_take(files, tc_path_join(places[i], "config")) ||
            !tc_strv_take(files, tc_path_join(places[i], "config.worktree")))
            return false;
    return true;
}

/* Appends the paths that git loads for the repository whose work tree is `top`, a path without
 * links: clean and absolute. Unreadable files are ignored. False: out of memory. */
static bool find_obeyed(const char *top, struct tc_strv *paths)
{
    _autostrv_ struct tc_strv files = {0};
    _autofree_ char *git = tc_path_join(top, ".git");
    if (git && faccessat(AT_FDCWD, git, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    return git && add_configs(top, &files) && follow(top, &files, paths);
}

/* ---- these paths in a cage ---- */

/* The part of `path` below `above`; NULL: it is not below. */
static const char *rest_below(const char *above, const char *path)
{
    size_t n = strlen(above);
    n -= above[n - 1] == '/'; /* the root directory */
    return strncmp(above, path, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static int add_config_path(struct tc_trees *t, struct tc_item *item, const char *relative)
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

/* Adds the paths of a repository with this work tree. A directory of hooks around the work tree is
 * skipped: protecting it would leave nothing writable. */
static int learn(struct tc_trees *t, struct tc_item *item, const char *top)
{
    _autostrv_ struct tc_strv paths = {0};
    if (!find_obeyed(top, &paths))
        return -1;
    for (size_t i = 0; i < paths.count; i++) {
        const char *relative = rest_below(item->context, paths.items[i]);
        if (relative && !tc_path_within(paths.items[i], top) && !tc_item_obeyed(item, relative) &&
            add_config_path(t, item, relative) < 0)
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
