/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The unix sockets of a grant: those that the operator names, those that a call keeps, and those
 * that a policy must not name. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/pathrule.h"
#include "policy/resolve/resolve.h"

static bool add_socket(struct tc_grant *grant, const char *path, const char *from, bool optional,
                       const struct tc_origin *origin)
{
    struct tc_fs_entry *to = TC_PUSH(grant->sockets, grant->socket_count);
    if (!to)
        return false;
    *to = (struct tc_fs_entry){.path = strdup(path),
                               .from = strdup(from),
                               .access = TC_ACCESS_CONNECT,
                               .optional = optional,
                               .origin = {.key = strdup(origin->key), .line = origin->line}};
    return to->path && to->from && to->origin.key;
}

int tc_resolve_unix(struct tc_resolve *r)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_UNIX_SOCKETS);
    if (!said)
        return 0;
    _autofree_ char *key = tc_spec_key(said, "unix_sockets");
    if (!key)
        return tc_resolve_memory(r);
    r->grant->unix_sockets = said->unix_sockets;
    for (size_t i = 0; i < said->socket_count; i++) {
        const struct tc_fs_rule *rule = &said->sockets[i];
        _autofree_ char *from =
            rule->from ? strdup(rule->from) : tc_path_move(TC_WORKSPACE, r->workspace, rule->path);
        const struct tc_origin origin = {.key = key, .line = rule->line};
        if (!from || !add_socket(r->grant, rule->path, from, rule->optional, &origin))
            return tc_resolve_memory(r);
    }
    return 0;
}

/* ---- the flag ---- */

void tc_resolve_drop_sockets(struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->socket_count; i++)
        tc_fs_entry_done(&grant->sockets[i]);
    free(TAKE(grant->sockets));
    grant->socket_count = 0;
}

static int refuse_more(struct tc_resolve *r, const char *value)
{
    struct tc_origin origin = {0};
    char hint[300];
    if (!tc_resolve_origin(r, TC_KEY_UNIX_SOCKETS, "unix_sockets", &origin))
        return tc_resolve_memory(r);
    _autofree_ char *key = origin.key;
    (void)snprintf(hint, sizeof(hint), "leave the option out, or let the operator change %s", key);
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, key, origin.line, hint,
                             "unix_sockets %.200s is more than the policy grants: %s is %s", value,
                             key, r->grant->unix_sockets ? "without it" : "none");
}

/* Adds to `kept` the policy's entry for the socket that the flag names; without a policy file, the
 * socket itself. */
static int keep_socket(struct tc_resolve *r, const char *value, struct tc_grant *kept)
{
    struct tc_complaint c;
    _autofree_ char *path = NULL;
    const struct tc_origin flag = {.key = (char *)"the call's option"};
    int rc = tc_path_expand(value, r->facts->cwd ? r->facts->cwd : "/", r->facts->home, &path, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_resolve_memory(r);
    if (rc || (r->operators && !tc_path_grantable(path, path, TC_ACCESS_CONNECT, &c)))
        return tc_resolve_refuse(r, TOOLCAGE_EPOLICY, "unix_sockets", 0, c.hint, "unix_sockets: %s",
                                 c.what);
    const struct tc_fs_entry *entry = tc_grant_socket(r->grant, path);
    if (!entry && !r->operators)
        return refuse_more(r, value);
    bool fine = entry ? add_socket(kept, path, entry->from, entry->optional, &entry->origin)
                      : add_socket(kept, path, path, false, &flag);
    return fine ? 0 : tc_resolve_memory(r);
}

static int keep_all(struct tc_resolve *r, struct tc_grant *kept)
{
    bool none = false;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->request->narrow_count; i++) {
        const struct tc_narrowing *n = &r->request->narrow[i];
        if (!tc_streq(n->key, "unix_sockets"))
            continue;
        none = none || tc_streq(n->value, "none");
        kept->unix_sockets = kept->unix_sockets || !tc_streq(n->value, "none");
        if (!tc_streq(n->value, "none") && !tc_streq(n->value, "own"))
            rc = keep_socket(r, n->value, kept);
    }
    if (!rc && none && kept->unix_sockets)
        return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, "unix_sockets", 0,
                                 "give either none or what to keep",
                                 "unix_sockets none cannot be combined with others");
    if (!rc && kept->unix_sockets && !r->operators && !r->grant->unix_sockets)
        return refuse_more(r, "own");
    return rc;
}

int tc_flag_unix_apply(struct tc_resolve *r, const struct tc_flag *flag, const char *last)
{
    struct tc_grant kept = {0};
    int rc = keep_all(r, &kept);
    if (!rc) {
        tc_resolve_drop_sockets(r->grant);
        r->grant->unix_sockets = kept.unix_sockets;
        r->grant->sockets = TAKE(kept.sockets);
        r->grant->socket_count = kept.socket_count;
        kept.socket_count = 0;
    }
    tc_grant_done(&kept);
    return rc;
}

/* ---- sockets that are never granted ---- */

static int refuse_entry(struct tc_resolve *r, const struct tc_fs_entry *e, const char *hint,
                        const char *why)
{
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, e->origin.key, e->origin.line, hint,
                             "the unix socket %s %s", e->from, why);
}

static int check_entry(struct tc_resolve *r, const struct tc_fs_entry *e)
{
    struct tc_own_place own;
    for (size_t i = 0; tc_resolve_own(r, i, &own); i++)
        if (own.path && tc_path_within(own.path, e->from))
            return refuse_entry(r, e, "name another socket",
                                "is toolcage's own and is never granted");
    for (size_t i = 0; i < r->grant->fs_count; i++)
        if (r->grant->fs[i].access != TC_ACCESS_DENY && tc_streq(r->grant->fs[i].path, e->path))
            return refuse_entry(r, e, "use two names in the cage", "is where a file is granted");
    if (tc_grant_tool_writes(r->grant, e->from))
        return refuse_entry(r, e, "let its server listen in a directory that no tool can write",
                            "is in a directory that a tool can write, and might be that tool's");
    return 0;
}

int tc_resolve_unix_check(struct tc_resolve *r)
{
    int rc = 0;
    if (r->grant->socket_count && !tc_facts_look(r->facts))
        return tc_resolve_memory(r);
    for (size_t i = 0; !rc && i < r->grant->socket_count; i++)
        rc = check_entry(r, &r->grant->sockets[i]);
    return rc;
}

/* ---- risks of known sockets ---- */

const char *tc_socket_risk(const char *from)
{
    static const struct {
        const char *end, *risk;
    } rows[] = {
        {"/docker.sock", "gives root on this host: it starts containers with any mount"},
        {"/podman.sock", "starts containers with any mount"},
        {"/containerd.sock", "gives root on this host: it starts containers with any mount"},
        {"/crio.sock", "gives root on this host: it starts containers with any mount"},
        {"/buildkitd.sock", "gives root on this host: it starts containers"},
        {"/libvirt-sock", "gives root on this host: it starts VMs with any disk"},
        {"/lxd/unix.socket", "gives root on this host: it starts containers with any mount"},
        {"/incus/unix.socket", "gives root on this host: it starts containers with any mount"},
        {"/snapd.socket", "installs programs on this host"},
        {"/systemd/private", "starts host programs outside every cage"},
        {"/system_bus_socket", "can call every service of this host, some of which run programs"},
        {"/bus", "can call every service of the session, some of which run programs"},
        {"/nix/daemon-socket/socket", "builds and installs programs on this host"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (tc_endswith(from, rows[i].end))
            return rows[i].risk;
    return NULL;
}
