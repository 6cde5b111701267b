/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/edit/amend.h"

#include <string.h>

#include "base/buf.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/model.h"
#include "policy/pathrule.h"
#include "policy/policy.h"

struct wanted {
    const char *tool;
    enum tc_key_id key; /* FILESYSTEM or NETWORK */
    const char *path;   /* or the endpoint */
    enum tc_access access;
    bool optional; /* the path does not exist yet */
};

static int refuse_change(const struct wanted *w, const char *hint, const char *why,
                         struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "allow", w->path, hint), "%s", why);
}

static int read_access(const char *access, struct wanted *w, struct toolcage_error **err)
{
    static const struct {
        const char *word;
        enum tc_access access;
    } words[] = {{"read", TC_ACCESS_READ}, {"exec", TC_ACCESS_READ}, {"write", TC_ACCESS_WRITE}};
    w->path = access;
    w->key = TC_KEY_FILESYSTEM;
    if (tc_startswith(access, "connect ") && !tc_startswith(access, "connect unix:")) {
        w->key = TC_KEY_NETWORK;
        w->path += strlen("connect ");
        return 0;
    }
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        const char *rest = access + strlen(words[i].word);
        if (!tc_startswith(access, words[i].word))
            continue;
        w->optional = *rest == '?';
        rest += w->optional;
        if (!tc_startswith(rest, " /"))
            continue;
        w->path = rest + 1;
        w->access = words[i].access;
        return 0;
    }
    return refuse_change(w, "as in \"read /data/x.csv\" or \"connect example.com:443\"",
                         "no path and no endpoint allows this access", err);
}

static const struct tc_spec *spec_of(const struct wanted *w, const struct toolcage_policy *policy)
{
    return w->tool ? tc_policy_tool(policy, w->tool) : &policy->defaults;
}

static const char *list_of(const struct wanted *w)
{
    return w->key == TC_KEY_NETWORK       ? "network"
           : w->access == TC_ACCESS_WRITE ? "filesystem.writable"
                                          : "filesystem.readable";
}

static const char *key_of(const struct wanted *w)
{
    return w->key == TC_KEY_NETWORK ? "network" : "filesystem";
}

/* The most specific rule that contains the path. */
static const struct tc_fs_rule *holder(const struct tc_spec *spec, const char *path)
{
    const struct tc_fs_rule *best = NULL;
    for (size_t i = 0; spec && i < spec->fs_count; i++) {
        const struct tc_fs_rule *r = &spec->fs[i];
        if (tc_path_within(r->path, path) && (!best || tc_path_within(best->path, r->path)))
            best = r;
    }
    return best;
}

/* Writes `from` unless the host's path is the same. */
static void write_element(struct tc_buf *out, const struct tc_fs_rule *rule, const struct wanted *w,
                          const char *is)
{
    bool elsewhere =
        w->key == TC_KEY_FILESYSTEM && rule && rule->from && strcmp(rule->from, rule->path) != 0;
    if (!elsewhere && !w->optional) {
        tc_toml_string(out, w->path);
        return;
    }
    _autofree_ char *from =
        elsewhere ? tc_format("%s%s", rule->from, w->path + strlen(rule->path)) : NULL;
    tc_buf_addf(out, "{ path%s ", is);
    tc_toml_string(out, w->path);
    if (elsewhere) {
        tc_buf_addf(out, ", from%s ", is);
        tc_toml_string(out, from ? from : "");
    }
    if (w->optional)
        tc_buf_addf(out, ", optional%s true", is);
    tc_buf_adds(out, " }");
    out->failed = out->failed || (elsewhere && !from);
}

/* Adding a path here would replace the list in the extended file. */
static int refuse_elsewhere(const struct wanted *w, const struct toolcage_policy *policy,
                            uint32_t line, struct toolcage_error **err)
{
    _autofree_ char *why = tc_format("the tool's %s is set in %s, line %u, which this file extends",
                                     key_of(w), tc_policy_file(policy, line), TC_LINE_NUMBER(line));
    _autofree_ char *hint = tc_format("add the %s there, or give the tool a %s here, with the "
                                      "inherited entries and this one",
                                      w->key == TC_KEY_NETWORK ? "endpoint" : "path", key_of(w));
    return why && hint ? refuse_change(w, hint, why, err) : tc_fail_memory(err);
}

static int refuse_defaults(const struct wanted *w, struct toolcage_error **err)
{
    _autofree_ char *why = tc_format("the tool's %s is that of [defaults], and an addition there "
                                     "would apply to every tool",
                                     key_of(w));
    _autofree_ char *hint =
        tc_format("give the tool its own %s, with the inherited entries and this one", key_of(w));
    return why && hint ? refuse_change(w, hint, why, err) : tc_fail_memory(err);
}

static int check_endpoint(const struct wanted *w, struct toolcage_error **err)
{
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry to = {0};
    int rc = tc_endpoint_read(w->path, &to, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_fail_memory(err);
    if (rc)
        return refuse_change(w, c.hint, c.what, err);
    return tc_host_is_pattern(to.host)
               ? refuse_change(w, "name one host, as in \"connect example.com:443\"",
                               "this entry would allow more than one host", err)
               : 0;
}

static int check_change(const struct wanted *w, const struct toolcage_policy *policy,
                        struct toolcage_error **err)
{
    const struct tc_spec *spec = spec_of(w, policy);
    const struct tc_spec *said = tc_policy_given(policy, w->tool ? spec : NULL, w->key);
    if (!spec)
        return refuse_change(w, "`toolcage tools` lists them", "the policy has no such tool", err);
    if (said && said != spec)
        return refuse_defaults(w, err);
    uint32_t line = said ? said->said[w->key] : 0;
    if (TC_LINE_FILE(line))
        return refuse_elsewhere(w, policy, line, err);
    if (w->key == TC_KEY_NETWORK)
        return check_endpoint(w, err);
    const struct tc_fs_rule *rule = holder(spec, w->path);
    if (rule && rule->access == TC_ACCESS_DENY)
        return refuse_change(
            w, "remove it from filesystem.denied by hand, if it should be read at all",
            "the policy denies it by name", err);
    if (rule && !rule->from && strcmp(rule->path, w->path) != 0)
        return refuse_change(w, "move /workspace from readable to writable",
                             "it is in the call's workspace, which is read-only", err);
    return 0;
}

static bool policy_holds(const struct toolcage_policy *policy, const struct wanted *w)
{
    const struct tc_spec *spec = spec_of(w, policy);
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry to = {0};
    if (w->key == TC_KEY_NETWORK)
        return spec && tc_endpoint_read(w->path, &to, &c) == 0 &&
               tc_endpoint_find(spec->net, spec->net_count, to.host, to.port);
    const struct tc_fs_rule *rule = holder(spec, w->path);
    return rule && rule->access == w->access;
}

/* Refuses the edit, with the clause for the user to add by hand. */
static int name_clause(const struct wanted *w, const struct toolcage_policy *policy,
                       struct toolcage_error **err)
{
    const struct tc_spec *spec = spec_of(w, policy);
    const char *list = list_of(w);
    uint32_t line = spec->said[w->key];
    bool inner = w->key == TC_KEY_FILESYSTEM;
    const char *name = inner ? list + strlen("filesystem.") : list;
    _autobuf_ struct tc_buf hint = TC_BUF_INIT;
    if (line) /* a second key of that name would be an error */
        tc_buf_addf(&hint, "add it by hand to %s%s%s.%s, line %u: ", inner ? name : "",
                    inner ? " of " : "", spec->prefix, key_of(w), TC_LINE_NUMBER(line));
    else
        tc_buf_addf(&hint, "add it by hand, below %s: %s%s: [", spec->prefix,
                    inner ? "filesystem: {" : "", name);
    write_element(&hint, holder(spec, w->path), w, ":");
    tc_buf_adds(&hint, line ? "" : inner ? "]}" : "]");
    return hint.failed ? tc_fail_memory(err)
                       : refuse_change(w, hint.data, "this YAML file cannot be edited safely", err);
}

/* Does the edited text compile, and grant the path? */
static bool says(const struct tc_policy_source *source, const char *text, const struct wanted *w,
                 const struct toolcage_policy *policy)
{
    struct toolcage_policy *after = NULL;
    struct tc_policy_source edited = *source;
    edited.text = text;
    edited.length = strlen(text);
    int rc = tc_policy_compile_source(&edited, policy->dir, policy->home, &after, NULL);
    bool good = rc == 0 && policy_holds(after, w);
    (void)tc_policy_unref(after);
    return good;
}

static int edit_yaml(const struct tc_policy_source *source, const struct wanted *w,
                     const struct toolcage_policy *policy, char **ret, struct toolcage_error **err)
{
    const struct tc_spec *spec = spec_of(w, policy);
    _autobuf_ struct tc_buf element = TC_BUF_INIT;
    write_element(&element, holder(spec, w->path), w, ":");
    _autofree_ char *next = element.failed ? NULL
                                           : tc_yaml_add(source->reader, source->text, spec->prefix,
                                                         list_of(w), element.data);
    if (!next || !says(source, next, w, policy))
        return name_clause(w, policy, err);
    *ret = TAKE(next);
    return 0;
}

static int edit(const struct tc_policy_source *source, const struct wanted *w,
                const struct toolcage_policy *policy, char **ret, struct toolcage_error **err)
{
    const struct tc_spec *spec = spec_of(w, policy);
    _autobuf_ struct tc_buf element = TC_BUF_INIT;
    const char *why = NULL;
    write_element(&element, holder(spec, w->path), w, " =");
    _autofree_ char *next =
        element.failed ? NULL
                       : tc_toml_add(source->text, spec->prefix, list_of(w), element.data, &why);
    if (!next && !why)
        return tc_fail_memory(err);
    _autofree_ char *hint = tc_format("add it by hand: %s = [%s]", list_of(w), element.data);
    if (!next)
        return refuse_change(w, hint ? hint : "", why, err);
    /* the edited text is parsed again: an edit without the expected result is refused */
    if (!says(source, next, w, policy))
        return refuse_change(w, hint ? hint : "", "the file cannot be edited safely", err);
    *ret = TAKE(next);
    return 0;
}

int tc_policy_amend(const struct toolcage_policy *policy, const struct tc_policy_source *source,
                    const char *tool, const char *access, char **ret, struct toolcage_error **err)
{
    struct wanted w = {.tool = tool};
    int rc = read_access(access, &w, err);
    if (rc == 0)
        rc = check_change(&w, policy, err);
    if (rc)
        return rc;
    return source->reader == tc_document_read_toml ? edit(source, &w, policy, ret, err)
                                                   : edit_yaml(source, &w, policy, ret, err);
}
