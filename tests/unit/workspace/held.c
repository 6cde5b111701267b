/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Staged changes: what a call with `commit = "ask"` leaves for a person, and what becomes of it
 * when that person applies or discards it later. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "scene.h"
#include "workspace/held.h"

#define CALL "01ARZ3NDEKTSV4RRFFQ69G5FAV"
static const char call[] = CALL;

/* How the library records what becomes of them. */
static char *audit;

/* A call has ended, and its changes are staged. */
static void stage(const char *before, const char *tool, const char *changes)
{
    static char *caches[] = {(char *)(uintptr_t) "__pycache__"};
    static char *steering[] = {(char *)(uintptr_t) "deploy.sh"};
    struct scene s;
    scene_new();
    scene_sh(before);
    scene_plan(&s, TC_WORKSPACE_COPY, TC_COMMIT_ASK);
    s.plan.caches = (struct tc_strv){.items = caches, .count = 1};
    s.plan.steering.add = (struct tc_strv){.items = steering, .count = 1};
    s.plan.audit = audit;
    assert_int_equal(scene_begin(&s), 0);
    _autofree_ char *was = strdup(scene_tree("host"));
    scene_sh(tool);
    scene_end(&s, false);
    scene_expect(tool, "changes", scene_changes(&s.outcome), changes);
    scene_expect(tool, "host", scene_tree("host"), was);
    assert_int_equal(s.outcome.failure.code, 0);
    scene_done(&s);
    tc_tree_host =
        (struct tc_tree_host){.privileged = geteuid() == 0, .uid = geteuid(), .gid = getegid()};
}

static int settle_seen(enum tc_held_action action, const char *path, const char *seen,
                       struct tc_outcome *outcome)
{
    char *paths[] = {(char *)(uintptr_t)path};
    const struct tc_strv wanted = {.items = paths, .count = path ? 1 : 0};
    mode_t mask = umask(0);
    int rc = tc_held_settle(call, action, &wanted, seen, outcome);
    (void)umask(mask);
    return rc;
}

static int settle(enum tc_held_action action, const char *path, struct tc_outcome *outcome)
{
    return settle_seen(action, path, NULL, outcome);
}

/* How many changes wait, and how many of these are caches. */
static void expect_waiting(const char *row, int64_t changes, int64_t caches)
{
    struct tc_outcome outcome = {0};
    assert_int_equal(tc_held_calls(&outcome), 0);
    int64_t found = outcome.waiting_count ? outcome.waiting[0].changes : 0;
    int64_t cached = outcome.waiting_count ? outcome.waiting[0].caches : 0;
    if (outcome.waiting_count > 1 || found != changes || cached != caches)
        fail_msg("%s: %d changes wait, %d of them caches", row, (int)found, (int)cached);
    if (outcome.waiting_count)
        assert_string_equal(outcome.waiting[0].call, call);
    tc_outcome_done(&outcome);
}

#define WORK "echo -n 1 >host/a; mkdir host/d; echo -n 1 >host/d/f"
#define TOOL "echo -n two >copy/a; rm -r copy/d; mkdir copy/n; echo -n 1 >copy/n/x"
#define STAGED                                                      \
    "modified a (pending approval), deleted d (pending approval), " \
    "deleted d/f (pending approval), added n (pending approval), added n/x (pending approval)"

static void staged_changes_are_applied_or_discarded_by_path(void **state)
{
    static const struct {
        const char *name, *meanwhile;
        enum tc_held_action action;
        const char *path, *changes, *after;
        int waiting;
    } rows[] = {
        {"show", "", TC_HELD_SHOW, NULL, STAGED, "a=1 d/ d/f=1", 5},
        {"show one", "", TC_HELD_SHOW, "/workspace/a", "modified a (pending approval)",
         "a=1 d/ d/f=1", 5},
        {"all", "", TC_HELD_COMMIT, NULL, "modified a, deleted d, deleted d/f, added n, added n/x",
         "a=two n/ n/x=1", 0},
        {"one", "", TC_HELD_COMMIT, "/workspace/a",
         "modified a, deleted d (pending approval), deleted d/f (pending approval), "
         "added n (pending approval), added n/x (pending approval)",
         "a=two d/ d/f=1", 4},
        {"one with its directory", "", TC_HELD_COMMIT, "/workspace/n/x",
         "modified a (pending approval), deleted d (pending approval), "
         "deleted d/f (pending approval), added n, added n/x",
         "a=1 d/ d/f=1 n/ n/x=1", 3},
        {"discard all", "", TC_HELD_DISCARD, NULL, "", "a=1 d/ d/f=1", 0},
        {"discard one", "", TC_HELD_DISCARD, "/workspace/n",
         "modified a (pending approval), deleted d (pending approval), "
         "deleted d/f (pending approval)",
         "a=1 d/ d/f=1", 3},
        {"newer on the host", "echo -n three >host/a; echo -n 2 >host/d/g", TC_HELD_COMMIT, NULL,
         "modified a (conflict), deleted d (conflict), deleted d/f, added n, added n/x",
         "a=three d/ d/g=2 n/ n/x=1", 2},
        {"newer and overwritten", "echo -n three >host/a; echo -n three >host/d/f",
         TC_HELD_OVERWRITE, NULL, "modified a, deleted d, deleted d/f, added n, added n/x",
         "a=two n/ n/x=1", 0},
        {"overwritten, but for a file that no change is about", "echo -n 2 >host/d/g",
         TC_HELD_OVERWRITE, "/workspace/d",
         "modified a (pending approval), deleted d (conflict), deleted d/f, "
         "added n (pending approval), added n/x (pending approval)",
         "a=1 d/ d/g=2", 4},
        {"a link in the place of a directory",
         "mkdir out; echo -n 1 >out/f; rm -r host/d; "
         "ln -s ../out host/d",
         TC_HELD_OVERWRITE, "/workspace/d",
         "modified a (pending approval), deleted d (conflict), deleted d/f (conflict), "
         "added n (pending approval), added n/x (pending approval)",
         "a=1 d->../out", 5},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_outcome outcome = {0};
        stage(WORK, TOOL, STAGED);
        expect_waiting(rows[i].name, 5, 0);
        scene_sh(rows[i].meanwhile);
        if (settle(rows[i].action, rows[i].path, &outcome) < 0 || outcome.failure.code)
            fail_msg("%s: %s", rows[i].name, outcome.failure.message);
        scene_expect(rows[i].name, "changes", scene_changes(&outcome), rows[i].changes);
        scene_expect(rows[i].name, "host", scene_tree("host"), rows[i].after);
        expect_waiting(rows[i].name, rows[i].waiting, 0);
        if (!rows[i].waiting)
            scene_expect(rows[i].name, "held", scene_tree("state/held"), "");
        tc_outcome_done(&outcome);
    }
}

/* The shipped names and the policy's own, as they were when the call ended: no yes frees them. */
static void staged_steering_files_are_never_applied(void **state)
{
    struct tc_outcome outcome = {0}, again = {0};
    (void)state;
    stage("mkdir -p host/.git/hooks",
          "echo -n 1 >copy/.git/hooks/pre-push; echo -n 1 >copy/a; echo -n 1 >copy/deploy.sh",
          "added .git/hooks/pre-push (steers the host), added a (pending approval), "
          "added deploy.sh (steers the host)");
    assert_int_equal(settle(TC_HELD_COMMIT, NULL, &outcome), 0);
    scene_expect("yes", "changes", scene_changes(&outcome),
                 "added .git/hooks/pre-push (steers the host), added a, "
                 "added deploy.sh (steers the host)");
    assert_int_equal(settle(TC_HELD_OVERWRITE, "/workspace/.git", &again), 0);
    scene_expect("yes", "host", scene_tree("host"), ".git/ .git/hooks/ a=1");
    expect_waiting("yes", 2, 0);
    tc_outcome_done(&outcome);
    tc_outcome_done(&again);
}

/* A yes to the work leaves them out, and does not keep them for ever. */
static void caches_are_dropped_with_the_last_other_change(void **state)
{
    struct tc_outcome outcome = {0};
    (void)state;
    stage("", "echo -n 1 >copy/a.py; mkdir copy/__pycache__; echo -n 1 >copy/__pycache__/a.pyc",
          "added __pycache__ (pending approval), added __pycache__/a.pyc (pending approval), "
          "added a.py (pending approval)");
    expect_waiting("caches", 3, 2);
    assert_int_equal(settle(TC_HELD_COMMIT, NULL, &outcome), 0);
    scene_expect("caches", "changes", scene_changes(&outcome),
                 "added __pycache__ (discarded), added __pycache__/a.pyc (discarded), added a.py");
    scene_expect("caches", "host", scene_tree("host"), "a.py=1");
    expect_waiting("caches", 0, 0);
    scene_expect("caches", "held", scene_tree("state/held"), "");
    tc_outcome_done(&outcome);
}

static void files_come_back_as_the_tool_left_them(void **state)
{
    static const struct {
        const char *path;
        unsigned mode;
    } modes[] = {{"host/run", S_IFREG | 0755},
                 {"host/d", S_IFDIR | 0500},
                 {"host/d/f", S_IFREG | 0400},
                 {"host/l", S_IFLNK | 0777}};
    struct tc_outcome outcome = {0};
    struct stat st;
    (void)state;
    stage("",
          "echo -n 1 >copy/run; chmod 6755 copy/run; mkdir copy/d; echo -n 1 >copy/d/f; "
          "chmod 400 copy/d/f; touch -d @1000000000 copy/d/f; chmod 500 copy/d; "
          "ln -s /etc copy/l; mkfifo copy/p",
          "added d (pending approval), added d/f (pending approval), added l (pending approval), "
          "added p (not committed), added run (pending approval)");
    assert_int_equal(settle(TC_HELD_COMMIT, NULL, &outcome), 0);
    scene_expect("modes", "host", scene_tree("host"), "d/ d/f=1 l->/etc run=1");
    for (size_t i = 0; i < TC_COUNT(modes); i++)
        if (scene_mode(modes[i].path) != modes[i].mode)
            fail_msg("%s has %o", modes[i].path, scene_mode(modes[i].path));
    assert_int_equal(stat("host/d/f", &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1000000000);
    tc_outcome_done(&outcome);
}

/* Nothing is applied where the call did not work, and nothing is forgotten. */
static void refused_settlements_change_nothing(void **state)
{
    static const struct {
        const char *name, *meanwhile, *path;
        int code;
    } rows[] = {
        {"the directory was replaced", "mv host old; cp -r old host", NULL, TOOLCAGE_EPATH},
        {"it is reached by a link now", "mv host old; ln -s old host", NULL, TOOLCAGE_EPATH},
        {"it is gone", "mv host old; mkdir host; echo -n 1 >host/a; rm -r host; mkdir host", NULL,
         TOOLCAGE_EPATH},
        {"a path that is not staged", "", "/workspace/none", TOOLCAGE_EUSAGE},
        {"the list is cut", "truncate -s -1 state/held/*/list", NULL, TOOLCAGE_EBACKEND},
        {"the list has more", "echo | tee -a state/held/*/list >out", NULL, TOOLCAGE_EBACKEND},
        {"the list is gone", "rm state/held/*/list", NULL, TOOLCAGE_EBACKEND},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_outcome outcome = {0};
        stage(WORK, TOOL, STAGED);
        scene_sh(rows[i].meanwhile);
        _autofree_ char *was = strdup(scene_tree("host"));
        if (settle(TC_HELD_OVERWRITE, rows[i].path, &outcome) == 0 ||
            outcome.failure.code != rows[i].code)
            fail_msg("%s: %d", rows[i].name, (int)outcome.failure.code);
        assert_string_equal(outcome.failure.stage, "changes");
        assert_true(outcome.failure.hint[0] && outcome.change_count == 0);
        scene_expect(rows[i].name, "host", scene_tree("host"), was);
        assert_int_equal(access("state/held/01ARZ3NDEKTSV4RRFFQ69G5FAV", F_OK), 0);
        tc_outcome_done(&outcome);
    }
}

/* The digest of what is staged; owned by the caller. */
static char *seen_now(void)
{
    struct tc_outcome outcome = {0};
    assert_int_equal(settle(TC_HELD_SHOW, NULL, &outcome), 0);
    char *seen = strdup(outcome.seen);
    tc_outcome_done(&outcome);
    return seen;
}

#define LINKED TOOL "; ln -s d copy/l"
#define STAGED_LINK                                                 \
    "modified a (pending approval), deleted d (pending approval), " \
    "deleted d/f (pending approval), added l (pending approval), "  \
    "added n (pending approval), added n/x (pending approval)"

static void other_changes_than_the_seen_are_not_settled(void **state)
{
    static const char *const rows[] = {
        "echo -n tvo >state/held/" CALL "/0/a",
        "echo -n more >>state/held/" CALL "/0/a",
        "chmod 755 state/held/" CALL "/0/n/x",
        "ln -sfn n state/held/" CALL "/0/l",
        "rm state/held/" CALL "/0/n/x",
        "rm state/held/" CALL "/0/n/x; ln -s ../a state/held/" CALL "/0/n/x",
        "printf '\\0' >>state/held/" CALL "/list",
    };
    static const enum tc_held_action actions[] = {TC_HELD_COMMIT, TC_HELD_OVERWRITE,
                                                  TC_HELD_STEERING, TC_HELD_DISCARD};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        for (size_t k = 0; k < TC_COUNT(actions); k++) {
            struct tc_outcome outcome = {0};
            stage(WORK, LINKED, STAGED_LINK);
            _autofree_ char *seen = seen_now();
            scene_sh(rows[i]);
            assert_int_equal(settle_seen(actions[k], NULL, seen, &outcome), -1);
            bool damaged = i + 1 == TC_COUNT(rows);
            assert_int_equal(outcome.failure.code, damaged ? TOOLCAGE_EBACKEND : TOOLCAGE_EDENIED);
            scene_expect(rows[i], "host", scene_tree("host"), "a=1 d/ d/f=1");
            assert_int_equal(access("state/held/" CALL "/0/a", F_OK), 0);
            tc_outcome_done(&outcome);
        }
}

static void seen_changes_are_settled_once(void **state)
{
    struct tc_outcome outcome = {0}, again = {0}, part = {0};
    (void)state;
    stage(WORK, LINKED, STAGED_LINK);
    _autofree_ char *seen = seen_now(), *same = seen_now();
    assert_string_equal(seen, same);
    /* one of two people has decided about a file meanwhile */
    assert_int_equal(settle_seen(TC_HELD_COMMIT, "/workspace/a", seen, &part), 0);
    assert_null(part.seen);
    assert_int_equal(settle_seen(TC_HELD_COMMIT, NULL, seen, &again), -1);
    assert_int_equal(again.failure.code, TOOLCAGE_EDENIED);
    _autofree_ char *rest = seen_now();
    assert_string_not_equal(rest, seen);
    assert_int_equal(settle_seen(TC_HELD_COMMIT, NULL, rest, &outcome), 0);
    scene_expect("once", "host", scene_tree("host"), "a=two l->d n/ n/x=1");
    tc_outcome_done(&again);
    assert_int_equal(settle_seen(TC_HELD_COMMIT, NULL, rest, &again), -1);
    assert_int_equal(again.failure.code, TOOLCAGE_EUSAGE);
    tc_outcome_done(&outcome);
    tc_outcome_done(&again);
    tc_outcome_done(&part);
}

/* A file of the host that changed after the review stays, though the digest is the seen one. */
static void newer_host_file_conflicts_with_seen_changes(void **state)
{
    struct tc_outcome outcome = {0};
    (void)state;
    stage(WORK, TOOL, STAGED);
    _autofree_ char *seen = seen_now();
    scene_sh("echo -n three >host/a");
    assert_int_equal(settle_seen(TC_HELD_COMMIT, NULL, seen, &outcome), 0);
    scene_expect("newer", "changes", scene_changes(&outcome),
                 "modified a (conflict), deleted d, deleted d/f, added n, added n/x");
    tc_outcome_done(&outcome);
}

static void unreadable_staged_file_is_known_by_its_times(void **state)
{
    struct tc_outcome outcome = {0};
    (void)state;
    stage(WORK, TOOL "; chmod 000 copy/a", STAGED);
    _autofree_ char *seen = seen_now();
    assert_int_equal(settle_seen(TC_HELD_COMMIT, NULL, seen, &outcome), 0);
    tc_outcome_done(&outcome);
}

static void expect_about(const char *row, int64_t changes, bool has_digest)
{
    struct tc_outcome about = {0};
    assert_int_equal(settle(TC_HELD_ABOUT, NULL, &about), 0);
    if (!about.audit || strcmp(about.audit, audit) != 0 || !about.seen != !has_digest ||
        about.waiting_count != (changes ? 1 : 0) || about.change_count ||
        (changes && about.waiting[0].changes != changes))
        fail_msg("%s: audit %s, digest %s, %d rows", row, about.audit, about.seen,
                 (int)about.waiting_count);
    tc_outcome_done(&about);
}

static void rules_of_the_log_stay_with_staged_changes(void **state)
{
    static char rules[] = "{\"sync\":0}";
    struct tc_outcome outcome = {0}, about = {0};
    (void)state;
    stage(WORK, TOOL, STAGED);
    assert_int_equal(settle(TC_HELD_ABOUT, NULL, &about), 0);
    assert_true(!about.audit && !about.seen && !about.waiting_count);
    tc_outcome_done(&about);
    audit = rules;
    stage(WORK, TOOL, STAGED);
    expect_about("all", 5, true);
    assert_int_equal(settle(TC_HELD_COMMIT, "/workspace/a", &outcome), 0);
    expect_about("the rest", 4, true);
    scene_sh("truncate -s -1 state/held/" CALL "/list");
    expect_about("a damaged list", 0, false);
    scene_sh("rm state/held/" CALL "/audit; mkdir state/held/" CALL "/audit");
    assert_int_equal(settle(TC_HELD_ABOUT, NULL, &about), -1);
    assert_int_equal(about.failure.code, TOOLCAGE_EBACKEND);
    audit = NULL;
    tc_outcome_done(&outcome);
    tc_outcome_done(&about);
}

static void only_an_id_names_a_call(void **state)
{
    static const char *const names[] = {"",
                                        "..",
                                        "01arz3ndektsv4rrffq69g5fav",
                                        "../held/01ARZ3NDEKTSV4RRFFQ69",
                                        "01ARZ3NDEKTSV4RRFFQ69G5FA",
                                        "01ARZ3NDEKTSV4RRFFQ69G5FAW"};
    const struct tc_strv none = {0};
    (void)state;
    stage(WORK, TOOL, STAGED);
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct tc_outcome outcome = {0};
        assert_int_equal(tc_held_settle(names[i], TC_HELD_DISCARD, &none, NULL, &outcome), -1);
        assert_int_equal(outcome.failure.code, TOOLCAGE_EUSAGE);
        tc_outcome_done(&outcome);
    }
    expect_waiting("names", 5, 0);
}

static void unfinished_staging_is_swept(void **state)
{
    (void)state;
    stage(WORK, TOOL, STAGED);
    scene_sh("mkdir -p state/held/01ARZ3NDEKTSV4RRFFQ69G5FAX.new/0");
    assert_int_equal(tc_held_sweep(), 1);
    assert_int_equal(tc_held_sweep(), 0);
    expect_waiting("sweep", 5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staged_changes_are_applied_or_discarded_by_path),
        cmocka_unit_test(staged_steering_files_are_never_applied),
        cmocka_unit_test(caches_are_dropped_with_the_last_other_change),
        cmocka_unit_test(files_come_back_as_the_tool_left_them),
        cmocka_unit_test(refused_settlements_change_nothing),
        cmocka_unit_test(other_changes_than_the_seen_are_not_settled),
        cmocka_unit_test(seen_changes_are_settled_once),
        cmocka_unit_test(newer_host_file_conflicts_with_seen_changes),
        cmocka_unit_test(unreadable_staged_file_is_known_by_its_times),
        cmocka_unit_test(rules_of_the_log_stay_with_staged_changes),
        cmocka_unit_test(only_an_id_names_a_call),
        cmocka_unit_test(unfinished_staging_is_swept),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}
