/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a tool was refused, as a list: the same thing is counted, harmless probes are told apart
 * from needs, and the list is bounded whatever a tool asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "observe/observe.h"
#include "observe/watch.h"

/* A cage that the helper serves itself, or a process for it alone. */
struct scene {
    struct tc_plan plan;
    struct tc_outcome outcome;
    struct tc_observer observer;
    struct tc_cage cage;
};

static void begin(struct scene *s, bool apart)
{
    *s = (struct scene){.observer = TC_OBSERVER_NEW};
    s->plan.tool = (char *)(uintptr_t) "fetch";
    s->observer.seen = apart ? tc_seen_new() : NULL;
    assert_true(!apart || s->observer.seen);
    s->cage = (struct tc_cage){.plan = &s->plan, .outcome = &s->outcome, .observer = &s->observer};
}

/* Everything is in the outcome then. */
static void finish(struct scene *s)
{
    if (s->observer.seen)
        tc_seen_tell(&s->cage, s->observer.seen);
}

static void end(struct scene *s)
{
    tc_seen_free(s->observer.seen);
    tc_outcome_done(&s->outcome);
}

static void note(struct scene *s, enum tc_denial_kind kind, const char *target, bool probe)
{
    tc_notify_note(&s->cage, &(struct tc_listed){.kind = kind, .target = target, .probe = probe});
}

/* "word target*count" of each, with "?" after a probe. A static buffer. */
static const char *listed(const struct tc_outcome *o)
{
    static char text[1024];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < o->denial_count; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s*%d%s", i ? ", " : "",
                               tc_denial_row(o->denials[i].kind)->word, o->denials[i].target,
                               (int)o->denials[i].count, o->denials[i].probe ? "?" : "");
    return text;
}

#define BOTH(apart) for (int apart = 0; apart < 2; apart++)

static void repeated_denials_are_counted(void **state)
{
    (void)state;
    BOTH(apart)
    {
        struct scene s;
        begin(&s, apart);
        note(&s, TC_DENIAL_READ, "/a", false);
        note(&s, TC_DENIAL_WRITE, "/a", false);
        note(&s, TC_DENIAL_READ, "/ab", false);
        note(&s, TC_DENIAL_READ, "/a", false);
        note(&s, TC_DENIAL_READ, "/a", false);
        finish(&s);
        assert_string_equal(listed(&s.outcome), "read /a*3, write /a*1, read /ab*1");
        assert_int_equal(s.outcome.omitted_denials, 0);
        end(&s);
    }
}

/* Once it was asked for in earnest it is a need, in either order. */
static void probes_count_as_probes_only_together(void **state)
{
    (void)state;
    BOTH(apart)
    {
        struct scene s;
        begin(&s, apart);
        note(&s, TC_DENIAL_SYSCALL, "a", true);
        note(&s, TC_DENIAL_SYSCALL, "a", true);
        note(&s, TC_DENIAL_SYSCALL, "b", true);
        note(&s, TC_DENIAL_SYSCALL, "b", false);
        note(&s, TC_DENIAL_SYSCALL, "c", false);
        note(&s, TC_DENIAL_SYSCALL, "c", true);
        finish(&s);
        assert_string_equal(listed(&s.outcome), "syscall a*2?, syscall b*2, syscall c*2");
        end(&s);
    }
}

/* A hint of its own goes before that of its kind. */
static void denials_say_key_and_hint(void **state)
{
    static const struct {
        enum tc_denial_kind kind;
        const char *hint, *key, *has;
    } rows[] = {
        {TC_DENIAL_NOWHERE, NULL, "tool.fetch.network", "no network"},
        {TC_DENIAL_CONNECT, NULL, "tool.fetch.network", NULL},
        {TC_DENIAL_CONNECT, "ambiguous", "tool.fetch.network", "ambiguous"},
        {TC_DENIAL_SOCKET, NULL, "tool.fetch.unix_sockets", NULL},
        {TC_DENIAL_READ, NULL, NULL, NULL},
        {TC_DENIAL_TAKEN, NULL, NULL, "syscalls.deny"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct scene s;
        begin(&s, false);
        tc_notify_list(
            &s.cage, &(struct tc_listed){.kind = rows[i].kind, .target = "t", .hint = rows[i].hint},
            4);
        const struct tc_denial *d = s.outcome.denials;
        assert_int_equal(d->count, 4);
        assert_true(tc_streq(d->key, rows[i].key));
        assert_true(!d->hint == !rows[i].has);
        assert_true(!d->hint || strstr(d->hint, rows[i].has));
        tc_notify_list(&s.cage, &(struct tc_listed){.kind = rows[i].kind, .target = "t"}, 1);
        assert_int_equal(s.outcome.denial_count, 1);
        end(&s);
    }
    struct scene bare;
    begin(&bare, false);
    bare.plan.tool = NULL;
    note(&bare, TC_DENIAL_NOWHERE, "t", false);
    assert_string_equal(bare.outcome.denials[0].key, "network");
    end(&bare);
}

static void lists_are_bounded_and_the_rest_is_counted(void **state)
{
    enum { LISTED = 100, SEEN = 4096, MANY = 5000 };
    (void)state;
    BOTH(apart)
    {
        struct scene s;
        begin(&s, apart);
        for (int i = 0; i < MANY; i++) {
            char target[16];
            (void)snprintf(target, sizeof(target), "/%d", i);
            note(&s, TC_DENIAL_READ, target, false);
        }
        note(&s, TC_DENIAL_READ, "/7", false);
        finish(&s);
        assert_int_equal(s.outcome.denial_count, LISTED);
        assert_int_equal(s.outcome.omitted_denials, MANY - LISTED);
        assert_string_equal(s.outcome.denials[7].target, "/7");
        assert_int_equal(s.outcome.denials[7].count, 2);
        end(&s);
    }
    struct scene s;
    begin(&s, true);
    for (int i = 0; i < MANY; i++) {
        char target[16];
        (void)snprintf(target, sizeof(target), "/%d", i);
        tc_notify_note(&s.cage, &(struct tc_listed){
                                    .kind = TC_DENIAL_READ, .target = target, .allowed = true});
    }
    finish(&s);
    assert_int_equal(s.outcome.access_count, SEEN);
    assert_int_equal(s.outcome.omitted_accesses, MANY - SEEN);
    assert_int_equal(s.outcome.denial_count + s.outcome.omitted_denials, 0);
    end(&s);
}

/* Paths of 4 KiB fill the shared memory before its rows are used up. */
static void long_targets_are_bounded_by_their_bytes(void **state)
{
    enum { LENGTH = 4095, ROOM = (1 << 20) / (LENGTH + 1), MANY = ROOM + 10 };
    char target[LENGTH + 1];
    struct scene s;
    (void)state;
    begin(&s, true);
    memset(target, 'x', sizeof(target));
    target[LENGTH] = '\0';
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(target, 8, "/%06d", i);
        target[7] = 'x';
        tc_notify_note(&s.cage, &(struct tc_listed){
                                    .kind = TC_DENIAL_READ, .target = target, .allowed = true});
    }
    finish(&s);
    assert_int_equal(s.outcome.access_count, ROOM);
    assert_int_equal(s.outcome.omitted_accesses, MANY - ROOM);
    assert_int_equal(strlen(s.outcome.accesses[0].target), LENGTH);
    end(&s);
}

/* What was refused is no denial of what was done, and the other way around. */
static void accesses_and_denials_are_separate_lists(void **state)
{
    struct scene s;
    (void)state;
    begin(&s, true);
    note(&s, TC_DENIAL_READ, "/a", false);
    tc_notify_note(&s.cage,
                   &(struct tc_listed){.kind = TC_DENIAL_READ, .target = "/a", .allowed = true});
    finish(&s);
    assert_string_equal(listed(&s.outcome), "read /a*1");
    assert_int_equal(s.outcome.access_count, 1);
    assert_int_equal(s.outcome.accesses[0].count, 1);
    end(&s);
}

/* A program on a PATH, a library: what was refused on the way to it says nothing of a need. */
static void misses_before_a_find_become_probes(void **state)
{
    enum { ME = 10, OTHER = 11 };
    static const struct {
        const char *name;
        enum tc_denial_kind kind; /* of the find */
        const char *found;
        int pid;
        const char *listed;
    } rows[] = {
        {"the same name", TC_DENIAL_UNSHOWN, "/usr/bin/cc", ME, "exec /opt/cc*1?, exec /opt/ld*1"},
        {"another name", TC_DENIAL_UNSHOWN, "/usr/bin/as", ME, "exec /opt/cc*1, exec /opt/ld*1"},
        {"another process", TC_DENIAL_UNSHOWN, "/usr/bin/cc", OTHER,
         "exec /opt/cc*1, exec /opt/ld*1"},
        {"another kind", TC_DENIAL_READ, "/usr/bin/cc", ME, "exec /opt/cc*1, exec /opt/ld*1"},
    };
    (void)state;
    BOTH(apart)
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct scene s;
        begin(&s, apart);
        note(&s, TC_DENIAL_UNSHOWN, "/opt/cc", false);
        tc_search_missed(&s.cage, TC_DENIAL_UNSHOWN, "/opt/cc", "/opt/cc", ME);
        note(&s, TC_DENIAL_UNSHOWN, "/opt/ld", false);
        tc_search_missed(&s.cage, TC_DENIAL_UNSHOWN, "/opt/ld", "/opt/ld", ME);
        tc_search_found(&s.cage, rows[i].kind, rows[i].found, rows[i].pid);
        finish(&s);
        if (strcmp(listed(&s.outcome), rows[i].listed) != 0)
            fail_msg("%s: %s", rows[i].name, listed(&s.outcome));
        end(&s);
    }
}

static void only_recent_misses_are_remembered(void **state)
{
    (void)state;
    for (int others = TC_MISSED_MAX - 1; others <= TC_MISSED_MAX; others++) {
        struct scene s;
        begin(&s, false);
        note(&s, TC_DENIAL_READ, "/a/x", false);
        tc_search_missed(&s.cage, TC_DENIAL_READ, "/a/x", "x", 10);
        for (int i = 0; i < others; i++)
            tc_search_missed(&s.cage, TC_DENIAL_READ, "/a/y", "y", 10);
        tc_search_found(&s.cage, TC_DENIAL_READ, "/b/x", 10);
        assert_int_equal(s.outcome.denials[0].probe, others < TC_MISSED_MAX);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_denials_are_counted),
        cmocka_unit_test(probes_count_as_probes_only_together),
        cmocka_unit_test(denials_say_key_and_hint),
        cmocka_unit_test(lists_are_bounded_and_the_rest_is_counted),
        cmocka_unit_test(long_targets_are_bounded_by_their_bytes),
        cmocka_unit_test(accesses_and_denials_are_separate_lists),
        cmocka_unit_test(misses_before_a_find_become_probes),
        cmocka_unit_test(only_recent_misses_are_remembered),
    };
    return cmocka_run_group_tests_name("observe denials", tests, NULL, NULL);
}
