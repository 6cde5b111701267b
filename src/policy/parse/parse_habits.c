/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What people write in place of what a policy says: names of other sandboxes and of JSON Schema,
 * and values of another kind. Only hints; all of it stays an error. */
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "policy/parse/parse.h"

bool tc_parse_habit_key(enum tc_scope scope, const char *key, char *hint, size_t size)
{
    static const struct {
        enum tc_scope scope;
        const char *key, *hint;
    } rows[] = {
        {TC_SCOPE_FILESYSTEM, "read", "did you mean \"readable\"?"},
        {TC_SCOPE_FILESYSTEM, "write", "did you mean \"writable\"?"},
        {TC_SCOPE_FILESYSTEM, "deny", "did you mean \"denied\"?"},
        {TC_SCOPE_FILESYSTEM, "allow", "readable = [\"/data\"], or writable = [\"/data\"]"},
        {TC_SCOPE_ARGUMENT, "within",
         "for a path within a directory: read = [\"/workspace\"] or write = [\"/workspace\"]"},
        {TC_SCOPE_ARGUMENT, "path",
         "for a path within a directory: read = [\"/workspace\"] or write = [\"/workspace\"]"},
        {TC_SCOPE_TEST, "read", "allowed = [\"read /PATH\"], or denied = [\"read /PATH\"]"},
        {TC_SCOPE_TEST, "write", "allowed = [\"write /PATH\"], or denied = [\"write /PATH\"]"},
        {TC_SCOPE_TEST, "exec", "allowed = [\"exec /PATH\"], or denied = [\"exec /PATH\"]"},
        {TC_SCOPE_TEST, "connect",
         "allowed = [\"connect HOST:PORT\"], or denied = [\"connect HOST:PORT\"]"},
        {TC_SCOPE_TEST, "expect",
         "allowed = [\"read /PATH\"] is what must be allowed, denied = [...] what must not; call = "
         "\"allowed\" or \"denied\" is about the call itself"},
        {TC_SCOPE_WASM, "isolation",
         "a module always runs in a process in a cage of its own: a bug of the engine's would be "
         "inside your program, and nothing could end a call that blocks; reuse = \"same-grant\" "
         "keeps that process for the next call"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (rows[i].scope == scope && tc_streq(rows[i].key, key))
            return (size_t)snprintf(hint, size, "%s", rows[i].hint) < size;
    if (scope != TC_SCOPE_ENV)
        return false;
    (void)snprintf(hint, size,
                   "env.set = { %.40s = \"value\" }, or env.pass = [\"%.40s\"] for your own value; "
                   "what is secret: secrets.%.40s",
                   key, key, key);
    return true;
}

bool tc_parse_habit_value(const struct tc_node *node, enum tc_node_kind wanted, char *hint,
                          size_t size)
{
    const char *key = node->key ? node->key : "";
    if (wanted == TC_NODE_ARRAY && tc_streq(key, "network"))
        return (size_t)snprintf(hint, size, "\"none\", or [\"api.example.com:443\"]") < size;
    if (wanted == TC_NODE_TABLE && tc_streq(key, "env"))
        return (size_t)snprintf(hint, size,
                                "env.pass = [\"NAME\"] passes your own value, env.set = { NAME = "
                                "\"value\" } sets one") < size;
    if (wanted != TC_NODE_ARRAY || node->kind != TC_NODE_STRING || !node->text ||
        strpbrk(node->text, "\"\\\n\t"))
        return false;
    return (size_t)snprintf(hint, size, "write [\"%s\"]", node->text) < size;
}
