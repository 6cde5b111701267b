/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The compiled policy from inside src/policy: what each tool, the defaults and the servers said. */
#ifndef TC_POLICY_MODEL_H
#define TC_POLICY_MODEL_H

#include <jansson.h>
#include <stdatomic.h>

#include "policy/parse/extends.h"
#include "policy/parse/keys.h"
#include "policy/policy.h"
#include "schema/pattern.h"

/* One path that the policy names. */
struct tc_fs_rule {
    char *path; /* as the tool sees it */
    char *from; /* on the host; NULL: /workspace of the call, or a denied name */
    enum tc_access access;
    bool optional;
    uint32_t line;
};

/* Where a {path} argument may point, or which hosts a host argument may name. */
struct tc_bound {
    enum tc_access access; /* of a path */
    char *path;            /* as the tool sees it, or NULL: a host */
    struct tc_net_entry host;
    uint32_t line;
};

struct tc_argument {
    char *name;
    json_t *schema; /* JSON Schema of the value; read-only once compiled */
    bool optional;
    struct tc_bound *bounds;
    size_t bound_count;
    unsigned types, element_types; /* of its values, and of their elements: TC_TYPE_* */
    struct tc_pattern **patterns;  /* each that the schema names, once; in order */
    size_t pattern_count;
    uint32_t line;
};

/* What one place of the file ([tool.x], [defaults], [server.x]) says. A key was said when said[id]
 * is its line. */
struct tc_spec {
    char *prefix;  /* "tool.x", "defaults" */
    uint32_t line; /* where a tool begins */
    uint32_t said[TC_KEY_COUNT];
    char *name;
    char *description, *title;
    struct tc_strv command;
    char *stdin_text;
    struct tc_argument *arguments;
    size_t argument_count;
    struct tc_argument *together; /* what all of them must fit, as one object; NULL: nothing */
    struct tc_fs_rule *fs;
    size_t fs_count;
    struct tc_net_entry *net;
    size_t net_count;
    struct tc_secret *secrets;
    size_t secret_count;
    bool unix_sockets; /* the tool's own, and these of the host */
    struct tc_fs_rule *sockets;
    size_t socket_count;
    struct tc_limits limits;
    struct tc_strv env_pass, env_set; /* NAME; NAME=template */
    struct tc_strv caches;            /* what a review need not show */
    struct tc_strv syscalls_allow, syscalls_deny;
    struct tc_steering steering;
    struct tc_strv fallback, layers; /* backends: tried in order; outermost first */
    char *tier, *risk, *backend, *module;
    TC_PLAIN_MAP(TC_PLAIN_MEMBER_, )
    int workspace; /* enum tc_workspace_mode */
    int commit;    /* enum tc_commit */
    tc_clauses without;
    struct tc_spec *setup; /* its install phase, "x.setup"; NULL: none */
    /* of an install phase alone: where it installs (NULL: this is none), from which files, as the
     * policy names them; and what of its cache key the policy's text decides */
    char *into;
    struct tc_strv inputs;
    char *canonical;
    char setup_digest[TC_DIGEST_SIZE];
};

struct tc_server {
    struct tc_spec spec;
    struct tc_spec *tools; /* narrowing of single tools of the server */
    size_t tool_count;
};

/* A row of [tier.X] or [risk.X]. */
struct tc_class {
    char *name, *backend;
    uint32_t line;
};

/* One access that a [[test]] asks for. */
struct tc_test_access {
    char *text; /* "read /data/x.csv" */
    bool allowed;
    uint32_t line;
};

struct tc_test {
    char *tool;
    char *arguments; /* JSON, or NULL */
    char *call;      /* "allowed" or "denied": the call itself; NULL: not asked */
    struct tc_test_access *accesses;
    size_t access_count;
    uint32_t line, call_line;
};

struct toolcage_policy {
    atomic_uint refs;
    bool is_default;
    char *name, *dir, *home;
    struct tc_spec defaults;
    struct tc_spec *tools;
    size_t tool_count;
    struct tc_server *servers;
    size_t server_count;
    struct tc_strv settings;     /* of the backends, "backend.key=value" */
    struct tc_upstream upstream; /* of [egress]; host NULL: none */
    char *upstream_from;         /* where its credentials are; NULL: it needs none */
    uint32_t upstream_from_line;
    int upstream_names; /* index into tc_values_names */
    struct tc_class *tiers, *risks;
    size_t tier_count, risk_count;
    struct tc_test *tests;
    size_t test_count;
    char digest[TC_DIGEST_SIZE];
    /* known beforehand, by index.c */
    const struct tc_spec **by_name; /* the tools, sorted */
    size_t named_count;
    /* where any tool can write: on the host, and by the tool's path in the call's workspace */
    struct tc_strv writable, workspace_writable;
    char writable_digest[TC_DIGEST_SIZE]; /* of the first */
    struct tc_policy_file files[TC_FILES_MAX];
    size_t file_count;
    struct toolcage_policy *ceiling; /* that each grant is held against; NULL: none */
    uint32_t within;                 /* the line that names it */
};

/* False: out of memory. Nothing of the policy is added or moved afterwards. */
bool tc_policy_index_tools(struct toolcage_policy *policy);
bool tc_policy_index_writable(struct toolcage_policy *policy);
/* One of the file's own tools. Borrows; NULL: there is none. */
const struct tc_spec *tc_policy_find_tool(const struct toolcage_policy *policy, const char *name);

/* The install phase "x.setup" of tool x, "server.y.setup" of a server. Borrows; NULL: none. */
const struct tc_spec *tc_policy_find_setup(const struct toolcage_policy *policy, const char *name);
/* A grant of a tool, or of an install, as if everything were installed that the policy names. */
int tc_setup_suppose(const struct toolcage_policy *policy, struct tc_grant *grant,
                     struct toolcage_error **err);
/* Does an install phase take this key over from the defaults? */
bool tc_setup_inherits(enum tc_key_id id);
/* Whose grant a name stands for: a tool's, the server's for "server.x" and for "server.x.tool.y",
 * an install phase's for "x.setup". */
const struct tc_spec *tc_policy_tool(const struct toolcage_policy *policy, const char *name);
/* Whose arguments and tier: the same, or the server's tool. */
const struct tc_spec *tc_policy_asked(const struct toolcage_policy *policy, const char *name);
bool tc_spec_is_server(const struct tc_spec *spec);
/* Is it an install phase? */
bool tc_spec_is_setup(const struct tc_spec *spec);
/* Who said a key for this tool (NULL: a bare command): the tool, the defaults, or NULL: nobody. */
const struct tc_spec *tc_policy_given(const struct toolcage_policy *policy,
                                      const struct tc_spec *tool, enum tc_key_id id);
/* Explicit backend over tier, tier over risk; then what image or module need. Borrows. */
const char *tc_policy_backend(const struct toolcage_policy *policy, const struct tc_spec *tool);
/* A key that can choose the backend, with the offset of its word in a tc_spec; 0: of none. */
struct tc_backend_key {
    enum tc_key_id id;
    const char *key;
    size_t word;
};
/* Who said the first of those keys, as tc_policy_backend() goes through them, with or without
 * layers; NULL: nobody. *ret is the row, static. */
const struct tc_spec *tc_policy_chooser(const struct toolcage_policy *policy,
                                        const struct tc_spec *tool, bool layers,
                                        const struct tc_backend_key **ret);
/* Who said its layers; NULL: it has none. */
const struct tc_spec *tc_policy_layers(const struct toolcage_policy *policy,
                                       const struct tc_spec *tool);
/* Where "@sha256:…" begins in what `module` says; NULL: it names no digest. */
const char *tc_module_pin(const char *said);
/* How strong its cage is; -1: not to be compared with another. */
/* The built-in values of absent keys. */
extern const struct tc_limits tc_limits_default;
#define TC_INODES_PER_DISK(bytes) ((bytes) / 4096 > 64 ? (bytes) / 4096 : 64)

/* The first rule that grants to write; `files` NULL, or NULL: there is none. Borrows. */
const struct tc_fs_rule *tc_spec_writable(const struct tc_spec *files);
/* Borrows; NULL: it has no argument of that name, which has so many bytes. */
const struct tc_argument *tc_spec_argument(const struct tc_spec *spec, const char *name,
                                           size_t len);
/* The key of the list whose entries have this access: "filesystem.readable", ... */
const char *tc_access_list(enum tc_access access);

void tc_spec_done(struct tc_spec *spec);
void tc_fs_entry_done(struct tc_fs_entry *entry);
void tc_secret_done(struct tc_secret *secret);
/* "tool.x.network"; owned, NULL when out of memory. */
char *tc_spec_key(const struct tc_spec *spec, const char *key);

#endif
