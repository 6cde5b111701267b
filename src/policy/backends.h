/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of backends, including those that this build lacks: the names that a policy may
 * use, the default for each tier and risk, and the order of their strength. */
#ifndef TC_POLICY_BACKENDS_H
#define TC_POLICY_BACKENDS_H

#include "base/strv.h"
#include "policy/parse/keys.h"

/* The kind of isolation. */
enum tc_backend_kind {
    TC_BACKEND_NOTHING, /* no isolation */
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
    int strength; /* the larger of two strengths isolates more; TC_STRENGTH_UNKNOWN: not comparable
                   */
    /* The tiers and risks that select this backend where the policy names none, as bits in the
     * order of their lists of values; and the key that selects it without a tier or risk. */
    unsigned tiers, risks;
    enum tc_key_id key;
    /* scope of its settings table [backend.NAME]; TC_SCOPE_FILE: no such table */
    enum tc_scope scope;
};
#define TC_STRENGTH_UNKNOWN (-1)
/* The backend of a policy in which no key selects one. */
#define TC_BACKEND_DEFAULT "process"

/* Ends with a row whose name is NULL, in the order of tc_values_backend. */
extern const struct tc_backend tc_backends[];
/* By name, or NULL. */
const struct tc_backend *tc_backend_find(const char *name);
int tc_backend_strength(const char *name);
/* The backend that these layers form, outermost first; NULL: none of this version. */
const char *tc_backend_of_layers(const struct tc_strv *layers);
/* The backend that runs inside a VM for a grant with these layers; "process" without layers. */
const char *tc_backend_within(const struct tc_strv *layers);
/* Is the innermost layer a WebAssembly module? */
bool tc_backend_runs_module(const struct tc_strv *layers);
/* Does this tier require a person's approval for each call? NULL: the policy sets no tier. */
bool tc_tier_asks(const char *tier);
/* The built-in backend of a tier or a risk. */
const char *tc_backend_of_tier(const char *tier);
const char *tc_backend_of_risk(const char *risk);

#endif
