/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Files that a program needs to start.
 *
 * Resolves a program as the kernel would in the cage: component by component, since a link in a
 * granted directory points to a path of the cage and not of the host; then the interpreter of
 * the file found. Only granted files are opened, and never one that could block: a FIFO, a
 * device. */
#include "call/exec/exec_check.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "call/host/facts.h"
#include "call/host/programs.h"
#include "policy/names/system_paths.h"

enum { HOPS_MAX = 40, HEAD_BYTES = 512, ELF_HEADERS_MAX = 64 };

struct walk {
    const struct tc_shown_path *shown;
    size_t count;
    const char *home;
    bool beyond;
    struct tc_exec_check *ret;
    char *at; /* the path to find, as the tool names it */
    char *by; /* the file that names it */
    bool interpreter;
};

/* ---- the cage's view ---- */

/* The host's path of a path in the cage. `ret_exact`: the path itself is granted, so a link
 * there has been followed already. NULL: the cage does not show it. Owned; "" when out of
 * memory. */
static char *host_of(const struct walk *w, const char *path, bool *ret_exact)
{
    const struct tc_shown_path *best = NULL;
    for (size_t i = 0; i < w->count; i++)
        if (tc_path_within(w->shown[i].path, path) &&
            (!best || strlen(w->shown[i].path) > strlen(best->path)))
            best = &w->shown[i];
    const struct tc_system_path *system = tc_system_path_find(path);
    if (!best && (!system || system->made))
        return NULL;
    *ret_exact = best && strcmp(best->path, path) == 0;
    const char *rest = best && best->path[1] ? path + strlen(best->path) : path;
    char *host = best ? tc_format("%s%s", best->from[1] ? best->from : "", rest) : strdup(path);
    return host ? host : strdup("");
}

/* Is it an empty private directory of the cage, above paths that it shows? */
static bool leads(const struct walk *w, const char *path)
{
    for (size_t i = 0; i < w->count; i++)
        if (tc_path_within(path, w->shown[i].path))
            return true;
    return tc_system_path_below(path) || strcmp(path, "/") == 0;
}

/* ---- interpreters ---- */

static char *read_script(struct tc_exec_check *ret, const char *head)
{
    const char *at = head + 2 + strspn(head + 2, " \t"), *end = strchr(head, '\n');
    size_t length = strcspn(at, " \t\n"); /* a carriage return is part of the name */
    if (ret->files.count == 1)
        ret->windows_ends = end && end[-1] == '\r';
    ret->relative = *at && *at != '\n' && *at != '/';
    return at[0] == '/' ? strndup(at, length) : NULL;
}

static char *read_elf(int fd, const unsigned char *head)
{
    Elf64_Ehdr elf;
    char text[PATH_MAX];
    memcpy(&elf, head, sizeof(elf));
    if (head[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    for (unsigned i = 0; i < elf.e_phnum && i < ELF_HEADERS_MAX; i++) {
        Elf64_Phdr row;
        off_t place = (off_t)(elf.e_phoff + i * sizeof(row));
        if (pread(fd, &row, sizeof(row), place) != (ssize_t)sizeof(row))
            return NULL;
        if (row.p_type != PT_INTERP)
            continue;
        size_t size = row.p_filesz < sizeof(text) ? row.p_filesz : 0;
        if (!size || pread(fd, text, size, (off_t)row.p_offset) != (ssize_t)size ||
            text[size - 1] || text[0] != '/')
            return NULL;
        return strdup(text);
    }
    return NULL;
}

/* The interpreter of the last file, NULL: none. Owned. */
static char *interpreter_of(struct tc_exec_check *ret, const char *host)
{
    char head[HEAD_BYTES + 1] = "";
    struct stat st;
    _autofd_ int fd = open(host, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t n =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, head, HEAD_BYTES, 0) : -1;
    if (n > 2 && head[0] == '#' && head[1] == '!')
        return read_script(ret, head);
    if (n >= (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0)
        return read_elf(fd, (const unsigned char *)head);
    return NULL;
}

/* ---- the walk ---- */

/* Takes `next`. */
static bool go_on(struct walk *w, char *next, bool interpreter)
{
    free(w->by);
    w->by = w->at;
    w->at = next;
    w->interpreter = interpreter;
    return next != NULL;
}

/* `prefix` of w->at is a link: replaces it with its target and keeps the rest. */
static bool follow_link(struct walk *w, const char *host, const char *prefix)
{
    char target[PATH_MAX] = "";
    ssize_t n = readlink(host, target, sizeof(target) - 1);
    target[n < 0 ? 0 : n] = '\0';
    _autofree_ char *dir = tc_path_parent(prefix);
    _autofree_ char *whole = tc_format("%s%s", target, w->at + strlen(prefix));
    char *next = dir && whole ? tc_path_absolute(dir, whole) : NULL;
    if (!w->by || !w->at[strlen(prefix)])
        return go_on(w, next, w->interpreter);
    free(w->at); /* of a directory on the way, such as /bin: the same file names the path */
    w->at = next;
    return next != NULL;
}

/* The tool does not find the path. False: out of memory. */
static bool miss(struct walk *w)
{
    struct tc_exec_check *ret = w->ret;
    if (ret->missing)
        return true;
    ret->missing = strdup(w->at);
    ret->by = w->by ? strdup(w->by) : NULL;
    ret->interpreter = w->interpreter;
    return ret->missing && (ret->by || !w->by);
}

/* The same, because nothing grants the path. */
static bool miss_grant(struct walk *w)
{
    _autofree_ char *prefix = tc_program_prefix(w->home, w->at);
    if (!prefix || !miss(w))
        return false;
    for (size_t i = 0; i < w->ret->grant.count; i++)
        if (tc_path_within(w->ret->grant.items[i], prefix))
            return true;
    return tc_strv_add(&w->ret->grant, prefix);
}

enum step { STEP_FOUND, STEP_ON, STEP_END, STEP_MEMORY };

/* One component. STEP_FOUND: it is the last one, and *ret_host is the host's name of the file.
 * STEP_END: it does not exist. */
static enum step look_at_component(struct walk *w, const char *prefix, char **ret_host,
                                   bool *ret_link)
{
    bool exact = false, last = !w->at[strlen(prefix)];
    struct stat st;
    _autofree_ char *host = host_of(w, prefix, &exact);
    if (!host && !last && leads(w, prefix))
        return STEP_ON;
    if (!host)
        host = strdup(prefix); /* outside the cage's view */
    if (!host || !host[0])
        return STEP_MEMORY;
    if (exact ? stat(host, &st) : lstat(host, &st))
        return miss(w) ? STEP_END : STEP_MEMORY;
    *ret_link = S_ISLNK(st.st_mode);
    w->ret->link = w->ret->link || (*ret_link && last);
    if (*ret_link)
        return follow_link(w, host, prefix) ? STEP_FOUND : STEP_MEMORY;
    if (last)
        *ret_host = TAKE(host);
    return last ? STEP_FOUND : STEP_ON;
}

/* The whole path, up to its first link or its end. */
static enum step pass(struct walk *w, char **ret_host)
{
    enum step step = STEP_ON;
    bool link = false;
    for (size_t end = 1; step == STEP_ON && w->at[end - 1];) {
        end += strcspn(w->at + end, "/");
        _autofree_ char *prefix = strndup(w->at, end);
        step = prefix ? look_at_component(w, prefix, ret_host, &link) : STEP_MEMORY;
        end++;
    }
    return step;
}

static bool is_shown(const struct walk *w)
{
    bool exact;
    _autofree_ char *host = host_of(w, w->at, &exact);
    return host || leads(w, w->at);
}

/* From one path to the next one needed; w->at does not change where there is none. */
static enum step hop(struct walk *w)
{
    _autofree_ char *host = NULL, *before = strdup(w->at);
    bool shown = is_shown(w);
    if (!before || (!shown && !miss_grant(w)))
        return STEP_MEMORY;
    if (!shown && !w->beyond)
        return STEP_END;
    enum step step = pass(w, &host);
    if (step != STEP_FOUND)
        return step;
    if (!tc_strv_add(&w->ret->hops, before))
        return STEP_MEMORY;
    if (!host)
        return STEP_ON; /* a link pointed to another path */
    if (!tc_strv_add(&w->ret->files, host))
        return STEP_MEMORY;
    _autofree_ char *next = interpreter_of(w->ret, host);
    if (!next)
        return STEP_END;
    return go_on(w, tc_path_absolute("/", next), true) ? STEP_ON : STEP_MEMORY;
}

static bool walk(struct walk *w)
{
    enum step step = STEP_ON;
    for (int hops = 0; step == STEP_ON && hops < HOPS_MAX; hops++)
        step = hop(w);
    return step != STEP_MEMORY;
}

bool tc_exec_check_look(const struct tc_shown_path *shown, size_t count, const char *home,
                        const char *command, unsigned flags, struct tc_exec_check *ret)
{
    struct walk w = {.shown = shown,
                     .count = count,
                     .home = home,
                     .beyond = flags & TC_EXEC_CHECK_BEYOND,
                     .ret = ret,
                     .at = strdup(command)};
    bool fine = w.at && walk(&w);
    free(w.at);
    free(w.by);
    return fine;
}

bool tc_exec_check_of_grant(const struct tc_grant *grant, const char *home, const char *command,
                            struct tc_exec_check *ret)
{
    size_t count = 0;
    struct tc_shown_path *shown = calloc(grant->fs_count + 1, sizeof(*shown));
    for (size_t i = 0; shown && i < grant->fs_count; i++)
        if (grant->fs[i].access != TC_ACCESS_DENY && grant->fs[i].from)
            shown[count++] = (struct tc_shown_path){grant->fs[i].path, grant->fs[i].from};
    bool fine = shown && tc_exec_check_look(shown, count, home, command, 0, ret);
    free(shown);
    return fine;
}

bool tc_exec_check_lacks(const struct tc_exec_check *starts)
{
    return starts->missing && starts->by &&
           (starts->interpreter || starts->link || starts->grant.count);
}

bool tc_exec_check_on_path(const struct tc_grant *grant, const char *home, const char *name,
                           struct tc_exec_check *ret)
{
    const char *all = tc_strv_value(&grant->env, "PATH");
    _autofree_ char *copy = strdup(all ? all : "");
    char *rest = copy;
    for (char *dir = copy ? strsep(&rest, ":") : NULL; dir; dir = strsep(&rest, ":")) {
        _autofree_ char *path = dir[0] == '/' ? tc_path_join(dir, name) : NULL;
        _autofree_ char *clean = path ? tc_path_absolute("/", path) : NULL;
        if (!clean)
            continue;
        if (!tc_exec_check_of_grant(grant, home, clean, ret))
            return false;
        if (!ret->missing || tc_exec_check_lacks(ret))
            return true;
        tc_exec_check_done(ret);
        *ret = (struct tc_exec_check){0};
    }
    return copy != NULL;
}
