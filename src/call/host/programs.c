/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A program needs more than its file: an interpreter has a library next to its bin directory. So
 * the install prefix (the parent of bin) becomes readable. Some prefixes must not: the home
 * directory, anything above it, a top-level directory, ~/.local (which has all users' data next
 * to its bin); then only the file is granted. Files and links that a tool may have written add
 * nothing. The programs that a profile names are those that may be there. */
#include "call/host/programs.h"
#include "call/host/managers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/display.h"
#include "base/fd.h"
#include "base/path.h"
#include "call/host/search_path.h"
#include "policy/backends.h"
#include "policy/names/credentials.h"
#include "policy/names/system_paths.h"
#include "provenance/provenance.h"

enum { SMALL_FILE = 64 << 10 };

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && eaccess(path, X_OK) == 0;
}

/* ---- finding ---- */

/* Resolves a shim of pyenv, rbenv or nodenv at ROOT/shims/NAME to ROOT/versions/V/bin/NAME, with
 * V from ROOT/version (one or several lines). NULL when no version has the program. */
static char *follow_shim(const char *shims, const char *name)
{
    _autofree_ char *root = tc_path_parent(shims);
    _autofree_ char *file = root ? tc_path_join(root, "version") : NULL;
    _autobuf_ struct tc_buf text = {.max = SMALL_FILE};
    if (!file || tc_read_file(AT_FDCWD, file, &text) < 0)
        return NULL;
    char *rest = text.data;
    for (char *version = strtok_r(rest, " \t\r\n", &rest); version;
         version = strtok_r(rest, " \t\r\n", &rest)) {
        if (strchr(version, '/') || version[0] == '.')
            continue;
        _autofree_ char *found = tc_format("%s/versions/%s/bin/%s", root, version, name);
        if (found && is_program(found))
            return TAKE(found);
    }
    return NULL;
}

char *tc_program_find(const char *path, const char *name)
{
    _autofree_ char *copy = strdup(path);
    if (!copy)
        return NULL;
    char *rest = copy;
    for (char *dir = strsep(&rest, ":"); dir; dir = strsep(&rest, ":")) {
        if (dir[0] != '/')
            continue; /* "" and relative entries mean the working directory */
        _autofree_ char *clean = tc_path_absolute("/", dir);
        _autofree_ char *found = clean ? tc_path_join(clean, name) : NULL;
        if (!found)
            return NULL;
        if (!is_program(found))
            continue;
        if (strcmp(tc_path_base(clean), "shims") != 0)
            return TAKE(found);
        char *real = follow_shim(clean, name);
        if (!real)
            real = tc_manager_shim(clean, name);
        if (real)
            return real;
    }
    errno = ENOENT;
    return NULL;
}

/* ---- granting ---- */

/* State of one extension of a grant. */
struct extension {
    const struct toolcage_policy *policy;
    const struct tc_facts *facts;
    struct tc_grant *grant;
    struct tc_origin said; /* location of `programs`; the key is owned */
    struct tc_strv bins;   /* for PATH, in order */
    struct tc_provenance writers;
    bool changed;
};

/* Is the directory too much to grant for one program in its bin? */
static bool is_wide_for(const char *home, const char *dir)
{
    if (tc_path_depth(dir) < 2 || (home && tc_path_within(dir, home)))
        return true;
    _autofree_ char *local = home ? tc_path_join(home, ".local") : NULL;
    return home && (!local || strcmp(dir, local) == 0);
}

static bool is_too_wide(const struct tc_facts *facts, const char *dir)
{
    return is_wide_for(facts->home, dir) ||
           (facts->real.home && tc_path_within(dir, facts->real.home));
}

/* The parent of the file's bin directory; NULL: it is in none, or out of memory. Owned. */
static char *parent_of_bin(const char *file)
{
    _autofree_ char *bin = tc_path_parent(file);
    bool in_bin =
        bin && (strcmp(tc_path_base(bin), "bin") == 0 || strcmp(tc_path_base(bin), "sbin") == 0);
    return in_bin ? tc_path_parent(bin) : NULL;
}

char *tc_program_prefix(const char *home, const char *file)
{
    char *prefix = parent_of_bin(file);
    if (prefix && !is_wide_for(home, prefix))
        return prefix;
    free(prefix);
    return strdup(file);
}

static bool is_granted(const struct tc_grant *grant, const char *path, const char *from)
{
    const struct tc_fs_entry *e = tc_grant_find(grant, path);
    if (!e || e->access == TC_ACCESS_DENY || !e->from || !tc_path_within(e->path, path))
        return false;
    _autofree_ char *there = tc_format("%s%s", e->from, path + (e->path[1] ? strlen(e->path) : 0));
    return tc_streq(there, from);
}

static int check_masks(struct extension *x, const char *from, struct toolcage_error **err)
{
    bool masked = false;
    int r = tc_policy_masks(x->policy, x->facts, from, &masked, err);
    if (r < 0 || !masked)
        return r;
    return tc_fail(err, TC_WHY(TOOLCAGE_EDENIED, "programs", from, "install the program elsewhere"),
                   "a program needs %s, which holds credentials or toolcage's state", from);
}

static int add_entry(struct extension *x, const char *path, const char *from,
                     struct toolcage_error **err)
{
    /* a link in a granted directory is shown already, and nothing can be mounted on it */
    if (tc_program_is_shown(path) || is_granted(x->grant, path, from) ||
        is_granted(x->grant, path, path))
        return 0;
    int r = check_masks(x, from, err);
    if (r < 0)
        return r;
    struct tc_fs_entry *e = TC_PUSH(x->grant->fs, x->grant->fs_count);
    if (!e)
        return tc_fail_memory(err);
    e->access = TC_ACCESS_READ;
    e->path = strdup(path);
    e->from = strdup(from);
    e->origin.key = strdup(x->said.key);
    e->origin.line = x->said.line;
    x->changed = true;
    return e->path && e->from && e->origin.key ? 0 : tc_fail_memory(err);
}

static int hide_secrets(struct extension *x, const char *path, const char *from,
                        struct toolcage_error **err)
{
    struct stat st;
    for (const char *const *name = tc_prefix_credentials; *name; name++) {
        _autofree_ char *file = tc_path_join(from, *name);
        if (!file)
            return tc_fail_memory(err);
        if (lstat(file, &st) < 0)
            continue;
        struct tc_fs_entry *e = TC_PUSH(x->grant->fs, x->grant->fs_count);
        if (!e)
            return tc_fail_memory(err);
        e->access = TC_ACCESS_DENY;
        e->built_in = true;
        e->path = tc_path_join(path, *name);
        e->origin.key = strdup("credentials");
        if (!e->path || !e->origin.key)
            return tc_fail_memory(err);
    }
    return 0;
}

/* Grants the prefix of a program at `file` (in a directory bin or sbin), or only the file. */
static int add_prefix(struct extension *x, const char *file, struct toolcage_error **err)
{
    if (tc_program_is_shown(file))
        return 0;
    _autofree_ char *prefix = parent_of_bin(file);
    const char *what = prefix && !is_too_wide(x->facts, prefix) ? prefix : file;
    _autofree_ char *from = tc_path_real(what);
    if (!from || is_too_wide(x->facts, from))
        return tc_fail(err,
                       TC_WHY_ERRNO(TOOLCAGE_EPATH, "programs", what, from ? 0 : errno,
                                    "name its directory in filesystem.readable"),
                       "the program %s has no directory that can be granted for it", file);
    /* nothing below a link in a granted directory can be hidden: its target has the files */
    bool link = is_granted(x->grant, what, what) && strcmp(what, from) != 0;
    int r = add_entry(x, what, from, err);
    return r < 0 || what == file ? r : hide_secrets(x, link ? from : what, from, err);
}

/* The policy and the call come first. */
static int set_variable(struct extension *x, const char *name, const char *value,
                        struct toolcage_error **err)
{
    if (tc_strv_value(&x->grant->env, name))
        return 0;
    x->changed = true;
    return tc_strv_take(&x->grant->env, tc_format("%s=%s", name, value)) ? 0 : tc_fail_memory(err);
}

static int show_part(struct extension *x, const struct tc_manager *m, struct toolcage_error **err)
{
    _autofree_ char *directory = tc_manager_directory(x->facts, m);
    _autofree_ char *part = tc_manager_part(x->facts, m);
    _autofree_ char *real = part ? tc_path_real(part) : NULL;
    if (!real || is_too_wide(x->facts, part) || is_too_wide(x->facts, real) ||
        tc_provenance_tool(&x->writers, part))
        return 0; /* the program says what it lacks */
    int r = add_entry(x, part, real, err);
    if (r == 0)
        r = set_variable(x, m->variable, directory, err);
    _autofree_ char *inside = m->inner ? tc_path_join(part, m->inside) : NULL;
    if (r == 0 && inside && access(inside, F_OK) == 0)
        r = set_variable(x, m->inner, inside, err);
    return r;
}

/* What the manager of the program lets it read, and its caches. */
static int add_manager(struct extension *x, const struct tc_manager *m, struct toolcage_error **err)
{
    int r = m && m->variable ? show_part(x, m, err) : 0;
    const char *equals = m && m->cache ? strchr(m->cache, '=') : NULL;
    _autofree_ char *name = equals ? strndup(m->cache, (size_t)(equals - m->cache)) : NULL;
    return r < 0 || !equals ? r
           : name           ? set_variable(x, name, equals + 1, err)
                            : tc_fail_memory(err);
}

/* Where a program resolves to: through links, and for a program of a virtual environment, whose
 * pyvenv.cfg has `home = BIN-DIRECTORY`, to the base interpreter. */
struct leads {
    char *real;
    char *config, *base;         /* both owned; NULL: there is none */
    char *interpreter;           /* what `base` resolves to */
    char digest[TC_DIGEST_SIZE]; /* of all the above */
};

static void leads_done(struct leads *l)
{
    free(l->real);
    free(l->config);
    free(l->base);
    free(l->interpreter);
}

static void read_config(struct leads *l)
{
    _autobuf_ struct tc_buf text = {.max = SMALL_FILE};
    if (tc_read_file(AT_FDCWD, l->config, &text) < 0 || !text.data)
        return;
    char *rest = text.data;
    for (char *line = strsep(&rest, "\n"); line && !l->base; line = strsep(&rest, "\n")) {
        char home[PATH_MAX];
        if (sscanf(line, "home = %4095[^\r\n]", home) == 1 && home[0] == '/')
            l->base = tc_format("%s/python3", home);
    }
    l->interpreter = l->base ? realpath(l->base, NULL) : NULL;
    if (l->interpreter && !is_program(l->interpreter))
        free(TAKE(l->interpreter));
}

/* The path of the virtual environment's configuration, if the file is a program of one. Owned. */
static char *config_of(const char *file)
{
    _autofree_ char *bin = tc_path_parent(file);
    _autofree_ char *prefix = bin ? tc_path_parent(bin) : NULL;
    return prefix ? tc_path_join(prefix, "pyvenv.cfg") : NULL;
}

static int look_at_program(const char *file, struct leads *ret, struct toolcage_error **err)
{
    *ret = (struct leads){.real = tc_path_real(file)};
    if (!ret->real)
        return tc_fail(err, TC_WHY_ERRNO(TOOLCAGE_EPATH, "programs", file, errno, NULL),
                       "cannot follow the program %s", file);
    ret->config = config_of(file);
    if (ret->config && access(ret->config, F_OK) < 0) { /* the file may be a link to the program */
        free(ret->config);
        ret->config = config_of(ret->real);
    }
    if (!ret->config)
        return tc_fail_memory(err);
    read_config(ret);
    _autofree_ char *all = tc_format("%s\n%s", ret->real, ret->interpreter ? ret->interpreter : "");
    if (!all)
        return tc_fail_memory(err);
    tc_digest(all, strlen(all), ret->digest);
    return 0;
}

/* May a tool have chosen where the program resolves to? */
static bool is_written(struct extension *x, const char *file, const struct leads *l)
{
    return tc_provenance_tool(&x->writers, file) || tc_provenance_tool(&x->writers, l->config) ||
           (l->base && tc_provenance_tool(&x->writers, l->base));
}

/* Is the program in a directory of the fixed PATH? */
static bool is_searched(const char *file)
{
    _autofree_ char *bin = tc_path_parent(file);
    return bin && tc_system_path_searched(bin);
}

/* Adds the program's directory to PATH. */
static int add_to_path(struct extension *x, const char *file, struct toolcage_error **err)
{
    _autofree_ char *bin = tc_path_parent(file);
    bool fine = bin && (tc_strv_has(&x->bins, bin) || tc_strv_add(&x->bins, bin));
    return fine ? 0 : tc_fail_memory(err);
}

static int add_program(struct extension *x, const char *file, const struct tc_manager *m,
                       const struct leads *l, struct toolcage_error **err)
{
    int r = add_manager(x, m, err);
    if (r < 0 || (is_searched(file) && tc_program_is_shown(l->real)))
        return r;
    r = add_prefix(x, file, err);
    if (r == 0)
        r = add_prefix(x, l->real, err);
    if (r == 0 && l->interpreter)
        r = add_prefix(x, l->interpreter, err);
    return r < 0 ? r : add_to_path(x, file, err);
}

static int fail_missing(const struct extension *x, const char *name, const char *path,
                        struct toolcage_error **err)
{
    struct tc_why why = {.code = TOOLCAGE_ENOT_FOUND,
                         .stage = "programs",
                         .subject = name,
                         .hint = "install it, or remove it from the policy's `programs`",
                         .line = x->said.line};
    if (why.line) {
        why.file = tc_policy_file(x->policy, why.line);
        why.line = tc_policy_number(why.line);
        why.column = 1;
    }
    return tc_fail(err, &why, "the program %s is not on the caller's PATH (%s)", name, path);
}

static int fail_writable(const char *name, const char *file, struct toolcage_error **err)
{
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EDENIED, "programs", name,
               "put another one first in PATH, or name its directory in filesystem.readable"),
        "the program %s is %s, which a tool may have written", name, file);
}

/* Does `programs` come from a shipped profile, which knows neither the host nor the backend? */
static bool is_shipped(const struct extension *x)
{
    return x->said.line && tc_startswith(tc_policy_file(x->policy, x->said.line), "profile:");
}

/* An image has its own programs, and a module needs none. */
static bool runs_host_programs(const struct tc_grant *grant)
{
    const struct tc_backend *backend = tc_backend_find(grant->backend);
    return !grant->image && !grant->layers.count && !grant->fallback.count && backend &&
           (backend->kind == TC_BACKEND_PROCESS || backend->kind == TC_BACKEND_SENTRY);
}

static int add_named(struct extension *x, const char *path, const char *name,
                     struct toolcage_error **err)
{
    _autofree_ char *file = strchr(name, '/') ? NULL : tc_program_find(path, name);
    bool shipped = is_shipped(x);
    if (!file)
        return shipped && errno != ENOMEM ? 0 : fail_missing(x, name, path, err);
    _auto_(leads_done) struct leads l = {0};
    int r = look_at_program(file, &l, err);
    if (r < 0)
        return r;
    if (shipped && is_written(x, file, &l))
        return 0;
    return is_written(x, file, &l) ? fail_writable(name, file, err)
                                   : add_program(x, file, tc_manager_of(x->facts, file), &l, err);
}

/* A program that a tool may have written adds no grants. If the cage would not show all of it,
 * another program with its name would run instead, so the call is refused. */
static int add_written(struct extension *x, const char *name, const char *file,
                       const struct leads *l, struct toolcage_error **err)
{
    bool there = tc_program_is_shown(l->real) || is_granted(x->grant, l->real, l->real);
    if (there && is_granted(x->grant, file, file))
        return add_to_path(x, file, err);
    bool link = strcmp(file, l->real) != 0;
    _autofree_ char *needed = tc_program_prefix(x->facts->home, there ? file : l->real);
    _autofree_ char *word = needed ? tc_shell_quote(needed) : NULL;
    _autofree_ char *hint =
        word ? tc_format("if you trust it: --read %s; or name another program by its path", word)
             : NULL;
    return tc_fail(err, TC_WHY(TOOLCAGE_EDENIED, "programs", name, hint),
                   "the program %s is %s, which a tool may have written%s%s%s, so it adds nothing "
                   "to the grant",
                   name, file, link ? " (a link to " : "", link ? l->real : "", link ? ")" : "");
}

/* Without a policy file the operator gives the command, so its program is granted. If the
 * program is not found, the call starts anyway, and the cage fails as a shell would. */
static int add_command(struct extension *x, const char *path, struct toolcage_error **err)
{
    const char *name = x->grant->argv.count ? x->grant->argv.items[0] : "";
    if (!name[0] || strchr(name, '/'))
        return 0;
    _autofree_ char *file = tc_program_find(path, name);
    const struct tc_manager *m = file ? tc_manager_of(x->facts, file) : NULL;
    if (!file || (is_searched(file) && !m))
        return 0;
    _auto_(leads_done) struct leads l = {0};
    int r = look_at_program(file, &l, err);
    if (r < 0 || (tc_program_is_shown(file) && tc_program_is_shown(l.real)))
        return r; /* tc_search_path_follow() adds its directory */
    if (is_written(x, file, &l) && !tc_provenance_knows(file, l.digest))
        return add_written(x, name, file, &l, err);
    r = add_program(x, file, m, &l, err);
    /* from this call on a tool may have chosen it, unless it still resolves there */
    if (r == 0 && tc_grant_tool_writes(x->grant, file) &&
        !tc_provenance_note(&(struct tc_strv){0}, file, l.digest))
        r = tc_fail_memory(err);
    return r;
}

/* An image has its own system directories. False: out of memory. */
static bool set_search_path(struct extension *x, const char *path)
{
    struct tc_grant *grant = x->grant;
    bool follows = !grant->tool && !grant->image && !grant->module;
    return (!follows || tc_search_path_follow(grant, path, &x->writers)) &&
           (!x->bins.count || tc_search_path_begin(grant, &x->bins));
}

static int extend(struct extension *x, const char *path, struct toolcage_error **err)
{
    struct tc_grant *grant = x->grant;
    bool commands = !grant->tool && tc_policy_is_callers(x->policy);
    int r = 0;
    if ((grant->programs.count || !grant->tool) &&
        (!tc_facts_look(x->facts) ||
         !tc_provenance_here(&x->writers, commands ? NULL : &grant->tool_writable,
                             tc_policy_writable(grant->policy))))
        return tc_fail_memory(err);
    bool named = !is_shipped(x) || runs_host_programs(grant);
    for (size_t i = 0; named && i < grant->programs.count && r == 0; i++)
        r = add_named(x, path, grant->programs.items[i], err);
    if (r == 0 && commands)
        r = add_command(x, path, err);
    if (r == 0 && !set_search_path(x, path))
        r = tc_fail_memory(err);
    if (r == 0 && (x->changed || x->bins.count))
        r = tc_grant_complete(x->policy, x->facts, grant, err);
    return r;
}

int tc_programs_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                       struct tc_grant *grant, struct toolcage_error **err)
{
    const char *path = tc_variable(facts->environ, "PATH"), *prefix;
    struct extension x = {.policy = policy, .facts = facts, .grant = grant};
    x.said.line = tc_policy_line(policy, grant->tool, "programs", &prefix);
    x.said.key = tc_format("%s%sprograms", prefix, prefix[0] ? "." : "");
    int r = x.said.key ? extend(&x, path ? path : "/usr/local/bin:/usr/bin:/bin", err)
                       : tc_fail_memory(err);
    free(x.said.key);
    tc_strv_done(&x.bins);
    tc_provenance_done(&x.writers);
    return r;
}
