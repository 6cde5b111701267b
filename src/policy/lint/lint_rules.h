/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Inside the lint: the run that the rules write their findings to, and the rules' functions. The
 * table of rules is in lint_rules.c. */
#ifndef TC_POLICY_LINT_LINT_RULES_H
#define TC_POLICY_LINT_LINT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/lint/lint.h"
#include "policy/model.h"

/* The public suffix list, in its own text form: names under which everybody can get a name. Who
 * asks brings the text; names beyond ASCII in it match nothing, because hosts are written in ASCII.
 * lint_network.c reads it. */
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
/* Is the host itself a public suffix: "co.uk", "github.io"? A name of one label that the list does
 * not know is none. */
bool tc_suffixes_has(const struct tc_suffixes *suffixes, const char *host);

/* Past these nothing is kept but the number. */
enum { TC_LINT_MAX = 10000 };

enum tc_severity { TC_SEVERITY_NOTE, TC_SEVERITY_WARNING, TC_SEVERITY_ERROR };

struct tc_lint;
/* Looks at one tool, server, install phase or [defaults] and what it inherits. */
typedef void tc_lint_each(struct tc_lint *l, const struct tc_spec *spec);
/* Looks at one endpoint that the key of `says` names on that line. */
typedef void tc_lint_entry(struct tc_lint *l, const struct tc_spec *says, const char *key,
                           const struct tc_net_entry *entry, uint32_t line);
/* Looks at the policy as a whole. */
typedef void tc_lint_whole(struct tc_lint *l);

struct tc_lint_rule {
    const char *id;
    enum tc_severity severity;
    /* Which keys it judges: a tool that says none of them has what [defaults] has, which is looked
     * at by itself. */
    uint64_t keys;
    tc_lint_each *each;
    tc_lint_whole *whole;
    tc_lint_entry *entry;
};
#define TC_LINT_KEY(id) ((uint64_t)1 << TC_KEY_##id)

struct tc_lint_finding {
    const struct tc_lint_rule *rule;
    struct tc_location at; /* line 0: no place */
    char *key, *message, *hint;
    char *silenced; /* the reason, or NULL */
};

/* A path of the host that some tool may write. */
struct tc_lint_place {
    char *host;
    const struct tc_spec *spec;
    uint32_t line;
};

struct tc_lint_line {
    const char *at;
    size_t len;
    uint32_t line; /* as the policy's places say it */
};

struct tc_lint {
    const struct toolcage_policy *policy;
    const struct tc_lint_facts *facts;
    const struct tc_lint_rule *rule; /* whose turn it is */
    struct tc_lint_line *lines;      /* of all its texts, one after the other */
    size_t line_count;
    struct tc_suffixes suffixes;    /* read when the first host is seen */
    struct tc_lint_place *writable; /* sorted by host */
    size_t writable_count;
    struct tc_lint_finding *findings;
    size_t count, more;
    bool memory;    /* ran out of it */
    bool unchecked; /* hosts were not compared with the public suffix list */
};

extern const struct tc_lint_rule tc_lint_rules[]; /* ends with a row whose id is NULL */
const struct tc_lint_rule *tc_lint_rule_find(const char *id, size_t len);

/* ---- lint_findings.c ---- */
/* A finding of the rule whose turn it is: about `key` of `spec` (NULL: the key is whole by itself),
 * on that line, where the caret stands below `needle` if the line holds it (NULL: its first word).
 */
void tc_lint_add(struct tc_lint *l, const struct tc_spec *spec, const char *key, uint32_t line,
                 const char *needle, const char *hint, const char *fmt, ...) TC_PRINTF(7, 8);
/* NULL: there is no such line. */
const struct tc_lint_line *tc_lint_line(const struct tc_lint *l, uint32_t line);
/* Who says the key for it, or NULL. */
const struct tc_spec *tc_lint_given(const struct tc_lint *l, const struct tc_spec *spec,
                                    enum tc_key_id id);
/* "api.example.com:443 and 2 more"; owned, NULL: out of memory (noted). */
char *tc_lint_endpoints(struct tc_lint *l, const struct tc_spec *net);

/* ---- lint_silence.c ---- */
void tc_lint_silence(struct tc_lint *l);

/* ---- lint_files.c ---- */
bool tc_lint_index(struct tc_lint *l);
tc_lint_each tc_lint_secrets, tc_lint_home, tc_lint_run_by_tool, tc_lint_run_by_host,
    tc_lint_root_socket, tc_lint_unbounded_writes, tc_lint_disk_bind, tc_lint_auto_writes;

/* ---- lint_network.c ---- */
/* Has the rule's `entry` look at each. */
tc_lint_each tc_lint_entries, tc_lint_any_host;
tc_lint_entry tc_lint_suffix, tc_lint_publisher, tc_lint_address;

/* ---- lint_cage.c ---- */
tc_lint_each tc_lint_no_backend, tc_lint_unenforceable, tc_lint_gives_up, tc_lint_no_boundary,
    tc_lint_timeout, tc_lint_memory, tc_lint_disk_memory, tc_lint_output, tc_lint_shell,
    tc_lint_fallback, tc_lint_syscalls, tc_lint_module;

/* ---- lint_start.c ---- */
tc_lint_each tc_lint_start;

/* ---- lint_dead.c ---- */
tc_lint_each tc_lint_shadowed, tc_lint_denied_nothing, tc_lint_denied_all, tc_lint_same,
    tc_lint_argument;
tc_lint_whole tc_lint_classes, tc_lint_empty, tc_lint_no_tools;

#endif
