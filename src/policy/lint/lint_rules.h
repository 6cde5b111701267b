/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Internals of the lint: the state of a run, and the rule functions. The table of rules is in
 * lint_rules.c. */
#ifndef TC_POLICY_LINT_LINT_RULES_H
#define TC_POLICY_LINT_LINT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/lint/lint.h"
#include "policy/model.h"

/* The public suffix list in its text format: domains under which anyone can register a name. The
 * caller provides the text. Non-ASCII entries never match, because policies spell hosts in ASCII.
 * lint_network.c parses it. */
struct tc_suffix {
    const char *rule; /* borrowed from the text, not terminated */
    size_t len;
};

struct tc_suffixes {
    struct tc_suffix *rules; /* sorted */
    size_t count;
};

/* Borrows the text. False: out of memory. */
bool tc_suffixes_read(struct tc_suffixes *ret, const char *text, size_t len);
void tc_suffixes_done(struct tc_suffixes *suffixes);
/* Is the host itself a public suffix, like "co.uk" or "github.io"? A single label that is not
 * listed is not. */
bool tc_suffixes_has(const struct tc_suffixes *suffixes, const char *host);

/* Further findings are only counted. */
enum { TC_LINT_MAX = 10000 };

enum tc_severity { TC_SEVERITY_NOTE, TC_SEVERITY_WARNING, TC_SEVERITY_ERROR };

struct tc_lint;
/* Checks one tool, server, install phase or [defaults], with the settings that it inherits. */
typedef void tc_lint_each(struct tc_lint *l, const struct tc_spec *spec);
/* Checks one endpoint, which `key` of `says` names on that line. */
typedef void tc_lint_entry(struct tc_lint *l, const struct tc_spec *says, const char *key,
                           const struct tc_net_entry *entry, uint32_t line);
/* Checks the policy as a whole. */
typedef void tc_lint_whole(struct tc_lint *l);

struct tc_lint_rule {
    const char *id;
    enum tc_severity severity;
    /* The keys that the rule judges. A tool that sets none of them is skipped: it has the settings
     * of [defaults], which are checked separately. */
    uint64_t keys;
    tc_lint_each *each;
    tc_lint_whole *whole;
    tc_lint_entry *entry;
};
#define TC_LINT_KEY(id) ((uint64_t)1 << TC_KEY_##id)

struct tc_lint_finding {
    const struct tc_lint_rule *rule;
    struct tc_location at; /* line 0: no location */
    char *key, *message, *hint;
    char *silenced; /* the reason given in the suppressing comment, or NULL */
};

/* A host path that a tool may write. */
struct tc_lint_place {
    char *host;
    const struct tc_spec *spec;
    uint32_t line;
};

struct tc_lint_line {
    const char *at;
    size_t len;
    uint32_t line; /* as in the policy's locations, with the file's number */
};

struct tc_lint {
    const struct toolcage_policy *policy;
    const struct tc_lint_facts *facts;
    const struct tc_lint_rule *rule; /* the rule being run */
    struct tc_lint_line *lines;      /* of all files, in sequence */
    size_t line_count;
    struct tc_suffixes suffixes;    /* parsed when the first host is checked */
    struct tc_lint_place *writable; /* sorted by host */
    size_t writable_count;
    struct tc_lint_finding *findings;
    size_t count, more;
    bool memory;    /* out of memory */
    bool unchecked; /* hosts were not compared with the public suffix list */
};

extern const struct tc_lint_rule tc_lint_rules[]; /* ends with a row whose id is NULL */
const struct tc_lint_rule *tc_lint_rule_find(const char *id, size_t len);

/* ---- lint_findings.c ---- */
/* Adds a finding of the running rule about `key` of `spec` (NULL: `key` is complete), on that line.
 * The caret is below `needle` if the line contains it (NULL: below the line's first word). */
void tc_lint_add(struct tc_lint *l, const struct tc_spec *spec, const char *key, uint32_t line,
                 const char *needle, const char *hint, const char *fmt, ...) TC_PRINTF(7, 8);
/* NULL: no such line. */
const struct tc_lint_line *tc_lint_line(const struct tc_lint *l, uint32_t line);
/* The spec that sets the key for this one, or NULL. */
const struct tc_spec *tc_lint_given(const struct tc_lint *l, const struct tc_spec *spec,
                                    enum tc_key_id id);
/* "api.example.com:443 and 2 more"; owned. NULL: out of memory (recorded). */
char *tc_lint_endpoints(struct tc_lint *l, const struct tc_spec *net);

/* ---- lint_silence.c ---- */
void tc_lint_silence(struct tc_lint *l);

/* ---- lint_files.c ---- */
bool tc_lint_index(struct tc_lint *l);
tc_lint_each tc_lint_secrets, tc_lint_home, tc_lint_run_by_tool, tc_lint_run_by_host,
    tc_lint_root_socket, tc_lint_unbounded_writes, tc_lint_disk_bind, tc_lint_auto_writes;

/* ---- lint_network.c ---- */
/* Calls the rule's `entry` for each endpoint. */
tc_lint_each tc_lint_entries, tc_lint_any_host;
tc_lint_entry tc_lint_suffix, tc_lint_publisher, tc_lint_address;

/* ---- lint_cage.c ---- */
tc_lint_each tc_lint_no_backend, tc_lint_unenforceable, tc_lint_gives_up, tc_lint_no_boundary,
    tc_lint_timeout, tc_lint_memory, tc_lint_disk_memory, tc_lint_output, tc_lint_shell,
    tc_lint_fallback, tc_lint_syscalls, tc_lint_module;

/* ---- lint_command.c ---- */
tc_lint_each tc_lint_literal_secret, tc_lint_scheme, tc_lint_absent;

/* ---- lint_start.c ---- */
tc_lint_each tc_lint_start;

/* ---- lint_dead.c ---- */
tc_lint_each tc_lint_shadowed, tc_lint_denied_nothing, tc_lint_denied_all, tc_lint_same,
    tc_lint_argument;
tc_lint_whole tc_lint_classes, tc_lint_empty, tc_lint_no_tools;

#endif
