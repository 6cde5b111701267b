/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/learn/learn.h"

#include <string.h>

#include "base/buf.h"
#include "base/display.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "policy/names/credentials.h"
#include "policy/parse/template.h"

enum { REFUSED_SHOWN = 20 };

static void add_array(struct tc_buf *out, const char *key, const struct tc_strv *list)
{
    tc_buf_addf(out, "%s = ", key);
    tc_toml_list(out, list);
    tc_buf_addc(out, '\n');
}

/* Several paths are written one per line. */
static void add_paths(struct tc_buf *out, const char *key, const struct tc_strv *list)
{
    if (list->count <= 1) {
        if (list->count)
            add_array(out, key, list);
        return;
    }
    tc_buf_addf(out, "%s = [\n", key);
    for (size_t i = 0; i < list->count; i++) {
        tc_buf_adds(out, "  ");
        tc_toml_string(out, list->items[i]);
        tc_buf_adds(out, ",\n");
    }
    tc_buf_adds(out, "]\n");
}

static void add_line(struct tc_buf *out, const char *words, const char *subject)
{
    tc_buf_adds(out, "# ");
    tc_buf_adds(out, words);
    if (subject)
        tc_buf_add_display(out, subject);
    tc_buf_addc(out, '\n');
}

/* ---- notes ---- */

static bool executed_below(const struct tc_lesson *l, const char *dir)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->touched[i].how == TC_TOUCH_EXEC && tc_path_within(dir, l->touched[i].path))
            return true;
    return false;
}

static bool has_repository(const struct tc_lesson *l, const char *dir)
{
    for (size_t i = 0; i < l->count; i++)
        if (tc_path_within(dir, l->touched[i].path) && strstr(l->touched[i].path, "/.git/"))
            return true;
    return false;
}

/* Is `dir` granted because a policy cannot spell the name of a path below it? */
static bool stands_above(const struct tc_lesson *l, const char *dir, enum tc_touch how)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->touched[i].above && !l->touched[i].refused && l->touched[i].how == how &&
            tc_path_within(dir, l->touched[i].path))
            return true;
    return false;
}

/* Did the run create the file `path` (`itself`), or an entry of the directory `path`? */
static bool is_made(const struct tc_lesson *l, const char *path, bool itself)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < l->count; i++) {
        const struct tc_touched *t = &l->touched[i];
        const char *rest = tc_path_within(path, t->path) ? t->path + length : NULL;
        bool below = rest && rest[0] && !strchr(rest + 1, '/');
        if (t->made && (itself ? rest && !rest[0] && !t->directory : below))
            return true;
    }
    return false;
}

/* A granted file must exist when a call starts, so a tool that creates one needs its directory. */
static void add_made_note(struct tc_buf *out, const struct tc_lesson *l, const char *path)
{
    if (is_made(l, path, true))
        add_line(out,
                 "note: the tool creates this file, and its directory is too wide to grant, so the "
                 "file must exist before each call: ",
                 path);
    else if (is_made(l, path, false))
        add_line(out, "note: the whole directory, because the tool creates files in it: ", path);
}

static void add_width_notes(struct tc_buf *out, const struct tc_lesson *l, const char *path,
                            enum tc_touch how)
{
    if (tc_learn_wide(l, path))
        add_line(out, "danger: contains far more than one project: ", path);
    if (stands_above(l, path, how))
        add_line(out,
                 "note: the whole directory, for a name in it that a policy cannot "
                 "express: ",
                 path);
}

static void add_read_notes(struct tc_buf *out, const struct tc_lesson *l,
                           const struct tc_strv *readable)
{
    for (size_t i = 0; i < readable->count; i++) {
        const char *path = readable->items[i];
        if (tc_credential_path(path))
            add_line(out, "danger: may contain a secret, which the tool can then read: ", path);
        else if (tc_path_within("/etc", path))
            add_line(out, "note: the host's configuration: ", path);
        if (l->home && tc_path_within(path, l->home))
            add_line(out, "danger: all of your home directory: ", path);
        add_width_notes(out, l, path, TC_TOUCH_READ);
    }
}

static void add_write_notes(struct tc_buf *out, const struct tc_lesson *l,
                            const struct tc_strv *writable)
{
    for (size_t i = 0; i < writable->count; i++) {
        const char *path = writable->items[i];
        add_width_notes(out, l, path, TC_TOUCH_WRITE);
        add_made_note(out, l, path);
        if (tc_credential_path(path))
            add_line(out, "danger: may contain a secret, which the tool could replace: ", path);
        if (executed_below(l, path))
            add_line(out, "danger: it runs programs from a directory that it may write: ", path);
        if (has_repository(l, path))
            add_line(out, "note: existing hooks and configuration of git stay read-only: ", path);
        if (l->cwd && tc_path_within(path, l->cwd))
            add_line(out,
                     "note: the whole working directory; to see each change first: "
                     "workspace = { mode = \"overlay\", commit = \"ask\" }",
                     NULL);
    }
}

/* Refused accesses, for a person to judge. */
static void add_refused(struct tc_buf *out, const struct tc_lesson *l)
{
    static const char *const verbs[] = {[TC_TOUCH_READ] = "read ",
                                        [TC_TOUCH_WRITE] = "write ",
                                        [TC_TOUCH_EXEC] = "execute ",
                                        [TC_TOUCH_LOOK] = "look at "};
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct tc_touched *t = &l->touched[i];
        if (!t->refused || (t->how != TC_TOUCH_WRITE && !t->there)) /* an optional file */
            continue;
        if (shown == REFUSED_SHOWN) {
            more++;
            continue;
        }
        if (!shown++)
            add_line(out, "These were refused, and the tool may need them:", NULL);
        tc_buf_adds(out, "#   ");
        tc_buf_adds(out, verbs[t->how]);
        tc_buf_add_display(out, t->path);
        tc_buf_addc(out, '\n');
    }
    if (more)
        tc_buf_addf(out, "#   and %zu more\n", more);
}

static void add_links(struct tc_buf *out, const struct tc_lesson *l, const struct tc_strv *readable,
                      const struct tc_strv *writable)
{
    const char *last = "";
    size_t shown = 0;
    for (size_t i = 0; i < l->count && shown < REFUSED_SHOWN; i++) {
        const struct tc_touched *t = &l->touched[i];
        if (!t->link || t->refused || tc_path_within_any(readable, t->path) ||
            tc_path_within_any(writable, t->path) || strcmp(last, t->path) == 0)
            continue;
        if (!shown++)
            add_line(out,
                     "Symbolic links, which are not granted: a grant would include their target at "
                     "each call:",
                     NULL);
        tc_buf_adds(out, "#   ");
        tc_buf_add_display(out, last = t->path);
        tc_buf_addc(out, '\n');
    }
}

/* ---- command and environment ---- */

bool tc_learn_places(const struct tc_strv *argv)
{
    struct tc_hole hole;
    for (size_t i = 0; i < argv->count; i++)
        if (tc_hole_find(argv->items[i], &hole))
            return true;
    return false;
}

static void add_command(struct tc_buf *out, const struct tc_lesson *l)
{
    if (!tc_learn_places(l->argv)) {
        add_array(out, "command", l->argv);
        return;
    }
    add_line(
        out,
        "no command: an argument looks like a placeholder. Give the command at each call:", NULL);
    add_line(out, "toolcage exec --tool ", l->name);
}

static bool is_loaders(const char *name)
{
    return tc_startswith(name, "LD_") || tc_streq(name, "GCONV_PATH") ||
           tc_streq(name, "GLIBC_TUNABLES");
}

/* Variables with the caller's values are passed by name. Possible secrets are never written to the
 * policy. */
static bool is_passed(const struct tc_lesson *l, const char *pair, const char *name)
{
    struct tc_hole hole;
    const char *value = pair + strlen(name) + 1;
    bool sayable = !tc_hole_find(value, &hole) && tc_utf8_valid(value, strlen(value));
    return !is_loaders(name) &&
           (tc_strv_has(l->passed, pair) || tc_credential_variable(name) || !sayable);
}

/* Is the name set again later? The last value counts. */
static bool comes_again(const struct tc_strv *env, size_t at, size_t name_len)
{
    for (size_t i = at + 1; i < env->count; i++)
        if (strncmp(env->items[i], env->items[at], name_len + 1) == 0)
            return true;
    return false;
}

static bool add_env(struct tc_buf *out, const struct tc_lesson *l)
{
    _autostrv_ struct tc_strv pass = {0};
    _autobuf_ struct tc_buf set = TC_BUF_INIT;
    for (size_t i = 0; i < l->env->count; i++) {
        const char *pair = l->env->items[i];
        size_t length = strcspn(pair, "=");
        _autofree_ char *name = strndup(pair, length);
        if (!name)
            return false;
        if (!pair[length] || comes_again(l->env, i, length))
            continue;
        if (!is_passed(l, pair, name)) {
            tc_buf_addf(&set, "%s%s = ", set.len ? ", " : "", name);
            tc_toml_string(&set, pair + length + 1);
            continue;
        }
        if (tc_credential_variable(name))
            add_line(out, "danger: may be a secret, which the tool can then read: ", name);
        if (!tc_strv_has(l->passed, pair))
            add_line(out, "note: its value is not written here; the caller must set it: ", name);
        if (!tc_strv_add(&pass, name))
            return false;
    }
    if (pass.count)
        add_array(out, "env.pass", &pass);
    if (set.len)
        tc_buf_addf(out, "env.set = { %s }\n", set.data);
    out->failed |= set.failed;
    return true;
}

/* ---- the text ---- */

static void add_head(struct tc_buf *out, const struct tc_lesson *l)
{
    tc_buf_adds(out, "# Learned from one run. Read each line before you trust it: it allows "
                     "what that run did,\n"
                     "# which is not always what it should do.\n");
    if (l->ending[0])
        add_line(out, "The run did not succeed, so it may need more: ", l->ending);
    tc_buf_adds(out, "\n");
}

/* Must the policy set cwd? Yes if the run's directory or a path below it is granted. */
static bool needs_cwd(const struct tc_lesson *l, const struct tc_strv *readable,
                      const struct tc_strv *writable)
{
    const struct tc_strv *sets[] = {readable, writable};
    bool below = false;
    for (size_t i = 0; i < TC_COUNT(sets); i++)
        for (size_t j = 0; j < sets[i]->count; j++) {
            if (tc_path_within(sets[i]->items[j], l->cwd))
                return true;
            below = below || tc_path_within(l->cwd, sets[i]->items[j]);
        }
    return below;
}

/* Is the name also listed with a port? A name alone is a lookup, with a port a connection. */
static bool said_with_port(const struct tc_strv *endpoints, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < endpoints->count; i++)
        if (strncmp(endpoints->items[i], name, len) == 0 && endpoints->items[i][len] == ':')
            return true;
    return false;
}

/* Endpoints that the run reached become grants. Endpoints that it only tried become comments for a
 * person to choose from. */
static void add_network(struct tc_buf *out, const struct tc_lesson *l)
{
    if (l->reached->count)
        add_array(out, "network", l->reached);
    else
        tc_buf_adds(out, "network = \"none\"\n");
    size_t tried = 0;
    for (size_t i = 0; i < l->endpoints->count; i++) {
        const char *endpoint = l->endpoints->items[i];
        bool names = strcmp(endpoint, "127.0.0.1:53") == 0 || strcmp(endpoint, "[::1]:53") == 0;
        bool more = !names && said_with_port(l->endpoints, endpoint);
        tried += !names;
        if (!more)
            add_line(out,
                     names ? "note: it tried to resolve host names at "
                           : "danger: it tried to reach ",
                     endpoint);
    }
    if (tried)
        add_line(out, "to allow some of them, name them: network = [\"HOST:PORT\", ...]", NULL);
    if (l->unix_sockets)
        add_line(out, "note: it tried to create a unix socket", NULL);
}

static void add_limits(struct tc_buf *out, const struct tc_lesson *l)
{
    if (l->timeout)
        tc_buf_addf(out, "timeout = \"%s\"\n", l->timeout);
    if (l->memory)
        tc_buf_addf(out, "memory = { max = \"%s\", by = \"any\" }\n", l->memory);
}

/* exec without --tool keeps the grant that it has without a policy file. */
static void add_defaults(struct tc_buf *out)
{
    tc_buf_adds(out, "\n# For toolcage exec without --tool: it may read the working directory.\n"
                     "[defaults]\nfilesystem.readable = [\"/workspace\"]\n");
}

char *tc_learn_write(const struct tc_lesson *l)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    _autostrv_ struct tc_strv readable = {0}, writable = {0};
    if (!tc_learn_paths(l, &readable, &writable))
        return NULL;
    add_head(&out, l);
    tc_buf_addf(&out, "[tool.%s]\n", l->name);
    add_command(&out, l);
    if (!add_env(&out, l))
        return NULL;
    if (l->programs->count)
        add_array(&out, "programs", l->programs);
    if (needs_cwd(l, &readable, &writable)) {
        tc_buf_adds(&out, "cwd = ");
        tc_toml_string(&out, l->cwd);
        tc_buf_addc(&out, '\n');
    }
    add_read_notes(&out, l, &readable);
    add_paths(&out, "filesystem.readable", &readable);
    add_write_notes(&out, l, &writable);
    add_paths(&out, "filesystem.writable", &writable);
    if (!readable.count && !writable.count)
        tc_buf_adds(&out, "filesystem = \"none\"\n");
    add_refused(&out, l);
    add_links(&out, l, &readable, &writable);
    add_network(&out, l);
    add_limits(&out, l);
    add_defaults(&out);
    return tc_buf_steal(&out);
}
