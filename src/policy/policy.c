/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy object: compiling, sharing, freeing. */
#include "policy/policy.h"

#include <stdio.h>
#include <string.h>

#include "policy/endpoint.h"
#include "policy/parse.h"
#include "policy/test.h"
#include "policy/within.h"

#define LIMIT(F, key, member, word, unit, flags, unsaid, ...) .member = (unsaid),
#define PART(F, type, member, key, word, unit, unsaid) .member = (unsaid),
const struct tc_limits tc_limits_default = {TC_LIMITS_MAP(LIMIT, PART, )};

static void argument_done(struct tc_argument *argument)
{
    free(argument->name);
    json_decref(argument->schema);
    for (size_t i = 0; i < argument->bound_count; i++) {
        free(argument->bounds[i].path);
        tc_net_entry_done(&argument->bounds[i].host);
    }
    free(argument->bounds);
    for (size_t i = 0; i < argument->pattern_count; i++)
        tc_pattern_free(argument->patterns[i]);
    free(argument->patterns);
}

void tc_spec_done(struct tc_spec *spec)
{
    char *texts[] = {spec->prefix, spec->name, spec->description, spec->title, spec->stdin_text,
                     spec->tier,   spec->risk, spec->backend,     spec->image, spec->module,
                     spec->cwd,    spec->into, spec->canonical};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < spec->argument_count; i++)
        argument_done(&spec->arguments[i]);
    free(spec->arguments);
    if (spec->together)
        argument_done(spec->together);
    free(spec->together);
    for (size_t i = 0; i < spec->fs_count; i++) {
        free(spec->fs[i].path);
        free(spec->fs[i].from);
    }
    free(spec->fs);
    for (size_t i = 0; i < spec->socket_count; i++) {
        free(spec->sockets[i].path);
        free(spec->sockets[i].from);
    }
    free(spec->sockets);
    for (size_t i = 0; i < spec->net_count; i++)
        tc_net_entry_done(&spec->net[i]);
    free(spec->net);
    for (size_t i = 0; i < spec->secret_count; i++)
        tc_secret_done(&spec->secrets[i]);
    free(spec->secrets);
    struct tc_strv *lists[] = {&spec->command,  &spec->env_pass,       &spec->env_set,
                               &spec->programs, &spec->collect,        &spec->fallback,
                               &spec->layers,   &spec->syscalls_allow, &spec->syscalls_deny,
                               &spec->inputs,   &spec->caches};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    tc_steering_done(&spec->steering);
    if (spec->setup)
        tc_spec_done(spec->setup);
    free(spec->setup);
}

static void server_done(struct tc_server *server)
{
    tc_spec_done(&server->spec);
    for (size_t i = 0; i < server->tool_count; i++)
        tc_spec_done(&server->tools[i]);
    free(server->tools);
}

static void classes_done(struct tc_class *classes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(classes[i].name);
        free(classes[i].backend);
    }
    free(classes);
}

static void tests_done(struct tc_test *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(tests[i].tool);
        free(tests[i].arguments);
        free(tests[i].call);
        for (size_t a = 0; a < tests[i].access_count; a++)
            free(tests[i].accesses[a].text);
        free(tests[i].accesses);
    }
    free(tests);
}

struct toolcage_policy *tc_policy_ref(struct toolcage_policy *policy)
{
    if (policy)
        atomic_fetch_add_explicit(&policy->refs, 1, memory_order_relaxed);
    return policy;
}

struct toolcage_policy *tc_policy_unref(struct toolcage_policy *policy)
{
    if (!policy || atomic_fetch_sub_explicit(&policy->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    tc_spec_done(&policy->defaults);
    for (size_t i = 0; i < policy->tool_count; i++)
        tc_spec_done(&policy->tools[i]);
    for (size_t i = 0; i < policy->server_count; i++)
        server_done(&policy->servers[i]);
    tc_strv_done(&policy->settings);
    tc_fields_done(&tc_upstream_fields, &policy->upstream);
    free(policy->upstream_from);
    classes_done(policy->tiers, policy->tier_count);
    classes_done(policy->risks, policy->risk_count);
    tests_done(policy->tests, policy->test_count);
    free(policy->tools);
    free(policy->by_name);
    tc_strv_done(&policy->writable);
    tc_strv_done(&policy->workspace_writable);
    free(policy->servers);
    free(policy->name);
    free(policy->dir);
    free(policy->home);
    tc_policy_files_done(policy);
    (void)tc_policy_unref(policy->ceiling);
    free(policy);
    return NULL;
}

static void unref(struct toolcage_policy **policy)
{
    tc_policy_unref(*policy);
}

static struct toolcage_policy *new_policy(const char *name, const char *dir, const char *home)
{
    _auto_(unref) struct toolcage_policy *policy = calloc(1, sizeof(*policy));
    if (!policy)
        return NULL;
    atomic_init(&policy->refs, 1);
    policy->defaults.limits = tc_limits_default;
    policy->name = strdup(name);
    policy->dir = strdup(dir);
    policy->home = home ? strdup(home) : NULL;
    policy->defaults.prefix = strdup("defaults");
    if (!policy->name || !policy->dir || !policy->defaults.prefix || (home && !policy->home))
        return NULL;
    return TAKE(policy);
}

/* The tools that tests name must be there. */
static void check_tests(struct tc_parse *p, const struct tc_node *root)
{
    const struct tc_node *tests = tc_node_get(root, "test");
    const struct toolcage_policy *policy = p->tested ? p->tested : p->policy;
    for (size_t i = 0; !p->diag.memory && tests && tests->kind == TC_NODE_ARRAY && i < tests->count;
         i++) {
        if (tests->items[i].kind != TC_NODE_TABLE)
            continue;
        const struct tc_node *tool = tc_node_get(&tests->items[i], "tool");
        if (tool && tool->kind == TC_NODE_STRING && !tc_policy_has_tool(policy, tool->text))
            tc_parse_bad(p, tool,
                         p->tested ? "name a tool of the policy" : "name a tool of this file",
                         "there is no tool \"%.80s\"", tool->text);
    }
}

static void check_text(struct tc_parse *p, const char *text, size_t length)
{
    if (length > TC_DOCUMENT_BYTES_MAX)
        tc_diag_add(&p->diag, (struct tc_place){1, 1, 1}, "", "split the policy",
                    "the file has %zu bytes, at most %d are read", length, TC_DOCUMENT_BYTES_MAX);
    else if (memchr(text, '\0', length))
        tc_diag_add(&p->diag, (struct tc_place){1, 1, 1}, "", "remove the NUL byte",
                    "the file holds a NUL byte");
}

/* Tests of a policy are asked for, and this is one: whoever gave it meant something else. */
static int refuse_policy(const struct tc_parse *p, const struct tc_node *root,
                         struct toolcage_error **err)
{
    for (size_t i = 0; i < root->count; i++) {
        const char *key = root->items[i].key;
        if (tc_key_find(TC_SCOPE_FILE, key) && !tc_key_find(TC_SCOPE_TEST_FILE, key))
            return tc_fail(
                err,
                TC_WHY(
                    TOOLCAGE_EUSAGE, "policy", key,
                    "name it with --policy, or as the first file; a test file holds only [[test]]"),
                "%.200s is a policy, not a test file: it has %.40s", p->diag.name, key);
    }
    return 0;
}

static int read_policy(struct tc_parse *p, const struct tc_policy_source *source,
                       struct tc_document *document, struct toolcage_error **err)
{
    check_text(p, p->diag.text, p->diag.len);
    if (p->diag.count)
        return tc_diag_result(&p->diag, err);
    if (!source->reader(document, p->diag.text, p->diag.len)) {
        if (document->memory || !document->error)
            return tc_fail_memory(err);
        tc_diag_add(&p->diag, document->error_at, "", document->hint, "%s", document->error);
        return tc_diag_result(&p->diag, err);
    }
    int rc = p->tested ? refuse_policy(p, &document->root, err)
                       : tc_extends_merge(p->policy, document, &p->diag, source, err);
    if (!rc && !p->tested)
        rc = tc_within_compile(p->policy, document, &p->diag, source, err);
    if (rc)
        return rc;
    tc_parse_table(p, p->tested ? TC_SCOPE_TEST_FILE : TC_SCOPE_FILE, &document->root, p->policy);
    if (!tc_policy_index_tools(p->policy))
        return tc_fail_memory(err);
    check_tests(p, &document->root);
    tc_parse_secrets_check(p);
    tc_parse_upstream_check(p);
    return tc_diag_result(&p->diag, err);
}

static bool digest_policy(struct toolcage_policy *policy, const struct tc_node *root)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_node_canonical(root, &out);
    if (out.failed)
        return false;
    tc_digest(out.data, out.len, policy->digest);
    return true;
}

static bool add_first(struct toolcage_policy *policy, const struct tc_policy_source *source)
{
    struct tc_policy_file *file = &policy->files[policy->file_count++];
    file->name = strdup(policy->name);
    file->path = source->path ? strdup(source->path) : NULL;
    file->real = source->real ? strdup(source->real) : NULL;
    file->dir = strdup(policy->dir);
    file->said = strdup(source->said ? source->said : "");
    return file->name && (file->path || !source->path) && (file->real || !source->real) &&
           file->dir && file->said;
}

static int compile(const struct tc_policy_source *source, const char *dir, const char *home,
                   const struct toolcage_policy *tested, struct toolcage_policy **ret,
                   struct toolcage_error **err)
{
    _auto_(unref) struct toolcage_policy *policy = new_policy(source->name, dir, home);
    _auto_(tc_document_done) struct tc_document document = {0};
    _autofree_ struct tc_parse *parse = calloc(1, sizeof(*parse));
    if (!policy || !parse || !add_first(policy, source))
        return tc_fail_memory(err);
    parse->diag.name = policy->name;
    parse->diag.text = source->text;
    parse->diag.len = source->length;
    parse->diag.beside = source->beside;
    parse->diag.policy = policy;
    parse->policy = policy;
    parse->tested = tested;
    parse->source = source;
    int rc = read_policy(parse, source, &document, err);
    tc_diag_done(&parse->diag);
    if (rc)
        return rc;
    if (!tc_policy_index_writable(policy) || !digest_policy(policy, &document.root) ||
        !tc_parse_setup_digests(policy, &document.root))
        return tc_fail_memory(err);
    *ret = TAKE(policy);
    return 0;
}

int tc_policy_compile(const char *text, size_t length, const char *name, const char *dir,
                      const char *home, struct toolcage_policy **ret, struct toolcage_error **err)
{
    return tc_policy_compile_by(tc_document_read_toml, text, length, name, dir, home, ret, err);
}

int tc_policy_compile_by(tc_document_reader *reader, const char *text, size_t length,
                         const char *name, const char *dir, const char *home,
                         struct toolcage_policy **ret, struct toolcage_error **err)
{
    const struct tc_policy_source source = {
        .text = text, .length = length, .name = name, .reader = reader};
    return compile(&source, dir, home, NULL, ret, err);
}

int tc_policy_compile_source(const struct tc_policy_source *source, const char *dir,
                             const char *home, struct toolcage_policy **ret,
                             struct toolcage_error **err)
{
    return compile(source, dir, home, NULL, ret, err);
}

int tc_policy_compile_tests(const struct toolcage_policy *policy, tc_document_reader *reader,
                            const char *text, size_t length, const char *name,
                            struct toolcage_policy **ret, struct toolcage_error **err)
{
    const struct tc_policy_source source = {
        .text = text, .length = length, .name = name, .reader = reader};
    return compile(&source, policy->dir, policy->home, policy, ret, err);
}

const char *tc_policy_file(const struct toolcage_policy *policy, uint32_t line)
{
    size_t file = TC_LINE_FILE(line);
    return file < policy->file_count ? policy->files[file].name : policy->name;
}

uint32_t tc_policy_number(uint32_t line)
{
    return TC_LINE_NUMBER(line);
}

int tc_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err)
{
    static const char text[] = "{\"default\":1}";
    struct toolcage_policy *policy = new_policy("(no policy)", "/", NULL);
    if (!policy)
        return tc_fail_memory(err);
    policy->is_default = true;
    tc_digest(text, strlen(text), policy->digest);
    *ret = policy;
    return 0;
}

/* A server by its place, "server.x", or by that of one of its tools, "server.x.tool.y": no tool has
 * a name with a dot. *ret_asked (may be NULL) is whose place it is. */
static const struct tc_spec *find_server(const struct toolcage_policy *policy, const char *place,
                                         const struct tc_spec **ret_asked)
{
    for (size_t i = 0; place && i < policy->server_count; i++) {
        const struct tc_server *server = &policy->servers[i];
        const struct tc_spec *asked = tc_streq(server->spec.prefix, place) ? &server->spec : NULL;
        for (size_t t = 0; !asked && t < server->tool_count; t++)
            if (tc_streq(server->tools[t].prefix, place))
                asked = &server->tools[t];
        if (asked && ret_asked)
            *ret_asked = asked;
        if (asked)
            return &server->spec;
    }
    return NULL;
}

const struct tc_spec *tc_policy_tool(const struct toolcage_policy *policy, const char *name)
{
    const struct tc_spec *tool = tc_policy_find_tool(policy, name);
    tool = tool ? tool : find_server(policy, name, NULL);
    return tool ? tool : tc_policy_find_setup(policy, name);
}

const struct tc_spec *tc_policy_asked(const struct toolcage_policy *policy, const char *name)
{
    const struct tc_spec *asked = NULL;
    const struct tc_spec *tool = tc_policy_tool(policy, name);
    return find_server(policy, name, &asked) ? asked : tool;
}

bool tc_spec_is_server(const struct tc_spec *spec)
{
    return spec && !spec->into && tc_startswith(spec->prefix, "server.");
}

const struct tc_spec *tc_policy_said(const struct toolcage_policy *policy,
                                     const struct tc_spec *tool, enum tc_key_id id)
{
    if (tool && tool->said[id])
        return tool;
    /* a server lives as long as its client: what a call may take says nothing of it */
    if (id == TC_KEY_TIMEOUT && tc_spec_is_server(tool))
        return NULL;
    if (tc_spec_is_setup(tool) && !tc_setup_inherits(id))
        return NULL;
    return policy->defaults.said[id] ? &policy->defaults : NULL;
}

char *tc_spec_key(const struct tc_spec *spec, const char *key)
{
    return tc_format("%s.%s", spec->prefix, key);
}

bool tc_policy_has_tool(const struct toolcage_policy *policy, const char *tool)
{
    return tool && tc_policy_tool(policy, tool);
}

bool tc_policy_is_default(const struct toolcage_policy *policy)
{
    return policy->is_default;
}

const char *tc_policy_name(const struct toolcage_policy *policy)
{
    return policy->name;
}

const char *tc_policy_digest(const struct toolcage_policy *policy)
{
    return policy->digest;
}
