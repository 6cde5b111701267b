/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The master table of all keys of a policy file: setter, field and range for the parser,
 * suggestions for misspelt keys, the manual page and docs. Each key has one spelling. */
#ifndef TC_POLICY_PARSE_KEYS_H
#define TC_POLICY_PARSE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "document/document.h"
#include "policy/parse/limit_rows.h"
#include "policy/parse/values.h"
#include "policy/plain_rows.h"

#define TC_KEY_OF_ROW_(F, key, ...) TC_KEY_##key,
#define TC_KEY_OF_PART_(...)
/* The keys of a tool. For each, tc_spec.said stores the line that sets it. */
enum tc_key_id {
    TC_KEY_NONE = -1,
    TC_KEY_DESCRIPTION,
    TC_KEY_TITLE,
    TC_KEY_COMMAND,
    TC_KEY_ARGUMENTS,
    TC_KEY_INPUT_SCHEMA,
    TC_KEY_STDIN,
    TC_KEY_FILESYSTEM,
    TC_KEY_NETWORK,
    /* clang-format off */
    TC_LIMITS_MAP(TC_KEY_OF_ROW_, TC_KEY_OF_PART_, )
    TC_PLAIN_MAP(TC_KEY_OF_ROW_, )
    /* clang-format on */
    TC_KEY_ENV,
    TC_KEY_TIER,
    TC_KEY_RISK,
    TC_KEY_BACKEND,
    TC_KEY_MODULE,
    TC_KEY_WORKSPACE,
    TC_KEY_REVIEW,
    TC_KEY_WITHOUT,
    TC_KEY_UNIX_SOCKETS,
    TC_KEY_FALLBACK,
    TC_KEY_LAYERS,
    TC_KEY_SECRETS,
    TC_KEY_SYSCALLS,
    TC_KEY_SETUP,
    TC_KEY_COUNT,
};
#undef TC_KEY_OF_ROW_
#undef TC_KEY_OF_PART_

/* The tables of a policy file, in which keys can appear. */
enum tc_scope {
    TC_SCOPE_FILE,
    TC_SCOPE_TOOL,
    TC_SCOPE_DEFAULTS,
    TC_SCOPE_SERVER,
    TC_SCOPE_SERVER_TOOL,
    TC_SCOPE_ARGUMENT,
    TC_SCOPE_ITEMS,
    TC_SCOPE_FILESYSTEM,
    TC_SCOPE_FS_ENTRY,
    TC_SCOPE_NET_ENTRY,
    TC_SCOPE_PUBLISH,
    TC_SCOPE_SECRET,
    TC_SCOPE_SYSCALLS,
    TC_SCOPE_STEERING,
    TC_SCOPE_SETUP,
    TC_SCOPE_MEMORY,
    TC_SCOPE_OUTPUT,
    TC_SCOPE_ENV,
    TC_SCOPE_WORKSPACE,
    TC_SCOPE_REVIEW,
    TC_SCOPE_CLASS,
    TC_SCOPE_BACKENDS,
    TC_SCOPE_OCI,
    TC_SCOPE_GVISOR,
    TC_SCOPE_PODMAN,
    TC_SCOPE_DOCKER,
    TC_SCOPE_CONTAINERD,
    TC_SCOPE_QEMU,
    TC_SCOPE_FIRECRACKER,
    TC_SCOPE_KATA,
    TC_SCOPE_WASM,
    TC_SCOPE_EGRESS,
    TC_SCOPE_AUDIT,
    TC_SCOPE_TEST,
    TC_SCOPE_TEST_FILE,
    TC_SCOPE_COUNT,
};
/* How a key's value contains the keys of its inner scope. */
enum tc_form {
    TC_FORM_NONE,      /* no inner scope */
    TC_FORM_TABLE,     /* a table */
    TC_FORM_NAMED,     /* a table of tables, with restricted names */
    TC_FORM_MEMBERS,   /* a table of tables, with any names */
    TC_FORM_ARGUMENTS, /* a table of tables, with names of arguments */
    TC_FORM_LIST,      /* an array of tables */
    TC_FORM_OR_NONE,   /* a table, or "none" */
    TC_FORM_OR_SIZE,   /* a table, or a size */
    TC_FORM_OR_FALSE,  /* a table, or false */
};
/* A set of scopes. */
typedef uint64_t tc_scopes;
_Static_assert(TC_SCOPE_COUNT <= 64, "each scope has a bit");
#define TC_SCOPE_BIT(scope) ((tc_scopes)1 << (scope))
#define TC_IN(scope) TC_SCOPE_BIT(TC_SCOPE_##scope)

struct tc_parse;
struct tc_key;
/* Checks the node, replaces it by its canonical form and stores its meaning in the scope's
 * struct. */
typedef void tc_key_set(struct tc_parse *parse, const struct tc_key *key, struct tc_node *node,
                        void *into);

struct tc_key {
    tc_scopes scopes;
    const char *name;
    tc_key_set *set; /* NULL: this version knows the key, but does not support it */
    size_t offset;   /* of the member that a generic setter sets */
    enum tc_key_id id;
    enum tc_unit unit;
    int64_t min, max;
    const char *const *choices; /* NULL-terminated */
    enum tc_form form;
    enum tc_scope inner; /* scope of the keys in its value, if there are any */
    const char *type, *fallback, *text, *example;
};

/* Ends with a row whose name is NULL. */
extern const struct tc_key tc_keys[];
/* The name of a scope in messages and in the manual: "[tool.NAME]", … */
const char *tc_scope_title(enum tc_scope scope);

/* The row of a key in a scope, or NULL. `keys`: tc_keys, or a later row, from which to search. */
const struct tc_key *tc_key_find(const struct tc_key *keys, enum tc_scope scope, const char *name);
/* The nearest key of the scope, or NULL if none is similar. */
const struct tc_key *tc_key_nearest(const struct tc_key *keys, enum tc_scope scope,
                                    const char *name);
/* Writes the values that a key accepts, as in "1ms to 168h" or "calls, paths or off"; "" for any.
 */
void tc_key_range(const struct tc_key *key, char *out, size_t size);

/* NULL-terminated lists of values (key_find.c). */
extern const char *const tc_values_profile[];
extern const char *const tc_values_pass[];
extern const char *const tc_values_tier[],
    *const tc_values_risk[],
        *const tc_values_backend[],
            *const tc_values_denials[],
                *const tc_values_mode[],
                    *const tc_values_commit[],
                        *const tc_values_over[],
                            *const tc_values_by[],
                                *const tc_values_type[],
                                    *const tc_values_without[],
                                        *const tc_values_runtime[],
                                            *const tc_values_kata[],
                                                *const tc_values_kata_engine[],
                                                    *const tc_values_platform[],
                                                        *const tc_values_names[],
                                                            *const tc_values_recorded[],
                                                                *const tc_values_sync[],
                                                                    *const tc_values_record[],
                                                                        *const tc_values_verdict[];

#endif
