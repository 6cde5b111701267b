/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A grant as JSON for people and programs: each permission with the policy line that grants it. */
#include "policy/explain/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/jsontext.h"
#include "policy/endpoint.h"
#include "policy/names/system_paths.h"
#include "policy/plain.h"

static void add_origin(struct tc_buf *out, const struct toolcage_policy *policy,
                       const struct tc_origin *origin)
{
    tc_json_member(out, "key", origin->key ? origin->key : "");
    tc_line_json(out, policy, "line", origin->line);
}

static void add_files(struct tc_buf *out, const struct toolcage_policy *policy,
                      const struct tc_grant *grant)
{
    static const char *const words[] = {
        [TC_ACCESS_READ] = "read", [TC_ACCESS_WRITE] = "write", [TC_ACCESS_DENY] = "denied"};
    tc_json_key(out, "filesystem");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &grant->fs[i];
        tc_buf_adds(out, i ? ",{" : "{");
        tc_json_member(out, "path", entry->path);
        tc_json_optional(out, "from", entry->from);
        tc_json_member(out, "access", words[entry->access]);
        tc_json_bool(out, "optional", entry->optional);
        tc_json_bool(out, "argument", entry->argument);
        tc_json_bool(out, "built_in", entry->built_in);
        add_origin(out, policy, &entry->origin);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
    tc_json_key(out, "system");
    tc_buf_addc(out, '[');
    for (const struct tc_system_path *row = tc_system_paths; row->path; row++) {
        tc_buf_adds(out, row == tc_system_paths ? "" : ",");
        tc_json_string(out, row->path, strlen(row->path));
    }
    char path[PATH_MAX];
    for (const char *at = grant->system; tc_system_next(&at, path);) {
        tc_buf_addc(out, ',');
        tc_json_string(out, path, strlen(path));
    }
    tc_buf_addc(out, ']');
}

static void add_network(struct tc_buf *out, const struct toolcage_policy *policy,
                        const struct tc_grant *grant)
{
    tc_json_key(out, "network");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->net_count; i++) {
        const struct tc_net_entry *entry = &grant->net[i];
        tc_buf_adds(out, i ? ",{" : "{");
        tc_json_member(out, "host", entry->host);
        tc_json_key(out, "port");
        if (entry->port == TC_PORT_ANY)
            tc_buf_adds(out, "\"any\"");
        else
            tc_buf_addf(out, "%u", entry->port & TC_PORT_NUMBER);
        tc_json_member(out, "transport", entry->port & TC_PORT_UDP ? "udp" : "tcp");
        tc_json_list(out, "methods", &entry->methods);
        tc_json_list(out, "paths", &entry->paths);
        tc_json_bool(out, "inspected", entry->methods.count || entry->paths.count);
        add_origin(out, policy, &entry->origin);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

/* What the model's arguments may name in addition to the grant. */
static void add_arguments(struct tc_buf *out, const struct toolcage_policy *policy,
                          const struct tc_grant *grant)
{
    static const char *const words[] = {[TC_ACCESS_READ] = "read", [TC_ACCESS_WRITE] = "write"};
    const struct tc_spec *tool = grant->tool ? tc_policy_asked(policy, grant->tool) : NULL;
    const char *comma = "";
    for (size_t i = 0; tool && i < tool->argument_count; i++)
        for (size_t b = 0; b < tool->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &tool->arguments[i].bounds[b];
            char host[TC_ENDPOINT_SIZE];
            if (!bound->path)
                tc_endpoint_format(host, sizeof(host), bound->host.host, bound->host.port);
            if (!*comma)
                tc_json_key(out, "arguments");
            tc_buf_adds(out, *comma ? ",{" : "[{");
            tc_json_member(out, "argument", tool->arguments[i].name);
            tc_json_member(out, "access", bound->path ? words[bound->access] : "connect");
            tc_json_member(out, bound->path ? "below" : "host", bound->path ? bound->path : host);
            tc_line_json(out, policy, "line", bound->line);
            tc_buf_addc(out, '}');
            comma = ",";
        }
    tc_buf_adds(out, *comma ? "]" : "");
}

static void add_syscalls(struct tc_buf *out, const struct tc_grant *grant)
{
    tc_json_key(out, "syscalls");
    tc_buf_adds(out, "{\"profile\":\"default\"");
    tc_json_list(out, "allow", &grant->syscalls_allow);
    tc_json_list(out, "deny", &grant->syscalls_deny);
    tc_json_member(out, "mechanism", "one seccomp filter: the profile, and the changes before it");
    tc_buf_addc(out, '}');
}

static void add_steering(struct tc_buf *out, const struct tc_grant *grant)
{
    tc_json_key(out, "steering");
    tc_buf_addc(out, '{');
    tc_json_list(out, "add", &grant->steering.add);
    tc_json_list(out, "remove", &grant->steering.remove);
    tc_buf_addc(out, '}');
}

/* Adds the names of caches (`review.ignore`). A grant has them only if its changes can be staged.
 */
static void add_review(struct tc_buf *out, const struct tc_grant *grant)
{
    if (!grant->caches.count)
        return;
    tc_json_key(out, "review");
    tc_buf_addc(out, '{');
    tc_json_list(out, "ignore", &grant->caches);
    tc_buf_addc(out, '}');
}

/* Adds the sources and hosts of the secrets. A policy does not know a secret's value. */
static void add_secrets(struct tc_buf *out, const struct toolcage_policy *policy,
                        const struct tc_grant *grant)
{
    tc_json_key(out, "secrets");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->secret_count; i++) {
        const struct tc_secret *secret = &grant->secrets[i];
        tc_buf_adds(out, i ? ",{" : "{");
        tc_json_member(out, "name", secret->name);
        tc_json_member(out, "from", secret->from);
        tc_json_list(out, "hosts", &secret->hosts);
        tc_json_member(out, "header", secret->header);
        tc_line_json(out, policy, "line", secret->line);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

static void add_sockets(struct tc_buf *out, const struct toolcage_policy *policy,
                        const struct tc_grant *grant)
{
    tc_json_key(out, "unix_sockets");
    if (!grant->unix_sockets || !grant->socket_count) {
        tc_buf_adds(out, grant->unix_sockets ? "\"own\"" : "\"none\"");
        return;
    }
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->socket_count; i++) {
        const struct tc_fs_entry *entry = &grant->sockets[i];
        tc_buf_adds(out, i ? ",{" : "{");
        tc_json_member(out, "path", entry->path);
        tc_json_optional(out, "from", entry->from);
        tc_json_bool(out, "optional", entry->optional);
        tc_json_optional(out, "risk", tc_socket_risk(entry->from));
        add_origin(out, policy, &entry->origin);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

/* Adds where a limit's value comes from: "default", "tool.x.timeout:4" (key and line), or "this
 * call" if a flag of the call narrowed it. */
static void add_limit_origin(struct tc_buf *out, const struct toolcage_policy *policy,
                             const struct tc_spec *said, const struct tc_field *row, int64_t value)
{
    int64_t was = tc_field_number(row, said ? &said->limits : &tc_limits_default);
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (!said && !value) /* a server: no timeout */
        tc_buf_adds(&text, "default");
    else if (was != value)
        tc_buf_adds(&text, "this call");
    else if (!said)
        tc_buf_adds(&text, "default");
    else
        tc_buf_addf(&text, "%s.%s:%u", said->prefix, row->key == TC_KEY_DISK ? "disk" : row->word,
                    TC_LINE_NUMBER(said->said[row->key]));
    if (said && was == value && TC_LINE_FILE(said->said[row->key]))
        tc_buf_addf(&text, " of %s", tc_policy_file(policy, said->said[row->key]));
    out->failed |= text.failed;
    tc_json_optional(out, "origin", text.data);
}

static void add_limits(struct tc_buf *out, const struct toolcage_policy *policy,
                       const struct tc_grant *grant)
{
    const struct tc_spec *tool = grant->tool ? tc_policy_tool(policy, grant->tool) : NULL;
    tc_json_key(out, "limits");
    tc_buf_addc(out, '{');
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        char text[TC_VALUE_TEXT_SIZE];
        int64_t value = tc_field_number(row, &grant->limits);
        if (!row->word)
            continue;
        tc_value_write(row->unit, value, text);
        tc_json_key(out, row->word);
        tc_buf_addc(out, '{');
        tc_json_optional(out, "value", !value && row->flags & TC_FIELD_UNSET ? NULL : text);
        if (row->key == TC_KEY_MEMORY)
            tc_json_member(out, "by", grant->limits.memory_any ? "any" : "group");
        if (row->key == TC_KEY_OUTPUT)
            tc_json_member(out, "over", grant->limits.output_kill ? "kill" : "truncate");
        add_limit_origin(out, policy, tc_policy_given(policy, tool, row->key), row, value);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, '}');
}

static void add_clauses(struct tc_buf *out, const char *key, tc_clauses clauses)
{
    bool first = true;
    tc_json_key(out, key);
    tc_buf_addc(out, '[');
    for (int i = 0; i < TC_CLAUSE_COUNT; i++) {
        if (!(clauses & TC_CLAUSE_BIT(i)))
            continue;
        tc_buf_addf(out, "%s\"%s\"", first ? "" : ",", tc_clause_name((enum tc_clause)i));
        first = false;
    }
    tc_buf_addc(out, ']');
}

/* Adds the names of the environment variables. Their values may be private. */
static void add_env(struct tc_buf *out, const struct tc_grant *grant)
{
    tc_json_key(out, "env");
    tc_buf_addc(out, '[');
    for (size_t i = 0; i < grant->env.count; i++) {
        tc_buf_adds(out, i ? "," : "");
        tc_json_string(out, grant->env.items[i], strcspn(grant->env.items[i], "="));
    }
    tc_buf_addc(out, ']');
}

/* If the line is in a file that the policy extends: adds the `extends` lines that lead to that
 * file, the nearest first. */
static void add_chain(struct tc_buf *out, const struct toolcage_policy *policy, uint32_t line)
{
    const char *comma = "";
    if (!TC_LINE_FILE(line))
        return;
    tc_json_key(out, "extended_by");
    tc_buf_addc(out, '[');
    while (TC_LINE_FILE(line)) {
        line = policy->files[TC_LINE_FILE(line)].by;
        tc_buf_addf(out, "%s{", comma);
        tc_json_member(out, "file", tc_policy_file(policy, line));
        tc_json_number(out, "line", TC_LINE_NUMBER(line));
        tc_buf_addc(out, '}');
        comma = ",";
    }
    tc_buf_addc(out, ']');
}

static void add_verdict(struct tc_buf *out, const struct toolcage_policy *policy,
                        const struct tc_verdict *v)
{
    tc_json_key(out, "verdict");
    tc_buf_addc(out, '{');
    tc_json_member(out, "access", v->access);
    tc_json_member(out, "target", v->target);
    tc_json_bool(out, "allowed", v->allowed);
    tc_json_member(out, "key", v->key);
    tc_line_json(out, policy, "line", v->line);
    add_chain(out, policy, v->line);
    tc_json_optional(out, "entry", v->entry);
    tc_json_member(out, "clause", tc_clause_name(v->clause));
    tc_json_member(out, "reason", v->reason);
    tc_json_member(out, "hint", v->hint);
    tc_buf_addc(out, '}');
}

/* Why the backend was chosen. Owned. */
static char *why(const struct tc_spec *said, const struct tc_backend_key *choice)
{
    if (!said)
        return strdup("nothing selects another");
    if (choice->id == TC_KEY_LAYERS)
        return strdup("its layers select it");
    if (choice->id == TC_KEY_BACKEND)
        return strdup("named");
    const char *word = *(char *const *)(const void *)((const char *)said + choice->word);
    return tc_format("%s %s selects it", choice->key, word);
}

/* Adds the key that chose the backend (tc_policy_chooser() has their order), and why. */
static void add_choice(struct tc_buf *out, const struct toolcage_policy *policy,
                       const struct tc_grant *grant)
{
    const struct tc_spec *tool = grant->tool ? tc_policy_tool(policy, grant->tool) : NULL;
    const struct tc_backend_key *choice = NULL;
    bool narrowed = !tc_streq(grant->backend, tc_policy_backend(policy, tool));
    const struct tc_spec *said = narrowed ? NULL : tc_policy_chooser(policy, tool, true, &choice);
    _autofree_ char *key = said ? tc_spec_key(said, choice->key) : strdup("");
    _autofree_ char *text = narrowed ? strdup("chosen for this call") : why(said, choice);
    out->failed |= !key || !text;
    tc_json_key(out, "chosen_by");
    tc_buf_addc(out, '{');
    tc_json_member(out, "why", text ? text : "");
    tc_json_member(out, "key", key ? key : "");
    tc_line_json(out, policy, "line", said ? said->said[choice->id] : 0);
    tc_buf_addc(out, '}');
}

/* The name of a number's value, if the key has a list of names for its values; else NULL. */
static const char *word_of(const struct tc_field *f, const struct tc_grant *grant)
{
    const struct tc_key *key = tc_key_find(tc_keys, TC_SCOPE_TOOL, f->name);
    return key->choices ? key->choices[tc_field_number(f, grant)] : NULL;
}

static void add_plain(struct tc_buf *out, const struct tc_field *f, const struct tc_grant *grant)
{
    const void *at = (const char *)grant + f->offset;
    const char *word = f->kind == TC_FIELD_NUMBER ? word_of(f, grant) : NULL;
    if (f->kind == TC_FIELD_LIST)
        tc_json_list(out, f->name, at);
    else if (f->kind == TC_FIELD_TEXT)
        tc_json_optional(out, f->name, *(char *const *)at);
    else if (f->kind == TC_FIELD_BOOL)
        tc_json_bool(out, f->name, tc_field_number(f, grant));
    else if (word)
        tc_json_member(out, f->name, word);
    else
        tc_json_number(out, f->name, tc_field_number(f, grant));
}

static void add_head(struct tc_buf *out, const struct toolcage_policy *policy,
                     const struct tc_grant *grant)
{
    tc_json_optional(out, "tool", grant->tool);
    tc_json_member(out, "file", policy->name);
    tc_json_member(out, "policy", policy->digest);
    tc_json_optional(out, "within", policy->ceiling ? policy->ceiling->name : NULL);
    tc_json_member(out, "grant", grant->digest);
    tc_json_optional(out, "backend", grant->backend);
    tc_json_list(out, "fallback", &grant->fallback);
    tc_json_list(out, "layers", &grant->layers);
    tc_json_optional(out, "module", grant->module);
    tc_json_optional(out, "module_digest", grant->module_digest);
    tc_json_list(out, "settings", &grant->settings);
    tc_json_optional(out, "tier", grant->tier);
    tc_json_bool(out, "approval", grant->approval);
    tc_json_list(out, "command", &grant->argv);
    tc_json_member(out, "workspace", tc_values_mode[grant->workspace]);
    tc_json_member(out, "commit",
                   grant->workspace == TC_WORKSPACE_BIND ? "always"
                                                         : tc_values_commit[grant->commit]);
    for (size_t i = 0; i < TC_PLAIN_COUNT; i++)
        add_plain(out, &tc_plain_rows[i].field, grant);
}

static void add_upstream(struct tc_buf *out, const struct toolcage_policy *policy,
                         const struct tc_grant *grant)
{
    _autofree_ char *at = tc_upstream_write(&grant->upstream);
    tc_json_key(out, "upstream");
    if (!grant->upstream.host) {
        tc_buf_adds(out, "null");
        return;
    }
    tc_buf_addc(out, '{');
    out->failed |= !at;
    tc_json_member(out, "url", at ? at : "");
    tc_json_member(out, "names", tc_values_names[grant->upstream.names]);
    tc_line_json(out, policy, "line", grant->upstream.line);
    tc_buf_addc(out, '}');
}

/* null: calls are not recorded. */
static void add_audit(struct tc_buf *out, const struct toolcage_policy *policy)
{
    const struct tc_audit_rules *rules = tc_policy_audit(policy);
    tc_json_key(out, "audit");
    if (!rules) {
        tc_buf_adds(out, "null");
        return;
    }
    tc_buf_addc(out, '{');
    tc_json_member(out, "arguments", tc_values_recorded[rules->arguments]);
    tc_json_member(out, "sync", tc_values_sync[rules->sync]);
    tc_json_member(out, "record", tc_values_record[rules->record]);
    tc_json_optional(out, "anchor", rules->anchor);
    if (rules->keep)
        tc_json_number(out, "keep", rules->keep);
    if (rules->record && rules->keep_inputs)
        tc_json_number(out, "keep_inputs", rules->keep_inputs);
    if (!policy->ceiling)
        tc_line_json(out, policy, "line", rules->line);
    tc_buf_addc(out, '}');
}

static void add_setup(struct tc_buf *out, const struct toolcage_policy *policy,
                      const struct tc_grant *grant)
{
    struct tc_install setup;
    tc_json_key(out, "setup");
    if (!grant->tool || !tc_policy_setup(policy, grant->tool, &setup)) {
        tc_buf_adds(out, "null");
        return;
    }
    tc_buf_addc(out, '{');
    tc_json_member(out, "key", setup.prefix);
    tc_line_json(out, policy, "line", setup.line);
    tc_json_member(out, "into", setup.into);
    tc_json_optional(out, "digest", grant->setup);
    tc_json_bool(out, "ready", grant->setup_ready);
    tc_buf_addc(out, '}');
}

int tc_policy_explain(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const struct tc_verdict *verdict, const char *here, char **ret,
                      struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    add_head(&out, policy, grant);
    if (here)
        tc_buf_addf(&out, ",%s", here);
    add_clauses(&out, "clauses", grant->clauses);
    add_clauses(&out, "without", grant->without & grant->clauses);
    add_files(&out, policy, grant);
    add_network(&out, policy, grant);
    add_arguments(&out, policy, grant);
    add_upstream(&out, policy, grant);
    add_secrets(&out, policy, grant);
    add_steering(&out, grant);
    add_syscalls(&out, grant);
    add_sockets(&out, policy, grant);
    add_limits(&out, policy, grant);
    add_env(&out, grant);
    add_review(&out, grant);
    add_setup(&out, policy, grant);
    add_audit(&out, policy);
    tc_server_explain(&out, policy, grant->tool);
    if (verdict) {
        add_choice(&out, policy, grant);
        add_verdict(&out, policy, verdict);
    }
    tc_buf_addc(&out, '}');
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}
