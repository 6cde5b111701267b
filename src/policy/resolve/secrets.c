/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Secrets of a grant: names, sources and permitted hosts; never a value. Hides the source of each
 * secret from the tool, whatever else the grant allows. */
#include <string.h>

#include "policy/endpoint.h"
#include "policy/resolve/resolve.h"

#define STAND_IN "toolcage-puts-it-in"

static bool copy_words(struct tc_secret *to, const struct tc_secret *from)
{
    to->line = from->line;
    to->name = strdup(from->name);
    to->from = strdup(from->from);
    to->header = strdup(from->header);
    return to->name && to->from && to->header;
}

bool tc_secret_copy(struct tc_secret *to, const struct tc_secret *from)
{
    return copy_words(to, from) && tc_strv_copy(&to->hosts, &from->hosts);
}

static bool take_secret(struct tc_secret *to, const struct tc_secret *from,
                        const struct tc_grant *grant)
{
    for (size_t i = 0; i < from->hosts.count; i++)
        if (tc_secret_reaches(grant->net, grant->net_count, from->hosts.items[i]) &&
            !tc_strv_add(&to->hosts, from->hosts.items[i]))
            return false;
    return copy_words(to, from);
}

static int compare_secrets(const void *a, const void *b)
{
    return strcmp(((const struct tc_secret *)a)->name, ((const struct tc_secret *)b)->name);
}

/* Marks the endpoints that receive the secret: the proxy inspects their requests. */
static void mark_entries(struct tc_grant *grant, const struct tc_secret *secret)
{
    for (size_t i = 0; i < secret->hosts.count; i++)
        for (size_t n = 0; n < grant->net_count; n++)
            grant->net[n].secret |= tc_secret_goes_to(secret->hosts.items[i], &grant->net[n]);
}

/* Some programs refuse to work without their variable, so it gets a worthless value. The proxy sets
 * the real one, whatever the program sends. */
static bool stand_in(struct tc_grant *grant, const struct tc_secret *secret)
{
    return tc_strv_value(&grant->env, secret->name) ||
           tc_strv_put(&grant->env, secret->name, STAND_IN);
}

/* Refuses a secret whose file is granted to the tool, and hides the file if its directory is
 * granted. (The parser refuses to pass a variable that is a secret's source.) */
static int keep_out(struct tc_resolve *r, const struct tc_secret *secret)
{
    if (!tc_startswith(secret->from, "file:"))
        return 0;
    const char *path = secret->from + strlen("file:");
    for (size_t i = 0; i < r->grant->fs_count; i++)
        if (tc_streq(r->grant->fs[i].from, path))
            return tc_resolve_refuse(
                r, TOOLCAGE_EDENIED, secret->name, secret->line, "take the file out of filesystem",
                "the tool would see the secret %s: its file is granted", secret->name);
    return tc_resolve_hide(r, path, "where a secret is kept");
}

/* The upstream proxy's credentials are handled like a secret, but sent to no host of the grant. */
static int take_credentials(struct tc_resolve *r)
{
    static const char header[] = "Proxy-Authorization: Basic " TC_SECRET_PLACE;
    struct tc_grant *grant = r->grant;
    const struct tc_secret said = {.name = (char *)(uintptr_t)TC_UPSTREAM_SECRET,
                                   .from = r->policy->upstream_from,
                                   .header = (char *)(uintptr_t)header,
                                   .line = r->policy->upstream_from_line};
    if (!said.from || !r->policy->upstream.host || !grant->net_count)
        return 0;
    struct tc_secret *to = TC_PUSH(grant->secrets, grant->secret_count);
    return to && copy_words(to, &said) ? keep_out(r, to) : tc_resolve_memory(r);
}

/* Runs after narrowing: a call gets only the secrets of hosts that it can reach. */
int tc_resolve_secrets(struct tc_resolve *r)
{
    struct tc_grant *grant = r->grant;
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_SECRETS);
    for (size_t i = 0; said && i < said->secret_count; i++) {
        struct tc_secret *to = TC_PUSH(grant->secrets, grant->secret_count);
        if (!to || !take_secret(to, &said->secrets[i], grant))
            return tc_resolve_memory(r);
        if (!to->hosts.count) {
            tc_secret_done(&grant->secrets[--grant->secret_count]);
            continue;
        }
        mark_entries(grant, to);
        int rc = keep_out(r, to);
        if (rc || !stand_in(grant, to))
            return rc ? rc : tc_resolve_memory(r);
    }
    int rc = take_credentials(r);
    if (rc)
        return rc;
    if (grant->secret_count > 1)
        qsort(grant->secrets, grant->secret_count, sizeof(*grant->secrets), compare_secrets);
    return 0;
}
