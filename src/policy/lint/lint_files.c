/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rules about files and unix sockets: what a tool can read, modify or cause others to run. */
#include <string.h>

#include "base/path.h"
#include "policy/lint/lint_rules.h"
#include "policy/names/credentials.h"
#include "policy/names/steering.h"
#include "policy/parse/template.h"
#include "policy/pathrule.h"

/* The host path of a rule; without one (the workspace), the tool's path is used in its place. */
static const char *host_of(const struct tc_fs_rule *rule)
{
    return rule->from ? rule->from : rule->path;
}

/* ---- secrets ---- */

static void tell_secret(struct tc_lint *l, const struct tc_spec *says, const char *key,
                        uint32_t line, const char *what, const struct tc_spec *net)
{
    bool leaves = net && net->net_count;
    if (leaves != tc_streq(l->rule->id, "secret-and-network"))
        return;
    if (!leaves && tc_spec_is_setup(says)) {
        tc_lint_add(
            l, says, key, line, what, "remove it, or make sure that the install does not store it",
            "%s may contain a secret, and every call can read what the install stores of it", what);
        return;
    }
    if (!leaves) {
        tc_lint_add(l, says, key, line, what,
                    "remove it, unless the tool is meant to show it to a model",
                    "%s may contain a secret, and the model reads it if the tool prints it", what);
        return;
    }
    _autofree_ char *where = tc_lint_endpoints(l, net);
    if (where)
        tc_lint_add(l, says, key, line, what,
                    "give it to a tool without a network, or remove the secret from this one",
                    "%s may contain a secret, and a tool that can read it reaches %s: it can send "
                    "the secret there",
                    what, where);
}

void tc_lint_secrets(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    const struct tc_spec *env = tc_lint_given(l, spec, TC_KEY_ENV);
    const struct tc_spec *net = tc_lint_given(l, spec, TC_KEY_NETWORK);
    for (size_t i = 0; fs && i < fs->fs_count; i++) {
        const struct tc_fs_rule *rule = &fs->fs[i];
        if (rule->access != TC_ACCESS_DENY && tc_credential_path(host_of(rule)))
            tell_secret(l, fs, tc_access_list(rule->access), rule->line, host_of(rule), net);
    }
    for (size_t i = 0; i < spec->argument_count; i++)
        for (size_t b = 0; b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            if (bound->path && tc_credential_path(bound->path))
                tell_secret(l, spec, "arguments", bound->line, bound->path, net);
        }
    for (size_t i = 0; env && i < env->env_pass.count; i++)
        if (tc_credential_variable(env->env_pass.items[i]))
            tell_secret(l, env, "env.pass", env->said[TC_KEY_ENV], env->env_pass.items[i], net);
}

void tc_lint_home(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    const char *home = l->policy->home;
    for (size_t i = 0; home && fs && i < fs->fs_count; i++) {
        const struct tc_fs_rule *rule = &fs->fs[i];
        if (rule->from && rule->access == TC_ACCESS_READ && tc_path_within(rule->from, home))
            tc_lint_add(l, fs, tc_access_list(rule->access), rule->line, rule->path,
                        "grant the directories that the tool works on",
                        "%s is all of your home directory: mail, histories, other projects",
                        rule->from);
    }
}

/* ---- files that a tool writes and another runs ---- */

static int by_host(const void *a, const void *b)
{
    const struct tc_lint_place *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Takes ownership of `host`. */
static bool index_place(struct tc_lint *l, char *host, const struct tc_spec *spec, uint32_t line)
{
    struct tc_lint_place *place = host ? TC_PUSH(l->writable, l->writable_count) : NULL;
    if (place)
        *place = (struct tc_lint_place){host, spec, line};
    else
        free(host);
    return place != NULL;
}

static const struct tc_fs_rule *rule_over(const struct tc_spec *fs, const char *path)
{
    const struct tc_fs_rule *best = NULL;
    for (size_t i = 0; fs && i < fs->fs_count; i++)
        if (fs->fs[i].access != TC_ACCESS_DENY && tc_path_within(fs->fs[i].path, path) &&
            (!best || strlen(fs->fs[i].path) > strlen(best->path)))
            best = &fs->fs[i];
    return best;
}

/* The host path of a tool's path; owned. */
static char *path_on_host(const struct tc_spec *fs, const char *path)
{
    const struct tc_fs_rule *rule = rule_over(fs, path);
    return tc_format("%s%s", rule ? host_of(rule) : "", rule ? path + strlen(rule->path) : path);
}

static bool index_spec(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    bool fine = true;
    for (size_t i = 0; fine && i < spec->fs_count; i++)
        if (spec->fs[i].access == TC_ACCESS_WRITE)
            fine = index_place(l, strdup(host_of(&spec->fs[i])), spec, spec->fs[i].line);
    for (size_t i = 0; fine && i < spec->argument_count; i++)
        for (size_t b = 0; fine && b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            if (bound->path && bound->access == TC_ACCESS_WRITE)
                fine = index_place(l, path_on_host(fs, bound->path), spec, bound->line);
        }
    return fine;
}

bool tc_lint_index(struct tc_lint *l)
{
    const struct toolcage_policy *policy = l->policy;
    bool fine = index_spec(l, &policy->defaults);
    for (size_t i = 0; fine && i < policy->tool_count; i++)
        fine = index_spec(l, &policy->tools[i]);
    for (size_t i = 0; fine && i < policy->server_count; i++)
        fine = index_spec(l, &policy->servers[i].spec);
    if (fine && l->writable_count)
        qsort(l->writable, l->writable_count, sizeof(*l->writable), by_host);
    return fine;
}

/* The first writable place with exactly this path, or NULL. */
static const struct tc_lint_place *find_place(const struct tc_lint *l, const char *host)
{
    size_t low = 0, high = l->writable_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(l->writable[middle].host, host) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->writable_count && strcmp(l->writable[low].host, host) == 0 ? &l->writable[low]
                                                                               : NULL;
}

/* The nearest place that contains the path and that another tool can write. */
static const struct tc_lint_place *place_over(struct tc_lint *l, const char *path,
                                              const struct tc_spec *own, const struct tc_spec *fs)
{
    if (!l->writable_count)
        return NULL;
    const struct tc_lint_place *end = l->writable + l->writable_count;
    _autofree_ char *at = strdup(path);
    l->memory |= !at;
    while (at && *at) {
        const struct tc_lint_place *place = find_place(l, at);
        for (; place && place < end && tc_streq(place->host, at); place++)
            if (place->spec != own && place->spec != fs)
                return place;
        char *slash = strrchr(at, '/');
        *(slash ? slash : at) = '\0';
    }
    return NULL;
}

static bool reads_scripts(const char *program)
{
    static const char *const names[] = {"sh",     "bash",    "dash", "zsh",    "fish",
                                        "python", "python3", "node", "perl",   "ruby",
                                        "deno",   "bun",     "php",  "Rscript"};
    return TC_AMONG(names, tc_path_base(program));
}

/* The absolute path that the command executes: the program, or the script that is an interpreter's
 * first argument after options. NULL: none. */
static const char *executed(const struct tc_spec *spec)
{
    struct tc_hole hole;
    const struct tc_strv *argv = &spec->command;
    if (!argv->count)
        return NULL;
    if (argv->items[0][0] == '/')
        return argv->items[0];
    for (size_t i = 1; reads_scripts(argv->items[0]) && i < argv->count; i++)
        if (argv->items[i][0] != '-')
            return argv->items[i][0] == '/' && !tc_hole_find(argv->items[i], &hole) ? argv->items[i]
                                                                                    : NULL;
    return NULL;
}

/* Reports install inputs that a tool can write: every call runs the result of the install. */
static void check_inputs(struct tc_lint *l, const struct tc_spec *setup)
{
    uint32_t line = setup->said[TC_KEY_COMMAND];
    const char *directory =
        TC_LINE_FILE(line) ? l->policy->files[TC_LINE_FILE(line)].dir : l->policy->dir;
    for (size_t i = 0; i < setup->inputs.count; i++) {
        const char *input = setup->inputs.items[i];
        _autofree_ char *host = tc_path_join(directory, input);
        l->memory |= !host;
        const struct tc_lint_place *place = host ? place_over(l, host, setup, NULL) : NULL;
        if (place)
            tc_lint_add(
                l, setup, "inputs", line, input,
                "move it to a directory that no tool can write; until then the install is refused",
                "%s installs with %s, which %s may replace (%s is writable, line " TC_LINE_FORM ")",
                setup->prefix, input, place->spec->prefix, place->host,
                TC_LINE_SHOWN(l->policy, place->line));
    }
}

void tc_lint_run_by_tool(struct tc_lint *l, const struct tc_spec *spec)
{
    if (tc_spec_is_setup(spec))
        check_inputs(l, spec);
    const char *path = executed(spec);
    const struct tc_spec *fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    _autofree_ char *clean = path ? tc_path_absolute("/", path) : NULL;
    l->memory |= path && !clean;
    if (!clean)
        return;
    _autofree_ char *host = path_on_host(fs, clean);
    l->memory |= !host;
    const struct tc_lint_place *place = host ? place_over(l, host, spec, fs) : NULL;
    if (!place)
        return;
    tc_lint_add(l, spec, "command", spec->said[TC_KEY_COMMAND], path,
                "move programs to a directory that no tool can write, and grant it as readable",
                "%s runs %s, which %s may replace (%s is writable, line " TC_LINE_FORM ")",
                spec->prefix, path, place->spec->prefix, place->host,
                TC_LINE_SHOWN(l->policy, place->line));
}

/* Paths from which the host runs or loads files: below the home, in addition to the steering files.
 */
static const char *const run_below_home[] = {
    ".local/bin",      "bin",         ".cargo/bin",    "go/bin",
    ".npm-global/bin", ".xprofile",   ".xinitrc",      ".tmux.conf",
    ".inputrc",        ".vim",        ".ssh",          ".pam_environment",
    ".gnupg",          ".config/zsh", ".config/emacs", NULL};
static const char *const run_anywhere[] = {
    "/etc", "/usr/local", "/var/spool/cron", "/var/lib/systemd", "/boot", "/run/systemd", NULL};

/* The place from which the host runs programs, if the path equals, contains or is in one; owned. */
static char *place_of_host(const struct tc_lint *l, const char *path)
{
    const char *home = l->policy->home;
    for (size_t i = 0; run_anywhere[i]; i++)
        if (tc_path_within(run_anywhere[i], path))
            return strdup(run_anywhere[i]);
    const char *row = tc_steers_named(path);
    if (row)
        return strdup(row);
    for (size_t i = 0; home && run_below_home[i]; i++) {
        char *place = tc_path_join(home, run_below_home[i]);
        if (!place || tc_path_within(place, path) || tc_path_within(path, place))
            return place;
        free(place);
    }
    return NULL;
}

static void check_run_by_host(struct tc_lint *l, const struct tc_spec *says, const char *key,
                              uint32_t line, const char *shown, const char *path)
{
    _autofree_ char *place = place_of_host(l, path);
    if (place && tc_streq(place, path))
        tc_lint_add(l, says, key, line, shown, "let the tool write elsewhere, and copy it yourself",
                    "%s is writable, and host programs load or run it", path);
    else if (place && !tc_path_within(path, place))
        tc_lint_add(l, says, key, line, shown, "let the tool write elsewhere, and copy it yourself",
                    "%s is writable, and host programs load or run %s", path, place);
    else if (place)
        tc_lint_add(l, says, key, line, shown, "grant the directory that the tool works on",
                    "%s is writable, and host programs load or run files in it: %s and more", path,
                    place);
}

void tc_lint_run_by_host(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    for (size_t i = 0; fs && i < fs->fs_count; i++)
        if (fs->fs[i].access == TC_ACCESS_WRITE)
            check_run_by_host(l, fs, "filesystem.writable", fs->fs[i].line, fs->fs[i].path,
                              host_of(&fs->fs[i]));
    for (size_t i = 0; i < spec->argument_count; i++)
        for (size_t b = 0; b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            if (bound->path && bound->access == TC_ACCESS_WRITE)
                check_run_by_host(l, spec, "arguments", bound->line, bound->path, bound->path);
        }
}

void tc_lint_root_socket(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_UNIX_SOCKETS);
    for (size_t i = 0; said && i < said->socket_count; i++) {
        const struct tc_fs_rule *rule = &said->sockets[i];
        const char *risk = tc_socket_risk(host_of(rule));
        if (risk)
            tc_lint_add(l, said, "unix_sockets", rule->line, rule->path,
                        "remove it, and write a separate tool for the function that this one needs "
                        "from the service",
                        "%s %s", host_of(rule), risk);
    }
}

/* ---- how changes reach the host ---- */

struct writes {
    const struct tc_fs_rule *rule; /* the first writable rule; NULL: none */
    const struct tc_spec *fs, *workspace, *disk;
    enum tc_workspace_mode mode;
    enum tc_commit commit;
};

static struct writes writes_of(const struct tc_lint *l, const struct tc_spec *spec)
{
    struct writes w = {.fs = tc_lint_given(l, spec, TC_KEY_FILESYSTEM),
                       .workspace = tc_lint_given(l, spec, TC_KEY_WORKSPACE),
                       .disk = tc_lint_given(l, spec, TC_KEY_DISK)};
    /* an install can only read the writable paths of [defaults] */
    w.rule = tc_spec_is_setup(spec) ? NULL : tc_spec_writable(w.fs);
    w.mode = w.workspace ? (enum tc_workspace_mode)w.workspace->workspace : TC_WORKSPACE_AUTO;
    w.commit = w.workspace ? (enum tc_commit)w.workspace->commit : TC_COMMIT_ALWAYS;
    return w;
}

void tc_lint_unbounded_writes(struct tc_lint *l, const struct tc_spec *spec)
{
    struct writes w = writes_of(l, spec);
    if (w.rule && (w.mode == TC_WORKSPACE_BIND || w.mode == TC_WORKSPACE_AUTO) && !w.disk)
        tc_lint_add(l, w.fs, "filesystem.writable", w.rule->line, w.rule->path,
                    w.mode == TC_WORKSPACE_AUTO ? "set disk, which then bounds it"
                                                : "workspace = { mode = \"overlay\" } and disk",
                    "nothing limits how much is written to %s", w.rule->path);
}

void tc_lint_disk_bind(struct tc_lint *l, const struct tc_spec *spec)
{
    struct writes w = writes_of(l, spec);
    if (w.rule && w.mode == TC_WORKSPACE_BIND && w.disk)
        tc_lint_add(
            l, w.disk, "disk", w.disk->said[TC_KEY_DISK], "disk",
            "add workspace = { mode = \"overlay\" }, or remove disk",
            "disk cannot bound %s, which is bound from the host: each call of %s is refused",
            w.rule->path, spec->prefix);
}

void tc_lint_auto_writes(struct tc_lint *l, const struct tc_spec *spec)
{
    struct writes w = writes_of(l, spec);
    const struct tc_spec *tier = tc_lint_given(l, spec, TC_KEY_TIER);
    bool alone = tier && tc_streq(tier->tier, "Auto");
    bool asked = tier && !alone && !tc_streq(tier->tier, "Assisted");
    if (!w.rule || asked)
        return;
    bool kept = w.mode == TC_WORKSPACE_COPY || w.mode == TC_WORKSPACE_OVERLAY;
    if (kept && w.commit == TC_COMMIT_ALWAYS)
        tc_lint_add(l, w.workspace, "workspace.commit", w.workspace->said[TC_KEY_WORKSPACE],
                    "\"always\"", "commit = \"on_success\", or \"ask\"",
                    "changes of a failed call to %s are written to the host without approval",
                    w.rule->path);
    else if (alone && (w.mode == TC_WORKSPACE_BIND || w.commit == TC_COMMIT_ALWAYS))
        tc_lint_add(l, tier, "tier", tier->said[TC_KEY_TIER], "\"Auto\"",
                    "workspace = { mode = \"overlay\", commit = \"ask\" }, or another tier",
                    "every change to %s reaches the host without approval", w.rule->path);
}
