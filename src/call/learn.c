/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy from the accesses of a call. */
#include "call/policy_check.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/path.h"
#include "call/exec/exec_check.h"
#include "call/host/programs.h"
#include "policy/learn/learn.h"
#include "policy/names/credentials.h"
#include "policy/names/system_paths.h"

enum { NS_PER_S = 1000000000, TICK_NS = 10000000 };

/* A policy contains paths as UTF-8 text, and never patterns. */
static bool sayable(const char *path)
{
    return tc_utf8_valid(path, strlen(path)) && !strpbrk(path, "*?[");
}

/* The path, or its nearest ancestor that a policy can contain. A written path becomes a missing
 * file in that ancestor, so that the whole directory counts as written. Owned. */
static char *nearest_sayable(const char *path, enum tc_touch how)
{
    char *at = strdup(path);
    while (at && !sayable(at)) {
        char *parent = tc_path_parent(at);
        free(at);
        at = parent;
    }
    if (!at || strcmp(at, path) == 0 || how != TC_TOUCH_WRITE)
        return at;
    char *inside = tc_path_join(at, "written");
    free(at);
    return inside;
}

/* A cage's parent directories of granted paths are private and otherwise empty: a tool that
 * lists one saw no host file. */
static bool only_above_grants(const struct tc_grant *grant, const char *path)
{
    bool above = false;
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access != TC_ACCESS_DENY && tc_path_within(e->path, path))
            return false;
        above = above || (e->access != TC_ACCESS_DENY && tc_path_within(path, e->path));
    }
    return above;
}

/* Truncates the path after its first symbolic link below a granted path, if it has one: the tool
 * itself may have made that link. */
static bool cut_at_link(const struct tc_grant *grant, char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access == TC_ACCESS_DENY || !tc_path_within(e->path, path))
            continue;
        for (char *end = path + strlen(e->path); *end; *end = '/') {
            struct stat st;
            end += 1 + strcspn(end + 1, "/");
            bool last = !*end;
            *end = '\0';
            if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
                return true;
            if (last)
                break;
        }
    }
    return false;
}

/* Did the run, which began at `since` (ns), create the file? Not known where the file system has no
 * birth times. */
static bool was_made(const char *path, int64_t since)
{
    struct statx st;
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BTIME, &st) == 0 &&
           (st.stx_mask & STATX_BTIME) &&
           st.stx_btime.tv_sec * NS_PER_S + st.stx_btime.tv_nsec >= since;
}

/* The real time of the call's start, less the resolution of a file's times. */
static int64_t start_of(const struct toolcage_call *call)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec - (tc_now_us() - call->started_us) * 1000 - TICK_NS;
}

static bool add_lesson(struct tc_lesson *l, const struct toolcage_call *call, int64_t kind,
                       const char *target, bool refused)
{
    const struct tc_grant *grant = &call->grant;
    static const struct {
        enum tc_denial_kind kind;
        enum tc_touch how;
    } rows[] = {{TC_DENIAL_READ, TC_TOUCH_READ},    {TC_DENIAL_WRITE, TC_TOUCH_WRITE},
                {TC_DENIAL_CREATE, TC_TOUCH_WRITE}, {TC_DENIAL_EXEC, TC_TOUCH_EXEC},
                {TC_DENIAL_UNSHOWN, TC_TOUCH_EXEC}, {TC_DENIAL_LOOK, TC_TOUCH_LOOK}};
    struct stat st;
    size_t i = 0;
    while (i < TC_COUNT(rows) && (int64_t)rows[i].kind != kind)
        i++;
    if (i == TC_COUNT(rows) || !target || target[0] != '/')
        return true;
    struct tc_touched *t = TC_PUSH(l->touched, l->count);
    if (!t)
        return false;
    *t = (struct tc_touched){.how = rows[i].how, .refused = refused};
    t->path = nearest_sayable(target, t->how);
    t->above = t->path && !sayable(target);
    t->link = t->path && cut_at_link(grant, t->path);
    bool found = t->path && lstat(t->path, &st) == 0;
    /* a path that cannot be examined may exist nevertheless */
    t->there = found || (refused && errno != ENOENT && errno != ENOTDIR);
    t->directory = found && S_ISDIR(st.st_mode);
    t->made = found && !refused && t->how == TC_TOUCH_WRITE && was_made(t->path, start_of(call));
    return t->path != NULL;
}

/* Do the grants of `programs` include this path? */
static bool brought(const struct tc_grant *programs, const char *path)
{
    for (size_t i = 0; path && i < programs->fs_count; i++)
        if (tc_path_within(programs->fs[i].path, path))
            return true;
    return false;
}

static bool add_touched(struct tc_lesson *l, const struct toolcage_call *call,
                        const struct tc_grant *programs)
{
    const struct tc_outcome *o = &call->result->outcome;
    for (size_t i = 0; i < o->access_count; i++)
        if (!brought(programs, o->accesses[i].target) &&
            !(o->accesses[i].target && only_above_grants(&call->grant, o->accesses[i].target)) &&
            !add_lesson(l, call, o->accesses[i].kind, o->accesses[i].target, false))
            return false;
    for (size_t i = 0; i < o->denial_count; i++)
        if ((!o->denials[i].probe || o->denials[i].kind == TC_DENIAL_LOOK) &&
            !add_lesson(l, call, o->denials[i].kind, o->denials[i].target, true))
            return false;
    return true;
}

static bool add_reached(struct tc_strv *list, const struct tc_outcome *o)
{
    for (size_t i = 0; i < o->destination_count; i++)
        if (o->destinations[i].target && !tc_strv_add(list, o->destinations[i].target))
            return false;
    return true;
}

static bool add_endpoints(struct tc_strv *list, const struct tc_outcome *o, bool *ret_unix)
{
    for (size_t i = 0; i < o->denial_count; i++) {
        const struct tc_denial *d = &o->denials[i];
        *ret_unix = *ret_unix || (!d->probe && d->kind == TC_DENIAL_UNIX);
        if (tc_denial_row(d->kind)->key && d->target && !d->probe && !tc_strv_add(list, d->target))
            return false;
    }
    return true;
}

/* ---- starting programs ---- */

/* One path on the way to a program. A link is granted with its directory: then the cage resolves
 * it, and a later change of the link adds no host path. */
static bool add_hop(struct tc_lesson *l, const struct tc_grant *grant, const char *path)
{
    _autofree_ char *link = strdup(path);
    bool whole = link && cut_at_link(grant, link);
    _autofree_ char *parent = whole ? tc_path_parent(link) : NULL;
    if (!link || (whole && !parent))
        return false;
    if (!sayable(path) || tc_credential_path(path))
        return true;
    whole = whole && !tc_learn_wide(l, parent);
    struct tc_touched *t = TC_PUSH(l->touched, l->count);
    if (!t)
        return false;
    *t = (struct tc_touched){.path = whole ? TAKE(parent) : TAKE(link),
                             .how = whole ? TC_TOUCH_READ : TC_TOUCH_EXEC,
                             .there = true,
                             .directory = whole};
    return true;
}

/* A program's start reads files without a system call of the tool, so they are not in the
 * recorded accesses: the links to the program, and the interpreter of each script. All were
 * granted in the run. */
static bool add_start(struct tc_lesson *l, const struct tc_grant *grant,
                      const struct tc_grant *programs, const char *command)
{
    _auto_(tc_exec_check_done) struct tc_exec_check starts = {0};
    bool fine = tc_exec_check_of_grant(grant, l->home, command, &starts);
    for (size_t i = 0; fine && !starts.missing && i < starts.hops.count; i++)
        if (!brought(programs, starts.hops.items[i]))
            fine = add_hop(l, grant, starts.hops.items[i]);
    return fine;
}

static bool add_starts(struct tc_lesson *l, const struct toolcage_call *call,
                       const struct tc_grant *programs)
{
    const struct tc_outcome *o = &call->result->outcome;
    const char *command = call->grant.argv.count ? call->grant.argv.items[0] : "";
    _autofree_ char *first = strchr(command, '/') ? tc_path_absolute(l->cwd, command) : strdup("");
    bool fine = first && (!*first || add_start(l, &call->grant, programs, first));
    for (size_t i = 0; fine && i < o->access_count; i++)
        if (o->accesses[i].kind == TC_DENIAL_EXEC && o->accesses[i].target &&
            o->accesses[i].target[0] == '/')
            fine = add_start(l, &call->grant, programs, o->accesses[i].target);
    return fine;
}

/* ---- the call's settings ---- */

/* The call's variables, and which of them the caller has with the same value. */
static bool add_given(const struct toolcage_call *call, const struct tc_facts *facts,
                      struct tc_strv *env, struct tc_strv *passed)
{
    for (size_t i = 0; i < call->narrow_count; i++) {
        const char *pair = call->narrow[i].value, *equals = strchr(pair, '=');
        if (!tc_streq(call->narrow[i].key, "env"))
            continue;
        _autofree_ char *name = equals ? strndup(pair, (size_t)(equals - pair)) : strdup(pair);
        const char *own = name ? tc_variable(facts->environ, name) : NULL;
        bool same = !equals || tc_streq(own, equals + 1);
        _autofree_ char *whole = equals || !own ? strdup(pair) : tc_format("%s=%s", pair, own);
        if (!name || !whole || !tc_strv_add(env, whole) || (same && !tc_strv_add(passed, whole)))
            return false;
    }
    return true;
}

/* "ls" of "/bin/ls"; characters that a tool's name cannot contain become "_". Owned. */
static char *name_of(const struct tc_strv *argv)
{
    enum { NAME_MOST = 64 };
    const char *base = argv->count ? strrchr(argv->items[0], '/') : NULL;
    base = base ? base + 1 : argv->count ? argv->items[0] : "";
    char *name = strndup(base, NAME_MOST);
    for (char *c = name; c && *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            *c = '_';
    if (name && (!name[0] || !isalpha((unsigned char)name[0]))) {
        free(name);
        return strdup("learned");
    }
    return name;
}

/* The file of a program in no directory of the fixed PATH: the policy must name it. Owned; NULL:
 * it needs no name. */
static char *find_unsearched(const char *name)
{
    const char *path = getenv("PATH");
    _autofree_ char *file = strchr(name, '/') ? NULL : tc_program_find(path ? path : "", name);
    _autofree_ char *bin = file ? tc_path_parent(file) : NULL;
    return bin && !tc_system_path_searched(bin) ? TAKE(file) : NULL;
}

/* Programs that the tool found on the call's PATH in system directories, which the fixed PATH
 * lacks. */
static bool add_found(const struct tc_outcome *o, struct tc_strv *programs)
{
    for (size_t i = 0; i < o->access_count; i++) {
        const char *target = o->accesses[i].kind == TC_DENIAL_EXEC ? o->accesses[i].target : NULL;
        const char *name = target && tc_system_path_find(target) ? tc_path_base(target) : "";
        _autofree_ char *file = name[0] ? find_unsearched(name) : NULL;
        if (file && tc_streq(file, target) && !tc_strv_has(programs, name) &&
            !tc_strv_add(programs, name))
            return false;
    }
    return true;
}

/* Three times the run's usage, where that exceeds the defaults. NULL in *ret: it does not. */
static bool limits(const struct tc_outcome *o, char **ret_timeout, char **ret_memory)
{
    enum { TIMES = 3, TIMEOUT_MS = 30000, MEMORY_MIB = 512 };
    int64_t ms = o->wall_us / 1000 * TIMES, mib = (o->memory_peak >> 20) * TIMES;
    if (ms > TIMEOUT_MS && !(*ret_timeout = tc_format("%llds", (long long)(ms / 1000 + 1))))
        return false;
    return mib <= MEMORY_MIB || (*ret_memory = tc_format("%lldMiB", (long long)mib));
}

static char *ending_of(const struct toolcage_call *call)
{
    const struct tc_outcome *o = &call->result->outcome;
    if (o->status == TOOLCAGE_STATUS_OK)
        return strdup("");
    if (o->status == TOOLCAGE_STATUS_FAILED && !o->signal)
        return tc_format("exit code %lld", (long long)o->exit_code);
    return strdup(tc_status_word(o->status));
}

/* Resolves a grant that consists of the programs alone. */
static int resolve_programs(const struct toolcage_call *call, const struct tc_facts *facts,
                            struct tc_grant *ret, struct toolcage_error **err)
{
    const char *command = call->grant.argv.count ? call->grant.argv.items[0] : "";
    _autofree_ char *file = find_unsearched(command);
    if (!tc_strv_copy(&ret->programs, &call->grant.programs) ||
        (file && !tc_strv_add(&ret->programs, command)) ||
        !add_found(&call->result->outcome, &ret->programs))
        return tc_fail_memory(err);
    return tc_programs_extend(call->policy, facts, ret, err);
}

static char *write_policy(const struct toolcage_call *call, const char *name,
                          struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings around = {0};
    _auto_(tc_grant_done) struct tc_grant programs = {0};
    _autostrv_ struct tc_strv endpoints = {0}, reached = {0}, env = {0}, passed = {0};
    _autofree_ char *own = name ? strdup(name) : name_of(&call->grant.argv);
    _autofree_ char *ending = ending_of(call);
    _autofree_ char *timeout = NULL, *memory = NULL;
    struct tc_lesson l = {.name = own,
                          .ending = ending,
                          .argv = &call->grant.argv,
                          .env = &env,
                          .passed = &passed,
                          .system = call->grant.system,
                          .reached = &reached,
                          .endpoints = &endpoints};
    if (tc_surroundings_gather(&around, err) < 0 ||
        resolve_programs(call, &around.facts, &programs, err) < 0)
        return NULL;
    l.cwd = call->grant.caller_cwd ? call->grant.caller_cwd : around.cwd;
    l.home = around.home;
    bool fine = own && ending && add_touched(&l, call, &programs) &&
                add_starts(&l, call, &programs) && add_given(call, &around.facts, &env, &passed) &&
                add_reached(&reached, &call->result->outcome) &&
                add_endpoints(&endpoints, &call->result->outcome, &l.unix_sockets) &&
                limits(&call->result->outcome, &timeout, &memory);
    l.timeout = timeout;
    l.memory = memory;
    l.programs = &programs.programs;
    char *text = fine ? tc_learn_write(&l) : NULL;
    for (size_t i = 0; i < l.count; i++)
        free(l.touched[i].path);
    free(l.touched);
    if (!text)
        (void)tc_fail_memory(err);
    return text;
}

int tc_call_learned_policy(const struct toolcage_call *call, const char *name, char **ret_policy,
                           struct toolcage_error **err)
{
    struct tc_why why = {.code = TOOLCAGE_EUSAGE, .stage = "learn", .subject = "call"};
    if (!call->result)
        return tc_fail(err, &why, "the call has not ended yet");
    why.hint = "set \"denials\" to \"accesses\" before it starts";
    if (call->grant.denials != TC_DENIALS_ACCESSES)
        return tc_fail(err, &why, "the call did not record what it touched");
    why.subject = name;
    why.hint = "letters, digits, _ and -, beginning with a letter";
    if (name && !tc_policy_tool_name(name))
        return tc_fail(err, &why, "\"%.80s\" cannot be the name of a tool", name);
    *ret_policy = write_policy(call, name, err);
    if (*ret_policy)
        return 0;
    return err && *err ? tc_error_code(*err) : TOOLCAGE_EMEMORY;
}
