/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Inside one resolution: policy x tool x call -> grant. The steps fill the grant in a fixed order,
 * and narrowing comes after everything that grants. */
#ifndef TC_POLICY_RESOLVE_RESOLVE_H
#define TC_POLICY_RESOLVE_RESOLVE_H

#include "base/error.h"
#include "policy/model.h"
#include "policy/parse/keys.h"
#include "schema/schema.h"

struct tc_resolve {
    const struct toolcage_policy *policy;
    const struct tc_spec *tool; /* NULL: a bare command */
    /* whose arguments they are: the tool, or a server's tool, whose grant is the server's */
    const struct tc_spec *asked;
    const struct tc_request *request;
    const struct tc_facts *facts;
    char *workspace;              /* host path of /workspace; owned */
    bool workspace_given;         /* said for this call, not just the working directory */
    bool operators;               /* no policy file: the flags are the operator's grant */
    size_t named;                 /* paths and hosts in them, so far */
    json_t *arguments;            /* checked; paths made absolute; NULL when not given */
    struct tc_limits said_limits; /* before narrowing */
    struct tc_grant *grant;
    struct toolcage_error **err;
};

/* resolve_refuse.c: a refusal with the place in the policy that decides; line 0: no place. Returns
 * code. */
int tc_resolve_refuse(struct tc_resolve *r, int code, const char *subject, uint32_t line,
                      const char *hint, const char *fmt, ...) TC_PRINTF(6, 7);
int tc_resolve_memory(struct tc_resolve *r);
/* Who said a key, "tool.x.timeout" and its line; an unsaid key has line 0. False: out of memory. */
bool tc_resolve_origin(const struct tc_resolve *r, enum tc_key_id id, const char *key,
                       struct tc_origin *ret);

/* filesystem (resolve_fs.c) */
int tc_resolve_fs(struct tc_resolve *r);
/* The host's path for a path of the cage: through the grant, /workspace of the call, or the same
 * name. */
char *tc_resolve_host_path(const struct tc_resolve *r, const char *path);
/* Hides the host's `secret` wherever the grant would show it. */
int tc_resolve_hide(struct tc_resolve *r, const char *secret, const char *why);
/* The places of toolcage's own, in turn; false: no more. A path may be NULL: it has none there. */
struct tc_own_place {
    const char *path, *why;
};
bool tc_resolve_own(const struct tc_resolve *r, size_t i, struct tc_own_place *ret);
/* toolcage's own denials; refuses grants of its state. After narrowing. */
int tc_resolve_masks(struct tc_resolve *r);
int tc_resolve_tool_writable(struct tc_resolve *r);

/* unix sockets (resolve_unix.c), and after everything that grants: are they to be had? */
int tc_resolve_unix(struct tc_resolve *r);
int tc_resolve_unix_check(struct tc_resolve *r);

/* arguments (resolve_arguments.c) and where they go (resolve_command.c) */
int tc_resolve_arguments(struct tc_resolve *r);
int tc_resolve_command(struct tc_resolve *r);
int tc_resolve_env(struct tc_resolve *r);
bool tc_env_put(struct tc_strv *env, const char *name, const char *value);

/* secrets (secrets.c) */
int tc_resolve_secrets(struct tc_resolve *r);

/* narrowing (narrow.c) */
int tc_resolve_narrow(struct tc_resolve *r);
const char *tc_request_last(const struct tc_request *request, const char *key);

/* grant.c */
void tc_grant_sort(struct tc_grant *grant);
tc_clauses tc_grant_clauses(const struct tc_grant *grant);

/* resolve_within.c: the finished grant: no more than the ceiling's for the same call? What cannot
 * be compared is refused. */
int tc_resolve_within(struct tc_resolve *r);

/* ---- narrow.c ---- */

/* One flag of a call: how its text is checked, and how it is applied. */
struct tc_flag {
    const char *name;
    bool (*check)(const struct tc_flag *flag, const char *value, struct tc_complaint *c);
    int (*apply)(struct tc_resolve *r, const struct tc_flag *flag, const char *value);
};

/* Unix sockets (resolve_unix.c): all flags together. */
int tc_flag_unix_apply(struct tc_resolve *r, const struct tc_flag *flag, const char *last);

/* Files (narrow_fs.c): all read and write flags together. */
bool tc_flag_file_check(const struct tc_flag *flag, const char *value, struct tc_complaint *c);
int tc_narrow_files(struct tc_resolve *r);

#endif
