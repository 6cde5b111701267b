/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The books of what waits for calls: who is made when, who goes when, and who is let go of. */
#include "cage/idle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

/* Does what the test says. */
struct fake {
    struct tc_idle idle;
    enum tc_idle_end end;
    unsigned made, killed, patient, freed;
};

static struct fake *of(struct tc_idle *idle)
{
    return (struct fake *)idle;
}

static void make(struct tc_idle *like)
{
    of(like)->made++;
}

static void kill_it(struct tc_idle *one)
{
    of(one)->killed++;
}

static enum tc_idle_end look(struct tc_idle *one, bool patiently)
{
    of(one)->patient += patiently;
    return of(one)->end;
}

static void let_go(struct tc_idle *one)
{
    of(one)->freed++;
}

static const struct tc_idle_ways ways = {
    .make = make, .kill = kill_it, .look = look, .let_go = let_go};

static void the_first_is_made_later_the_next_after_the_answer(void **state)
{
    struct tc_idle_books books = {.ways = &ways};
    struct fake first = {0}, second = {0}, other = {0};
    (void)state;
    tc_idle_next(&books, NULL);
    tc_idle_next(&books, &first.idle);
    int64_t due = first.idle.until_us;
    tc_idle_answered(&books);
    assert_int_equal(tc_idle_tick(&books, due - 1), due);
    assert_int_equal(first.made, 0);
    assert_int_equal(tc_idle_tick(&books, due), 0);
    assert_int_equal(first.made, 1);
    tc_idle_soon(&books, &other.idle);
    tc_idle_next(&books, &second.idle);
    due = other.idle.until_us;
    assert_int_equal(tc_idle_tick(&books, due - 1000), due);
    assert_int_equal(second.made, 0);
    tc_idle_answered(&books);
    assert_int_equal(tc_idle_tick(&books, due - 1000), due);
    assert_true(second.made == 1 && other.made == 0);
    assert_int_equal(tc_idle_tick(&books, due), 0);
    assert_int_equal(other.made, 1);
}

/* A tool that runs for long holds up nobody who calls meanwhile. */
static void no_answer_is_waited_for(void **state)
{
    struct tc_idle_books books = {.ways = &ways};
    struct fake like = {0};
    (void)state;
    tc_idle_answered(&books);
    tc_idle_next(&books, &like.idle);
    assert_int_equal(like.made, 0);
    assert_int_equal(tc_idle_tick(&books, like.idle.until_us), 0);
    assert_int_equal(like.made, 1);
}

static void who_is_not_needed_goes_in_its_time(void **state)
{
    struct tc_idle_books books = {.ways = &ways};
    struct fake old = {.end = TC_IDLE_GONE}, fresh = {.end = TC_IDLE_GONE};
    (void)state;
    tc_idle_list(&books, &old.idle, 1000);
    tc_idle_list(&books, &fresh.idle, 5000000);
    assert_ptr_equal(books.waiting, &fresh.idle);
    assert_int_equal(tc_idle_tick(&books, old.idle.until_us), fresh.idle.until_us);
    assert_true(old.killed == 1 && old.freed == 1 && fresh.killed == 0);
    assert_ptr_equal(tc_idle_take(&books.waiting), &fresh.idle);
    assert_null(books.waiting);
}

/* The later the longer it takes, so that what hangs in the kernel costs nothing. */
static void who_lives_on_is_looked_at_again(void **state)
{
    struct tc_idle_books books = {.ways = &ways};
    struct fake one = {.end = TC_IDLE_LIVES};
    (void)state;
    tc_idle_drop(&books, NULL);
    tc_idle_drop(&books, &one.idle);
    int64_t since = one.idle.until_us;
    assert_true(one.killed == 1 && one.freed == 0);
    assert_int_equal(tc_idle_tick(&books, since), since + 1000);
    assert_int_equal(tc_idle_tick(&books, since + 70000), since + 140000);
    one.end = TC_IDLE_GONE;
    assert_int_equal(tc_idle_tick(&books, since + 140000), 0);
    assert_true(one.killed == 1 && one.freed == 1);
}

static void what_a_cage_still_has_is_kept(void **state)
{
    struct tc_idle_books books = {.ways = &ways};
    struct fake one = {.end = TC_IDLE_LENT};
    (void)state;
    tc_idle_end(&books, &one.idle);
    assert_int_equal(tc_idle_clear(&books, tc_now_us()), 0);
    assert_int_equal(one.freed, 0);
    one.end = TC_IDLE_GONE;
    assert_int_equal(tc_idle_clear(&books, tc_now_us()), 0);
    assert_int_equal(one.freed, 1);
}

static void with_the_helper_all_go(void **state)
{
    struct tc_idle_books books = {.ways = &ways};
    struct fake waits = {.end = TC_IDLE_GONE}, wish = {.end = TC_IDLE_GONE},
                dying = {.end = TC_IDLE_LIVES};
    (void)state;
    tc_idle_list(&books, &waits.idle, 1000);
    tc_idle_soon(&books, &wish.idle);
    tc_idle_drop(&books, &dying.idle);
    tc_idle_close(&books);
    assert_true(waits.freed == 1 && wish.freed == 1 && wish.made == 0);
    assert_true(dying.patient == 1);
    assert_null(books.waiting);
    assert_null(books.wishes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_made_later_the_next_after_the_answer),
        cmocka_unit_test(no_answer_is_waited_for),
        cmocka_unit_test(who_is_not_needed_goes_in_its_time),
        cmocka_unit_test(who_lives_on_is_looked_at_again),
        cmocka_unit_test(what_a_cage_still_has_is_kept),
        cmocka_unit_test(with_the_helper_all_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
