/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From the tree to the model: the walk over tables and the setters that keys.c names. */
#ifndef TC_POLICY_PARSE_PARSE_H
#define TC_POLICY_PARSE_PARSE_H

#include "policy/diag.h"
#include "policy/model.h"

/* What the keys of one [[test]] are read into. */
struct tc_test_case {
    char *tool, *call;
    struct tc_strv allowed, denied;
    json_t *arguments;
};

struct tc_parse {
    struct tc_diag diag;
    const struct tc_key *keys; /* the table of all of them */
    struct toolcage_policy *policy;
    const struct toolcage_policy *tested;  /* a file of tests is read, for this one; else NULL */
    const struct tc_policy_source *source; /* what is read; NULL: of no matter */
    struct tc_spec *spec;                  /* whose keys are being read */
    char path[512];                        /* "tool.x.filesystem": the tables around the key */
    size_t path_len;
    size_t placeless; /* from here on the path is told: places are not known; 0: they are */
    size_t schemas;   /* bytes of JSON read for input_schema */
    size_t referred;  /* parts that its references brought in */
    struct tc_argument *argument; /* whose schema is read; it keeps the patterns of all parts */
    size_t pattern_bytes;         /* of all of them, ready for use */
    /* of the schema that is read: it only narrows; or the word of its own that bears its type */
    bool narrows;
    const char *bearer;
};

/* A finding at the node, its subject the current path with the node's key. */
void tc_parse_bad(struct tc_parse *p, const struct tc_node *node, const char *hint, const char *fmt,
                  ...) TC_PRINTF(4, 5);
/* At an element of an array, whose key is the array's. */
void tc_parse_bad_in(struct tc_parse *p, const struct tc_node *array, const struct tc_node *node,
                     const char *hint, const char *fmt, ...) TC_PRINTF(5, 6);
void tc_parse_bad_key(struct tc_parse *p, const struct tc_node *node, const char *hint,
                      const char *fmt, ...) TC_PRINTF(4, 5);
/* At the beginning of a line, about this subject, which is taken; NULL: there is no memory. */
void tc_parse_bad_line(struct tc_parse *p, uint32_t line, char *subject, const char *hint,
                       const char *fmt, ...) TC_PRINTF(5, 6);
void tc_parse_complaint(struct tc_parse *p, const struct tc_node *node,
                        const struct tc_complaint *c);
/* Is it of this kind? Else a finding. */
bool tc_parse_is(struct tc_parse *p, const struct tc_node *node, enum tc_node_kind kind);

/* Steps into a table (or element) by name and out again. */
size_t tc_parse_enter(struct tc_parse *p, const char *name);
void tc_parse_leave(struct tc_parse *p, size_t mark);

/* Every member of the table by the rows of the scope; unknown ones are findings. */
void tc_parse_table(struct tc_parse *p, enum tc_scope scope, struct tc_node *table, void *into);
/* The same of a table within, below its own name. False after a finding: it is none. */
bool tc_parse_inner(struct tc_parse *p, enum tc_scope scope, struct tc_node *table, void *into);
/* A new element of an array, zeroed; NULL: no memory, which is noted. */
#define TC_PARSE_PUSH(p, items, count)                     \
    ({                                                     \
        __typeof__(items) tc_one_ = TC_PUSH(items, count); \
        (p)->diag.memory |= !tc_one_;                      \
        tc_one_;                                           \
    })
/* May this element of the array be in the list? False after a finding. */
typedef bool tc_parse_judge(struct tc_parse *p, const struct tc_node *array,
                            const struct tc_node *item);
/* An array of at most so many names into a list, each once. */
void tc_parse_names(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, size_t most,
                    tc_parse_judge *judge, struct tc_strv *into);
/* A finding for each name that is in both lists, which contradict each other. */
void tc_parse_apart(struct tc_parse *p, const struct tc_node *node, const struct tc_strv *one,
                    const struct tc_strv *other, const char *words);
/* A copy that remembers when memory runs out. */
char *tc_parse_copy(struct tc_parse *p, const char *text);

/* Plain setters: the field is at key->offset. */
tc_key_set tc_set_table;    /* the keys of its inner scope, into the same */
tc_key_set tc_set_string;   /* char * */
tc_key_set tc_set_strings;  /* struct tc_strv; a set */
tc_key_set tc_set_ordered;  /* struct tc_strv; order kept */
tc_key_set tc_set_patterns; /* struct tc_strv; a set of names, which may hold slashes and a * */
tc_key_set tc_set_choice;   /* char * */
tc_key_set tc_set_index;    /* int: index of the choice */
tc_key_set tc_set_socket;   /* the same */
tc_key_set tc_set_word;     /* no field: the table around it reads the word */
tc_key_set tc_set_value;    /* int64_t, by key->unit */
tc_key_set tc_set_bool;     /* bool */

/* Of one object in a schema; and no search through one for each name of the other takes long. */
enum { TC_MEMBERS_MAX = 1024 };
/* No more than that; false after a finding. */
bool tc_parse_members_fit(struct tc_parse *p, const struct tc_node *node);

/* Of tools (parse_tool.c) */
tc_key_set tc_set_tools, tc_set_defaults, tc_set_servers, tc_set_server_tools, tc_set_tiers,
    tc_set_risks, tc_set_settings;
tc_key_set tc_set_command, tc_set_stdin, tc_set_memory, tc_set_output, tc_set_env_pass,
    tc_set_env_set, tc_set_workspace, tc_set_cwd, tc_set_image, tc_set_module, tc_set_disk,
    tc_set_programs, tc_set_without;
/* The table of a tool or the like, by the scope of the key, into a tc_spec or what begins with one;
 * `name` NULL: it has none. */
void tc_parse_spec(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                   const char *name, void *into);
void tc_parse_tool_finish(struct tc_parse *p, struct tc_spec *spec, const struct tc_node *node);

/* Of within (extends.c), which is read before */
tc_key_set tc_set_within;

/* Of tests (parse_cases.c) */
tc_key_set tc_set_tests, tc_set_test_arguments;
/* The value as JSON; owned, NULL after a finding. */
json_t *tc_parse_json(struct tc_parse *p, const struct tc_node *node);

/* Of backends (parse_route.c); and what contradicts in one table */
tc_key_set tc_set_fallback, tc_set_layers;
void tc_parse_route_finish(struct tc_parse *p, const struct tc_spec *spec,
                           const struct tc_node *table);

/* Of filesystem and unix_sockets (parse_fs.c) */
tc_key_set tc_set_filesystem, tc_set_readable, tc_set_writable, tc_set_denied, tc_set_steering,
    tc_set_steering_remove, tc_set_unix_sockets;
/* A path of the policy, absolute and clean ("~/" and relative ones resolved), or NULL after a
 * finding. */
char *tc_parse_path(struct tc_parse *p, const struct tc_node *node);
/* Its canonical form, after what is no path (`prefix`). */
void tc_parse_path_settle(struct tc_parse *p, struct tc_node *node, const char *prefix);

/* Of network (parse_net.c) */
tc_key_set tc_set_network, tc_set_port, tc_set_ports;

/* Of secrets (parse_secrets.c); and, once the whole file is read, whether each can be sent */
tc_key_set tc_set_secrets, tc_set_secret_from, tc_set_secret_hosts, tc_set_secret_header;
void tc_parse_secrets_check(struct tc_parse *p);

/* Of [egress] (parse_egress.c); and, once the whole file is read, what the networks say to it */
tc_key_set tc_set_egress, tc_set_upstream, tc_set_credentials;
void tc_parse_upstream_check(struct tc_parse *p);

/* Of system calls (parse_syscalls.c) */
tc_key_set tc_set_syscalls, tc_set_syscalls_allow, tc_set_syscalls_deny;

/* Of install phases (parse_setup.c); and, once the whole file is read, their cache keys. False: out
 * of memory. */
tc_key_set tc_set_setup, tc_set_into, tc_set_inputs;
bool tc_parse_setup_digests(struct toolcage_policy *policy, const struct tc_node *root);

/* Of arguments (parse_arguments.c) */
tc_key_set tc_set_arguments, tc_set_read_bounds, tc_set_write_bounds, tc_set_host_bounds;
/* One of them; the node, whose key is its name, is brought to its canonical form. */
void tc_parse_argument(struct tc_parse *p, struct tc_node *node, struct tc_spec *spec);
/* Of their schemas (parse_schema.c) */
tc_key_set tc_set_type, tc_set_schema_word, tc_set_enum, tc_set_value_of, tc_set_bound,
    tc_set_length, tc_set_others, tc_set_multiple, tc_set_unique, tc_set_pattern, tc_set_properties,
    tc_set_required, tc_set_additional, tc_set_text, tc_set_parts, tc_set_all_of, tc_set_prefix,
    tc_set_part, tc_set_examples, tc_set_named_like, tc_set_dependent, tc_set_dependent_required;
/* The table's words by the rows of the scope, into the schema of the argument. */
void tc_parse_schema(struct tc_parse *p, enum tc_scope scope, struct tc_node *table,
                     struct tc_argument *into);
/* Which of its words bears the type of a schema that says none; NULL: it says one, or no word does.
 */
const char *tc_schema_bearer(const struct tc_node *table);
/* A copy in which the references stand for what they name in `root` (schema_refs.c). False after a
 * finding. */
bool tc_schema_expand(struct tc_parse *p, const struct tc_node *root, struct tc_document *made,
                      const struct tc_node *node);
/* The same as a whole (input_schema.c) */
tc_key_set tc_set_input_schema;

#endif
