/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A model's arguments, friendly and not. */
#include "test.h"

static const char policy_text[] =
    "[tool.t]\n"
    "command = [\"grep\", \"-n\", \"{mode}\", \"--max={n}\", \"{word}\", \"--\", \"{late}\", "
    "\"{files...}\", \"{*}\"]\n"
    "stdin = \"{late}|{n}\"\n"
    "env.set = { WORD = \"<{word}>\", LIST = \"{files}\" }\n"
    "filesystem = { writable = [{ path = \"/workspace\", from = \"/srv/w\" }], denied = "
    "[\"/workspace/.env\"] }\n"
    "arguments.mode = { enum = [\"-i\", \"-v\"] }\n"
    "arguments.n = { type = \"integer\", minimum = 1, maximum = 100, optional = true }\n"
    "arguments.word = { minLength = 1, maxLength = 5 }\n"
    "arguments.late = { optional = true }\n"
    "arguments.files = { type = \"array\", maxItems = 2, optional = true }\n";

#define ARGS(text)                       \
    (struct ask)                         \
    {                                    \
        .tool = "t", .arguments = (text) \
    }

static void placeholders_are_substituted(void **state)
{
    static const char *const wanted[] = {"grep",
                                         "-n",
                                         "-i",
                                         "--max=7",
                                         "a b;{",
                                         "--",
                                         "-z",
                                         "-f",
                                         "{word}",
                                         ("{\"files\":[\"-f\",\"{word}\"],\"late\":\"-z\",\"mode\":"
                                          "\"-i\",\"n\":7,\"word\":\"a b;{\"}")};
    _autopolicy_ struct toolcage_policy *policy = compile(policy_text);
    _autogrant_ struct tc_grant grant = {0}, less = {0};
    granted(policy,
            ARGS("{\"word\":\"a "
                 "b;{\",\"n\":7,\"mode\":\"-i\",\"late\":\"-z\",\"files\":[\"-f\",\"{word}\"]}"),
            &grant);
    assert_int_equal(grant.argv.count, TC_COUNT(wanted));
    for (size_t i = 0; i < TC_COUNT(wanted); i++)
        assert_string_equal(grant.argv.items[i], wanted[i]);
    assert_string_equal(grant.stdin_bytes, "-z|7");
    assert_int_equal(grant.stdin_len, 4);
    assert_true(tc_strv_has(&grant.env, "WORD=<a b;{>"));
    assert_true(tc_strv_has(&grant.env, "LIST=[\"-f\",\"{word}\"]"));
    granted(policy, ARGS("{\"mode\":\"-v\",\"word\":\"x\"}"), &less);
    assert_int_equal(less.argv.count, 6);
    assert_string_equal(less.argv.items[3], "x");
    assert_int_equal(less.stdin_len, 0);
}

static void object_arguments_are_validated_at_depth(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(
        "[tool.t]\ncommand = [\"t\", \"--\", \"{*}\"]\nstdin = \"{o}\"\n"
        "arguments.o = { type = \"object\", required = [\"n\"], properties.n = { type = "
        "\"integer\", maximum = 3 }, properties.list = { type = \"array\", maxItems = 2, items = "
        "{ type = \"object\", properties.s = { maxLength = 2 }, properties.deep = { type = "
        "\"array\", items = { type = \"array\", uniqueItems = true } } } } }\n");
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, ARGS("{\"o\":{\"n\":1,\"list\":[{\"s\":\"ab\",\"deep\":[[\"x\"],[]]},{}]}}"),
            &grant);
    assert_string_equal(grant.stdin_bytes,
                        "{\"list\":[{\"deep\":[[\"x\"],[]],\"s\":\"ab\"},{}],\"n\":1}");
    static const char *const wrong[][3] = {
        {"{\"o\":[]}", "o must be of type object, not an array", ""},
        {"{\"o\":null}", "o must be of type object, not null", ""},
        {"{\"o\":{}}", "o lacks the member n", "give it"},
        {"{\"o\":{\"n\":4}}", "o.n is more than 3", ""},
        {"{\"o\":{\"n\":null}}", "o.n must be of type integer, not null", ""},
        {"{\"o\":{\"n\":1,\"q\\n\":1}}", "o has the member \"q\\n\", which is not declared",
         "leave it out"},
        {"{\"o\":{\"n\":1,\"list\":[{\"s\":\"abc\"}]}}", "o.list[0].s has 3 characters", ""},
        {"{\"o\":{\"n\":1,\"list\":[{},{\"n\":1}]}}", "o.list[1] has the member \"n\"", ""},
        {"{\"o\":{\"n\":1,\"list\":[{},{},{}]}}", "o.list has 3 elements", ""},
        {"{\"o\":{\"n\":1,\"list\":[{\"deep\":[[],[\"a\",\"a\"]]}]}}",
         "o.list[0].deep[1] holds \"a\" twice", ""},
        {"{\"o\":{\"n\":1,\"list\":[{\"deep\":[[[]]]}]}}",
         "o.list[0].deep[0][0] must be of type string", ""}};
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        _autogrant_ struct tc_grant none = {0};
        _autoerror_ struct toolcage_error *err = NULL;
        const struct ask ask = ARGS(wrong[i][0]);
        assert_int_equal(resolve(policy, &ask, &none, &err), TOOLCAGE_EARGUMENTS);
        if (!strstr(tc_error_message(err), wrong[i][1]))
            print_error("%s\n", tc_error_message(err));
        assert_non_null(strstr(tc_error_message(err), wrong[i][1]));
        assert_non_null(strstr(tc_error_hint(err), wrong[i][2]));
    }
}

static void numbers_and_sets(void **state)
{
    static const struct {
        const char *arguments, *words; /* NULL: fine */
        const char *subject;
        uint32_t line;
    } rows[] = {{"{\"n\":5}", NULL, NULL, 0},
                {"{\"n\":95}", NULL, NULL, 0},
                {"{\"n\":0}", "not more than 0", "arguments.n", 3},
                {"{\"n\":100}", "not less than 100", "arguments.n", 3},
                {"{\"n\":7}", "not a multiple of 5", "arguments.n", 3},
                {"{\"x\":0.5}", NULL, NULL, 0},
                {"{\"x\":0}", "not more than 0", "arguments.x", 4},
                {"{\"x\":1.0}", "not less than 1", "arguments.x", 4},
                {"{\"s\":[]}", NULL, NULL, 0},
                {"{\"s\":[1,2,3]}", NULL, NULL, 0},
                {"{\"s\":[3,2,3]}", "holds 3 twice", "arguments.s", 5},
                {"{\"s\":[1,1.0]}", "holds 1 twice", "arguments.s", 5}};
    _autopolicy_ struct toolcage_policy *policy = compile(
        "[tool.t]\ncommand = [\"x\"]\n"
        "arguments.n = { type = \"integer\", exclusiveMinimum = 0, exclusiveMaximum = 100, "
        "multipleOf = 5, optional = true }\n"
        "arguments.x = { type = \"number\", exclusiveMinimum = 0, exclusiveMaximum = 1, optional = "
        "true }\n"
        "arguments.s = { type = \"array\", items = { type = \"number\" }, uniqueItems = true, "
        "optional = true }\n");
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        if (!rows[i].words)
            granted(policy, ARGS(rows[i].arguments), &grant);
        else
            refused(policy, ARGS(rows[i].arguments), TOOLCAGE_EARGUMENTS, rows[i].subject,
                    rows[i].line, rows[i].words);
    }
}

static void unfit_arguments_are_refused(void **state)
{
    static const struct {
        const char *arguments, *subject;
        uint32_t line;
        const char *words;
    } rows[] = {
        {"", "arguments", 0, "not JSON"},
        {"[]", "arguments", 0, "not a JSON object"},
        {"{\"word\":\"x\",\"word\":\"y\"}", "arguments", 0, "not JSON"},
        {"{\"word\":\"a\\u0000b\",\"mode\":\"-i\"}", "arguments", 0, "not JSON"},
        {"{\"mode\":\"-i\"}", "arguments.word", 8, "missing"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"other\":1}", "arguments.other", 0,
         "there is no argument"},
        {"{\"mode\":\"-i\",\"word\":7}", "arguments.word", 8, "must be of type string"},
        {"{\"mode\":\"-i\",\"word\":null}", "arguments.word", 8, "not null"},
        {"{\"mode\":\"-i\",\"word\":\"\"}", "arguments.word", 8, "at least 1"},
        {"{\"mode\":\"-i\",\"word\":\"123456\"}", "arguments.word", 8, "at most 5"},
        {"{\"mode\":\"-x\",\"word\":\"x\"}", "arguments.mode", 6, "none of the values"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"n\":0}", "arguments.n", 7, "less than 1"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"n\":101}", "arguments.n", 7, "more than 100"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"n\":1.5}", "arguments.n", 7, "must be of type integer"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"n\":99999999999999999999}", "arguments", 0, "not JSON"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"files\":[1]}", "arguments.files", 10, "files[0]"},
        {"{\"mode\":\"-i\",\"word\":\"x\",\"files\":[\"a\",\"b\",\"c\"]}", "arguments.files", 10,
         "at most 2"},
        {"{\"mode\":\"-i\",\"word\":\"-o\"}", "arguments", 2, "read as an option"},
        {"{\"mode\":\"-i\",\"word\":\"--\"}", "arguments", 2, "read as an option"},
    };
    _autopolicy_ struct toolcage_policy *policy = compile(policy_text);
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        refused(policy, ARGS(rows[i].arguments), TOOLCAGE_EARGUMENTS, rows[i].subject, rows[i].line,
                rows[i].words);
    refused(policy, (struct ask){.tool = "t"}, TOOLCAGE_EARGUMENTS, "arguments.mode", 6, "missing");
}

/* Characters are counted, not bytes; a value is never scanned for places again. */
static void five_characters_fit(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(policy_text);
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, ARGS("{\"mode\":\"-i\",\"word\":\"\\u00e4\\u00e4\\u00e4\\u00e4\\u20ac\"}"),
            &grant);
    assert_string_equal(grant.argv.items[3], "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xe2\x82\xac");
}

static void commands_are_the_operators(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(policy_text);
    refused(
        policy,
        (struct ask){.tool = "t", .arguments = "{\"mode\":\"-i\",\"word\":\"x\"}", .command = "sh"},
        TOOLCAGE_EDENIED, "command", 2, "already has a command");
    _autogrant_ struct tc_grant grant = {0};
    granted(policy, (struct ask){.tool = "t", .explain = true}, &grant);
    assert_string_equal(grant.argv.items[2], "{mode}");
    struct tc_buf large = TC_BUF_INIT;
    tc_buf_adds(&large, "{\"a\":\"");
    for (int i = 0; i < 131072 / 16; i++)
        tc_buf_adds(&large, "0123456789abcdef");
    tc_buf_adds(&large, "\"}");
    _auto_(tc_buf_done) struct tc_buf owned = large;
    _autopolicy_ struct toolcage_policy *any =
        compile("[tool.t]\ncommand = [\"echo\", \"{a}\"]\narguments.a = {}\n");
    refused(any, ARGS(owned.data), TOOLCAGE_EARGUMENTS, "arguments", 2, "131071");
}

static const char path_text[] = "[tool.t]\n"
                                "command = [\"cat\", \"{p}\"]\n"
                                "filesystem = { readable = [{ path = \"/workspace\", from = "
                                "\"/srv/w\" }], denied = [\"/workspace/.env\"] }\n"
                                "arguments.p = { read = [\"/workspace\", \"/data\"], write = "
                                "[\"/workspace/inbox\", \"~/\"] }\n";

static void paths_grant_exactly_themselves(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(path_text);
    _autogrant_ struct tc_grant data = {0}, inbox = {0}, covered = {0};
    granted(policy, ARGS("{\"p\":\"/data/a.csv\"}"), &data);
    assert_int_equal(access_of(&data, "/data/a.csv"), 'r');
    assert_int_equal(access_of(&data, "/data/b.csv"), '-');
    const struct tc_fs_entry *entry = tc_grant_find(&data, "/data/a.csv");
    assert_true(entry->argument);
    assert_string_equal(entry->bound, "/data");
    assert_string_equal(entry->origin.key, "tool.t.arguments.p.read");
    granted(policy, ARGS("{\"p\":\"inbox//./a\"}"), &inbox);
    assert_string_equal(inbox.argv.items[1], "/workspace/inbox/a");
    entry = tc_grant_find(&inbox, "/workspace/inbox/a");
    assert_int_equal(entry->access, TC_ACCESS_WRITE);
    assert_string_equal(entry->from, "/srv/w/inbox/a");
    assert_string_equal(entry->bound, "/srv/w/inbox");
    assert_int_equal(access_of(&inbox, "/workspace/inbox/b"), 'r');
    assert_true(tc_grant_tool_writes(&inbox, "/srv/w/inbox"));
    granted(policy, ARGS("{\"p\":\"/workspace/x\"}"), &covered);
    assert_false(tc_grant_find(&covered, "/workspace/x")->argument);
}

static void relative_paths_start_where_the_tool_does(void **state)
{
    static const struct {
        const char *text, *narrow[3], *path;
    } rows[] = {
        {"arguments.p = { read = [\"/workspace\"] }\n", {NULL}, "/workspace/f"},
        {"arguments.p = { read = [\"/workspace\", \"/data\"] }\n", {"cwd", "/data"}, "/data/f"},
        {"arguments.p = { read = [\"/data\"] }\ncwd = \"/data/in\"\n", {NULL}, "/data/in/f"},
        {"arguments.p = { read = [\"~/\"] }\nfilesystem.readable = [\"~/project\"]\n",
         {NULL},
         "/home/me/project/f"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *text =
            tc_format("[tool.t]\ncommand = [\"cat\", \"{p}\"]\n%s", rows[i].text);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        _autogrant_ struct tc_grant grant = {0};
        granted(policy,
                (struct ask){.tool = "t",
                             .arguments = "{\"p\":\"f\"}",
                             .narrow = {rows[i].narrow[0], rows[i].narrow[1]}},
                &grant);
        assert_string_equal(grant.argv.items[1], rows[i].path);
        assert_int_equal(access_of(&grant, rows[i].path), 'r');
    }
}

static void hostile_paths_are_refused(void **state)
{
    static const struct {
        const char *value, *words;
    } rows[] = {
        {"", "is empty"},
        {"/etc/shadow", "outside"},
        {"/dataset/x", "outside"},
        {"/workspace/../etc/shadow", "holds \\\"..\\\""},
        {"..", ".."},
        {"a/../b", ".."},
        {"a\\nb", "control character"},
        {"/data/\\u001b[0m", "control character"},
        {"/workspace/.env", "denied"},
        {"/workspace/.env/x", "denied"},
        {"/home/me/.ssh/id_rsa", "credentials"},
        {"/home/me/.aws", "credentials"},
    };
    _autopolicy_ struct toolcage_policy *policy = compile(path_text);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autoerror_ struct toolcage_error *err = NULL;
        _autogrant_ struct tc_grant grant = {0};
        _autofree_ char *text = tc_format("{\"p\":\"%s\"}", rows[i].value);
        assert_int_equal(resolve(policy, &ARGS(text), &grant, &err), TOOLCAGE_EARGUMENTS);
        if (!strstr(tc_error_json(err), rows[i].words))
            print_error("%s: %s\n", rows[i].value, tc_error_message(err));
        assert_non_null(strstr(tc_error_json(err), rows[i].words));
    }
    _autogrant_ struct tc_grant home = {0};
    granted(policy, ARGS("{\"p\":\"/home/me\"}"), &home);
    assert_int_equal(access_of(&home, "/home/me/.ssh/id_rsa"), 'd');
    assert_int_equal(access_of(&home, "/home/me/.local/state/toolcage"), 'd');
    refused(policy, ARGS("{\"p\":\"/home/me/.local/state/toolcage\"}"), TOOLCAGE_EDENIED,
            "tool.t.arguments.p.write", 4, "never granted");
}

static void hosts_grant_exactly_themselves(void **state)
{
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"curl\", \"--\", \"{u}\"]\narguments.u = { host = "
                "[\"api.example.com\", \"[2001:db8::1]:80\"] }\n");
    static const char *const fine[] = {"api.example.com",
                                       "API.example.com:443",
                                       "https://api.example.com/v1?q=1#f",
                                       "https://api.example.com",
                                       "http://[2001:db8::1]/x",
                                       "[2001:db8::1]:80",
                                       "http://[2001:db8::1]:80/x",
                                       "https://api.example.com:443/x"};
    for (size_t i = 0; i < TC_COUNT(fine); i++) {
        _autofree_ char *text = tc_format("{\"u\":\"%s\"}", fine[i]);
        _autogrant_ struct tc_grant grant = {0};
        granted(policy, ARGS(text), &grant);
        assert_int_equal(grant.net_count, 1);
        assert_int_equal(grant.net[0].port, strstr(fine[i], "2001") ? 80 : 443);
        assert_int_equal(grant.net[0].origin.line, 3);
        assert_string_equal(grant.argv.items[2], fine[i]);
        assert_true(grant.clauses & TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW));
    }
    static const char *const foul[] = {"example.com",
                                       "http://api.example.com/",
                                       "https://api.example.com@evil.example/",
                                       "https://evil.example\\\\@api.example.com/",
                                       "ftp://api.example.com",
                                       "*",
                                       "https://api.example.com.evil.example/",
                                       "https://api.example.com:80/",
                                       "https:// api.example.com",
                                       "https://",
                                       "file:///etc/passwd"};
    for (size_t i = 0; i < TC_COUNT(foul); i++) {
        _autofree_ char *text = tc_format("{\"u\":\"%s\"}", foul[i]);
        _autoerror_ struct toolcage_error *err = NULL;
        _autogrant_ struct tc_grant grant = {0};
        if (resolve(policy, &ARGS(text), &grant, &err) != TOOLCAGE_EARGUMENTS)
            print_error("accepted %s\n", foul[i]);
        assert_non_null(err);
        assert_string_equal(tc_error_subject(err), "arguments.u");
    }
}

/* What is said of a value that does not fit names what would. */
static void hints_list_allowed_values(void **state)
{
    static const struct {
        const char *arguments, *words, *hint;
    } rows[] = {
        {"{\"p\":\"/etc/x\"}", "outside the bounds", "allowed: /a, /b"},
        {"{\"u\":\"c.example\"}", "outside the bounds", "allowed: a.example:443, b.example:80"},
        {"{\"u\":\"me@a.example\"}", "the host contains '@'", "give a plain host or URL"},
        {"{\"u\":\"a.exa mple\"}", "the host contains '?'", "give a plain host or URL"},
        {"{\"u\":\"a.ex\u00e4mple\"}", "the host contains '?'", "give a plain host or URL"},
        {"{\"u\":\"*.example.com\"}", "a pattern is not a host", "give one host"},
        {"{\"p\":\"/a/\\u007f\"}", "control character",
         "give a plain path, absolute or from the working directory"},
        {"{\"\\u001b[1m\\u007f\":1}", "no argument \"?[1m?\"", "the arguments are p, u, l"},
        {"{\"q\":1}", "there is no argument", "the arguments are p, u, l"},
        {"{\"l\":[\"/etc/x\",\"/a/x\"]}", "outside the bounds", "allowed: /a"},
    };
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"x\"]\n"
                "arguments.p = { read = [\"/a\", \"/b\"], optional = true }\n"
                "arguments.u = { host = [\"a.example\", \"b.example:80\"], optional = true }\n"
                "arguments.l = { type = \"array\", read = [\"/a\"], optional = true }\n");
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        _autoerror_ struct toolcage_error *err = NULL;
        assert_int_equal(resolve(policy, &ARGS(rows[i].arguments), &grant, &err),
                         TOOLCAGE_EARGUMENTS);
        if (!strstr(tc_error_message(err), rows[i].words) ||
            strcmp(tc_error_hint(err), rows[i].hint) != 0)
            fail_msg("%s: %s (%s)", rows[i].arguments, tc_error_message(err), tc_error_hint(err));
    }
    refused(policy, ARGS("{\"\\u001b[1m\":1}"), TOOLCAGE_EARGUMENTS, "arguments.?[1m", 0, "?[1m");
    _autopolicy_ struct toolcage_policy *none = NULL;
    assert_int_equal(tc_policy_new_default(&none, NULL), 0);
    refused(none, (struct ask){.command = "ls", .arguments = "{\"a\":1}"}, TOOLCAGE_EARGUMENTS,
            "arguments.a", 0, "there is no argument");
}

/* An element is the model's from its first character on, whatever comes behind that. */
static void leading_dash_from_an_unchecked_argument_is_refused(void **state)
{
    static const struct {
        const char *arguments, *element; /* NULL: refused */
    } rows[] = {
        {"{\"a\":\"\",\"m\":\"-i\"}", "-i"},
        {"{\"a\":\"x\",\"m\":\"-i\"}", "x-i"},
        {"{\"a\":\"-x\",\"m\":\"-i\"}", NULL},
        {"{\"a\":\"-\",\"m\":\"-i\"}", NULL},
    };
    static const struct {
        const char *items;
        bool fine;
    } lists[] = {{"items = { enum = [\"-i\"] }", true},
                 {"items = { const = \"-i\" }", true},
                 {"items = { minLength = 1 }", false},
                 {"prefixItems = [{ minLength = 1 }], items = { enum = [\"-i\"] }", false}};
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"x\", \"{a}{m}\"]\narguments.a = {}\n"
                "arguments.m = { enum = [\"-i\"] }\n");
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autogrant_ struct tc_grant grant = {0};
        assert_int_equal(resolve(policy, &ARGS(rows[i].arguments), &grant, NULL),
                         rows[i].element ? 0 : TOOLCAGE_EARGUMENTS);
        assert_true(!rows[i].element || tc_streq(grant.argv.items[1], rows[i].element));
    }
    for (size_t i = 0; i < TC_COUNT(lists); i++) {
        _autofree_ char *text = tc_format("[tool.t]\ncommand = [\"x\", \"{l...}\"]\n"
                                          "arguments.l = { type = \"array\", %s }\n",
                                          lists[i].items);
        _autopolicy_ struct toolcage_policy *list = compile(text);
        _autogrant_ struct tc_grant grant = {0};
        assert_int_equal(resolve(list, &ARGS("{\"l\":[\"-i\"]}"), &grant, NULL),
                         lists[i].fine ? 0 : TOOLCAGE_EARGUMENTS);
    }
}

/* A name that begins like another is another. */
static void placeholders_match_whole_names(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(
        "[tool.t]\ncommand = [\"x\", \"{a}\", \"{ab}\", \"{n}\", \"-o={o}\"]\n"
        "arguments.ab = { pattern = \"^[0-9]+$\" }\narguments.a = { pattern = \"^[a-z]+$\" }\n"
        "arguments.n = { type = \"number\" }\n"
        "arguments.o = { type = [\"string\", \"null\"], optional = true }\n");
    static const char *const no[] = {"{\"a\":\"1\",\"ab\":\"1\",\"n\":1}",
                                     "{\"a\":\"a\",\"ab\":\"a\",\"n\":1}"};
    _autogrant_ struct tc_grant grant = {0}, whole = {0};
    granted(policy, ARGS("{\"a\":\"a\",\"ab\":\"1\",\"n\":2.5,\"o\":null}"), &grant);
    granted(policy, ARGS("{\"a\":\"a\",\"ab\":\"1\",\"n\":3.0,\"o\":\"p\"}"), &whole);
    assert_int_equal(grant.argv.count, 4);
    assert_string_equal(grant.argv.items[1], "a");
    assert_string_equal(grant.argv.items[2], "1");
    assert_string_equal(grant.argv.items[3], "2.5");
    assert_string_equal(whole.argv.items[3], "3");
    assert_string_equal(whole.argv.items[4], "-o=p");
    for (size_t i = 0; i < TC_COUNT(no); i++) {
        _autogrant_ struct tc_grant none = {0};
        assert_int_equal(resolve(policy, &ARGS(no[i]), &none, NULL), TOOLCAGE_EARGUMENTS);
    }
}

/* Where two bounds hold a path, the one that gives more does. */
static void the_wider_bound_counts(void **state)
{
    static const char *const bounds[] = {"write = [\"/data\"], read = [\"/data/in\"]",
                                         "read = [\"/data/in\"], write = [\"/data\"]"};
    for (size_t i = 0; i < TC_COUNT(bounds); i++) {
        _autofree_ char *text =
            tc_format("[tool.t]\ncommand = [\"x\", \"{p}\"]\narguments.p = { %s }\n", bounds[i]);
        _autopolicy_ struct toolcage_policy *policy = compile(text);
        _autogrant_ struct tc_grant grant = {0};
        granted(policy, ARGS("{\"p\":\"/data/in/x./.a/..b\"}"), &grant);
        assert_int_equal(access_of(&grant, "/data/in/x./.a/..b"), 'w');
    }
}

/* Who sits at a terminal says the command, and arguments need not be there. */
static void a_terminal_has_a_command_of_its_own(void **state)
{
    static const char *const environ_[] = {"TERM=xterm-256color", NULL};
    static const struct {
        const char *term, *has;
    } rows[] = {{"TERM=xterm-256color", "TERM=xterm-256color"},
                {"TERM=/etc/x", "TERM=dumb"},
                {"TERM=", "TERM=dumb"},
                {"NO=x", "TERM=dumb"}};
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.t]\ncommand = [\"x\", \"{p}\"]\nstdin = \"{p}\"\narguments.p = {}\n");
    _autostrv_ struct tc_strv argv = {0};
    struct tc_facts facts = test_facts;
    struct tc_request request = {.tool = "t", .argv = &argv, .terminal = true};
    assert_int_equal(tc_policy_resolve(policy, &request, &facts, &(struct tc_grant){0}, NULL),
                     TOOLCAGE_EUSAGE);
    assert_true(tc_strv_add(&argv, "sh"));
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const char *const environment[] = {rows[i].term, NULL};
        _autogrant_ struct tc_grant grant = {0};
        facts.environ = environment;
        assert_int_equal(tc_policy_resolve(policy, &request, &facts, &grant, NULL), 0);
        assert_string_equal(grant.argv.items[0], "sh");
        assert_null(grant.stdin_bytes);
        assert_true(tc_strv_has(&grant.env, rows[i].has));
    }
    request.terminal = false;
    request.arguments = "{\"p\":\"a\"}";
    assert_int_equal(tc_policy_resolve(policy, &request, &facts, &(struct tc_grant){0}, NULL),
                     TOOLCAGE_EDENIED);
    _autogrant_ struct tc_grant grant = {0};
    facts.environ = environ_;
    request.argv = NULL;
    assert_int_equal(tc_policy_resolve(policy, &request, &facts, &grant, NULL), 0);
    assert_true(tc_strv_has(&grant.env, "TERM=dumb")); /* nobody looks at it */
}

static const char server_text[] =
    "[defaults]\ntimeout = \"9s\"\n"
    "[tool.files]\ncommand = [\"ls\"]\n"
    "[server.files]\n"
    "command = [\"serve\", \"/workspace\"]\n"
    "filesystem.writable = [{ path = \"/workspace\", from = \"/srv/notes\" }]\n"
    "filesystem.denied = [\"/workspace/.env\"]\n"
    "tool.read = { arguments.path = { read = [\"/workspace\"] } }\n"
    "tool.far = { arguments.path = { read = [\"/far\"] } }\n"
    "tool.any = {}\n"
    "tool.ask = { tier = \"HumanApprove\" }\n";

static void a_server_is_granted_like_a_tool(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile(server_text);
    _autogrant_ struct tc_grant server = {0}, tool = {0};
    granted(policy, (struct ask){.tool = "server.files"}, &server);
    granted(policy, (struct ask){.tool = "files"}, &tool);
    assert_string_equal(server.tool, "server.files");
    assert_string_equal(server.argv.items[0], "serve");
    assert_string_equal(tool.argv.items[0], "ls");
    assert_int_equal(access_of(&server, "/workspace/x"), 'w');
    assert_int_equal(server.limits.timeout_ms, 0); /* its client's time */
    assert_int_equal(tool.limits.timeout_ms, 9000);
    refused(policy, (struct ask){.tool = "server.files", .command = "sh"}, TOOLCAGE_EDENIED,
            "command", 6, "already has a command");
    refused(policy, (struct ask){.tool = "server.none"}, TOOLCAGE_ENOT_FOUND, "server.none", 0,
            "there is no tool");
    refused(policy, (struct ask){.tool = "server.files.tool.any"}, TOOLCAGE_EUSAGE,
            "server.files.tool.any", 0, "has no separate cage");
    _autopolicy_ struct toolcage_policy *timed =
        compile("[server.x]\ncommand = [\"a\"]\ntimeout = \"1h\"\n");
    _autogrant_ struct tc_grant hour = {0};
    granted(timed, (struct ask){.tool = "server.x"}, &hour);
    assert_int_equal(hour.limits.timeout_ms, 3600000);
}

static void a_servers_tool_only_checks(void **state)
{
    static const struct {
        const char *tool, *arguments, *why;
        uint32_t line;
    } bad[] = {
        {"read", "{\"path\":\"/etc/x\"}", "outside the bounds of the argument", 9},
        {"read", "{\"path\":\"x\"}", "does not start with", 9},
        {"read", "{\"path\":\"/workspace/../x\"}", "holds \"..\"", 9},
        {"read", "{\"path\":\"/workspace/.env\"}", "denied by the policy", 8},
        {"read", "{\"path\":\"/workspace/x\",\"more\":1}", "there is no argument", 0},
        {"read", "{}", "missing", 9},
        {"far", "{\"path\":\"/far/x\"}", "the server itself is not granted this", 10},
        {"any", "[]", "not a JSON object", 0},
    };
    _autopolicy_ struct toolcage_policy *policy = compile(server_text);
    _autogrant_ struct tc_grant read = {0}, any = {0}, ask = {0}, server = {0};
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        char place[64], subject[] = "arguments.path";
        (void)snprintf(place, sizeof(place), "server.files.tool.%s", bad[i].tool);
        refused(policy, (struct ask){.tool = place, .arguments = bad[i].arguments, .explain = true},
                TOOLCAGE_EARGUMENTS,
                strstr(bad[i].why, "no argument") ? "arguments.more"
                : bad[i].line                     ? subject
                                                  : "arguments",
                bad[i].line, bad[i].why);
    }
    granted(policy,
            (struct ask){.tool = "server.files.tool.read",
                         .arguments = "{\"path\":\"/workspace/a\"}",
                         .explain = true},
            &read);
    granted(policy, (struct ask){.tool = "server.files", .explain = true}, &server);
    assert_int_equal(read.fs_count, server.fs_count); /* nothing was added */
    granted(
        policy,
        (struct ask){.tool = "server.files.tool.any", .arguments = "{\"x\":[{}]}", .explain = true},
        &any);
    granted(policy,
            (struct ask){.tool = "server.files.tool.ask", .arguments = "{}", .explain = true},
            &ask);
    assert_true(ask.approval);
    assert_false(any.approval || server.approval);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_are_substituted),
        cmocka_unit_test(object_arguments_are_validated_at_depth),
        cmocka_unit_test(numbers_and_sets),
        cmocka_unit_test(unfit_arguments_are_refused),
        cmocka_unit_test(five_characters_fit),
        cmocka_unit_test(commands_are_the_operators),
        cmocka_unit_test(paths_grant_exactly_themselves),
        cmocka_unit_test(relative_paths_start_where_the_tool_does),
        cmocka_unit_test(hostile_paths_are_refused),
        cmocka_unit_test(hosts_grant_exactly_themselves),
        cmocka_unit_test(hints_list_allowed_values),
        cmocka_unit_test(leading_dash_from_an_unchecked_argument_is_refused),
        cmocka_unit_test(placeholders_match_whole_names),
        cmocka_unit_test(the_wider_bound_counts),
        cmocka_unit_test(a_terminal_has_a_command_of_its_own),
        cmocka_unit_test(a_server_is_granted_like_a_tool),
        cmocka_unit_test(a_servers_tool_only_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
