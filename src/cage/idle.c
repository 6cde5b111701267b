/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/idle.h"

#include "base/cleanup.h"
#include "base/clock.h"

enum { FIRST_US = 5000 };
/* Between looks at one that was killed, at first. */
enum { LOOK_US = 1000 };

static void put(struct tc_idle **list, struct tc_idle *one)
{
    one->next = *list;
    *list = one;
}

struct tc_idle *tc_idle_take(struct tc_idle **at)
{
    struct tc_idle *one = *at;
    *at = one->next;
    return one;
}

void tc_idle_list(struct tc_idle_books *books, struct tc_idle *one, int64_t idle_us)
{
    one->until_us = tc_now_us() + idle_us;
    put(&books->waiting, one);
}

void tc_idle_soon(struct tc_idle_books *books, struct tc_idle *like)
{
    if (!like)
        return;
    like->until_us = tc_now_us() + FIRST_US;
    put(&books->wishes, like);
}

void tc_idle_next(struct tc_idle_books *books, struct tc_idle *like)
{
    if (!like)
        return;
    like->hurries = true;
    tc_idle_soon(books, like);
}

void tc_idle_answered(struct tc_idle_books *books)
{
    for (struct tc_idle *like = books->warm ? books->wishes : NULL; like; like = like->next)
        if (like->hurries)
            like->until_us = 0;
    books->warm = true;
}

void tc_idle_end(struct tc_idle_books *books, struct tc_idle *one)
{
    books->ways->kill(one);
    one->until_us = tc_now_us();
    put(&books->dying, one);
}

static int64_t clear(struct tc_idle_books *books, int64_t now, bool patiently)
{
    int64_t next = 0;
    for (struct tc_idle **at = &books->dying; *at;) {
        struct tc_idle *one = *at;
        int64_t since = now - one->until_us;
        enum tc_idle_end end = books->ways->look(one, patiently);
        if (end == TC_IDLE_GONE) {
            books->ways->let_go(tc_idle_take(at));
            continue;
        }
        if (end == TC_IDLE_LIVES)
            next = tc_sooner(next, now + (since > LOOK_US ? since : LOOK_US));
        at = &one->next;
    }
    return next;
}

int64_t tc_idle_clear(struct tc_idle_books *books, int64_t now)
{
    return clear(books, now, false);
}

void tc_idle_drop(struct tc_idle_books *books, struct tc_idle *one)
{
    if (!one)
        return;
    tc_idle_end(books, one);
    (void)tc_idle_clear(books, books->dying->until_us);
}

static int64_t make_due(struct tc_idle_books *books, int64_t now)
{
    int64_t next = 0;
    for (struct tc_idle **at = &books->wishes; *at;) {
        if (now >= (*at)->until_us) {
            books->ways->make(tc_idle_take(at));
            continue;
        }
        next = tc_sooner(next, (*at)->until_us);
        at = &(*at)->next;
    }
    return next;
}

int64_t tc_idle_tick(struct tc_idle_books *books, int64_t now)
{
    int64_t next = make_due(books, now);
    for (struct tc_idle **at = &books->waiting; *at;) {
        if (now >= (*at)->until_us) {
            tc_idle_drop(books, tc_idle_take(at));
            continue;
        }
        next = tc_sooner(next, (*at)->until_us);
        at = &(*at)->next;
    }
    return tc_sooner(next, tc_idle_clear(books, now));
}

void tc_idle_close(struct tc_idle_books *books)
{
    struct tc_idle **lists[] = {&books->waiting, &books->wishes};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        while (*lists[i])
            tc_idle_drop(books, tc_idle_take(lists[i]));
    (void)clear(books, 0, true);
}
