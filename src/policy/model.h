/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The compiled policy, internal to src/policy: the settings of each tool, the defaults and the
 * servers. */
#ifndef TC_POLICY_MODEL_H
#define TC_POLICY_MODEL_H

#include <jansson.h>
#include <stdatomic.h>

#include "policy/parse/extends.h"
#include "policy/parse/keys.h"
#include "policy/policy.h"
#include "schema/pattern.h"

/* A path that the policy names. */
struct tc_fs_rule {
    char *path; /* as the tool sees it */
    char *from; /* on the host; NULL: below the call's /workspace, or a denied name */
    enum tc_access access;
    bool optional;
    uint32_t line;
};

/* Where a {path} argument may point, or which hosts a host argument may name. */
struct tc_bound {
    enum tc_access access; /* of a path */
    char *path;            /* as the tool sees it; NULL: the bound is a host */
    struct tc_net_entry host;
    uint32_t line;
};

struct tc_argument {
    char *name;
    json_t *schema; /* JSON Schema of the value; read-only once compiled */
    bool optional;
    struct tc_bound *bounds;
    size_t bound_count;
    unsigned types, element_types; /* of its values and of their elements: TC_TYPE_* bits */
    struct tc_pattern **patterns;  /* each pattern of the schema once, sorted */
    size_t pattern_count;
    uint32_t line;
};

/* The settings of one table of the file: [tool.x], [defaults] or [server.x]. said[id] is the line
 * of a key; 0: not set. */
struct tc_spec {
    char *prefix;  /* "tool.x", "defaults" */
    uint32_t line; /* where a tool begins */
    uint32_t said[TC_KEY_COUNT];
    char *name;
    char *description, *title;
    char *url; /* of a server that runs elsewhere; NULL: its command runs here */
    uint32_t url_line;
    struct tc_strv command;
    char *stdin_text;
    struct tc_argument *arguments;
    size_t argument_count;
    struct tc_argument *together; /* schema of all arguments as one object; NULL: none */
    struct tc_fs_rule *fs;
    size_t fs_count;
    struct tc_net_entry *net;
    size_t net_count;
    struct tc_secret *secrets;
    size_t secret_count;
    bool unix_sockets; /* the tool may create its own; and these of the host */
    struct tc_fs_rule *sockets;
    size_t socket_count;
    struct tc_limits limits;
    struct tc_strv env_pass, env_set; /* NAME; NAME=template */
    struct tc_strv caches;            /* names that a review summarises */
    struct tc_strv syscalls_allow, syscalls_deny;
    struct tc_steering steering;
    struct tc_strv fallback, layers; /* backends: candidates in order; nesting, outermost first */
    char *tier, *risk, *backend, *module;
    TC_PLAIN_MAP(TC_PLAIN_MEMBER_, )
    int workspace; /* enum tc_workspace_mode */
    int commit;    /* enum tc_commit */
    tc_clauses without;
    struct tc_spec *setup; /* its install phase, "x.setup"; NULL: none */
    /* Only for an install phase: its target directory (NULL: not an install phase), its input files
     * as the policy spells them, and the policy's part of its cache key. */
    char *into;
    struct tc_strv inputs;
    char *canonical;
    char setup_digest[TC_DIGEST_SIZE];
};

/* The name of the entry for each tool of a server that has no entry of its own. */
#define TC_EACH_TOOL "*"

struct tc_server {
    struct tc_spec spec;
    struct tc_spec *tools; /* single tools, which narrow the server's grant */
    unsigned pass;         /* bits: index into tc_values_pass */
    bool per_call;         /* a fresh server for each call of a tool */
    bool pin;              /* only definitions of tools that a person approved */
    size_t tool_count;
};

/* A row of [tier.X] or [risk.X]. */
struct tc_class {
    char *name, *backend;
    uint32_t line;
};

/* An access that a [[test]] checks. */
struct tc_test_access {
    char *text; /* "read /data/x.csv" */
    bool allowed;
    uint32_t line;
};

struct tc_test {
    char *tool;
    char *arguments; /* JSON, or NULL */
    char *call;      /* expectation for the call itself, "allowed" or "denied"; NULL: not tested */
    struct tc_test_access *accesses;
    size_t access_count;
    uint32_t line, call_line;
};

struct toolcage_policy {
    atomic_uint refs;
    bool is_default;
    bool is_preset; /* a profile that the caller named: a call's options may widen it */
    char *name, *dir, *home;
    struct tc_spec defaults;
    struct tc_spec *tools;
    size_t tool_count;
    struct tc_server *servers;
    size_t server_count;
    struct tc_strv settings;     /* of the backends, "backend.key=value" */
    struct tc_upstream upstream; /* from [egress]; host NULL: none */
    char *upstream_from;         /* source of its credentials; NULL: none needed */
    uint32_t upstream_from_line;
    int upstream_names; /* index into tc_values_names */
    struct tc_audit_rules audit;
    struct tc_class *tiers, *risks;
    size_t tier_count, risk_count;
    struct tc_test *tests;
    size_t test_count;
    char digest[TC_DIGEST_SIZE];
    /* indexes, built by index.c */
    const struct tc_spec **by_name; /* the tools, sorted */
    size_t named_count;
    /* Paths that any tool can write: on the host, and (by the tool's path) in the call's
     * workspace. */
    struct tc_strv writable, workspace_writable;
    char writable_digest[TC_DIGEST_SIZE]; /* digest of `writable` */
    struct tc_policy_file files[TC_FILES_MAX];
    size_t file_count;
    struct toolcage_policy *ceiling; /* ceiling of every grant; NULL: none */
    uint32_t within;                 /* the line that names the ceiling */
};

/* Build the indexes. The policy's arrays must not change afterwards. False: out of memory. */
bool tc_policy_index_tools(struct toolcage_policy *policy);
bool tc_policy_index_writable(struct toolcage_policy *policy);
/* A tool of the file itself. Borrows; NULL: unknown. */
const struct tc_spec *tc_policy_find_tool(const struct toolcage_policy *policy, const char *name);

/* The install phase "x.setup" of tool x, or "server.y.setup" of server y. Borrows; NULL: none. */
const struct tc_spec *tc_policy_find_setup(const struct toolcage_policy *policy, const char *name);
/* Completes a grant of a tool or an install phase as if all its installs existed. */
int tc_setup_suppose(const struct toolcage_policy *policy, struct tc_grant *grant,
                     struct toolcage_error **err);
/* Does an install phase inherit this key from [defaults]? */
bool tc_setup_inherits(enum tc_key_id id);
/* The spec whose grant a call by this name gets: the tool's; the server's for "server.x" and
 * "server.x.tool.y"; the install phase's for "x.setup". */
const struct tc_spec *tc_policy_tool(const struct toolcage_policy *policy, const char *name);
/* The spec that has the arguments and the tier: like tc_policy_tool(), or the server's single
 * tool. */
const struct tc_spec *tc_policy_asked(const struct toolcage_policy *policy, const char *name);
bool tc_spec_is_server(const struct tc_spec *spec);
/* Is it an install phase? */
bool tc_spec_is_setup(const struct tc_spec *spec);
/* The spec that sets a key for this tool (NULL: a bare command): the tool or [defaults]. NULL: not
 * set. */
const struct tc_spec *tc_policy_given(const struct toolcage_policy *policy,
                                      const struct tc_spec *tool, enum tc_key_id id);
/* The backend: an explicit one, else the tier's, else the risk's, else the one that the image or
 * module needs. Borrows. */
const char *tc_policy_backend(const struct toolcage_policy *policy, const struct tc_spec *tool);
/* A key that can select the backend, with the offset of its value in a tc_spec; 0: no value. */
struct tc_backend_key {
    enum tc_key_id id;
    const char *key;
    size_t word;
};
/* The spec that sets the first of those keys, in the order of tc_policy_backend(), with or without
 * `layers`. *ret is the key's row, static. NULL: not set. */
const struct tc_spec *tc_policy_chooser(const struct toolcage_policy *policy,
                                        const struct tc_spec *tool, bool layers,
                                        const struct tc_backend_key **ret);
/* The spec that sets its layers; NULL: none. */
const struct tc_spec *tc_policy_layers(const struct toolcage_policy *policy,
                                       const struct tc_spec *tool);
/* Where "@sha256:…" begins in a value of `module`; NULL: no digest. */
const char *tc_module_pin(const char *said);
/* The built-in values of absent keys. */
extern const struct tc_limits tc_limits_default;
#define TC_INODES_PER_DISK(bytes) ((bytes) / 4096 > 64 ? (bytes) / 4096 : 64)

/* The first rule that grants write access. `files` may be NULL. Borrows; NULL: none. */
const struct tc_fs_rule *tc_spec_writable(const struct tc_spec *files);
/* The argument with this name of `len` bytes. Borrows; NULL: unknown. */
const struct tc_argument *tc_spec_argument(const struct tc_spec *spec, const char *name,
                                           size_t len);
/* The key of the list that grants this access: "filesystem.readable", ... */
const char *tc_access_list(enum tc_access access);

void tc_spec_done(struct tc_spec *spec);
void tc_fs_entry_done(struct tc_fs_entry *entry);
void tc_secret_done(struct tc_secret *secret);
/* "tool.x.network"; owned, NULL when out of memory. */
char *tc_spec_key(const struct tc_spec *spec, const char *key);

#endif
