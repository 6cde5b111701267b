/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parser of policies: walks over the document's tree, and calls for each key the setter that
 * the table in keys.c names. The setters fill the model (policy/model.h); they are in the parse_*.c
 * files. */
#ifndef TC_POLICY_PARSE_PARSE_H
#define TC_POLICY_PARSE_PARSE_H

#include "policy/diag.h"
#include "policy/model.h"

/* The keys of one [[test]]. */
struct tc_test_case {
    char *tool, *call;
    struct tc_strv allowed, denied;
    json_t *arguments;
};

struct tc_parse {
    struct tc_diag diag;
    const struct tc_key *keys; /* the table of all keys */
    struct toolcage_policy *policy;
    const struct toolcage_policy
        *tested; /* the policy of a separate file of tests; NULL: no such file is being read */
    const struct tc_policy_source *source; /* the text being read; NULL: unknown */
    struct tc_spec *spec;                  /* the tool or server whose keys are being read */
    char path[512]; /* the tables that contain the key, as in "tool.x.filesystem" */
    size_t path_len;
    size_t placeless; /* for nodes without a line and column (JSON inside a string): findings start
                         with the part of `path` from this offset; 0: nodes have locations */
    size_t schemas;   /* bytes of JSON read for input_schema */
    size_t referred;  /* nodes that references in schemas have added */
    struct tc_argument *argument; /* the argument whose schema is being read; it owns the patterns
                                     of all subschemas */
    size_t pattern_bytes;         /* compiled size of all patterns */
    /* of the schema being read (see parse_schema.c) */
    bool narrows;       /* it has no type and only narrows another schema */
    const char *bearer; /* the keyword from which it gets its type, if it has no `type`; or NULL */
};

/* Adds a finding at the node. Its subject is the current path with the node's key. */
void tc_parse_bad(struct tc_parse *p, const struct tc_node *node, const char *hint, const char *fmt,
                  ...) TC_PRINTF(4, 5);
/* Adds a finding at an element of an array. The finding's subject is the array's key. */
void tc_parse_bad_in(struct tc_parse *p, const struct tc_node *array, const struct tc_node *node,
                     const char *hint, const char *fmt, ...) TC_PRINTF(5, 6);
/* The same as tc_parse_bad(), but located at the node's key instead of its value. */
void tc_parse_bad_key(struct tc_parse *p, const struct tc_node *node, const char *hint,
                      const char *fmt, ...) TC_PRINTF(4, 5);
/* Adds a finding at the beginning of a line. Takes `subject`; NULL: out of memory. */
void tc_parse_bad_line(struct tc_parse *p, uint32_t line, char *subject, const char *hint,
                       const char *fmt, ...) TC_PRINTF(5, 6);
void tc_parse_complaint(struct tc_parse *p, const struct tc_node *node,
                        const struct tc_complaint *c);
/* For `required` of JSON Schema where a boolean is meant. */
extern const char tc_required_hint[];
/* Is the node of this kind? False after a finding. */
bool tc_parse_is(struct tc_parse *p, const struct tc_node *node, enum tc_node_kind kind);

/* Adds the name of a table (or element) to the path. Pass the returned value to tc_parse_leave().
 */
size_t tc_parse_enter(struct tc_parse *p, const char *name);
void tc_parse_leave(struct tc_parse *p, size_t mark);

/* Parses each member of the table by the rows of the scope. Unknown members are findings. */
void tc_parse_table(struct tc_parse *p, enum tc_scope scope, struct tc_node *table, void *into);
/* Parses a nested table under its own name. False: not a table, after a finding. */
bool tc_parse_inner(struct tc_parse *p, enum tc_scope scope, struct tc_node *table, void *into);
/* Appends a zeroed element to an array; NULL: out of memory, which is recorded. */
#define TC_PARSE_PUSH(p, items, count)                     \
    ({                                                     \
        __typeof__(items) tc_one_ = TC_PUSH(items, count); \
        (p)->diag.memory |= !tc_one_;                      \
        tc_one_;                                           \
    })
/* May the list contain this element of the array? False after a finding. */
typedef bool tc_parse_judge(struct tc_parse *p, const struct tc_node *array,
                            const struct tc_node *item);
/* Parses an array of at most `most` names into a list without duplicates. */
void tc_parse_names(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, size_t most,
                    tc_parse_judge *judge, struct tc_strv *into);
/* Adds a finding for each name in both lists, which contradict each other. */
void tc_parse_apart(struct tc_parse *p, const struct tc_node *node, const struct tc_strv *one,
                    const struct tc_strv *other, const char *words);
/* A copy; a failure is recorded. */
char *tc_parse_copy(struct tc_parse *p, const char *text);

/* Generic setters: the field is at key->offset. */
tc_key_set tc_set_table;    /* the keys of the inner scope, into the same struct */
tc_key_set tc_set_string;   /* char * */
tc_key_set tc_set_strings;  /* struct tc_strv; a set */
tc_key_set tc_set_ordered;  /* struct tc_strv; order kept */
tc_key_set tc_set_patterns; /* struct tc_strv; a set of names, which may contain slashes and a * */
tc_key_set tc_set_choice;   /* char * */
tc_key_set tc_set_index;    /* int: index of the choice */
tc_key_set tc_set_socket;   /* int: index of the choice */
tc_key_set tc_set_word;     /* no field: the setter of the enclosing table reads the value */
tc_key_set tc_set_value;    /* int64_t, by key->unit */
tc_key_set tc_set_bool;     /* bool */

/* The maximum number of members of one object in a schema: some checks search each name of one
 * object in another object. */
enum { TC_MEMBERS_MAX = 1024 };
/* At most TC_MEMBERS_MAX members? False after a finding. */
bool tc_parse_members_fit(struct tc_parse *p, const struct tc_node *node);

/* Tools (parse_tool.c). */
tc_key_set tc_set_tools, tc_set_defaults, tc_set_servers, tc_set_server_tools, tc_set_tiers,
    tc_set_risks, tc_set_settings;
tc_key_set tc_set_command, tc_set_stdin, tc_set_memory, tc_set_output, tc_set_env_pass,
    tc_set_env_set, tc_set_workspace, tc_set_cwd, tc_set_image, tc_set_module, tc_set_disk,
    tc_set_programs, tc_set_without, tc_set_pass, tc_set_url;
/* Parses the table of a tool, server or install phase by the key's inner scope, into a tc_spec or a
 * struct that begins with one; `name` NULL: unnamed. */
void tc_parse_spec(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                   const char *name, void *into);
void tc_parse_tool_finish(struct tc_parse *p, struct tc_spec *spec, const struct tc_node *node);
void tc_parse_server_finish(struct tc_parse *p, const struct tc_node *table);
void tc_parse_url_finish(struct tc_parse *p, struct tc_spec *spec, const struct tc_node *table);

/* `within`: extends.c handles it before the parser runs; its setter only checks the type. */
tc_key_set tc_set_within;

/* Tests (parse_cases.c). */
tc_key_set tc_set_tests, tc_set_test_arguments;
/* The value as JSON; owned, NULL after a finding. */
json_t *tc_parse_json(struct tc_parse *p, const struct tc_node *node);

/* Backends (parse_route.c), and contradictions between their keys in one table. */
tc_key_set tc_set_fallback, tc_set_layers;
void tc_parse_route_finish(struct tc_parse *p, const struct tc_spec *spec,
                           const struct tc_node *table);

/* filesystem and unix_sockets (parse_fs.c). */
tc_key_set tc_set_filesystem, tc_set_readable, tc_set_writable, tc_set_denied, tc_set_steering,
    tc_set_steering_remove, tc_set_unix_sockets;
/* A path of the policy, absolute and clean ("~/" and relative paths resolved), or NULL after a
 * finding. */
char *tc_parse_path(struct tc_parse *p, const struct tc_node *node);
/* Replaces the path in a node by its canonical form. `prefix` (as in "file:") stands before the
 * path and stays. */
void tc_parse_path_settle(struct tc_parse *p, struct tc_node *node, const char *prefix);

/* network (parse_net.c). */
tc_key_set tc_set_network, tc_set_port, tc_set_ports;

/* secrets (parse_secrets.c), and after the whole file: whether each can be sent. */
tc_key_set tc_set_secrets, tc_set_secret_from, tc_set_secret_hosts, tc_set_secret_header;
void tc_parse_secrets_check(struct tc_parse *p);

/* publish (parse_publish.c), and after the whole file: whether sessions can publish. */
tc_key_set tc_set_publish;
void tc_parse_publish_check(struct tc_parse *p);

/* [egress] (parse_egress.c), and after the whole file: whether the networks fit the upstream. */
tc_key_set tc_set_egress, tc_set_upstream, tc_set_credentials;
void tc_parse_upstream_check(struct tc_parse *p);

/* [audit] (parse_audit.c). */
tc_key_set tc_set_audit, tc_set_anchor;

/* System calls (parse_syscalls.c). */
tc_key_set tc_set_syscalls, tc_set_syscalls_allow, tc_set_syscalls_deny;

/* Install phases (parse_setup.c), and after the whole file: their cache keys. False: out of
 * memory. */
tc_key_set tc_set_setup, tc_set_into, tc_set_inputs;
bool tc_parse_setup_digests(struct toolcage_policy *policy, const struct tc_node *root);

/* Arguments (parse_arguments.c). */
tc_key_set tc_set_arguments, tc_set_read_bounds, tc_set_write_bounds, tc_set_host_bounds;
/* Parses one argument; the node, whose key is the name, is replaced by its canonical form. */
void tc_parse_argument(struct tc_parse *p, struct tc_node *node, struct tc_spec *spec);
/* Schemas of arguments (parse_schema.c). */
tc_key_set tc_set_type, tc_set_schema_word, tc_set_enum, tc_set_value_of, tc_set_bound,
    tc_set_length, tc_set_others, tc_set_multiple, tc_set_unique, tc_set_pattern, tc_set_properties,
    tc_set_required, tc_set_additional, tc_set_text, tc_set_parts, tc_set_all_of, tc_set_prefix,
    tc_set_part, tc_set_examples, tc_set_named_like, tc_set_dependent, tc_set_dependent_required;
/* Parses the keywords of a table by the rows of the scope, into the argument's schema. */
void tc_parse_schema(struct tc_parse *p, enum tc_scope scope, struct tc_node *table,
                     struct tc_argument *into);
/* The keyword from which a schema without `type` gets its type; NULL: it has `type`, or no such
 * keyword. */
const char *tc_schema_bearer(const struct tc_node *table);
/* A copy in which references are replaced by the parts of `root` to which they refer
 * (schema_refs.c). False after a finding. */
bool tc_schema_expand(struct tc_parse *p, const struct tc_node *root, struct tc_document *made,
                      const struct tc_node *node);
/* input_schema (input_schema.c). */
tc_key_set tc_set_input_schema;

#endif
