/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table of rules. Each has a section in docs/lint.md with one example that triggers it and one
 * that does not; a test runs both. */
#include <string.h>

#include "policy/lint/lint_rules.h"

#define KEYS(a) TC_LINT_KEY(a)
#define KEYS2(a, b) (KEYS(a) | KEYS(b))
#define KEYS3(a, b, c) (KEYS2(a, b) | KEYS(c))
#define BACKENDS (KEYS3(BACKEND, TIER, RISK) | KEYS2(IMAGE, MODULE))

const struct tc_lint_rule tc_lint_rules[] = {
    /* escapes from the cage */
    {"secret-and-network", TC_SEVERITY_ERROR, KEYS2(FILESYSTEM, NETWORK) | KEYS2(ENV, ARGUMENTS),
     tc_lint_secrets},
    {"writable-and-run", TC_SEVERITY_ERROR, KEYS2(COMMAND, FILESYSTEM), tc_lint_run_by_tool},
    {"host-runs", TC_SEVERITY_ERROR, KEYS2(FILESYSTEM, ARGUMENTS), tc_lint_run_by_host},
    {"root-socket", TC_SEVERITY_ERROR, KEYS(UNIX_SOCKETS), tc_lint_root_socket},
    {"metadata-address", TC_SEVERITY_ERROR, KEYS2(NETWORK, ARGUMENTS), tc_lint_entries,
     .entry = tc_lint_address},
    {"argument-in-shell", TC_SEVERITY_ERROR, KEYS(COMMAND), tc_lint_shell},
    {"secret-in-policy", TC_SEVERITY_WARNING, KEYS2(COMMAND, ENV), tc_lint_literal_secret},
    {"any-scheme", TC_SEVERITY_WARNING, KEYS2(COMMAND, ARGUMENTS), tc_lint_scheme},
    {"no-boundary", TC_SEVERITY_ERROR, KEYS(BACKEND), tc_lint_no_boundary},
    {"any-host-and-data", TC_SEVERITY_WARNING, KEYS3(NETWORK, FILESYSTEM, ARGUMENTS),
     tc_lint_any_host},
    {"anybody-publishes", TC_SEVERITY_WARNING, KEYS2(NETWORK, ARGUMENTS), tc_lint_entries,
     .entry = tc_lint_publisher},
    {"public-suffix", TC_SEVERITY_WARNING, KEYS2(NETWORK, ARGUMENTS), tc_lint_entries,
     .entry = tc_lint_suffix},
    {"private-address", TC_SEVERITY_WARNING, KEYS2(NETWORK, ARGUMENTS), tc_lint_entries,
     .entry = tc_lint_address},
    {"address-literal", TC_SEVERITY_NOTE, KEYS2(NETWORK, ARGUMENTS), tc_lint_entries,
     .entry = tc_lint_address},
    {"home-granted", TC_SEVERITY_WARNING, KEYS(FILESYSTEM), tc_lint_home},
    {"secret-readable", TC_SEVERITY_NOTE, KEYS2(FILESYSTEM, NETWORK) | KEYS2(ENV, ARGUMENTS),
     tc_lint_secrets},
    {"auto-writes", TC_SEVERITY_WARNING, KEYS3(TIER, FILESYSTEM, WORKSPACE), tc_lint_auto_writes},
    {"weaker-fallback", TC_SEVERITY_WARNING, BACKENDS | KEYS(FALLBACK), tc_lint_fallback},
    {"dangerous-syscalls", TC_SEVERITY_WARNING, KEYS(SYSCALLS), tc_lint_syscalls},
    {"gives-up-clauses", TC_SEVERITY_WARNING, KEYS(WITHOUT), tc_lint_gives_up},

    /* limits */
    {"long-timeout", TC_SEVERITY_WARNING, KEYS(TIMEOUT), tc_lint_timeout},
    {"memory-by-process", TC_SEVERITY_WARNING, KEYS2(MEMORY, PIDS), tc_lint_memory},
    {"large-output", TC_SEVERITY_WARNING, KEYS(OUTPUT), tc_lint_output},
    {"disk-and-bind", TC_SEVERITY_WARNING, KEYS3(DISK, FILESYSTEM, WORKSPACE), tc_lint_disk_bind},
    {"disk-over-memory", TC_SEVERITY_NOTE, KEYS2(DISK, MEMORY), tc_lint_disk_memory},
    {"unbounded-writes", TC_SEVERITY_NOTE, KEYS3(DISK, FILESYSTEM, WORKSPACE),
     tc_lint_unbounded_writes},

    /* settings that this version cannot enforce */
    {"no-backend", TC_SEVERITY_NOTE, BACKENDS, tc_lint_no_backend},
    {"unenforceable", TC_SEVERITY_NOTE, BACKENDS | KEYS(NETWORK), tc_lint_unenforceable},

    /* settings without effect */
    {"command-outside", TC_SEVERITY_WARNING, KEYS(COMMAND), tc_lint_start},
    {"absent-here", TC_SEVERITY_NOTE, KEYS3(MODULE, ENV, FILESYSTEM), tc_lint_absent},
    {"module-not-run", TC_SEVERITY_WARNING, BACKENDS | KEYS(LAYERS), tc_lint_module},
    {"shadowed-entry", TC_SEVERITY_WARNING, KEYS2(FILESYSTEM, NETWORK), tc_lint_shadowed},
    {"denied-nothing", TC_SEVERITY_WARNING, KEYS(FILESYSTEM), tc_lint_denied_nothing},
    {"denied-all", TC_SEVERITY_WARNING, KEYS(FILESYSTEM), tc_lint_denied_all},
    {"same-as-default", TC_SEVERITY_NOTE, ~(uint64_t)0, tc_lint_same},
    {"unused-argument", TC_SEVERITY_WARNING, KEYS(ARGUMENTS), tc_lint_argument},
    {"unused-class", TC_SEVERITY_NOTE, 0, NULL, tc_lint_classes},
    {"empty-tool", TC_SEVERITY_NOTE, 0, NULL, tc_lint_empty},
    {"no-tools", TC_SEVERITY_NOTE, 0, NULL, tc_lint_no_tools},

    /* about suppressing comments; no comment suppresses these */
    {"silence-without-reason", TC_SEVERITY_WARNING, 0},
    {"silence-unknown", TC_SEVERITY_WARNING, 0},
    {"silence-unused", TC_SEVERITY_WARNING, 0},
    {0},
};

const struct tc_lint_rule *tc_lint_rule_find(const char *id, size_t len)
{
    for (const struct tc_lint_rule *rule = tc_lint_rules; rule->id; rule++)
        if (strlen(rule->id) == len && memcmp(rule->id, id, len) == 0)
            return rule;
    return NULL;
}
