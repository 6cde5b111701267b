/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of places that tools could write: what it finds again, and what it forgets. */
#include "provenance/provenance.h"

#include <signal.h>
#include <sys/resource.h>

#include "../linux/tree.h"
#include "base/cleanup.h"
#include "base/path.h"

/* Root's record is another file than the user's, so that both are read. */
static struct tc_records records;

static int build(void **state)
{
    if (tree_new(state) < 0)
        return -1;
    static char own[PATH_MAX], roots[PATH_MAX], *items[] = {own};
    static const struct tc_strv states = {.items = items, .count = 1};
    tree_directory("state");
    tree_directory("root");
    tc_strcopy(own, sizeof(own), tree_path("state"));
    tc_strcopy(roots, sizeof(roots), tree_path("root"));
    records = (struct tc_records){.states = &states, .root = roots};
    return 0;
}

static void note(const char *name)
{
    char *path = (char *)(uintptr_t)tree_path(name);
    const struct tc_strv places = {.items = &path, .count = 1};
    assert_true(tc_provenance_record_note(&records, &places, NULL, NULL));
}

static bool written(const char *name)
{
    _autoprovenance_ struct tc_provenance p;
    tc_provenance_init(&p, getuid(), &p.own, NULL, NULL);
    p.records = records;
    return tc_provenance_tool(&p, tree_path(name));
}

static const char *record(void)
{
    return geteuid() == 0 ? "root/written" : "state/written";
}

static off_t record_size(void)
{
    struct stat st;
    return stat(record(), &st) < 0 ? 0 : st.st_size;
}

static void noted_places_are_found_below_links_and_after_renames(void **state)
{
    tree_directory("ws");
    tree_directory("ws/deep");
    tree_file("ws/deep/file", "x");
    tree_directory("other");
    tree_file("other/file", "x");
    tree_link("ws", "alias");
    assert_false(written("ws/deep/file"));
    note("ws");
    assert_true(written("ws/deep/file"));
    assert_true(written("alias/deep/file"));
    assert_true(written("ws/none"));
    assert_false(written("other/file"));
    assert_int_equal(rename("ws", "moved"), 0);
    assert_true(written("moved/deep/file"));
    assert_false(written("ws/deep/file"));
    assert_int_equal(mkdir("ws", 0755), 0);
    assert_false(written("ws/anything"));
}

/* Editors replace a file, and what a tool made in its place is the tool's. */
static void noted_files_are_found_by_name(void **state)
{
    tree_file("single", "x");
    note("single");
    tree_file("single.new", "y");
    assert_int_equal(rename("single.new", "single"), 0);
    assert_true(written("single"));
}

static void the_last_digest_of_a_policy_counts(void **state)
{
    static const char *const digests[] = {"sha256:aa", "sha256:bb", "sha256:aa", "sha256:a"};
    const struct tc_strv none = {0};
    const char *path = tree_path("policy.toml");
    for (size_t i = 0; i < TC_COUNT(digests); i++) {
        assert_true(tc_provenance_record_note(&records, &none, path, digests[i]));
        off_t size = record_size();
        assert_true(tc_provenance_record_note(&records, &none, path, digests[i]));
        assert_int_equal(record_size(), size);
        for (size_t j = 0; j < TC_COUNT(digests); j++)
            assert_int_equal(tc_provenance_record_knows(&records, path, digests[j]),
                             strcmp(digests[i], digests[j]) == 0);
    }
    assert_false(tc_provenance_record_knows(&records, "/policy.toml", "sha256:a"));
    assert_false(written("policy.toml"));
}

static void noting_twice_adds_nothing(void **state)
{
    tree_directory("again");
    note("again");
    off_t size = record_size();
    note("again");
    assert_int_equal(record_size(), size);
    note("later");
    tree_directory("later");
    assert_true(written("later/file"));
}

static void earlier_records_hold_paths_alone(void **state)
{
    char entry[PATH_MAX];
    tree_directory("plain");
    tree_file("plain/file", "x");
    int fd = open("state/written", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    tc_strcopy(entry, sizeof(entry), tree_path("plain"));
    assert_int_equal(write(fd, "junk", 5), 5);
    assert_int_equal(write(fd, entry, strlen(entry) + 1), (ssize_t)strlen(entry) + 1);
    (void)close(fd);
    assert_true(written("plain/file"));
}

static void roots_record_is_for_everybody(void **state)
{
    struct stat st;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod("root", 0700), 0);
    mode_t mask = umask(077);
    tree_directory("mine");
    note("mine");
    (void)umask(mask);
    assert_int_equal(stat("root", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0711);
    assert_int_equal(stat("root/written", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
}

/* Of removed places the newest stay, by their identity: one of them may have been renamed. */
static void a_large_record_is_shortened(void **state)
{
    enum { PLACES = 1500, KEPT = 500 };
    char name[32];
    tree_directory("many");
    tree_directory("many/stays");
    note("many/stays");
    for (int i = 0; i < PLACES; i++) {
        (void)snprintf(name, sizeof(name), "many/place-number-%d", i);
        tree_directory(name);
        note(name);
        if (i < PLACES - 1)
            assert_int_equal(rmdir(name), 0);
    }
    assert_in_range(record_size(), 1, 100 << 10);
    assert_int_equal(rename(name, "many/renamed"), 0);
    assert_true(written("many/renamed/file"));
    assert_true(written("many/stays/file"));
    assert_false(written("many/other"));
}

/* A short entry goes, so that longer ones move, and the file size limit cuts one of them. */
static void shortening_that_fails_loses_nothing(void **state)
{
    enum { LIMIT = 4000, STEP = 37, LIMITS = 12, PLACES = 2000, MARGIN = 60 };
    static const char form[] = "cut/place-with-a-long-name-that-is-cut-%d";
    struct rlimit was;
    char name[64];
    (void)unlink(record());
    tree_directory("cut");
    tree_directory("cut/g");
    tree_directory("cut/late");
    note("cut/g");
    for (int i = 0; i < PLACES && record_size() < (64 << 10) - MARGIN; i++) {
        (void)snprintf(name, sizeof(name), form, i);
        tree_directory(name);
        note(name);
    }
    assert_int_equal(rmdir("cut/g"), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t i = 0; i < LIMITS; i++) {
        const struct rlimit cut = {LIMIT + i * STEP, was.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &cut), 0);
        note("cut/late"); /* its entry exceeds the size that shortens the record */
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    }
    (void)signal(SIGXFSZ, handler);
    for (int i = 0; i < PLACES; i++) {
        (void)snprintf(name, sizeof(name), form, i);
        if (access(name, F_OK) == 0 && !written(name))
            fail_msg("%s was lost", name);
    }
}

static void an_unreadable_record_means_yes(void **state)
{
    assert_int_equal(unlink(record()) < 0 && errno != ENOENT, 0);
    assert_int_equal(mkdir(record(), 0755), 0);
    tree_directory("unknown");
    assert_true(written("unknown"));
    assert_int_equal(rmdir(record()), 0);
    assert_false(written("unknown"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noted_places_are_found_below_links_and_after_renames),
        cmocka_unit_test(noted_files_are_found_by_name),
        cmocka_unit_test(the_last_digest_of_a_policy_counts),
        cmocka_unit_test(noting_twice_adds_nothing),
        cmocka_unit_test(earlier_records_hold_paths_alone),
        cmocka_unit_test(roots_record_is_for_everybody),
        cmocka_unit_test(a_large_record_is_shortened),
        cmocka_unit_test(shortening_that_fails_loses_nothing),
        cmocka_unit_test(an_unreadable_record_means_yes),
    };
    return cmocka_run_group_tests(tests, build, tree_end);
}
