/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The rule about commands that cannot start, because the command, or a link or interpreter that it
 * needs, is not granted. For the command itself, the policy's text is enough. */
#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "policy/lint/lint_rules.h"
#include "policy/names/system_paths.h"
#include "policy/pathrule.h"

/* Does the cage use the host's system directories? Otherwise an image provides them. */
static bool shows_host(const struct tc_lint *l, const struct tc_spec *spec)
{
    const char *backend = tc_policy_backend(l->policy, spec);
    return !tc_lint_given(l, spec, TC_KEY_IMAGE) && !tc_lint_given(l, spec, TC_KEY_MODULE) &&
           (tc_streq(backend, "process") || tc_streq(backend, "oci") ||
            tc_streq(backend, "gvisor"));
}

static bool is_always_there(const char *path)
{
    return tc_system_path_find(path) || tc_system_path_private(path) ||
           tc_path_within("/proc", path) || tc_path_within("/dev", path);
}

static bool sets_path(const struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *env = tc_lint_given(l, spec, TC_KEY_ENV);
    return env && tc_strv_value(&env->env_set, "PATH");
}

/* The command's absolute path in the cage; NULL: unknown here. Owned. */
static char *command_path(struct tc_lint *l, const struct tc_spec *spec)
{
    const char *command = spec->command.items[0];
    const struct tc_spec *cwd = tc_lint_given(l, spec, TC_KEY_CWD);
    if (command[0] == '/' || (strchr(command, '/') && cwd)) {
        char *path = tc_path_absolute(cwd ? cwd->cwd : "/", command);
        l->memory |= !path;
        return path;
    }
    if (strchr(command, '/') || !l->facts->finds || sets_path(l, spec))
        return NULL;
    return l->facts->finds(command);
}

/* ---- paths visible in the cage ---- */

struct shown {
    struct tc_shown_path *places;
    size_t count;
    struct tc_strv brought;
};

static void shown_done(struct shown *s)
{
    free(s->places);
    tc_strv_done(&s->brought);
}

static bool show_path(struct shown *s, const char *path, const char *from)
{
    struct tc_shown_path *place = TC_PUSH(s->places, s->count);
    if (place)
        *place = (struct tc_shown_path){path, from};
    return place != NULL;
}

/* Collects the visible paths. False: unknown here, or out of memory. */
static bool gather(struct tc_lint *l, const struct tc_spec *spec, struct shown *s)
{
    const struct tc_spec *fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    const struct tc_spec *programs = tc_lint_given(l, spec, TC_KEY_PROGRAMS);
    bool fine = true;
    if (programs && programs->programs.count &&
        (!l->facts->brings || !l->facts->brings(l->policy, &programs->programs, &s->brought)))
        return false;
    for (size_t i = 0; fs && fine && i < fs->fs_count; i++)
        if (fs->fs[i].access != TC_ACCESS_DENY)
            fine = show_path(s, fs->fs[i].path, fs->fs[i].from ? fs->fs[i].from : fs->fs[i].path);
    for (size_t i = 0; fine && i < s->brought.count; i++)
        fine = show_path(s, s->brought.items[i], s->brought.items[i]);
    if (fine && spec->setup)
        fine = show_path(s, spec->setup->into, spec->setup->into);
    l->memory |= !fine;
    return fine;
}

static bool shows(const struct shown *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (tc_path_within(s->places[i].path, path))
            return true;
    return is_always_there(path);
}

/* ---- the finding ---- */

static char *hint_of(const struct tc_spec *spec, const struct tc_exec_check *starts)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    const char *command = spec->command.items[0];
    if (!strchr(command, '/')) {
        tc_buf_adds(&out, "programs = [");
        tc_toml_string(&out, command);
        tc_buf_adds(&out, "]");
        return tc_buf_steal(&out);
    }
    tc_buf_adds(&out, "grant it: filesystem.readable = ");
    tc_toml_list(&out, &starts->grant);
    return tc_buf_steal(&out);
}

static void report_start(struct tc_lint *l, const struct tc_spec *spec,
                         const struct tc_exec_check *starts)
{
    const char *command = spec->command.items[0];
    _autofree_ char *hint = hint_of(spec, starts);
    if (!hint) {
        l->memory = true;
        return;
    }
    uint32_t line = spec->said[TC_KEY_COMMAND];
    if (!starts->by)
        tc_lint_add(l, spec, "command", line, command, hint,
                    "%s is not granted to %s, so it cannot start",
                    strchr(command, '/') ? command : starts->missing, spec->prefix);
    else if (starts->interpreter)
        tc_lint_add(l, spec, "command", line, command, hint,
                    "%s cannot start: its interpreter %s (named by %s) lies outside of what %s "
                    "grants",
                    command, starts->missing, starts->by, spec->prefix);
    else
        tc_lint_add(l, spec, "command", line, command, hint,
                    "%s cannot start: it leads to %s, which lies outside of what %s grants",
                    command, starts->missing, spec->prefix);
}

/* Is the program found on the caller's PATH, in a system directory that the cage's PATH lacks? */
static bool is_unsearched(const struct tc_spec *spec, const char *path)
{
    _autofree_ char *bin = tc_path_parent(path);
    return !strchr(spec->command.items[0], '/') && tc_system_path_find(path) && bin &&
           !tc_system_path_searched(bin);
}

static void report_unsearched(struct tc_lint *l, const struct tc_spec *spec, const char *path)
{
    const char *command = spec->command.items[0];
    _autofree_ char *hint = hint_of(spec, NULL);
    if (hint)
        tc_lint_add(l, spec, "command", spec->said[TC_KEY_COMMAND], command, hint,
                    "%s is %s here, which is not on the PATH of %s, so it cannot start", command,
                    path, spec->prefix);
    l->memory |= !hint;
}

/* Is the path private, in the workspace or installed? Such a path may exist only at the time of the
 * call. */
static bool comes_later(const struct tc_spec *spec, const struct shown *s, const char *path)
{
    return tc_system_path_private(path) || tc_path_within("/proc", path) ||
           (tc_path_within(TC_WORKSPACE, path) && shows(s, path)) ||
           (spec->setup && tc_path_within(spec->setup->into, path));
}

static bool look_at_start(const struct tc_lint *l, const struct shown *s, const char *path,
                          struct tc_exec_check *ret)
{
    if (l->facts->starts)
        return l->facts->starts(s->places, s->count, l->policy->home, path, TC_EXEC_CHECK_BEYOND,
                                ret);
    return shows(s, path) || ((ret->missing = strdup(path)) && tc_strv_add(&ret->grant, path));
}

/* Does `programs` name the command? */
static bool is_brought(const struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *programs = tc_lint_given(l, spec, TC_KEY_PROGRAMS);
    return programs && tc_strv_has(&programs->programs, spec->command.items[0]);
}

void tc_lint_start(struct tc_lint *l, const struct tc_spec *spec)
{
    _auto_(tc_exec_check_done) struct tc_exec_check starts = {0};
    _auto_(shown_done) struct shown s = {0};
    if (!spec->command.count || tc_spec_is_setup(spec) || spec->url || !shows_host(l, spec) ||
        is_brought(l, spec))
        return;
    _autofree_ char *path = command_path(l, spec);
    if (!path || !gather(l, spec, &s))
        return;
    if (!strchr(spec->command.items[0], '/') && !tc_system_path_find(path))
        s.count = 0; /* even if granted, it is not on the cage's PATH */
    if (comes_later(spec, &s, path))
        return;
    if (is_unsearched(spec, path)) {
        report_unsearched(l, spec, path);
        return;
    }
    l->memory |= !look_at_start(l, &s, path, &starts);
    if (!l->memory && starts.missing && starts.grant.count)
        report_start(l, spec, &starts);
}
