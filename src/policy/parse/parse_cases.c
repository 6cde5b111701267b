/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * [[test]]: accesses that the policy must allow or deny, stored with their lines for the test
 * runner. */
#include <math.h>
#include <string.h>

#include "policy/parse/parse.h"
#include "policy/resolve/resolve.h"

static json_t *json_of_members(struct tc_parse *p, const struct tc_node *node)
{
    json_t *all = node->kind == TC_NODE_TABLE ? json_object() : json_array();
    for (size_t i = 0; all && i < node->count; i++) {
        json_t *one = tc_parse_json(p, &node->items[i]);
        int rc = node->kind == TC_NODE_TABLE ? json_object_set_new(all, node->items[i].key, one)
                                             : json_array_append_new(all, one);
        p->diag.memory |= rc && one;
    }
    return all;
}

json_t *tc_parse_json(struct tc_parse *p, const struct tc_node *node)
{
    json_t *value = NULL;
    switch (node->kind) {
    case TC_NODE_TABLE:
    case TC_NODE_ARRAY:
        value = json_of_members(p, node);
        break;
    case TC_NODE_INTEGER:
        value = json_integer(node->integer);
        break;
    case TC_NODE_FLOAT:
        value = json_real(node->number);
        break;
    case TC_NODE_BOOL:
        value = json_boolean(node->integer);
        break;
    case TC_NODE_STRING:
        value = json_stringn(node->text, node->len);
        break;
    case TC_NODE_NULL:
        value = json_null();
        break;
    case TC_NODE_DATETIME:
        break;
    }
    bool foreign =
        node->kind == TC_NODE_DATETIME || (node->kind == TC_NODE_FLOAT && !isfinite(node->number));
    if (!value && foreign)
        tc_parse_bad(p, node, "write it as a string", "JSON has no such value");
    else if (!value)
        p->diag.memory = true;
    return value;
}

void tc_set_test_arguments(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                           void *into)
{
    struct tc_test_case *test = into;
    if (tc_parse_is(p, node, TC_NODE_TABLE))
        test->arguments = tc_parse_json(p, node);
}

static bool is_access(const struct tc_node *node)
{
    static const char *const verbs[] = {"read ", "write ", "exec ", "connect "};
    for (size_t v = 0; v < TC_COUNT(verbs) && node->kind == TC_NODE_STRING; v++)
        if (tc_startswith(node->text, verbs[v]) && node->text[strlen(verbs[v])])
            return true;
    return false;
}

static void take_accesses(struct tc_parse *p, const struct tc_node *list, bool allowed,
                          struct tc_test *to)
{
    for (size_t i = 0; list && list->kind == TC_NODE_ARRAY && i < list->count; i++) {
        const struct tc_node *node = &list->items[i];
        if (!is_access(node)) {
            tc_parse_bad(p, node,
                         "write it as in \"read /data/x.csv\" or \"connect example.com:443\"",
                         "an access is read, write, exec or connect, and its target");
            continue;
        }
        struct tc_test_access *access = TC_PARSE_PUSH(p, to->accesses, to->access_count);
        if (access)
            *access = (struct tc_test_access){tc_parse_copy(p, node->text), allowed, node->at.line};
    }
}

/* Does not use json_dumps(), which may omit a part when an allocation fails. */
static char *text_of(struct tc_parse *p, const json_t *value)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_json_canonical(value, &out);
    char *text = tc_buf_steal(&out);
    p->diag.memory |= !text;
    return text;
}

static void done(struct tc_test_case *test)
{
    free(test->tool);
    free(test->call);
    tc_strv_done(&test->allowed);
    tc_strv_done(&test->denied);
    json_decref(test->arguments);
}

static void read_test(struct tc_parse *p, struct tc_node *node)
{
    _auto_(done) struct tc_test_case said = {0};
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    tc_parse_table(p, TC_SCOPE_TEST, node, &said);
    struct tc_test *test = TC_PARSE_PUSH(p, p->policy->tests, p->policy->test_count);
    if (!test)
        return;
    const struct tc_node *tool = tc_node_get(node, "tool"), *call = tc_node_get(node, "call");
    test->line = tool ? tool->key_at.line : node->at.line;
    test->call_line = call ? call->key_at.line : test->line;
    test->tool = TAKE(said.tool);
    test->call = TAKE(said.call);
    if (said.arguments)
        test->arguments = text_of(p, said.arguments);
    take_accesses(p, tc_node_get(node, "allowed"), true, test);
    take_accesses(p, tc_node_get(node, "denied"), false, test);
    /* the file may define the tool after this test, so compile.c checks later that it exists */
    if (!test->tool && !tool)
        tc_parse_bad(p, node, "add tool = \"NAME\"", "the test names no tool");
}

void tc_set_tests(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    size_t mark = tc_parse_enter(p, "test");
    for (size_t i = 0; i < node->count; i++)
        read_test(p, &node->items[i]);
    tc_parse_leave(p, mark);
}
