/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The pool by a clock that the test moves, with processes that end when the test says so. */
#include "cage/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int64_t now_us;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *ret = (struct timespec){now_us / 1000000, now_us % 1000000 * 1000};
    return 0;
}

enum { COLD_US = 50000, SOON_US = 5000, IDLE_US = 1000000 };

/* Does what the test says. */
struct fake {
    struct tc_pool_entry entry;
    bool stays;         /* its process ends late when it is killed */
    bool dead;          /* its process ended by itself */
    bool fails;         /* to be made */
    int variant;        /* that no claim asks for */
    struct fake *drops; /* with its end */
    unsigned made, killed, patient, freed;
};

static struct fake *of(const struct tc_pool_entry *entry)
{
    return (struct fake *)entry;
}

static bool make(struct tc_pool_entry *one)
{
    of(one)->made++;
    return !of(one)->fails;
}

static bool waits(const struct tc_pool_entry *one)
{
    return !of(one)->dead;
}

static void kill_it(struct tc_pool_entry *one)
{
    of(one)->killed++;
}

static bool ended(struct tc_pool_entry *one, bool patiently)
{
    assert_true(of(one)->killed); /* nothing waits for a process that was left alive */
    of(one)->patient += patiently;
    return patiently || !of(one)->stays;
}

static void done(struct tc_pool_entry *one)
{
    of(one)->freed++;
    tc_pool_drop(of(one)->drops ? &of(one)->drops->entry : NULL);
}

static bool alike(const struct tc_pool_entry *one, const struct tc_pool_entry *other)
{
    return of(one)->variant == of(other)->variant;
}

#define OPS \
    .alike = alike, .make = make, .waits = waits, .kill = kill_it, .ended = ended, .done = done
static const struct tc_pool_ops ops = {.most = 3, OPS};
static const struct tc_pool_ops slow = {.most = 3, .oldest_first = true, OPS};

static struct fake fake_of(const struct tc_pool_ops *of, const char *key)
{
    struct fake f = {.entry = {.ops = of, .key = TC_BUF_INIT, .wanted = 1, .idle_us = IDLE_US}};
    tc_buf_adds(&f.entry.key, key);
    return f;
}

static struct fake fake(const char *key)
{
    return fake_of(&ops, key);
}

static void put(struct fake *f)
{
    tc_pool_give_back(&f->entry, TC_POOL_IDLE);
}

static struct fake *claim_of(const struct tc_pool_ops *kind, const char *text)
{
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    tc_buf_adds(&key, text);
    return of(tc_pool_claim(kind, &key));
}

static struct fake *claim(const char *text)
{
    return claim_of(&ops, text);
}

static int begin(void **state)
{
    now_us = 1000000;
    tc_pool_answered();
    return 0;
}

static int end(void **state)
{
    tc_pool_close();
    return 0;
}

/* ---- made ---- */

static void first_is_made_later_next_after_answer(void **state)
{
    struct fake first = fake("a"), second = fake("b"), other = fake("c");
    tc_pool_close(); /* no call has been answered */
    tc_pool_want(NULL, true);
    tc_pool_want(&first.entry, true);
    tc_pool_answered();
    assert_int_equal(tc_pool_tick(now_us), now_us + COLD_US);
    assert_int_equal(first.made, 0);
    now_us += COLD_US;
    assert_int_equal(tc_pool_tick(now_us), now_us + IDLE_US);
    assert_int_equal(first.made, 1);
    tc_pool_want(&other.entry, false);
    tc_pool_want(&second.entry, true);
    assert_int_equal(tc_pool_tick(now_us), now_us + SOON_US);
    assert_int_equal(second.made, 0);
    tc_pool_answered();
    assert_int_equal(tc_pool_tick(now_us), now_us + SOON_US);
    assert_true(second.made == 1 && other.made == 0);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_int_equal(other.made, 1);
    tc_pool_close();
}

/* A tool that runs for long holds up no call beside it. */
static void no_answer_is_waited_for(void **state)
{
    struct fake like = fake("a");
    tc_pool_answered();
    tc_pool_want(&like.entry, true);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_int_equal(like.made, 1);
    assert_ptr_equal(claim("a"), &like);
    tc_pool_drop(&like.entry);
    assert_int_equal(like.freed, 1);
}

static void one_not_made_yet_is_not_claimed(void **state)
{
    struct fake like = fake("a");
    size_t count = 9;
    tc_pool_want(&like.entry, false);
    assert_null(claim("a"));
    assert_null(tc_pool_find(&ops, &like.entry.key, &count));
    assert_int_equal(count, 0);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_ptr_equal(claim("a"), &like);
    tc_pool_drop(&like.entry);
}

static void no_more_are_made_than_wanted(void **state)
{
    struct fake one = fake("a"), more = fake("a"), two = fake("a"), variant = fake("a");
    two.entry.wanted = 2;
    variant.variant = 1;
    put(&one);
    tc_pool_want(&more.entry, false);
    tc_pool_want(&two.entry, false);
    tc_pool_want(&variant.entry, false);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_true(more.made == 0 && more.freed == 1);
    assert_true(two.made == 1 && variant.made == 1);
    tc_pool_close();
    assert_true(one.freed == 1 && two.freed == 1 && variant.freed == 1);
}

static void one_that_cannot_be_made_is_dropped(void **state)
{
    struct fake like = fake("a");
    like.fails = true;
    tc_pool_want(&like.entry, false);
    now_us += SOON_US;
    assert_int_equal(tc_pool_tick(now_us), 0);
    assert_true(like.made == 1 && like.killed == 1 && like.freed == 1);
    assert_null(claim("a"));
}

static void failed_kind_is_barred_for_a_while(void **state)
{
    struct fake failed = fake("a"), older = fake("a"), like = fake("a"), later = fake("a");
    failed.entry.wanted = older.entry.wanted = like.entry.wanted = 3;
    put(&older);
    tc_pool_give_back(&failed.entry, TC_POOL_BARRED);
    assert_null(claim("a"));
    tc_pool_want(&like.entry, false);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_true(like.made == 0 && like.freed == 1);
    now_us = failed.entry.due_us;
    (void)tc_pool_tick(now_us);
    assert_int_equal(failed.freed, 1);
    tc_pool_want(&later.entry, false);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_int_equal(later.made, 1);
    tc_pool_close();
}

/* ---- claimed ---- */

static void keys_that_differ_never_match(void **state)
{
    struct fake one = fake("uid=1;root=2"), other = fake_of(&slow, "uid=1;root=2");
    put(&one);
    assert_null(claim("uid=2;root=2"));
    assert_null(claim("uid=1;root=3"));
    assert_null(claim("uid=1;root=22"));
    assert_null(claim("uid=1;root="));
    assert_null(claim(""));
    assert_null(claim_of(&slow, "uid=1;root=2"));
    put(&other);
    assert_ptr_equal(claim_of(&slow, "uid=1;root=2"), &other);
    assert_ptr_equal(claim("uid=1;root=2"), &one);
    tc_pool_drop(&one.entry);
    tc_pool_drop(&other.entry);
}

static void none_is_handed_out_twice(void **state)
{
    struct fake one = fake("a"), two = fake("a");
    put(&one);
    put(&two);
    const struct fake *first = claim("a"), *second = claim("a");
    assert_true(first == &two && second == &one);
    assert_null(claim("a"));
    tc_pool_end(&one.entry);
    assert_null(claim("a"));
    tc_pool_drop(&one.entry);
    tc_pool_drop(&two.entry);
    assert_null(claim("a"));
    assert_true(one.freed == 1 && two.freed == 1);
}

static void slow_kind_is_claimed_oldest_first(void **state)
{
    struct fake one = fake_of(&slow, "a"), two = fake_of(&slow, "a");
    put(&one);
    put(&two);
    assert_ptr_equal(claim_of(&slow, "a"), &one);
    assert_ptr_equal(claim_of(&slow, "a"), &two);
    tc_pool_drop(&one.entry);
    tc_pool_drop(&two.entry);
}

static void dead_one_is_not_claimed(void **state)
{
    struct fake live = fake("a"), dead = fake("a");
    dead.dead = true;
    put(&live);
    put(&dead);
    assert_ptr_equal(claim("a"), &live);
    assert_true(dead.freed == 1 && live.freed == 0);
    assert_null(claim("a"));
    tc_pool_drop(&live.entry);
}

static void one_given_back_serves_again(void **state)
{
    struct fake one = fake("a");
    size_t count = 9;
    put(&one);
    assert_ptr_equal(claim("a"), &one);
    now_us += IDLE_US;
    assert_int_equal(tc_pool_tick(now_us), 0); /* a cage's does not expire */
    assert_null(tc_pool_find(&ops, &one.entry.key, &count));
    assert_int_equal(count, 0);
    put(&one);
    assert_int_equal(tc_pool_tick(now_us), now_us + IDLE_US);
    assert_ptr_equal(tc_pool_find(&ops, &one.entry.key, &count), &one.entry);
    assert_int_equal(count, 1);
    assert_ptr_equal(claim("a"), &one);
    tc_pool_drop(&one.entry);
    assert_true(one.killed == 1 && one.freed == 1);
}

/* ---- their end ---- */

static void idle_ones_expire(void **state)
{
    struct fake old = fake("a"), fresh = fake("a");
    put(&old);
    now_us += IDLE_US / 2;
    put(&fresh);
    now_us = old.entry.due_us - 1;
    assert_int_equal(tc_pool_tick(now_us), old.entry.due_us);
    assert_int_equal(old.killed, 0);
    now_us++;
    assert_int_equal(tc_pool_tick(now_us), fresh.entry.due_us);
    assert_true(old.killed == 1 && old.freed == 1 && fresh.killed == 0);
    assert_ptr_equal(claim("a"), &fresh);
    tc_pool_drop(&fresh.entry);
}

static void oldest_goes_when_full(void **state)
{
    struct fake f[] = {fake("a"), fake("b"), fake("c"), fake("d")}, like = fake("e");
    struct fake other = fake_of(&slow, "a");
    put(&other);
    for (size_t i = 0; i < TC_COUNT(f); i++)
        put(&f[i]);
    assert_true(f[0].killed == 1 && f[1].killed == 0 && f[2].killed == 0 && f[3].killed == 0);
    tc_pool_want(&like.entry, false);
    now_us += SOON_US;
    (void)tc_pool_tick(now_us);
    assert_true(like.made == 1 && f[1].killed == 1 && f[2].killed == 0);
    assert_int_equal(other.killed, 0); /* each kind has a cap of its own */
    tc_pool_close();
    assert_true(f[0].freed == 1 && f[1].freed == 1 && f[2].freed == 1 && f[3].freed == 1);
}

/* The later the longer it takes, so that what hangs in the kernel costs nothing. */
static void one_that_does_not_end_is_looked_at_later(void **state)
{
    struct fake one = fake("a");
    one.stays = true;
    tc_pool_drop(NULL);
    tc_pool_drop(&one.entry);
    int64_t since = now_us;
    assert_true(one.killed == 1 && one.freed == 0);
    assert_int_equal(tc_pool_tick(since), since + 1000);
    assert_int_equal(tc_pool_tick(since + 70000), since + 140000);
    one.stays = false;
    assert_int_equal(tc_pool_tick(since + 140000), 0);
    assert_true(one.killed == 1 && one.freed == 1);
}

static void leases_of_a_killed_one_stay_the_cages(void **state)
{
    struct fake one = fake("a"), slower = fake("a");
    slower.stays = true;
    tc_pool_end(&one.entry);
    tc_pool_end(&slower.entry);
    assert_int_equal(tc_pool_tick(now_us), now_us + 1000);
    assert_true(one.killed == 1 && one.freed == 0);
    tc_pool_drop(&one.entry);
    tc_pool_drop(&slower.entry);
    assert_true(one.killed == 1 && one.freed == 1 && slower.freed == 0);
    slower.stays = false;
    assert_int_equal(tc_pool_tick(now_us), 0);
    assert_true(slower.killed == 1 && slower.freed == 1);
}

static bool is_variant(const struct tc_pool_entry *one)
{
    return of(one)->variant;
}

static void idle_ones_of_a_sort_are_dropped(void **state)
{
    struct fake one = fake("a"), variant = fake("b"), claimed = fake("c"), like = fake("d");
    variant.variant = claimed.variant = like.variant = 1;
    put(&one);
    put(&variant);
    put(&claimed);
    tc_pool_want(&like.entry, false);
    assert_ptr_equal(claim("c"), &claimed);
    assert_true(tc_pool_drop_idle(&ops, is_variant));
    assert_false(tc_pool_drop_idle(&ops, is_variant));
    assert_true(variant.killed == 1 && one.killed + claimed.killed + like.killed == 0);
    assert_null(claim("b"));
    tc_pool_drop(&claimed.entry);
    tc_pool_close();
}

/* A worker's end is that of the process below it, too. */
static void one_may_drop_another_with_its_end(void **state)
{
    struct fake below = fake("b"), above = fake("a"), last = fake("c");
    above.drops = &below;
    put(&last);
    tc_pool_drop(&above.entry);
    assert_true(above.freed == 1 && below.killed == 1 && below.freed == 1);
    assert_ptr_equal(claim("c"), &last);
    tc_pool_drop(&last.entry);
}

static void all_end_with_the_helper(void **state)
{
    struct fake idle = fake("a"), wanted = fake("b"), ending = fake("c"), leased = fake("d");
    ending.stays = true;
    put(&idle);
    tc_pool_want(&wanted.entry, false);
    tc_pool_drop(&ending.entry);
    tc_pool_end(&leased.entry);
    tc_pool_close();
    assert_true(idle.freed == 1 && wanted.freed == 1 && wanted.made == 0);
    assert_true(ending.patient == 1 && ending.freed == 1);
    assert_int_equal(leased.freed, 0);
    tc_pool_drop(&leased.entry);
    assert_int_equal(leased.freed, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_is_made_later_next_after_answer),
        TEST(no_answer_is_waited_for),
        TEST(one_not_made_yet_is_not_claimed),
        TEST(no_more_are_made_than_wanted),
        TEST(one_that_cannot_be_made_is_dropped),
        TEST(failed_kind_is_barred_for_a_while),
        TEST(keys_that_differ_never_match),
        TEST(none_is_handed_out_twice),
        TEST(slow_kind_is_claimed_oldest_first),
        TEST(dead_one_is_not_claimed),
        TEST(one_given_back_serves_again),
        TEST(idle_ones_expire),
        TEST(oldest_goes_when_full),
        TEST(one_that_does_not_end_is_looked_at_later),
        TEST(leases_of_a_killed_one_stay_the_cages),
        TEST(idle_ones_of_a_sort_are_dropped),
        TEST(one_may_drop_another_with_its_end),
        TEST(all_end_with_the_helper),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
