/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compiles a policy's text, and creates the default policy, which applies without a policy file. */
#include <string.h>

#include "policy/explain/run_cases.h"
#include "policy/parse/parse.h"
#include "policy/policy.h"

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

/* Adds a finding for each [[test]] that names an undefined tool. */
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
        tc_diag_add(&p->diag, (struct tc_location){1, 1, 1}, "", "split the policy",
                    "the file has %zu bytes, the maximum is %d", length, TC_DOCUMENT_BYTES_MAX);
    else if (memchr(text, '\0', length))
        tc_diag_add(&p->diag, (struct tc_location){1, 1, 1}, "",
                    tc_document_binary_hint(text, length), "the file contains a NUL byte");
}

/* Rejects a policy that was passed as a separate file of tests. */
static int refuse_policy(const struct tc_parse *p, const struct tc_node *root,
                         struct toolcage_error **err)
{
    for (size_t i = 0; i < root->count; i++) {
        const char *key = root->items[i].key;
        if (tc_key_find(tc_keys, TC_SCOPE_FILE, key) &&
            !tc_key_find(tc_keys, TC_SCOPE_TEST_FILE, key))
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EUSAGE, "policy", key,
                                  "name it with --policy, or as the first file; a test file "
                                  "contains only [[test]]"),
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
    tc_parse_publish_check(p);
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

static int compile_source(const struct tc_policy_source *source, const char *dir, const char *home,
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
    parse->keys = tc_keys;
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
    return compile_source(&source, dir, home, NULL, ret, err);
}

int tc_policy_compile_source(const struct tc_policy_source *source, const char *dir,
                             const char *home, struct toolcage_policy **ret,
                             struct toolcage_error **err)
{
    return compile_source(source, dir, home, NULL, ret, err);
}

int tc_policy_compile_tests(const struct toolcage_policy *policy, tc_document_reader *reader,
                            const char *text, size_t length, const char *name,
                            struct toolcage_policy **ret, struct toolcage_error **err)
{
    const struct tc_policy_source source = {
        .text = text, .length = length, .name = name, .reader = reader};
    return compile_source(&source, policy->dir, policy->home, policy, ret, err);
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
