/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Decides whether a grant allows a path, host or variable, and by which line. */
#include <stdio.h>
#include <string.h>

#include "base/display.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/explain/explain.h"
#include "policy/names/system_paths.h"
#include "policy/pathrule.h"

void tc_verdict_done(struct tc_verdict *v)
{
    char *texts[] = {v->target, v->key, v->entry, v->reason, v->hint};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    memset(v, 0, sizeof(*v));
}

/* Fills the verdict, except its target. hint may be NULL. */
static int decide(struct tc_verdict *v, bool allowed, const char *key, uint32_t line,
                  const char *hint, char *reason, struct toolcage_error **err)
{
    v->allowed = allowed;
    v->line = line;
    v->key = strdup(key ? key : "");
    v->hint = strdup(hint ? hint : "");
    v->reason = reason;
    return v->key && v->hint && v->reason && v->target && !v->half ? 0 : tc_fail_memory(err);
}

static const struct tc_spec *spec_of(const struct toolcage_policy *policy,
                                     const struct tc_grant *grant)
{
    const struct tc_spec *tool = grant->tool ? tc_policy_tool(policy, grant->tool) : NULL;
    return tool ? tool : &policy->defaults;
}

/* Records the deciding entry before decide() is called, which reports a failed copy. */
static bool by_entry(struct tc_verdict *v, const char *entry)
{
    v->entry = strdup(entry);
    return v->entry != NULL;
}

/* No entry grants the access: names the key that could, and its line if it is set. */
static int decide_missing(const struct toolcage_policy *policy, const struct tc_grant *grant,
                          enum tc_key_id id, const char *key, const char *hint, char *reason,
                          struct tc_verdict *v, struct toolcage_error **err)
{
    const struct tc_spec *tool = grant->tool ? tc_policy_tool(policy, grant->tool) : NULL;
    const struct tc_spec *said = tc_policy_given(policy, tool, id);
    _autofree_ char *full = tc_spec_key(said ? said : spec_of(policy, grant), key);
    if (!full) {
        free(reason);
        return tc_fail_memory(err);
    }
    return decide(v, false, full, said ? said->said[id] : 0, hint, reason, err);
}

/* The base of a relative path. */
static const char *start_directory(const struct toolcage_policy *policy,
                                   const struct tc_grant *grant)
{
    const char *shown = tc_grant_shows(grant, TC_WORKSPACE) ? TC_WORKSPACE : policy->dir;
    return grant->cwd ? grant->cwd : shown;
}

/* Paths that need no entry: system directories, private storage, the cage's own /proc and /dev. */
static const char *always(const struct tc_grant *grant, const char *path, bool write)
{
    const struct tc_system_path *row = tc_system_path_find(path);
    if (tc_device_path(path))
        return "the cage has this device";
    if (tc_system_path_private(path))
        return "private to the cage and deleted after the call";
    if (write)
        return NULL;
    if (row)
        return row->made ? "the cage has a private one" : "system directories are readable";
    if (tc_system_shows(grant->system, path))
        return "an installed package owns it, every user may read it, and no rule closes its name";
    return tc_path_within("/proc", path) ? "the cage's own /proc" : NULL;
}

/* Extends the reason if the path is next to a writable path: should that be a file, its directory
 * is private storage in the cage. Only the cage knows whether it is a file. Takes ownership of the
 * reason; returns the new one, owned, or NULL: out of memory. */
static char *beside(const struct tc_grant *grant, const char *path, char *reason)
{
    for (size_t i = 0; reason && i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        _autofree_ char *dir = e->access == TC_ACCESS_WRITE ? tc_path_parent(e->path) : NULL;
        if (!dir || tc_path_within(e->path, path) || !tc_path_within(dir, path))
            continue;
        char *longer = tc_format(
            "%s; next to %s, if that is a file, it would be private and deleted after the call",
            reason, e->path);
        free(reason);
        return longer;
    }
    return reason;
}

static const struct tc_fs_entry *find_entry(const struct tc_grant *grant, struct tc_verdict *v)
{
    const struct tc_fs_entry *entry = tc_grant_find(grant, v->target);
    v->half = entry && !by_entry(v, entry->path);
    return entry;
}

char *tc_path_clause(const struct toolcage_policy *policy, const char *path, bool write)
{
    _autobuf_ struct tc_buf clause = TC_BUF_INIT;
    bool callers = tc_policy_is_callers(policy);
    _autofree_ char *word = callers ? tc_shell_quote(path) : NULL;
    if (callers)
        return word ? tc_format("--%s %s", write ? "write" : "read", word) : NULL;
    tc_buf_addf(&clause, "filesystem.%s = [", write ? "writable" : "readable");
    tc_toml_string(&clause, path);
    tc_buf_addc(&clause, ']');
    return tc_buf_steal(&clause);
}

static char *socket_clause(const struct toolcage_policy *policy, const char *path)
{
    _autobuf_ struct tc_buf clause = TC_BUF_INIT;
    _autofree_ char *word = policy->is_default ? tc_shell_quote(path) : NULL;
    if (policy->is_default)
        return word ? tc_format("--unix-sockets %s", word) : NULL;
    tc_buf_adds(&clause, "unix_sockets = [");
    tc_toml_string(&clause, path);
    tc_buf_addc(&clause, ']');
    return tc_buf_steal(&clause);
}

static int judge_path(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *verb, struct tc_verdict *v, struct toolcage_error **err)
{
    bool write = tc_streq(verb, "write");
    const char *path = v->target, *fixed = always(grant, path, write);
    const struct tc_fs_entry *entry = find_entry(grant, v);
    if (entry && entry->access == TC_ACCESS_DENY)
        return decide(v, false, entry->origin.key, entry->origin.line,
                      entry->built_in ? "grant exactly that path if the tool must have it"
                                      : "remove the path from denied",
                      tc_format("%s %s: denied by %s", verb, path,
                                entry->built_in ? "toolcage itself" : "name"),
                      err);
    if (entry && (!write || entry->access == TC_ACCESS_WRITE))
        return decide(v, true, entry->origin.key, entry->origin.line, NULL,
                      entry->argument
                          ? tc_format("%s %s: granted if the model's arguments name it", verb, path)
                          : tc_format("%s %s: granted with %s", verb, path, entry->path),
                      err);
    _autofree_ char *more =
        tc_policy_is_callers(policy) && entry ? tc_path_clause(policy, path, true) : NULL;
    if (entry)
        return decide(
            v, false, entry->origin.key, entry->origin.line,
            more ? more : "move it from readable to writable",
            beside(grant, path, tc_format("%s %s: %s is only readable", verb, path, entry->path)),
            err);
    if (fixed)
        return decide(v, true, NULL, 0, NULL, tc_format("%s %s: %s", verb, path, fixed), err);
    if (write && tc_system_path_find(path))
        return decide(v, false, NULL, 0, "write to a granted path or to /tmp",
                      tc_format("write %s: system directories are read-only in every cage", path),
                      err);
    _autofree_ char *hint = tc_path_clause(policy, path, write);
    return decide_missing(policy, grant, TC_KEY_FILESYSTEM, "filesystem", hint,
                          beside(write ? grant : &(struct tc_grant){0}, path,
                                 tc_format("%s %s: nothing grants it", verb, path)),
                          v, err);
}

/* `text` is "unix:/run/x.sock" or "unix:@name". */
static int judge_socket(const struct toolcage_policy *policy, const struct tc_grant *grant,
                        const char *text, struct tc_verdict *v, struct toolcage_error **err)
{
    const char *path = text + strlen("unix:");
    const struct tc_fs_entry *entry = tc_grant_socket(grant, path);
    const struct tc_fs_entry *file = tc_grant_find(grant, path);
    v->target = strdup(text);
    if (!v->target || (entry && !by_entry(v, entry->path)))
        return tc_fail_memory(err);
    if (entry && file && file->access == TC_ACCESS_DENY)
        return decide(v, false, file->origin.key, file->origin.line,
                      "remove the path from "
                      "denied",
                      tc_format("connect %s: denied by name", text), err);
    const char *risk = entry ? tc_socket_risk(entry->from) : NULL;
    if (entry)
        return decide(v, true, entry->origin.key, entry->origin.line, risk,
                      tc_format("connect %s: granted", text), err);
    bool own = path[0] == '@' || tc_system_path_private(path);
    if (grant->unix_sockets && own)
        return decide(
            v, true, NULL, 0, NULL,
            tc_format("connect %s: a private socket of the cage, if the tool creates it", text),
            err);
    _autofree_ char *hint = !own                 ? socket_clause(policy, path)
                            : policy->is_default ? strdup("--unix-sockets own")
                                                 : strdup("unix_sockets = \"own\"");
    return decide_missing(policy, grant, TC_KEY_UNIX_SOCKETS, "unix_sockets", hint,
                          tc_format("connect %s: %s", text,
                                    grant->unix_sockets ? "not among the granted unix sockets"
                                                        : "the tool has no unix sockets"),
                          v, err);
}

static int judge_connect(const struct toolcage_policy *policy, const struct tc_grant *grant,
                         const char *text, struct tc_verdict *v, struct toolcage_error **err)
{
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry wanted = {0};
    if (tc_startswith(text, "unix:"))
        return judge_socket(policy, grant, text, v, err);
    int rc = tc_endpoint_read(text, &wanted, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_fail_memory(err);
    if (!rc && tc_host_is_pattern(wanted.host)) {
        tc_complain(&c, "ask for one host, as in \"connect api.example.com:443\"",
                    "%.80s is a pattern", wanted.host);
        rc = TOOLCAGE_EPOLICY;
    }
    if (rc)
        return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "explain", text, c.hint), "%s", c.what);
    v->target = tc_endpoint_write(wanted.host, wanted.port);
    if (!v->target)
        return tc_fail_memory(err);
    const struct tc_net_entry *entry =
        tc_endpoint_find(grant->net, grant->net_count, wanted.host, wanted.port);
    if (entry && !(v->entry = tc_endpoint_write(entry->host, entry->port)))
        return tc_fail_memory(err);
    if (entry)
        return decide(v, true, entry->origin.key, entry->origin.line, NULL,
                      tc_format("connect %s: granted%s", v->target,
                                entry->methods.count || entry->paths.count
                                    ? " for some methods or paths"
                                    : ""),
                      err);
    _autofree_ char *hint =
        tc_format(policy->is_default ? "--network %s" : "network = [\"%s\"]", v->target);
    return decide_missing(
        policy, grant, TC_KEY_NETWORK, "network", hint,
        tc_format("connect %s: %s", v->target,
                  grant->net_count ? "not in the allowlist" : "the tool has no network"),
        v, err);
}

/* Looks a program name up in the grant's PATH: the first directory that the tool can read. */
static char *program_path(const struct tc_grant *grant, const char *name)
{
    const char *dirs = tc_strv_value(&grant->env, "PATH");
    for (; dirs && *dirs; dirs += strcspn(dirs, ":") + (dirs[strcspn(dirs, ":")] == ':')) {
        _autofree_ char *path = tc_format("%.*s/%s", (int)strcspn(dirs, ":"), dirs, name);
        const struct tc_fs_entry *entry = path ? tc_grant_find(grant, path) : NULL;
        if (path && (entry ? entry->access != TC_ACCESS_DENY : tc_system_path_find(path) != NULL))
            return TAKE(path);
    }
    return tc_format("/usr/bin/%s", name);
}

static enum tc_clause clause_of(const struct tc_grant *grant, const char *verb, const char *target)
{
    if (tc_streq(verb, "connect"))
        return tc_startswith(target, "unix:") ? TC_CLAUSE_NET_UNIX
               : grant->net_count             ? TC_CLAUSE_NET_ALLOW
                                              : TC_CLAUSE_NET_NONE;
    const struct tc_fs_entry *entry = tc_grant_find(grant, target);
    if (entry && entry->access == TC_ACCESS_DENY)
        return TC_CLAUSE_FS_DENIED;
    return tc_streq(verb, "write") ? TC_CLAUSE_FS_WRITE : TC_CLAUSE_FS_READ;
}

int tc_policy_verdict(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *access, struct tc_verdict *ret, struct toolcage_error **err)
{
    static const char *const verbs[] = {"read", "write", "exec", "connect"};
    struct tc_verdict v = {0};
    struct tc_complaint c = {.hint = "ask as in \"read /data/x.csv\", \"write P\", \"exec P\" or "
                                     "\"connect example.com:443\", \"connect unix:/run/x.sock\""};
    const char *verb = NULL, *what = NULL;
    for (size_t i = 0; i < TC_COUNT(verbs) && !verb; i++)
        if (tc_startswith(access, verbs[i]) && access[strlen(verbs[i])] == ' ') {
            verb = verbs[i];
            what = access + strlen(verb) + 1;
        }
    int rc = 0;
    if (!verb || !*what)
        return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "explain", access, c.hint),
                       "\"%.80s\" is not an access", access);
    if (tc_streq(verb, "connect")) {
        rc = judge_connect(policy, grant, what, &v, err);
    } else {
        if (tc_streq(verb, "exec") && !strchr(what, '/'))
            rc = (v.target = program_path(grant, what)) ? 0 : TOOLCAGE_EMEMORY;
        else
            rc = tc_path_expand(what, start_directory(policy, grant), policy->home, &v.target, &c);
        if (rc == TOOLCAGE_EMEMORY)
            return tc_fail_memory(err);
        if (rc)
            return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "explain", what, c.hint), "%s", c.what);
        rc = judge_path(policy, grant, verb, &v, err);
    }
    if (rc) {
        tc_verdict_done(&v);
        return rc;
    }
    v.clause = clause_of(grant, verb, v.target);
    v.access = access;
    *ret = v;
    return 0;
}

int tc_policy_suppose(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *access, tc_supposer *resolve, void *call, struct tc_verdict *ret,
                      struct tc_grant *ret_grant, struct toolcage_error **err)
{
    _auto_(tc_verdict_done) struct tc_verdict with = {0};
    _auto_(tc_grant_done) struct tc_grant supposed = {0};
    _autoerror_ struct toolcage_error *refused = NULL;
    int rc = tc_policy_verdict(policy, grant, access, ret, err);
    if (rc || ret->allowed || !resolve)
        return rc;
    rc = resolve(call, ret->target, &supposed, &refused);
    if (!rc)
        rc = tc_policy_verdict(policy, &supposed, access, &with, &refused);
    if (rc || !with.allowed)
        return rc == TOOLCAGE_EMEMORY ? tc_fail_memory(err) : 0;
    tc_verdict_done(ret);
    *ret = with;
    with = (struct tc_verdict){0};
    if (!ret_grant)
        return 0;
    tc_grant_done(ret_grant);
    *ret_grant = supposed;
    supposed = (struct tc_grant){0};
    return 0;
}
