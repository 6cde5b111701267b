/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What of the policy refused what the tool was refused, and what would allow it. */
#include <string.h>

#include "base/path.h"
#include "call/host/starts.h"
#include "call/result/result.h"

/* A refused connect is the doing of the network's key or of unix_sockets, wherever that was said.
 */
static bool place_connect(const struct tc_result_frame *frame, struct tc_denial *d)
{
    const char *prefix;
    const char *word = tc_denial_row(d->kind)->key;
    uint32_t line = tc_policy_line(frame->policy, frame->tool, word, &prefix);
    if (!line || d->line > 0)
        return true;
    free(d->key);
    d->key = tc_format("%s.%s", prefix, word);
    d->line = line;
    return d->key != NULL;
}

bool tc_result_verdict(const struct tc_result_frame *frame, const struct tc_denial *d,
                       struct tc_verdict *ret)
{
    const char *verb = tc_denial_row(d->kind)->verb;
    struct toolcage_error *error = NULL;
    if (!verb || !d->target || d->target[0] != '/')
        return false;
    _autofree_ char *access = tc_format("%s %s", verb, d->target);
    int rc = access ? tc_policy_verdict(frame->policy, frame->grant, access, ret, &error) : -1;
    tc_error_free(error);
    if (rc == 0 && ret->allowed)
        tc_verdict_done(ret);
    return rc == 0 && ret->target;
}

/* What of the policy refused a path, and the smallest clause that would allow it. A path that the
 * policy would grant, or cannot name, keeps what the helper said of it. */
static bool place_path(const struct tc_result_frame *frame, struct tc_denial *d)
{
    struct tc_verdict v = {0};
    if (!tc_result_verdict(frame, d, &v))
        return true;
    free(d->key);
    free(d->hint);
    d->key = v.key[0] ? TAKE(v.key) : NULL;
    d->line = v.line;
    d->hint = v.hint[0] ? TAKE(v.hint) : NULL;
    tc_verdict_done(&v);
    return true;
}

/* The search of a program that the cage has, too: the helper saw that it went on, and not whether
 * it found anything. */
static bool is_search(const struct tc_grant *grant, const struct tc_denial *d)
{
    _auto_(tc_starts_done) struct tc_starts starts = {0};
    return d->target && tc_starts_on_path(grant, NULL, tc_path_base(d->target), &starts) &&
           starts.hops.count && !starts.missing;
}

/* What a tool tried and did without. Whoever may have no network asks for names all the same, and
 * where the call ended well it did not need them. */
static bool is_probe(const struct tc_result_frame *frame, const struct tc_outcome *o,
                     const struct tc_denial *d)
{
    if (d->kind == TC_DENIAL_UNRESOLVED)
        return d->probe || o->status == TOOLCAGE_STATUS_OK;
    return d->probe && (d->kind != TC_DENIAL_UNSHOWN || is_search(frame->grant, d));
}

bool tc_result_place_denials(const struct tc_result_frame *frame, struct tc_outcome *o)
{
    for (size_t i = 0; i < o->denial_count; i++) {
        struct tc_denial *d = &o->denials[i];
        d->probe = is_probe(frame, o, d);
        if (!(tc_denial_row(d->kind)->key ? place_connect(frame, d) : place_path(frame, d)))
            return false;
        if (d->probe) { /* nobody should grant it */
            free(d->hint);
            d->hint = NULL;
        }
    }
    return true;
}
