/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of backends, those that this version lacks, too: what a policy may name, what
 * stands where it names none, and how they compare. */
#ifndef TC_POLICY_BACKENDS_H
#define TC_POLICY_BACKENDS_H

#include "base/strv.h"
#include "policy/parse/keys.h"

/* What a backend is to its neighbours. */
enum tc_backend_kind {
    TC_BACKEND_NOTHING, /* no walls */
    TC_BACKEND_PROCESS,
    TC_BACKEND_CONTAINER,
    TC_BACKEND_SENTRY,
    TC_BACKEND_MACHINE,
    TC_BACKEND_MODULE,
    TC_BACKEND_CLUSTER
};

struct tc_backend {
    const char *name;
    enum tc_backend_kind kind;
    int strength; /* of two, the larger one holds more; TC_STRENGTH_UNKNOWN: not comparable */
    /* where a policy names no backend: the tiers and risks that it stands for, as bits in the order
     * of their words, and the key that asks for it where there is neither */
    unsigned tiers, risks;
    enum tc_key_id key;
    /* of its table of settings [backend.NAME]; TC_SCOPE_FILE: it has none */
    enum tc_scope scope;
};
#define TC_STRENGTH_UNKNOWN (-1)
/* where nothing in a policy speaks of a backend */
#define TC_BACKEND_DEFAULT "process"

/* Ends with a row whose name is NULL, in the order of tc_values_backend. */
extern const struct tc_backend tc_backends[];
/* By name, or NULL. */
const struct tc_backend *tc_backend_find(const char *name);
int tc_backend_strength(const char *name);
/* Whose cage is these, one within the other; NULL: no backend's of this version. */
const char *tc_backend_of_layers(const struct tc_strv *layers);
/* What the guest of a machine makes of a call, by the grant's layers; without any a process cage.
 */
const char *tc_backend_within(const struct tc_strv *layers);
/* Is what they hold a WebAssembly module? */
bool tc_backend_runs_module(const struct tc_strv *layers);
/* Must a person approve each call of this tier? NULL: no tier was said. */
bool tc_tier_asks(const char *tier);
/* What a tier or a risk stands for where the policy does not say. */
const char *tc_backend_of_tier(const char *tier);
const char *tc_backend_of_risk(const char *risk);

#endif
