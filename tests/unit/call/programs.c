/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Version managers and virtual environments in a made home directory, and what each adds to a
 * grant. */
#include "call/host/programs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "provenance/provenance.h"
#include "test.h"

static char home[] = "/tmp/toolcage-home-XXXXXX";

/* A path below the made home; one of a few static buffers. */
static const char *at(const char *name)
{
    static char buffers[8][256];
    static size_t next;
    char *buffer = buffers[next++ % 8];
    (void)snprintf(buffer, sizeof(buffers[0]), "%s/%s", home, name);
    return buffer;
}

static void put(const char *name, const char *text, mode_t mode)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s", at(name));
    for (char *slash = strchr(path + strlen(home) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static const char *const scripts[] = {".pyenv/shims/python3",
                                      ".pyenv/shims/ghost",
                                      ".pyenv/versions/3.11.7/bin/python3",
                                      ".nvm/versions/node/v20/bin/node",
                                      ".nvm/versions/node/v20/lib/npm/npx-cli.js",
                                      ".local/bin/tool",
                                      "bin/own",
                                      ".cargo/bin/rg",
                                      ".cargo/bin/rustup",
                                      ".docker/bin/docker",
                                      ".local/bin/uv",
                                      ".local/share/uv/python/cpython/bin/python3",
                                      "miniconda3/bin/conda",
                                      ".sdkman/candidates/maven/3/bin/mvn",
                                      ".sdkman/candidates/java/21/bin/java",
                                      ".asdf/installs/lua/5.3/bin/lua",
                                      ".asdf/installs/lua/5.4/bin/lua"};

static const struct {
    const char *name, *text;
    mode_t mode;
} files[] = {
    {".pyenv/version", "2.7\n3.11.7\n", 0644},
    {"proj/.venv/pyvenv.cfg", "version = 3.11\n", 0644},
    {"proj/.venv/bin/activate", "", 0644},
    {"kept/.venv/pyvenv.cfg", "version = 3.11\n", 0644},
    {"kept/.venv/bin/activate", "", 0644},
    {".cargo/credentials.toml", "secret", 0600},
    {".rustup/settings.toml", "", 0644},
    {"far/rustup/settings.toml", "", 0644},
    {"miniconda3/.condarc", "secret", 0644},
    {"miniconda3/pip.conf", "secret", 0644},
    {".asdf/shims/lua", "#!/bin/sh\n# asdf-plugin: lua 5.3\n# asdf-plugin: lua 5.4\n", 0755},
    {".asdf/shims/bad", "#!/bin/sh\n# asdf-plugin: .. ../../bin\n", 0755},
    {".tool-versions", "ruby 3\nlua 5.4\n", 0644}};

static const char *const links[][2] = {
    {"../lib/npm/npx-cli.js", ".nvm/versions/node/v20/bin/npx"},
    {"../../../.pyenv/versions/3.11.7/bin/python3", "proj/.venv/bin/python"},
    {"../../../.pyenv/versions/3.11.7/bin/python3", "kept/.venv/bin/python"},
    {"rustup", ".cargo/bin/cargo"},
    {"21", ".sdkman/candidates/java/current"},
    {"3", ".sdkman/candidates/maven/current"}};

static int make_home(void **state)
{
    assert_non_null(mkdtemp(home));
    for (size_t i = 0; i < TC_COUNT(scripts); i++)
        put(scripts[i], "#!/bin/sh\n", 0755);
    for (size_t i = 0; i < TC_COUNT(files); i++)
        put(files[i].name, files[i].text, files[i].mode);
    for (size_t i = 0; i < TC_COUNT(links); i++)
        assert_int_equal(symlink(links[i][0], at(links[i][1])), 0);
    assert_int_equal(link(at(".cargo/bin/rustup"), at(".cargo/bin/rustc")), 0);
    return 0;
}

static int remove_home(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf -- '%s'", home);
    return system(command);
}

/* One extension: a grant that names `program`, with the given PATH. */
struct trial {
    struct toolcage_policy *policy;
    struct tc_grant grant;
    struct toolcage_error *err;
    char *more; /* a further variable of the caller; owned */
    int r;
};

static void extend(struct trial *t, const char *path, const char *program, bool as_command)
{
    _autofree_ char *variable = tc_format("PATH=%s:/usr/bin:/bin", path);
    const char *variables[] = {variable, t->more, NULL};
    const struct tc_facts facts = {.cwd = "/tmp", .home = home, .environ = variables};
    assert_int_equal(tc_policy_new_default(&t->policy, NULL), 0);
    assert_true(tc_strv_add(&t->grant.env, "PATH=/usr/bin:/bin"));
    assert_true(tc_strv_add(as_command ? &t->grant.argv : &t->grant.programs, program));
    t->r = tc_programs_extend(t->policy, &facts, &t->grant, &t->err);
}

static void done(struct trial *t)
{
    free(t->more);
    tc_grant_done(&t->grant);
    tc_policy_unref(t->policy);
    tc_error_free(t->err);
}

static size_t count_granted(const struct tc_grant *g)
{
    size_t count = 0;
    for (size_t i = 0; i < g->fs_count; i++)
        count += g->fs[i].access != TC_ACCESS_DENY;
    return count;
}

static void expect_granted(const struct tc_grant *g, const char *path)
{
    for (size_t i = 0; i < g->fs_count; i++) {
        if (strcmp(g->fs[i].path, path) != 0)
            continue;
        assert_int_equal(g->fs[i].access, TC_ACCESS_READ);
        assert_string_equal(g->fs[i].origin.key, "programs");
        return;
    }
    fail_msg("%s is not granted", path);
}

static void system_programs_change_nothing(void **state)
{
    struct trial t = {0};
    extend(&t, "/usr/bin", "sh", true);
    assert_int_equal(t.r, 0);
    assert_int_equal(t.grant.fs_count, 0);
    assert_true(tc_strv_has(&t.grant.env, "PATH=/usr/bin:/bin"));
    done(&t);
}

static void missing_program_is_named(void **state)
{
    static const char *const names[] = {"no-such-program", "ghost", "../bin/own"};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct trial t = {0};
        extend(&t, at(".pyenv/shims"), names[i], false);
        assert_int_equal(t.r, TOOLCAGE_ENOT_FOUND);
        assert_string_equal(tc_error_subject(t.err), names[i]);
        assert_non_null(strstr(tc_error_message(t.err), at(".pyenv/shims")));
        done(&t);
    }
    struct trial t = {0};
    extend(&t, at(".pyenv/shims"), "no-such-program", true);
    assert_int_equal(t.r, 0); /* a command that is not there is the cage's to report */
    done(&t);
}

static void credential_directories_are_no_prefix(void **state)
{
    struct trial t = {0};
    extend(&t, at(".docker/bin"), "docker", false);
    assert_int_equal(t.r, TOOLCAGE_EDENIED);
    assert_non_null(strstr(tc_error_message(t.err), "credentials"));
    assert_int_equal(count_granted(&t.grant), 0);
    done(&t);
}

static void expect_variable(const struct tc_grant *g, const char *name, const char *value)
{
    const char *got = tc_strv_value(&g->env, name);
    if (!got || strcmp(got, value) != 0)
        fail_msg("%s is %s, not %s", name, got ? got : "unset", value);
}

/* A program brings its prefix; one of a manager the manager's directory and own caches, too. */
static void programs_bring_their_directories(void **state)
{
    static const struct {
        const char *path, *program, *granted[2];
        const char *own, *cache, *bin; /* `own`: the value is below the home */
    } rows[] = {
        {".pyenv/shims",
         "python3",
         {".pyenv/versions/3.11.7"},
         .bin = ".pyenv/versions/3.11.7/bin"},
        {".nvm/versions/node/v20/bin", "node", {".nvm/versions/node/v20"}},
        {".nvm/versions/node/v20/bin", "npx", {".nvm/versions/node/v20"}},
        {"bin", "own", {"bin/own"}},
        {".local/bin", "tool", {".local/bin/tool"}},
        {".cargo/bin", "rg", {".cargo"}},
        {"proj/.venv/bin", "python", {"proj/.venv", ".pyenv/versions/3.11.7"}},
        {".cargo/bin",
         "cargo",
         {".cargo", ".rustup"},
         "RUSTUP_HOME=.rustup",
         "CARGO_HOME=/tmp/.cargo"},
        {".cargo/bin",
         "rustc",
         {".cargo", ".rustup"},
         "RUSTUP_HOME=.rustup",
         "CARGO_HOME=/tmp/.cargo"},
        {".local/bin",
         "uv",
         {".local/bin/uv", ".local/share/uv/python"},
         "UV_PYTHON_INSTALL_DIR=.local/share/uv/python",
         "UV_CACHE_DIR=/tmp/.cache/uv"},
        {"miniconda3/bin", "conda", {"miniconda3"}, .cache = "CONDA_PKGS_DIRS=/tmp/.conda/pkgs"},
        {".sdkman/candidates/maven/current/bin",
         "mvn",
         {".sdkman/candidates"},
         "JAVA_HOME=.sdkman/candidates/java/current"},
        {".asdf/shims", "lua", {".asdf/installs/lua/5.4"}, .bin = ".asdf/installs/lua/5.4/bin"},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        for (int as_command = 0; as_command < 2; as_command++) {
            struct trial t = {0};
            extend(&t, at(rows[i].path), rows[i].program, as_command);
            if (t.r)
                fail_msg("%s", tc_error_report(t.err));
            for (size_t g = 0; g < 2 && rows[i].granted[g]; g++)
                expect_granted(&t.grant, at(rows[i].granted[g]));
            assert_int_equal(count_granted(&t.grant), 1 + !!rows[i].granted[1]);
            _autofree_ char *path =
                tc_format("%s:/usr/bin:/bin", at(rows[i].bin ? rows[i].bin : rows[i].path));
            expect_variable(&t.grant, "PATH", path);
            assert_true(t.grant.clauses); /* masks, clauses and order are those of all entries */
            if (rows[i].own) {
                int n = (int)strcspn(rows[i].own, "=");
                _autofree_ char *own =
                    tc_format("%.*s=%s/%s", n, rows[i].own, home, rows[i].own + n + 1);
                assert_true(tc_strv_has(&t.grant.env, own));
            }
            assert_true(!rows[i].cache || tc_strv_has(&t.grant.env, rows[i].cache));
            done(&t);
        }
    }
}

static void programs_of_no_manager_bring_nothing_more(void **state)
{
    struct trial t = {0};
    extend(&t, at(".cargo/bin"), "rg", true); /* not one of rustup's */
    assert_null(tc_strv_value(&t.grant.env, "RUSTUP_HOME"));
    const struct tc_fs_entry *e = tc_grant_find(&t.grant, at(".cargo/credentials.toml"));
    assert_int_equal(e->access, TC_ACCESS_DENY);
    assert_true(t.grant.clauses & TC_CLAUSE_BIT(TC_CLAUSE_FS_DENIED));
    done(&t);
    t = (struct trial){0};
    extend(&t, at(".asdf/shims"), "bad", false);
    assert_int_equal(t.r, TOOLCAGE_ENOT_FOUND);
    done(&t);
}

static void a_managers_variable_may_name_its_directory(void **state)
{
    static const struct {
        const char *value;
        bool granted; /* a home, or a missing directory, is not */
    } rows[] = {{"far/rustup", true}, {"", false}, {"none", false}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct trial t = {0};
        t.more = tc_format("RUSTUP_HOME=%s", at(rows[i].value));
        extend(&t, at(".cargo/bin"), "cargo", true);
        assert_int_equal(t.r, 0);
        assert_int_equal(count_granted(&t.grant), rows[i].granted ? 2 : 1);
        if (rows[i].granted)
            expect_variable(&t.grant, "RUSTUP_HOME", at(rows[i].value));
        done(&t);
    }
    struct trial t = {0};
    assert_true(tc_strv_add(&t.grant.env, "RUSTUP_HOME=/said"));
    extend(&t, at(".cargo/bin"), "cargo", true);
    expect_variable(&t.grant, "RUSTUP_HOME", "/said"); /* by the policy or the call */
    done(&t);
}

static void passwords_in_a_prefix_are_masked(void **state)
{
    static const char *const masked[] = {"miniconda3/.condarc", "miniconda3/pip.conf"};
    struct trial t = {0};
    extend(&t, at("miniconda3/bin"), "conda", true);
    for (size_t i = 0; i < TC_COUNT(masked); i++)
        assert_int_equal(tc_grant_find(&t.grant, at(masked[i]))->access, TC_ACCESS_DENY);
    assert_int_equal(tc_grant_find(&t.grant, at("miniconda3/lib"))->access, TC_ACCESS_READ);
    done(&t);
}

static void grant(struct trial *t, const char *path)
{
    struct tc_fs_entry *e = TC_PUSH(t->grant.fs, t->grant.fs_count);
    assert_non_null(e);
    *e = (struct tc_fs_entry){.access = TC_ACCESS_READ,
                              .path = strdup(path),
                              .from = strdup(path),
                              .origin.key = strdup("filesystem.readable")};
}

/* Nothing can be mounted below a link. */
static void passwords_behind_a_shown_link_are_masked_at_its_target(void **state)
{
    static const char *const masked[] = {"miniconda3/.condarc", "miniconda3/pip.conf"};
    struct trial t = {0};
    put("shown/file", "", 0644);
    assert_int_equal(symlink("../miniconda3", at("shown/conda")), 0);
    grant(&t, at("shown"));
    extend(&t, at("shown/conda/bin"), "conda", true);
    assert_int_equal(t.r, 0);
    for (size_t i = 0; i < TC_COUNT(masked); i++)
        assert_int_equal(tc_grant_find(&t.grant, at(masked[i]))->access, TC_ACCESS_DENY);
    for (size_t i = 0; i < t.grant.fs_count; i++)
        assert_false(t.grant.fs[i].access == TC_ACCESS_DENY &&
                     tc_path_within(at("shown"), t.grant.fs[i].path));
    done(&t);
}

/* A directory that a tool may have written, or led elsewhere, is not granted. */
static void a_written_managers_directory_is_not_granted(void **state)
{
    _autostrv_ struct tc_strv places = {0};
    put("far/secret/key", "secret", 0600);
    put("far/tool/file", "", 0644);
    assert_int_equal(symlink("../secret", at("far/tool/rustup")), 0);
    assert_true(tc_strv_add(&places, at("far/tool")));
    assert_true(tc_provenance_note(&places, NULL, NULL));
    struct trial t = {0};
    t.more = tc_format("RUSTUP_HOME=%s", at("far/tool/rustup"));
    extend(&t, at(".cargo/bin"), "cargo", true);
    assert_int_equal(t.r, 0);
    assert_int_equal(count_granted(&t.grant), 1);
    assert_null(tc_strv_value(&t.grant.env, "RUSTUP_HOME"));
    done(&t);
}

static void relative_path_entries_are_skipped(void **state)
{
    assert_int_equal(chdir(at("bin")), 0);
    _autofree_ char *found = tc_program_find(":.:../bin", "own");
    assert_null(found);
    assert_int_equal(chdir("/"), 0);
}

/* A tool of an earlier call could write in bin and proj: what lies there adds nothing, and no other
 * program of its name runs in its place. */
static void written_programs_add_nothing(void **state)
{
    static const struct {
        const char *dir, *program;
        bool granted; /* the home is readable already */
        int result;
        bool on_path;
    } rows[] = {
        {"bin", "own", false, TOOLCAGE_EDENIED, false},
        {"bin", "own", true, 0, true},
        {"proj/.venv/bin", "python", false, TOOLCAGE_EDENIED, false},
        {"proj/.venv/bin", "python", true, 0, true},
    };
    _autostrv_ struct tc_strv places = {0};
    assert_true(tc_strv_add(&places, at("bin")) && tc_strv_add(&places, at("proj")));
    assert_true(tc_provenance_note(&places, NULL, NULL));
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct trial t = {0};
        struct tc_fs_entry readable = {.access = TC_ACCESS_READ, .path = home, .from = home};
        if (rows[i].granted)
            assert_true(tc_grant_add(&t.grant, &readable));
        extend(&t, at(rows[i].dir), rows[i].program, true);
        if (t.r != rows[i].result)
            fail_msg("%s: %d %s", rows[i].program, t.r, t.err ? tc_error_report(t.err) : "");
        assert_int_equal(count_granted(&t.grant), rows[i].granted);
        _autofree_ char *path = tc_format("PATH=%s:/usr/bin:/bin", at(rows[i].dir));
        assert_int_equal(tc_strv_has(&t.grant.env, path), rows[i].on_path);
        done(&t);
        t = (struct trial){0};
        extend(&t, at(rows[i].dir), rows[i].program, false);
        assert_int_equal(t.r, TOOLCAGE_EDENIED);
        done(&t);
    }
}

/* What the first call of a command found before its tool could write there is found again, until it
 * leads elsewhere. */
static void a_program_that_leads_where_it_did_is_kept(void **state)
{
    _autostrv_ struct tc_strv places = {0};
    assert_true(tc_strv_add(&places, at("kept")));
    for (int call = 0; call < 3; call++) {
        struct trial t = {0};
        assert_true(tc_strv_add(&t.grant.tool_writable, at("kept")));
        if (call == 2) {
            assert_int_equal(unlink(at("kept/.venv/bin/python")), 0);
            assert_int_equal(symlink(at("bin/own"), at("kept/.venv/bin/python")), 0);
        }
        extend(&t, at("kept/.venv/bin"), "python", true);
        assert_int_equal(t.r, call < 2 ? 0 : TOOLCAGE_EDENIED);
        if (call < 2)
            expect_granted(&t.grant, at(".pyenv/versions/3.11.7"));
        done(&t);
        assert_true(tc_provenance_note(&places, NULL, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_bring_their_directories),
        cmocka_unit_test(system_programs_change_nothing),
        cmocka_unit_test(missing_program_is_named),
        cmocka_unit_test(credential_directories_are_no_prefix),
        cmocka_unit_test(programs_of_no_manager_bring_nothing_more),
        cmocka_unit_test(a_managers_variable_may_name_its_directory),
        cmocka_unit_test(passwords_in_a_prefix_are_masked),
        cmocka_unit_test(passwords_behind_a_shown_link_are_masked_at_its_target),
        cmocka_unit_test(a_written_managers_directory_is_not_granted),
        cmocka_unit_test(relative_path_entries_are_skipped),
        cmocka_unit_test(a_program_that_leads_where_it_did_is_kept),
        cmocka_unit_test(written_programs_add_nothing), /* notes places of the others */
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
