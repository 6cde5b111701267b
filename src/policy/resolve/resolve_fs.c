/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The files of a grant: the policy's entries or, without a policy, the default; and the paths that
 * toolcage denies in every grant (masks): credentials and its own files. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/names/credentials.h"
#include "policy/pathrule.h"
#include "policy/resolve/resolve.h"

char *tc_resolve_host_path(const struct tc_resolve *r, const char *path)
{
    const struct tc_fs_entry *entry = tc_grant_find(r->grant, path);
    if (entry && entry->from)
        return tc_path_move(entry->path, entry->from, path);
    if (tc_path_within(TC_WORKSPACE, path))
        return tc_path_move(TC_WORKSPACE, r->workspace, path);
    return strdup(path);
}

/* Is the working directory the root, a home or above a home? It is then not granted by default. */
static bool too_wide(const struct tc_resolve *r)
{
    const char *homes[] = {r->facts->home, r->facts->real.home};
    bool wide = tc_streq(r->workspace, "/");
    for (size_t i = 0; i < TC_COUNT(homes); i++)
        wide = wide || (homes[i] && homes[i][0] == '/' && tc_path_within(r->workspace, homes[i]));
    return wide;
}

static int refuse_wide(struct tc_resolve *r, const char *key, uint32_t line)
{
    char hint[256];
    (void)snprintf(hint, sizeof(hint),
                   "change to a project directory, or name one with --workspace DIR%s",
                   r->operators ? " or --read DIR" : "");
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, key, line, hint,
                             "the working directory %s is the root or the home directory or above "
                             "it and is not granted by default",
                             r->workspace);
}

static int add_rule(struct tc_resolve *r, const struct tc_spec *spec, const struct tc_fs_rule *rule)
{
    _autofree_ char *key = tc_spec_key(spec, tc_access_list(rule->access));
    _autofree_ char *from = NULL;
    bool denies = rule->access == TC_ACCESS_DENY;
    /* a writable entry of [defaults] is meant for tools: an install writes only to its own
     * directory */
    bool reads = rule->access == TC_ACCESS_WRITE && tc_spec_is_setup(r->tool);
    if (!denies && !rule->from && !r->workspace_given && too_wide(r))
        return refuse_wide(r, key, rule->line);
    if (!denies)
        from =
            rule->from ? strdup(rule->from) : tc_path_move(TC_WORKSPACE, r->workspace, rule->path);
    if (!key || (!denies && !from))
        return tc_resolve_memory(r);
    const struct tc_fs_entry entry = {.path = rule->path,
                                      .from = from,
                                      .access = reads ? TC_ACCESS_READ : rule->access,
                                      .optional = rule->optional,
                                      .origin = {.key = key, .line = rule->line}};
    return tc_grant_add(r->grant, &entry) ? 0 : tc_resolve_memory(r);
}

static int add_rules(struct tc_resolve *r, const struct tc_spec *spec, bool denied_only)
{
    int rc = 0;
    for (size_t i = 0; spec && !rc && i < spec->fs_count; i++)
        if (!denied_only || spec->fs[i].access == TC_ACCESS_DENY)
            rc = add_rule(r, spec, &spec->fs[i]);
    return rc;
}

/* The cage has a private /tmp, and the host's holds files of all programs. */
static int refuse_tmp(struct tc_resolve *r)
{
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, "filesystem", 0,
                             "change to a directory below it; or to grant all of it as /workspace: "
                             "--workspace /tmp",
                             "the working directory /tmp is private in the cage, and the host's is "
                             "not granted by default");
}

/* Without a policy: grants the working directory, or a named workspace, read-only. If it cannot be
 * granted, paths named by flags are enough. */
static int add_default(struct tc_resolve *r)
{
    struct tc_complaint c;
    const char *path = r->workspace_given ? TC_WORKSPACE : r->workspace;
    bool named = tc_request_last(r->request, "read") || tc_request_last(r->request, "write");
    if (tc_streq(path, "/tmp"))
        return named ? 0 : refuse_tmp(r);
    bool wide = !r->workspace_given && too_wide(r);
    if (wide || !tc_path_grantable(path, r->workspace, TC_ACCESS_READ, &c)) {
        if (named)
            return 0;
        return wide ? refuse_wide(r, "filesystem", 0)
                    : tc_resolve_refuse(
                          r, TOOLCAGE_EDENIED, "filesystem", 0,
                          "change to a project directory, or name one with --workspace DIR", "%s",
                          c.what);
    }
    const struct tc_fs_entry entry = {.path = (char *)path,
                                      .from = r->workspace,
                                      .access = TC_ACCESS_READ,
                                      .built_in = true,
                                      .origin = {.key = (char *)"default"}};
    return tc_grant_add(r->grant, &entry) ? 0 : tc_resolve_memory(r);
}

int tc_resolve_fs(struct tc_resolve *r)
{
    const struct tc_spec *spec = tc_policy_given(r->policy, r->tool, TC_KEY_FILESYSTEM);
    bool grants = r->operators || (spec && spec->fs_count) || r->policy->defaults.fs_count;
    if (grants && !tc_facts_look(r->facts))
        return tc_resolve_memory(r);
    if (r->policy->is_default)
        return add_default(r);
    int rc = add_rules(r, spec, false);
    if (!rc && spec != &r->policy->defaults)
        rc = add_rules(r, &r->policy->defaults, true);
    return rc;
}

static const char credential[] = "credentials", closed[] = "a closed directory of a home";

static int add_mask(struct tc_resolve *r, const char *path, const char *why)
{
    const struct tc_fs_entry entry = {.path = (char *)path,
                                      .access = TC_ACCESS_DENY,
                                      .built_in = true,
                                      .own = why != credential && why != closed,
                                      .found = why == closed,
                                      .origin = {.key = (char *)why}};
    return tc_grant_add(r->grant, &entry) ? 0 : tc_resolve_memory(r);
}

int tc_resolve_hide(struct tc_resolve *r, const char *secret, const char *why)
{
    size_t count = r->grant->fs_count;
    for (size_t i = 0; i < count; i++) {
        const struct tc_fs_entry *entry = &r->grant->fs[i];
        if (!entry->from || tc_streq(entry->from, secret) || !tc_path_within(entry->from, secret))
            continue;
        _autofree_ char *path = tc_path_move(entry->from, entry->path, secret);
        if (!path)
            return tc_resolve_memory(r);
        int rc = add_mask(r, path, why);
        if (rc)
            return rc;
    }
    return 0;
}

/* Does the policy (not an argument) grant exactly this path? */
static bool named_exactly(const struct tc_grant *grant, const char *secret)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (!grant->fs[i].argument && tc_streq(grant->fs[i].from, secret))
            return true;
    return false;
}

/* Refuses an argument's path in a credential directory, because a model chose it; unless the
 * directory in which the policy allows such paths is itself in there. */
static int check_values(struct tc_resolve *r, const char *secret)
{
    for (size_t i = 0; i < r->grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &r->grant->fs[i];
        if (entry->argument && tc_path_within(secret, entry->from) &&
            !tc_path_within(secret, entry->bound))
            return tc_resolve_refuse(
                r, TOOLCAGE_EARGUMENTS, entry->origin.key, entry->origin.line,
                "name another path; only a policy that names exactly this path grants "
                "credentials",
                "\"%s\" holds credentials", entry->path);
    }
    return 0;
}

/* Does the grant include the home, a path in it or a directory above it? Other homes, of which
 * there may be many, need no masks. */
static bool meets(const struct tc_grant *grant, const char *home)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].from &&
            (tc_path_within(grant->fs[i].from, home) || tc_path_within(home, grant->fs[i].from)))
            return true;
    return false;
}

static int mask_credentials(struct tc_resolve *r, const char *home)
{
    int rc = 0;
    if (!home || home[0] != '/' || !meets(r->grant, home))
        return 0;
    for (size_t i = 0; !rc && tc_credential_places[i]; i++) {
        _autofree_ char *secret = tc_path_join(home, tc_credential_places[i]);
        if (!secret)
            return tc_resolve_memory(r);
        rc = check_values(r, secret);
        if (!rc && !named_exactly(r->grant, secret))
            rc = tc_resolve_hide(r, secret, credential);
    }
    return rc;
}

static bool is_granted(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].from && tc_path_within(grant->fs[i].from, path))
            return true;
    return false;
}

/* Masks the directories of a granted home that facts->closed() lists (most hidden ones), except
 * those that an entry names: no list of credentials is complete. */
static int mask_closed(struct tc_resolve *r, const char *home)
{
    _autostrv_ struct tc_strv places = {0};
    int rc = 0;
    if (!r->facts->closed || !is_granted(r->grant, home))
        return 0;
    if (!r->facts->closed(home, &places))
        return tc_resolve_refuse(r, TOOLCAGE_EDENIED, "filesystem", 0,
                                 "grant the directories in it that the tool works on",
                                 "the home directory %s is granted and cannot be listed", home);
    for (size_t i = 0; i < places.count && !rc; i++)
        if (!named_exactly(r->grant, places.items[i]))
            rc = tc_resolve_hide(r, places.items[i], closed);
    return rc;
}

/* Masks credentials and hidden directories in every known home. */
static int mask_homes(struct tc_resolve *r)
{
    const struct tc_strv *homes = r->facts->homes;
    int rc = 0;
    if (r->facts->homeless && r->grant->fs_count)
        return tc_resolve_refuse(r, TOOLCAGE_EDENIED, "filesystem", 0,
                                 "set HOME to the caller's home directory",
                                 "no home directory is known for this caller, so its credentials "
                                 "cannot be distinguished from other files");
    for (size_t i = 0; homes && i < homes->count && !rc; i++) {
        rc = mask_credentials(r, homes->items[i]);
        if (!rc)
            rc = mask_closed(r, homes->items[i]);
    }
    if (!homes)
        rc = mask_credentials(r, r->facts->home);
    if (!homes && !rc)
        rc = mask_credentials(r, r->facts->real.home);
    return rc;
}

/* Masks one of toolcage's directories: a tool that could write there would change the grants of
 * later calls. Refuses a grant of a path in it. */
static int mask_own(struct tc_resolve *r, const char *own, const char *why)
{
    for (size_t i = 0; own && i < r->grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &r->grant->fs[i];
        if (entry->from && !entry->setup && tc_path_within(own, entry->from))
            return tc_resolve_refuse(r, TOOLCAGE_EDENIED, entry->origin.key, entry->origin.line,
                                     "grant another directory", "%s is %s and is never granted",
                                     entry->from, why);
    }
    return own ? tc_resolve_hide(r, own, why) : 0;
}

bool tc_resolve_own(const struct tc_resolve *r, size_t i, struct tc_own_place *ret)
{
    static const char state[] = "toolcage's own state", config[] = "toolcage's own configuration",
                      images[] = "toolcage's store of images";
    const struct tc_own_place own[] = {
        {r->facts->state, state},
        {r->facts->real.state, state},
        {r->facts->config, config},
        {r->facts->real.config, config},
        {r->facts->images, images},
        {r->facts->real.images, images},
        {"/run/toolcage", state},
        {"/var/run/toolcage", state}, /* on most systems a link to /run/toolcage */
        {"/var/lib/toolcage", state}, /* installs and images of root */
    };
    if (i >= TC_COUNT(own))
        return false;
    *ret = own[i];
    return true;
}

int tc_resolve_masks(struct tc_resolve *r)
{
    if (!r->grant->fs_count) /* nothing to mask */
        return 0;
    if (!tc_facts_look(r->facts))
        return tc_resolve_memory(r);
    int rc = 0;
    struct tc_own_place own;
    for (size_t i = 0; !rc && tc_resolve_own(r, i, &own); i++)
        rc = mask_own(r, own.path, own.why);
    return rc ? rc : mask_homes(r);
}

int tc_resolve_tool_writable(struct tc_resolve *r)
{
    const struct tc_strv *in_workspace = &r->policy->workspace_writable;
    struct tc_strv *list = &r->grant->tool_writable;
    bool fine = true;
    r->grant->policy = tc_policy_ref((struct toolcage_policy *)r->policy);
    for (size_t i = 0; fine && i < in_workspace->count; i++)
        fine = tc_strv_take(list, tc_path_move(TC_WORKSPACE, r->workspace, in_workspace->items[i]));
    /* the writable paths of this call, which flags may have added */
    for (size_t i = 0; fine && i < r->grant->fs_count; i++)
        if (r->grant->fs[i].access == TC_ACCESS_WRITE)
            fine =
                tc_strv_add(&r->grant->tool_writable,
                            r->grant->fs[i].bound ? r->grant->fs[i].bound : r->grant->fs[i].from);
    return fine ? 0 : tc_resolve_memory(r);
}
