/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches arguments, templates and schemas. Input: a text with places for arguments, a NUL, the
 * JSON arguments of a call. The tool's bounds are fixed; whatever the arguments say, what is
 * granted lies in the bounds and outside of what is denied, each place holds its own argument and
 * nothing else, and the arguments in their canonical form mean the same call again. */
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "policy/policy.h"

enum { TEXT_MAX = 512 };

static const char head[] =
    "[tool.t]\n"
    "filesystem.readable = [{ path = \"/data\", from = \"/srv/data\" }]\n"
    "filesystem.denied = [\"/data/secret\", \"/workspace/in/.env\", \"/workspace/out/.env\"]\n"
    "network = \"none\"\n"
    "arguments.path = { type = \"string\", optional = true, read = [\"/data\", \"/workspace/in\"] "
    "}\n"
    "arguments.out = { type = \"string\", optional = true, write = [\"/workspace/out\"] }\n"
    "arguments.paths = { type = \"array\", optional = true, maxItems = 4,"
    " items = { type = \"string\", maxLength = 40 }, read = [\"/workspace/in\"] }\n"
    "arguments.host = { type = \"string\", optional = true,"
    " host = [\"api.example.com:443\", \"192.0.2.7:80\", \"[2001:db8::1]:8080\"] }\n"
    "arguments.n = { type = \"integer\", optional = true, minimum = -5, maximum = 100 }\n"
    "arguments.word = { type = [\"string\", \"integer\"], enum = [\"a\", \"-b\", 3],"
    " optional = true }\n"
    "arguments.some = { optional = true, anyOf = [{ type = \"null\" }, { pattern = \"^(a+)+$\" },"
    " { type = \"array\", items = false, prefixItems = [{ type = \"integer\" }, { type ="
    " \"boolean\" }] }], not = { anyOf = [{ const = \"a\" }, { pattern = \"(a|aa)+b\" }] } }\n"
    "arguments.one = { optional = true, type = [\"number\", \"array\"], items = { type ="
    " \"number\" }, oneOf = [{ type = \"integer\" }, { minimum = 2 }, { uniqueItems = true,"
    " type = \"array\" }] }\n"
    "arguments.shape = { type = \"object\", optional = true, required = [\"name\"],"
    " properties.name = { pattern = \"^(a+)+$\" }, properties.day = { format = \"date\" },"
    " properties.deep = { type = \"array\", items = { type = \"array\", items = { type ="
    " \"object\" } } } }\n"
    "arguments.text = { type = \"string\", optional = true, minLength = 1, maxLength = 32 }\n"
    "command = [\"prog\", \"{path}\", \"{out}\", \"{paths...}\", \"--\", \"{text}\", \"{n}\", ";

static const struct tc_facts facts = {.cwd = "/home/me/project", .home = "/home/me"};
static const char *const bounds[] = {"/data", "/workspace/in", "/workspace/out"};
static const char *const denied[] = {"/data/secret", "/workspace/in/.env", "/workspace/out/.env"};

static struct toolcage_policy *compile(const char *text)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT, quoted = TC_BUF_INIT;
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    tc_json_string(&quoted, text, strlen(text));
    tc_buf_adds(&out, head);
    tc_buf_add(&out, quoted.data, quoted.len);
    tc_buf_adds(&out, "]\nstdin = \"{*}\"\nenv = { set = { V = ");
    tc_buf_add(&out, quoted.data, quoted.len);
    tc_buf_adds(&out, " } }\n");
    INVARIANT(!out.failed);
    int rc = tc_policy_compile(out.data, out.len, "fuzz.toml", "/srv/p", "/home/me", &policy, &err);
    INVARIANT(!rc || tc_error_message(err)[0]);
    INVARIANT(!rc || text[0]); /* else nothing would ever be asked */
    return policy;
}

static void check_entry(const struct tc_fs_entry *entry)
{
    bool bound = false, refused = false;
    INVARIANT(tc_path_within(entry->bound, entry->from));
    for (size_t i = 0; i < TC_COUNT(bounds); i++)
        bound |= tc_path_within(bounds[i], entry->path);
    for (size_t i = 0; i < TC_COUNT(denied); i++)
        refused |= tc_path_within(denied[i], entry->path);
    INVARIANT(bound && !refused);
    INVARIANT(entry->access == TC_ACCESS_READ || tc_path_within("/workspace/out", entry->path));
}

static void check_grant(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].argument)
            check_entry(&grant->fs[i]);
    INVARIANT(grant->net_count <= 1);
    for (size_t i = 0; i < grant->net_count; i++) {
        const struct tc_net_entry *entry = &grant->net[i];
        INVARIANT((tc_streq(entry->host, "api.example.com") && entry->port == 443) ||
                  (tc_streq(entry->host, "192.0.2.7") && entry->port == 80) ||
                  (tc_streq(entry->host, "2001:db8::1") && entry->port == 8080));
    }
}

/* The next element of the command is this argument, or the argument is absent. */
static void expect(char *const **at, const json_t *value)
{
    if (json_is_string(value))
        INVARIANT(**at && tc_streq(**at, json_string_value(value)));
    else if (json_is_integer(value))
        INVARIANT(**at && strtoll(**at, NULL, 10) == json_integer_value(value));
    *at += value != NULL;
}

static void check_command(const struct tc_grant *grant, json_t *arguments, const char *text)
{
    char *const *at = grant->argv.items;
    INVARIANT(tc_streq(*at++, "prog"));
    expect(&at, json_object_get(arguments, "path"));
    expect(&at, json_object_get(arguments, "out"));
    const json_t *paths = json_object_get(arguments, "paths");
    for (size_t i = 0; i < json_array_size(paths); i++)
        expect(&at, json_array_get(paths, i));
    for (char *const *option = grant->argv.items + 1; option < at; option++)
        INVARIANT((*option)[0] == '/');
    INVARIANT(*at && tc_streq(*at++, "--"));
    expect(&at, json_object_get(arguments, "text"));
    expect(&at, json_object_get(arguments, "n"));
    if (!strchr(text, '{') && tc_utf8_valid(text, strlen(text)))
        INVARIANT(tc_streq(*at, text) && !at[1]);
}

static int resolve(const struct toolcage_policy *policy, const char *arguments,
                   struct tc_grant *ret)
{
    _autoerror_ struct toolcage_error *err = NULL;
    const struct tc_request request = {.tool = "t", .arguments = arguments};
    int rc = tc_policy_resolve(policy, &request, &facts, ret, &err);
    INVARIANT(!rc || (tc_error_message(err)[0] && tc_error_hint(err)[0]));
    INVARIANT(!rc || rc == TOOLCAGE_EARGUMENTS || rc == TOOLCAGE_EDENIED);
    return rc;
}

static void check_call(const struct toolcage_policy *policy, const char *text,
                       const char *arguments)
{
    _auto_(tc_grant_done) struct tc_grant grant = {0}, again = {0};
    if (resolve(policy, arguments, &grant))
        return;
    json_t *canonical = json_loadb(grant.stdin_bytes, grant.stdin_len, 0, NULL);
    INVARIANT(canonical && json_is_object(canonical));
    check_grant(&grant);
    check_command(&grant, canonical, text);
    json_decref(canonical);
    INVARIANT(resolve(policy, grant.stdin_bytes, &again) == 0);
    INVARIANT(tc_streq(grant.digest, again.digest));
}

/* Most inputs differ in their arguments only: the last policy is kept. */
static const struct toolcage_policy *policy_of(const char *text)
{
    static char last[TEXT_MAX];
    static struct toolcage_policy *policy;
    if (!policy)
        policy = compile("");
    if (strcmp(last, text) != 0) {
        tc_policy_unref(policy);
        tc_strcopy(last, sizeof(last), text);
        policy = compile(text);
    }
    return policy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX];
    const uint8_t *cut = size ? memchr(data, '\0', size) : NULL;
    if (!cut || cut - data >= TEXT_MAX)
        return 0;
    tc_strcopy(text, sizeof(text), (const char *)data);
    _autofree_ char *arguments = strndup((const char *)cut + 1, size - (size_t)(cut + 1 - data));
    const struct toolcage_policy *policy = policy_of(text);
    if (policy)
        check_call(policy, text, arguments);
    return 0;
}
