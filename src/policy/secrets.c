/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Secrets of a grant: names, sources and where they may go; never a value. */
#include <string.h>

#include "policy/resolve.h"

void tc_secret_done(struct tc_secret *secret)
{
    tc_fields_done(&tc_secret_fields, secret);
}

static bool copy_secret(struct tc_secret *to, const struct tc_secret *from,
                        const struct tc_grant *grant)
{
    to->line = from->line;
    to->name = strdup(from->name);
    to->from = strdup(from->from);
    to->header = strdup(from->header);
    for (size_t i = 0; i < from->hosts.count; i++)
        if (tc_secret_reaches(grant->net, grant->net_count, from->hosts.items[i]) &&
            !tc_strv_add(&to->hosts, from->hosts.items[i]))
            return false;
    return to->name && to->from && to->header;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct tc_secret *)a)->name, ((const struct tc_secret *)b)->name);
}

/* After narrowing: what the call cannot reach it has no secret for. */
int tc_resolve_secrets(struct tc_resolve *r)
{
    struct tc_grant *grant = r->grant;
    const struct tc_spec *said = tc_policy_said(r->policy, r->tool, TC_KEY_SECRETS);
    for (size_t i = 0; said && i < said->secret_count; i++) {
        struct tc_secret *to = TC_PUSH(grant->secrets, grant->secret_count);
        if (!to || !copy_secret(to, &said->secrets[i], grant))
            return tc_resolve_memory(r);
        if (!to->hosts.count)
            tc_secret_done(&grant->secrets[--grant->secret_count]);
    }
    if (grant->secret_count > 1)
        qsort(grant->secrets, grant->secret_count, sizeof(*grant->secrets), compare);
    return 0;
}
