/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One meaning, one digest; another meaning, another. */
#include "test.h"

static void digest_of(const char *text, const char *dir, const char *name, char out[TC_DIGEST_SIZE])
{
    _autopolicy_ struct toolcage_policy *policy = NULL;
    assert_int_equal(tc_policy_compile(text, strlen(text), name, dir, "/home/me", &policy, NULL),
                     0);
    (void)snprintf(out, TC_DIGEST_SIZE, "%s", tc_policy_digest(policy));
    assert_int_equal(strlen(out), TC_DIGEST_SIZE - 1);
    assert_memory_equal(out, "sha256:", 7);
}

static void same_meaning_same_digest(void **state)
{
    static const char *const pairs[][2] = {
        {"[tool.a]\ntimeout = \"60s\"\npids = 3\n[tool.b]\n",
         "# note\n[tool.b]\n[tool.a]\npids = 3\ntimeout = \"1m\"\n"},
        {"[tool.a]\nmemory = \"1MiB\"\n", "tool.a.memory.max = \"1024KiB\"\n"},
        {"[tool.a]\nnetwork = [\"allowlist:A.example.com\", \"b:80\"]\n",
         "[tool.a]\nnetwork = [{ port = 80, host = \"b\" }, \"a.example.com:443\"]\n"},
        {"[tool.a]\nnetwork = \"none\"\n", "[tool.a]\nnetwork = []\n"},
        {"[tool.a]\nunix_sockets = [\"/run/b\", { path = \"/run/./a\" }]\n",
         "[tool.a]\nunix_sockets = [\"/run/a\", \"/run/b\"]\n"},
        {"[tool.a]\nfilesystem = { readable = [\"/b\", \"/a/\"] }\n",
         "[tool.a]\nfilesystem.readable = [{ path = \"/a\" }, \"/b\", \"//b\"]\n"},
        {"[tool.a]\nfilesystem = \"none\"\n", "[tool.a]\nfilesystem = {}\n"},
        {"[tool.a]\noutput = \"2KiB\"\n", "[tool.a]\noutput = { limit = \"2048B\" }\n"},
        {"[tool.a]\ncpus = 2\n", "[tool.a]\ncpus = 2.0\n"},
        {"[tool.a]\nprograms = [\"a\", \"b\"]\n", "[tool.a]\nprograms = [\"b\", \"a\", \"b\"]\n"},
        {"[tool.a]\narguments.n = { type = \"number\", minimum = 1 }\n",
         "[tool.a.arguments.n]\nminimum = 1.0\ntype = \"number\"\n"},
        {"[tool.a]\ndescription = \"x\\ty\"\n", "[tool.a]\r\ndescription = \"\"\"x\ty\"\"\"\r\n"},
    };
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        char one[TC_DIGEST_SIZE], other[TC_DIGEST_SIZE];
        digest_of(pairs[i][0], "/srv/p", "a.toml", one);
        digest_of(pairs[i][1], "/elsewhere", "b.toml", other);
        if (strcmp(one, other) != 0)
            print_error("pair %zu\n", i);
        assert_string_equal(one, other);
    }
}

static void other_meaning_other_digest(void **state)
{
    static const char *const texts[] = {
        "",
        "[tool.a]\n",
        "[tool.b]\n",
        "[defaults]\n",
        "[tool.a]\ntimeout = \"1s\"\n",
        "[tool.a]\ntimeout = \"1ms\"\n",
        "[tool.a]\ngrace = \"1s\"\n",
        "[tool.a]\nmemory = \"1MiB\"\n",
        "[tool.a]\nmemory = { max = \"1MiB\", by = \"any\" }\n",
        "[tool.a]\ncommand = [\"a\", \"b\"]\n",
        "[tool.a]\ncommand = [\"b\", \"a\"]\n",
        "[tool.a]\ncommand = [\"a b\"]\n",
        "[tool.a]\nfilesystem.readable = [\"/a\"]\n",
        "[tool.a]\nfilesystem.writable = [\"/a\"]\n",
        "[tool.a]\nfilesystem.denied = [\"/a\"]\n",
        "[tool.a]\nfilesystem.readable = [\"a\"]\n",
        "[tool.a]\nfilesystem.readable = [{ path = \"/a\", from = \"b\" }]\n",
        "[tool.a]\nfilesystem.readable = [{ path = \"/a\", optional = true }]\n",
        "[tool.a]\nunix_sockets = \"own\"\n",
        "[tool.a]\nunix_sockets = [\"/run/a\"]\n",
        "[tool.a]\nnetwork = [\"a:1\"]\n",
        "[tool.a]\nnetwork = [\"a:2\"]\n",
        "[tool.a]\nnetwork = [{ host = \"a\", port = 1, methods = [\"GET\"] }]\n",
        "[tool.a]\narguments.x = {}\n",
        "[tool.a]\narguments.x = { optional = true }\n",
        "[tool.a]\nenv.set = { A = \"1\" }\n",
        "[tool.a]\nenv.pass = [\"A\"]\n",
        "[tool.a]\ntier = \"Auto\"\n",
        "[tool.a]\narguments.x = { type = [\"string\", \"number\"], enum = [0.5] }\n",
        "[tool.a]\narguments.x = { type = [\"string\", \"number\"], enum = [\"0.5\"] }\n",
        "[tool.a]\narguments.x = { type = [\"string\", \"number\"], default = 0.5 }\n",
        "[tool.a]\narguments.x = { type = [\"string\", \"number\"], default = \"0.5\" }\n",
    };
    char digests[TC_COUNT(texts)][TC_DIGEST_SIZE];
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        digest_of(texts[i], "/srv/p", "a.toml", digests[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(digests[i], digests[j]);
    }
}

static void grants_have_digests_too(void **state)
{
    static const char text[] = "[tool.x]\ncommand = [\"echo\", \"{a}\"]\narguments.a = {}\n"
                               "filesystem.readable = [\"/b\", \"/a\"]\nenv.pass = [\"TZ\"]\n";
    static const char same[] =
        "[tool.x]\nenv.pass = [\"TZ\"]\nfilesystem.readable = [\"/a\", \"/b\"]\n"
        "arguments.a = {}\ncommand = [\"echo\", \"{a}\"]\n";
    _autopolicy_ struct toolcage_policy *one = compile(text), *two = compile(same);
    const struct ask asks[] = {
        {.tool = "x", .arguments = "{\"a\":\"1\"}"},
        {.tool = "x", .arguments = "{\"a\":\"2\"}"},
        {.tool = "x", .arguments = "{\"a\":\"1\"}", .narrow = {"timeout", "1s"}},
        {.tool = "x", .arguments = "{\"a\":\"1\"}", .narrow = {"env", "TZ=CET"}},
        {.tool = "x", .arguments = "{\"a\":\"1\"}", .narrow = {"read", "/a"}},
        {.tool = "x", .arguments = "{\"a\":\"1\"}", .narrow = {"cwd", "/a"}},
    };
    char seen[TC_COUNT(asks)][TC_DIGEST_SIZE];
    for (size_t i = 0; i < TC_COUNT(asks); i++) {
        _autogrant_ struct tc_grant first = {0}, second = {0};
        granted(one, asks[i], &first);
        granted(two, asks[i], &second);
        assert_string_equal(first.digest, second.digest);
        memcpy(seen[i], first.digest, TC_DIGEST_SIZE);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(seen[i], seen[j]);
    }
}

/* Bytes that are not UTF-8 must not fall together. */
static void bytes_count(void **state)
{
    _autopolicy_ struct toolcage_policy *policy = compile("[tool.x]\n");
    _autogrant_ struct tc_grant one = {0}, two = {0};
    granted(policy, (struct ask){.tool = "x", .command = "a\xff"}, &one);
    granted(policy, (struct ask){.tool = "x", .command = "a\xfe"}, &two);
    assert_string_not_equal(one.digest, two.digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_meaning_same_digest),
        cmocka_unit_test(other_meaning_other_digest),
        cmocka_unit_test(grants_have_digests_too),
        cmocka_unit_test(bytes_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
