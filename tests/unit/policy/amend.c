/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One more path in the text of a policy, wherever its author has put the others. */
#include "policy/edit/amend.h"

#include <string.h>

#include "policy/policy.h"
#include "test.h"

static char *amend(const char *text, const char *tool, const char *access,
                   struct toolcage_error **err)
{
    struct toolcage_policy *policy = compile(text);
    char *after = NULL;
    const struct tc_policy_source source = {
        .text = text, .length = strlen(text), .name = "t.toml", .reader = tc_document_read_toml};
    int rc = tc_policy_amend(policy, &source, tool, access, &after, err);
    assert_int_equal(rc == 0, after != NULL);
    tc_policy_unref(policy);
    return after;
}

static void every_form_has_its_place(void **state)
{
    static const struct {
        const char *before, *access, *after;
    } rows[] = {
        {"[tool.x]\ntimeout = \"1s\"\n", "read /a",
         "[tool.x]\nfilesystem.readable = [\"/a\"]\ntimeout = \"1s\"\n"},
        {"[tool.x]", "read /a", "[tool.x]\nfilesystem.readable = [\"/a\"]\n"},
        {"[ tool . \"x\" ] # c\n", "write /a",
         "[ tool . \"x\" ] # c\nfilesystem.writable = [\"/a\"]\n"},
        {"[tool.x]\nfilesystem = \"none\" # c\n", "read /a",
         "[tool.x]\nfilesystem = { readable = [\"/a\"] } # c\n"},
        {"[tool.x]\nfilesystem = {}\n", "read /a",
         "[tool.x]\nfilesystem = { readable = [\"/a\"] }\n"},
        {"[tool.x]\nfilesystem = { readable = [] }\n", "read /a",
         "[tool.x]\nfilesystem = { readable = [\"/a\"] }\n"},
        {"[tool.x]\nfilesystem = { readable = [\"/]\"] }\n", "exec /a",
         "[tool.x]\nfilesystem = { readable = [\"/]\", \"/a\"] }\n"},
        {"[tool.x]\nfilesystem = { writable = [\"/b\"] }\n", "read /a",
         "[tool.x]\nfilesystem = { readable = [\"/a\"], writable = [\"/b\"] }\n"},
        {"[tool.x]\nfilesystem.readable = ['/b'] # ]\n", "read /a",
         "[tool.x]\nfilesystem.readable = ['/b', \"/a\"] # ]\n"},
        {"[tool.x]\nfilesystem.readable = [\n  \"/b\", # one ]\n]\n", "read /a",
         "[tool.x]\nfilesystem.readable = [\n  \"/b\",\n  \"/a\", # one ]\n]\n"},
        {"[tool.x]\nfilesystem.readable = [\"/b\"]\ntimeout = \"1s\"\n", "write /a",
         "[tool.x]\nfilesystem.readable = [\"/b\"]\nfilesystem.writable = [\"/a\"]\ntimeout = "
         "\"1s\"\n"},
        {"[tool.x]\n[tool.x.filesystem]\nreadable = [\"/b\"]\n", "write /a",
         "[tool.x]\n[tool.x.filesystem]\nwritable = [\"/a\"]\nreadable = [\"/b\"]\n"},
        {"[tool.x]\nfilesystem.readable = [\"/a\"]\n", "read? /b",
         "[tool.x]\nfilesystem.readable = [\"/a\", { path = \"/b\", optional = true }]\n"},
        {"[tool.x]\nfilesystem.readable = [{ path = \"/d\", from = \"/srv/d\" }]\n", "write /d/f",
         "[tool.x]\nfilesystem.readable = [{ path = \"/d\", from = \"/srv/d\" "
         "}]\nfilesystem.writable = [{ path = \"/d/f\", from = "
         "\"/srv/d/f\" }]\n"},
        {"[tool.y]\nfilesystem.readable = [\"/b\"]\n[tool.x]\ndescription = "
         "\"\"\"\n[tool.x]\nfilesystem = \"none\"\n\"\"\"\n",
         "read /a",
         "[tool.y]\nfilesystem.readable = [\"/b\"]\n[tool.x]\nfilesystem.readable = "
         "[\"/a\"]\ndescription = "
         "\"\"\"\n[tool.x]\nfilesystem = \"none\"\n\"\"\"\n"},
        {"[tool.x]\n", "read /q\"]\n[tool.evil]",
         "[tool.x]\nfilesystem.readable = [\"/q\\\"]\\n[tool.evil]\"]\n"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_error *err = NULL;
        char *after = amend(rows[i].before, "x", rows[i].access, &err);
        if (strchr(rows[i].access, '[')) { /* a pattern: no path of a policy */
            assert_null(after);
            tc_error_free(err);
            continue;
        }
        assert_non_null(after);
        assert_string_equal(after, rows[i].after);
        free(after);
    }
}

static void an_endpoint_is_added_to_the_network(void **state)
{
    static const char *const rows[][2] = {
        {"[tool.x]\ntimeout = \"1s\"\n",
         "[tool.x]\nnetwork = [\"b.example:443\"]\ntimeout = \"1s\"\n"},
        {"[tool.x]\nnetwork = \"none\" # c\n", "[tool.x]\nnetwork = [\"b.example:443\"] # c\n"},
        {"[tool.x]\nnetwork = []\n", "[tool.x]\nnetwork = [\"b.example:443\"]\n"},
        {"[tool.x]\nnetwork = [\n  \"a.example\", # the first\n]\n",
         "[tool.x]\nnetwork = [\n  \"a.example\",\n  \"b.example:443\", # the first\n]\n"},
        {"[tool.x]\nnetwork = [{ host = \"a.example\", methods = [\"GET\"] }]\n",
         "[tool.x]\nnetwork = [{ host = \"a.example\", methods = [\"GET\"] }, "
         "\"b.example:443\"]\n"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char *after = amend(rows[i][0], "x", "connect b.example:443", NULL);
        assert_non_null(after);
        assert_string_equal(after, rows[i][1]);
        free(after);
    }
}

static void the_defaults_have_a_table_too(void **state)
{
    char *after = amend("[defaults]\nnetwork = \"none\"\n", NULL, "read /a", NULL);
    assert_string_equal(after, "[defaults]\nfilesystem.readable = [\"/a\"]\nnetwork = \"none\"\n");
    free(after);
}

static void unamendable_paths_are_refused_with_a_hint(void **state)
{
    static const char *const rows[][2] = {
        {"[tool.x]\n", "connect *:443"},
        {"[tool.x]\n", "connect unix:/run/x"},
        {"[tool.x]\n", "syscall ptrace"},
        {"[defaults]\nnetwork = [\"a.example\"]\n[tool.x]\n", "connect b.example:443"},
        {"[[tool.x.network]]\nhost = \"a.example\"\n", "connect b.example:443"},
        {"[tool.x]\n", "read relative"},
        {"[tool.x]\nfilesystem = { readable = [\"/a\"], denied = [\"/a/s\"] }\n", "read /a/s"},
        {"[defaults]\nfilesystem.readable = [\"/b\"]\n[tool.x]\n", "read /a"},
        {"tool.x = { timeout = \"1s\" }\n", "read /a"},
        {"[tool.x]\nfilesystem.readable = [\"/workspace\"]\n", "write /workspace/f"},
        {"[tool.x]\n", "read /proc/1"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct toolcage_error *err = NULL;
        assert_null(amend(rows[i][0], "x", rows[i][1], &err));
        assert_non_null(err);
        assert_string_not_equal(tc_error_hint(err), "");
        tc_error_free(err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_its_place),
        cmocka_unit_test(an_endpoint_is_added_to_the_network),
        cmocka_unit_test(the_defaults_have_a_table_too),
        cmocka_unit_test(unamendable_paths_are_refused_with_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
