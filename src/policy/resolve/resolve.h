/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Internals of one resolution: policy x tool x call -> grant. The steps fill the grant in a fixed
 * order; narrowing follows every step that grants. */
#ifndef TC_POLICY_RESOLVE_RESOLVE_H
#define TC_POLICY_RESOLVE_RESOLVE_H

#include "base/error.h"
#include "policy/model.h"
#include "policy/parse/keys.h"
#include "schema/schema.h"

struct tc_resolve {
    const struct toolcage_policy *policy;
    const struct tc_spec *tool; /* NULL: a bare command */
    /* The spec of the arguments: the tool, or a server's tool, whose grant is the server's. */
    const struct tc_spec *asked;
    const struct tc_request *request;
    const struct tc_facts *facts;
    char *workspace;              /* host path of /workspace; owned */
    bool workspace_given;         /* set for this call, not just the working directory */
    bool operators;               /* no policy file: the flags are the operator's, and may widen */
    size_t named;                 /* number of paths and hosts in the arguments so far */
    json_t *arguments;            /* checked, with absolute paths; NULL: not given */
    struct tc_limits said_limits; /* the limits before narrowing */
    struct tc_grant *grant;
    struct toolcage_error **err;
};

/* resolve_refuse.c: a refusal with the location of the deciding line; line 0: no location. Returns
 * code. */
int tc_resolve_refuse(struct tc_resolve *r, int code, const char *subject, uint32_t line,
                      const char *hint, const char *fmt, ...) TC_PRINTF(6, 7);
int tc_resolve_memory(struct tc_resolve *r);
/* The key as the policy names it, "tool.x.timeout", and its line (0: not set). False: out of
 * memory. */
bool tc_resolve_origin(const struct tc_resolve *r, enum tc_key_id id, const char *key,
                       struct tc_origin *ret);

/* The next step for an option that would widen the key: the operator's edit. Owned. */
char *tc_resolve_change_hint(const struct tc_resolve *r, const struct tc_origin *origin,
                             const char *name);

/* filesystem (resolve_fs.c) */
int tc_resolve_fs(struct tc_resolve *r);
/* The host path of a path in the cage: through the grant, or below the call's /workspace, else the
 * same path. */
char *tc_resolve_host_path(const struct tc_resolve *r, const char *path);
/* Masks the host path `secret` wherever the grant would show it. */
int tc_resolve_hide(struct tc_resolve *r, const char *secret, const char *why);
/* toolcage's own paths, by index; false: no more. `path` may be NULL: not set in the facts. */
struct tc_own_place {
    const char *path, *why;
};
bool tc_resolve_own(const struct tc_resolve *r, size_t i, struct tc_own_place *ret);
/* Adds toolcage's own masks; refuses grants of its state. Runs after narrowing. */
int tc_resolve_masks(struct tc_resolve *r);
int tc_resolve_tool_writable(struct tc_resolve *r);

/* Unix sockets (resolve_unix.c); and after all granting steps: can they be provided? */
int tc_resolve_unix(struct tc_resolve *r);
int tc_resolve_unix_check(struct tc_resolve *r);

/* Arguments (resolve_arguments.c), and the strings that contain them (resolve_command.c). */
int tc_resolve_arguments(struct tc_resolve *r);
int tc_resolve_command(struct tc_resolve *r);
int tc_resolve_env(struct tc_resolve *r);

/* secrets (secrets.c) */
int tc_resolve_secrets(struct tc_resolve *r);

/* narrowing (narrow.c) */
int tc_resolve_narrow(struct tc_resolve *r);
const char *tc_request_last(const struct tc_request *request, const char *key);

/* policy/grant.c */
void tc_grant_sort(struct tc_grant *grant);
tc_clauses tc_grant_clauses(const struct tc_grant *grant);

/* resolve_within.c: does the finished grant stay within the ceiling's grant for the same call?
 * Differences without an order are refused. */
int tc_resolve_within(struct tc_resolve *r);

/* ---- narrow.c ---- */

/* A flag of a call: how its value is checked and applied. */
struct tc_flag {
    const char *name;
    bool (*check)(const struct tc_flag *flag, const char *value, struct tc_complaint *c);
    int (*apply)(struct tc_resolve *r, const struct tc_flag *flag, const char *value);
};

/* Unix sockets (resolve_unix.c): all flags together. */
/* Takes all granted unix sockets out of the grant. */
void tc_resolve_drop_sockets(struct tc_grant *grant);
int tc_flag_unix_apply(struct tc_resolve *r, const struct tc_flag *flag, const char *last);

/* Files (narrow_fs.c): all read and write flags together. */
bool tc_flag_file_check(const struct tc_flag *flag, const char *value, struct tc_complaint *c);
int tc_narrow_files(struct tc_resolve *r);

#endif
