/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The flags of a call. With a policy file they only narrow; without one they are the operator's
 * grant. One row per flag. */
#include "policy/resolve/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "policy/endpoint.h"
#include "policy/pathrule.h"
#include "policy/publish.h"

const char *tc_request_last(const struct tc_request *request, const char *key)
{
    for (size_t i = request->narrow_count; i > 0; i--)
        if (tc_streq(request->narrow[i - 1].key, key))
            return request->narrow[i - 1].value;
    return NULL;
}

/* The key that a flag narrows. Both have the same name. It is a key of the tool or, for `commit`
 * and `mode`, a key of `workspace`. */
static const struct tc_key *key_of(const struct tc_flag *flag)
{
    const struct tc_key *key = tc_key_find(tc_keys, TC_SCOPE_TOOL, flag->name);
    return key ? key : tc_key_find(tc_keys, TC_SCOPE_WORKSPACE, flag->name);
}

/* Refuses a flag that would grant more than the policy. */
static int refuse_widening(struct tc_resolve *r, const struct tc_flag *flag, const char *value,
                           const char *has)
{
    struct tc_origin origin = {0};
    const struct tc_key *said = key_of(flag);
    bool inner = (said->scopes & TC_IN(WORKSPACE)) != 0;
    _autofree_ char *name = tc_format("%s%s", inner ? "workspace." : "", flag->name);
    if (!name || !tc_resolve_origin(r, inner ? TC_KEY_WORKSPACE : said->id, name, &origin))
        return tc_resolve_memory(r);
    _autofree_ char *key = origin.key;
    _autofree_ char *hint = tc_resolve_change_hint(r, &origin, flag->name);
    if (!hint)
        return tc_resolve_memory(r);
    if (origin.line)
        return tc_resolve_refuse(
            r, TOOLCAGE_EDENIED, key, origin.line, hint,
            "%s %.80s is more than the policy grants: %s is %s (line " TC_LINE_FORM ")", flag->name,
            value, key, has, TC_LINE_SHOWN(r->policy, origin.line));
    return tc_resolve_refuse(r, TOOLCAGE_EDENIED, key, 0, hint,
                             "%s %.80s is more than the policy grants: %s is not set, so it is %s",
                             flag->name, value, key, has);
}

/* ---- limits ---- */

static bool check_limit(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    const struct tc_key *key = key_of(flag);
    int64_t number;
    return tc_value_read(key->unit, value, key->min, key->max, &number, c);
}

static int apply_limit(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    const struct tc_key *key = key_of(flag);
    const struct tc_field *row = tc_limits_fields.rows;
    while (!tc_streq(row->word, flag->name))
        row++;
    struct tc_complaint c;
    char has[TC_VALUE_TEXT_SIZE];
    int64_t wanted = 0, said = tc_field_number(row, &r->said_limits);
    if (!tc_value_read(key->unit, value, key->min, key->max, &wanted, &c))
        return tc_resolve_refuse(r, TOOLCAGE_EPOLICY, flag->name, 0, c.hint, "%s: %s", flag->name,
                                 c.what);
    tc_value_write(key->unit, said, has);
    if (!r->operators && said && wanted > said)
        return refuse_widening(r, flag, value, has);
    (void)tc_field_set(row, &r->grant->limits, wanted);
    if (key->id == TC_KEY_DISK) {
        r->grant->limits.disk_set = true;
        r->grant->limits.inodes = TC_INODES_PER_DISK(wanted);
    }
    return 0;
}

/* ---- choices ---- */

static int find_word(const char *const *words, const char *value)
{
    for (int i = 0; words[i]; i++)
        if (tc_streq(words[i], value))
            return i;
    return -1;
}

static bool check_word(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    const struct tc_key *key = key_of(flag);
    char range[200];
    if (find_word(key->choices, value) >= 0)
        return true;
    struct tc_near near = tc_near_to(value);
    const char *best = NULL;
    for (int i = 0; key->choices[i]; i++)
        best = tc_near_is(&near, key->choices[i]) ? key->choices[i] : best;
    tc_key_range(key, range, sizeof(range));
    tc_complain(c, NULL, "\"%.60s\" is not a value of %s", value, flag->name);
    (void)snprintf(c->hint, sizeof(c->hint), "%s%s%sthe values are %s", best ? "did you mean " : "",
                   best ? best : "", best ? "? " : "", range);
    return false;
}

/* A lower level would hide denials that the policy requires to be recorded. */
static int apply_denials(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    enum tc_denials wanted = (enum tc_denials)find_word(tc_values_denials, value);
    if (!r->operators && tc_denials_rank(wanted) < tc_denials_rank(r->grant->denials))
        return refuse_widening(r, flag, value, tc_values_denials[r->grant->denials]);
    r->grant->denials = wanted;
    return 0;
}

static int apply_commit(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    struct tc_grant *grant = r->grant;
    bool bind = grant->workspace == TC_WORKSPACE_BIND;
    enum tc_commit wanted = (enum tc_commit)find_word(tc_values_commit, value);
    for (size_t i = 0; i < r->request->narrow_count; i++) { /* the strictest flag counts */
        const struct tc_narrowing *n = &r->request->narrow[i];
        int other = tc_streq(n->key, flag->name) ? find_word(tc_values_commit, n->value) : -1;
        if (other >= 0 && tc_commit_rank((enum tc_commit)other) > tc_commit_rank(wanted))
            wanted = (enum tc_commit)other;
    }
    enum tc_commit now = bind ? TC_COMMIT_ALWAYS : grant->commit;
    if (!r->operators && tc_commit_rank(wanted) < tc_commit_rank(now))
        return refuse_widening(r, flag, value, tc_values_commit[now]);
    if (bind && wanted == TC_COMMIT_ALWAYS)
        return 0;
    if (bind) /* whose changes cannot be staged */
        grant->workspace = TC_WORKSPACE_AUTO;
    grant->commit = wanted;
    return 0;
}

/* Runs after apply_commit(), which leaves no bind where changes are staged. */
static int apply_mode(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    struct tc_grant *grant = r->grant;
    enum tc_workspace_mode wanted = (enum tc_workspace_mode)find_word(tc_values_mode, value);
    if (wanted == grant->workspace)
        return 0;
    if (!r->operators && grant->workspace != TC_WORKSPACE_AUTO)
        return refuse_widening(r, flag, value, tc_values_mode[grant->workspace]);
    if (wanted == TC_WORKSPACE_BIND && grant->commit != TC_COMMIT_ALWAYS)
        return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, flag->name, 0,
                                 "leave out one of the two: changes in place are not staged",
                                 "mode bind cannot be combined with commit %s",
                                 tc_values_commit[grant->commit]);
    grant->workspace = wanted;
    return 0;
}

static int apply_backend(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    if (tc_streq(r->grant->backend, value))
        return 0;
    if (!r->operators)
        return refuse_widening(r, flag, value, r->grant->backend);
    char *copy = strdup(value);
    if (!copy)
        return tc_resolve_memory(r);
    free(r->grant->backend);
    r->grant->backend = copy;
    return 0;
}

static bool check_text(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    if (value[0])
        return true;
    tc_complain(c, "write a pattern, as in *.csv", "the value of %s is empty", flag->name);
    return false;
}

static int apply_collect(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    if (tc_strv_has(&r->grant->collect, value))
        return 0;
    if (!r->operators)
        return refuse_widening(r, flag, value,
                               r->grant->collect.count ? "without this pattern" : "empty");
    return tc_strv_add(&r->grant->collect, value) ? 0 : tc_resolve_memory(r);
}

/* ---- published ports ---- */

static bool check_publish(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    struct tc_publish publish;
    return tc_publish_read(value, &publish, c);
}

/* The canonical text; owned. NULL after a refusal. */
static char *publish_text(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    struct tc_publish publish;
    struct tc_complaint c;
    _autofree_ char *path = NULL;
    int rc = tc_publish_read(value, &publish, &c) ? 0 : TOOLCAGE_EPOLICY;
    if (!rc && publish.path)
        rc = tc_path_expand(publish.path, r->facts->cwd ? r->facts->cwd : "/", r->facts->home,
                            &path, &c);
    char *text = rc ? NULL : tc_publish_write(&publish, path);
    if (rc == TOOLCAGE_EPOLICY)
        (void)tc_resolve_refuse(r, TOOLCAGE_EPOLICY, flag->name, 0, c.hint, "%s", c.what);
    else if (!text)
        (void)tc_resolve_memory(r);
    return text;
}

static int apply_publish(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    struct tc_strv *list = &r->grant->publish;
    _autofree_ char *text = publish_text(r, flag, value);
    if (!text)
        return TOOLCAGE_EPOLICY;
    if (tc_strv_has(list, text))
        return 0;
    if (!r->operators)
        return refuse_widening(r, flag, value, list->count ? "without this port" : "empty");
    if (list->count == TC_PUBLISH_MAX)
        return tc_resolve_refuse(r, TOOLCAGE_EPOLICY, flag->name, 0, "publish fewer ports",
                                 "more than %d published ports", TC_PUBLISH_MAX);
    return tc_strv_add(list, text) ? 0 : tc_resolve_memory(r);
}

/* ---- environment ---- */

static bool check_env(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    size_t n = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (n && !strchr("0123456789", value[0]) && (!value[n] || value[n] == '='))
        return true;
    tc_complain(c, "write NAME=value, or NAME to pass the caller's",
                "\"%.60s\" does not name "
                "a variable",
                value);
    return false;
}

static int apply_env(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_ENV);
    const char *equals = strchr(value, '=');
    _autofree_ char *name = strndup(value, equals ? (size_t)(equals - value) : strlen(value));
    if (!name)
        return tc_resolve_memory(r);
    bool passed = said && tc_strv_has(&said->env_pass, name);
    if (!r->operators && !passed)
        return refuse_widening(r, flag, name, said ? "without this name in pass" : "empty");
    const char *text = equals ? equals + 1 : tc_variable(r->facts->environ, name);
    return !text || tc_strv_put(&r->grant->env, name, text) ? 0 : tc_resolve_memory(r);
}

/* ---- network ---- */

static bool check_network(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    _auto_(tc_net_entry_done) struct tc_net_entry entry = {0};
    if (tc_streq(value, "none"))
        return true;
    int rc = tc_endpoint_read(value, &entry, c);
    if (rc == TOOLCAGE_EMEMORY)
        tc_complain(c, NULL, "out of memory");
    return !rc;
}

static void drop_network(struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->net_count; i++)
        tc_net_entry_done(&grant->net[i]);
    free(TAKE(grant->net));
    grant->net_count = 0;
}

/* Keeps the policy's entry reduced to this endpoint, or without a policy, the endpoint itself. */
static int keep_endpoint(struct tc_resolve *r, const struct tc_flag *flag, const char *value,
                         struct tc_net_entry **kept, size_t *count)
{
    _auto_(tc_net_entry_done) struct tc_net_entry wanted = {0};
    struct tc_complaint c;
    int rc = tc_endpoint_read(value, &wanted, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_resolve_memory(r);
    if (rc)
        return tc_resolve_refuse(r, TOOLCAGE_EPOLICY, flag->name, 0, c.hint, "%s", c.what);
    const struct tc_net_entry *from = &wanted;
    if (!r->operators)
        from = tc_endpoint_find(r->grant->net, r->grant->net_count, wanted.host, wanted.port);
    if (!from)
        return refuse_widening(r, flag, value,
                               r->grant->net_count ? "without this endpoint" : "none");
    struct tc_net_entry *to = TC_PUSH(*kept, *count);
    if (!to || !tc_net_entry_copy(to, from))
        return tc_resolve_memory(r);
    if (!to->origin.key && !(to->origin.key = strdup("the call's option")))
        return tc_resolve_memory(r);
    char *host = strdup(wanted.host);
    if (!host)
        return tc_resolve_memory(r);
    free(to->host);
    to->host = host;
    to->port = wanted.port;
    return 0;
}

/* All network flags together: the endpoints that they name replace the list. */
static int apply_network(struct tc_resolve *r, const struct tc_flag *flag, const char *last)
{
    struct tc_net_entry *kept = NULL;
    size_t count = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->request->narrow_count; i++) {
        const struct tc_narrowing *n = &r->request->narrow[i];
        if (tc_streq(n->key, flag->name) && !tc_streq(n->value, "none"))
            rc = keep_endpoint(r, flag, n->value, &kept, &count);
    }
    for (size_t i = 0; !rc && count && i < r->request->narrow_count; i++) {
        const struct tc_narrowing *n = &r->request->narrow[i];
        if (tc_streq(n->key, flag->name) && tc_streq(n->value, "none"))
            rc = tc_resolve_refuse(r, TOOLCAGE_EUSAGE, flag->name, 0,
                                   "give either none or endpoints",
                                   "network none cannot be combined with endpoints");
    }
    drop_network(r->grant);
    r->grant->net = kept;
    r->grant->net_count = count;
    return rc;
}

/* ---- directories ---- */

static bool check_path(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    return tc_path_text_fine(value, c);
}

static int apply_cwd(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    struct tc_complaint c;
    char *path = NULL;
    int rc = tc_path_expand(value, r->facts->cwd ? r->facts->cwd : "/", r->facts->home, &path, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_resolve_memory(r);
    if (rc)
        return tc_resolve_refuse(r, TOOLCAGE_EPOLICY, flag->name, 0, c.hint, "%s", c.what);
    free(r->grant->cwd);
    r->grant->cwd = path;
    return 0;
}

/* find_workspace() has applied this flag already. */
static int apply_workspace(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    return 0;
}

static int apply_files(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    return tc_narrow_files(r);
}

/* ---- replays ---- */

static bool check_replay(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    char id[TC_ULID_SIZE];
    if (tc_ulid_named(value, "", id))
        return true;
    tc_complain(c, "toolcage audit list has the ids", "\"%.60s\" is not the id of a call", value);
    return false;
}

static bool has_flag(const struct tc_resolve *r, const char *key)
{
    for (size_t i = 0; i < r->request->narrow_count; i++)
        if (tc_streq(r->request->narrow[i].key, key))
            return true;
    return false;
}

static bool check_exchanges(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    if (tc_digest_valid(value))
        return true;
    tc_complain(c, "the log has it in the result of the call", "\"%.80s\" is not a digest", value);
    return false;
}

static int apply_exchanges(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    return has_flag(r, "replay") ? 0
                                 : tc_resolve_refuse(r, TOOLCAGE_EUSAGE, flag->name, 0,
                                                     "set replay to the id of the call, too",
                                                     "exchanges is for a replay only");
}

/* A recorded call that runs again reaches nothing and changes nothing: its requests are answered
 * from their record, if it has one. */
static int apply_replay(struct tc_resolve *r, const struct tc_flag *flag, const char *value)
{
    struct tc_grant *grant = r->grant;
    if (!has_flag(r, "exchanges"))
        drop_network(grant);
    tc_resolve_drop_sockets(grant);
    if (grant->workspace == TC_WORKSPACE_BIND)
        grant->workspace = TC_WORKSPACE_AUTO;
    grant->commit = TC_COMMIT_NEVER;
    return 0;
}

/* Whether a call may lower a limit. */
#define LOWERS check_limit
#define STAYS NULL
#define LIMIT(F, key, member, word, unit, flags, unsaid, call) {word, call, apply_limit},
#define PART(...)

/* Each flag is applied once, with its last value, except flags that collect all their values. A row
 * without a check is not a flag. */
static const struct tc_flag flags[] = {
    TC_LIMITS_MAP(LIMIT, PART, ){"network", check_network, apply_network},
    {"unix_sockets", check_path, tc_flag_unix_apply},
    {"env", check_env, apply_env},
    {"cwd", check_path, apply_cwd},
    {"workspace", check_path, apply_workspace},
    {"denials", check_word, apply_denials},
    {"commit", check_word, apply_commit},
    {"mode", check_word, apply_mode},
    {"backend", check_word, apply_backend},
    {"collect", check_text, apply_collect},
    {"publish", check_publish, apply_publish},
    {"read", tc_flag_file_check, apply_files},
    {"write", tc_flag_file_check, NULL},
    {"exchanges", check_exchanges, apply_exchanges},
    {"replay", check_replay, apply_replay},
};

static const struct tc_flag *find_flag(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(flags); i++)
        if (flags[i].check && tc_streq(flags[i].name, name))
            return &flags[i];
    return NULL;
}

static const char *nearest(const char *key)
{
    const char *near = NULL;
    struct tc_near by = tc_near_to(key);
    for (size_t i = 0; i < TC_COUNT(flags); i++)
        if (flags[i].check && tc_near_is(&by, flags[i].name))
            near = flags[i].name;
    return near;
}

/* The list of flag names, for a hint. Owned. */
static char *all_names(void)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(flags); i++)
        if (flags[i].check)
            tc_buf_addf(&out, "%s%s", i ? ", " : "the keys are ", flags[i].name);
    return tc_buf_steal(&out);
}

static int refuse_unknown(const char *key, struct toolcage_error **err)
{
    const char *near = nearest(key);
    _autofree_ char *hint = near ? tc_format("did you mean \"%s\"?", near) : all_names();
    return hint ? tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "narrow", key, hint),
                          "a call cannot be narrowed by \"%.60s\"", key)
                : tc_fail_memory(err);
}

int tc_policy_check_narrowing(const char *key, const char *value, struct toolcage_error **err)
{
    struct tc_complaint c = {0};
    const struct tc_flag *flag = find_flag(key);
    if (!flag)
        return refuse_unknown(key, err);
    if (flag->check(flag, value, &c))
        return 0;
    return tc_fail(err, TC_WHY(TOOLCAGE_EPOLICY, "narrow", key, c.hint), "%s: %s", key, c.what);
}

static int apply_all(struct tc_resolve *r, const struct tc_flag *flag)
{
    /* applied to each value */
    bool each =
        flag->apply == apply_env || flag->apply == apply_collect || flag->apply == apply_publish;
    int rc = 0;
    for (size_t i = 0; each && !rc && i < r->request->narrow_count; i++)
        if (tc_streq(r->request->narrow[i].key, flag->name))
            rc = flag->apply(r, flag, r->request->narrow[i].value);
    const char *last = each ? NULL : tc_request_last(r->request, flag->name);
    return last && flag->apply ? flag->apply(r, flag, last) : rc;
}

int tc_resolve_narrow(struct tc_resolve *r)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->request->narrow_count; i++)
        rc = tc_policy_check_narrowing(r->request->narrow[i].key, r->request->narrow[i].value,
                                       r->err);
    r->said_limits = r->grant->limits;
    for (size_t i = 0; !rc && i < TC_COUNT(flags); i++)
        rc = apply_all(r, &flags[i]);
    /* read and write are one set: the row `read` applies both, so `write` alone is applied here */
    if (!rc && !tc_request_last(r->request, "read") && tc_request_last(r->request, "write"))
        rc = tc_narrow_files(r);
    return rc;
}
