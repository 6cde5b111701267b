/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cage/pool.h"

#include <string.h>

#include "base/clock.h"

enum { FIRST_US = 5000, COLD_US = 50000 };
/* Initial interval between checks of a killed entry. */
enum { LOOK_US = 1000 };

static struct tc_pool_entry *entries; /* the newest is the first */
static bool warm;                     /* the first call has been answered */

static void put_entry(struct tc_pool_entry *one, enum tc_pool_state state, int64_t due_us)
{
    one->state = state;
    one->due_us = due_us;
    one->next = entries;
    entries = one;
}

/* Removes the entry from the list, if listed. */
static void unlink_entry(struct tc_pool_entry *one)
{
    struct tc_pool_entry **at = &entries;
    while (*at && *at != one)
        at = &(*at)->next;
    if (*at)
        *at = one->next;
}

static bool is_killed(const struct tc_pool_entry *one)
{
    return one->state == TC_POOL_LEASED || one->state == TC_POOL_ENDING;
}

static bool is_standing(const struct tc_pool_entry *one)
{
    return one->state == TC_POOL_IDLE || one->state == TC_POOL_BARRED;
}

static bool has_key(const struct tc_pool_entry *one, const struct tc_pool_ops *ops,
                    const struct tc_buf *key)
{
    return is_standing(one) && one->ops == ops && one->key.len == key->len &&
           memcmp(one->key.data, key->data, key->len) == 0;
}

/* ---- ending entries ---- */

static void end_entry(struct tc_pool_entry *one, enum tc_pool_state state)
{
    unlink_entry(one);
    one->ops->kill(one);
    put_entry(one, state, tc_now_us());
}

/* Frees ended entries; freeing one may drop another. Returns the time of the next check, at growing
 * intervals; 0: no ending entry is left. */
static int64_t clear(int64_t now, bool patiently)
{
    struct tc_pool_entry *gone = NULL;
    int64_t next = 0;
    for (struct tc_pool_entry **at = &entries; *at;) {
        struct tc_pool_entry *one = *at;
        int64_t since = now - one->due_us;
        bool ended = is_killed(one) && one->ops->ended(one, patiently);
        if (is_killed(one) && !ended)
            next = tc_sooner(next, now + (since > LOOK_US ? since : LOOK_US));
        if (one->state != TC_POOL_ENDING || !ended) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = gone;
        gone = one;
    }
    for (struct tc_pool_entry *one; (one = gone);) {
        gone = one->next;
        tc_buf_done(&one->key);
        one->ops->done(one);
    }
    return next;
}

void tc_pool_end(struct tc_pool_entry *one)
{
    end_entry(one, TC_POOL_LEASED);
}

void tc_pool_drop(struct tc_pool_entry *one)
{
    if (!one)
        return;
    if (is_killed(one))
        one->state = TC_POOL_ENDING;
    else
        end_entry(one, TC_POOL_ENDING);
    (void)clear(tc_now_us(), false);
}

bool tc_pool_drop_idle(const struct tc_pool_ops *ops,
                       bool (*which)(const struct tc_pool_entry *one))
{
    bool any = false;
    for (struct tc_pool_entry *one = entries, *next; one; one = next) {
        next = one->next;
        if (one->ops != ops || one->state != TC_POOL_IDLE || !which(one))
            continue;
        end_entry(one, TC_POOL_ENDING);
        any = true;
    }
    return any;
}

static void drop_oldest(const struct tc_pool_ops *ops, size_t keep)
{
    for (struct tc_pool_entry *one = entries, *next; one; one = next) {
        next = one->next;
        if (one->ops != ops || !is_standing(one))
            continue;
        if (keep)
            keep--;
        else
            end_entry(one, TC_POOL_ENDING);
    }
}

/* ---- new entries ---- */

void tc_pool_want(struct tc_pool_entry *like, bool hurries)
{
    if (!like)
        return;
    like->hurries = hurries;
    /* a helper that serves a single short call ends before this */
    put_entry(like, TC_POOL_WANTED, tc_now_us() + (warm ? FIRST_US : COLD_US));
}

void tc_pool_answered(void)
{
    for (struct tc_pool_entry *one = warm ? entries : NULL; one; one = one->next)
        if (one->state == TC_POOL_WANTED && one->hurries)
            one->due_us = 0;
    warm = true;
}

/* Are there as many entries as wanted? A call may have requested one meanwhile. */
static bool is_enough(const struct tc_pool_entry *like)
{
    size_t there = 0;
    for (const struct tc_pool_entry *one = entries; one; one = one->next) {
        if (!has_key(one, like->ops, &like->key))
            continue;
        if (one->state == TC_POOL_BARRED)
            return true;
        there += !like->ops->alike || like->ops->alike(one, like);
    }
    return there >= like->wanted;
}

/* Replaces the oldest entry if the pool is full. */
static void make_entry(struct tc_pool_entry *like)
{
    bool made = false;
    unlink_entry(like);
    like->state = TC_POOL_CLAIMED;
    if (!is_enough(like)) {
        drop_oldest(like->ops, like->ops->most - 1);
        made = like->ops->make(like);
    }
    if (made)
        put_entry(like, TC_POOL_IDLE, tc_now_us() + like->idle_us);
    else
        tc_pool_drop(like);
}

/* ---- claiming entries ---- */

struct tc_pool_entry *tc_pool_claim(const struct tc_pool_ops *ops, const struct tc_buf *key)
{
    struct tc_pool_entry *found;
    do {
        found = NULL;
        for (struct tc_pool_entry *one = entries; one && (!found || ops->oldest_first);
             one = one->next)
            if (has_key(one, ops, key))
                found = one;
        if (!found || found->state == TC_POOL_BARRED)
            return NULL;
        unlink_entry(found);
        found->state = TC_POOL_CLAIMED;
        if (ops->waits(found))
            return found;
        tc_pool_drop(found);
    } while (true);
}

const struct tc_pool_entry *tc_pool_find(const struct tc_pool_ops *ops, const struct tc_buf *key,
                                         size_t *ret_count)
{
    const struct tc_pool_entry *found = NULL;
    *ret_count = 0;
    for (const struct tc_pool_entry *one = entries; one; one = one->next) {
        if (!has_key(one, ops, key))
            continue;
        found = found ? found : one;
        ++*ret_count;
    }
    return found;
}

void tc_pool_give_back(struct tc_pool_entry *one, enum tc_pool_state state)
{
    drop_oldest(one->ops, one->ops->most - 1);
    put_entry(one, state, tc_now_us() + one->idle_us);
}

/* ---- timer ---- */

static struct tc_pool_entry *find_due(int64_t now)
{
    struct tc_pool_entry *one = entries;
    while (one && (is_killed(one) || now < one->due_us))
        one = one->next;
    return one;
}

int64_t tc_pool_tick(int64_t now)
{
    struct tc_pool_entry *due;
    while ((due = find_due(now))) {
        if (due->state == TC_POOL_WANTED)
            make_entry(due);
        else
            end_entry(due, TC_POOL_ENDING);
    }
    int64_t next = clear(now, false);
    for (const struct tc_pool_entry *one = entries; one; one = one->next)
        if (!is_killed(one))
            next = tc_sooner(next, one->due_us);
    return next;
}

void tc_pool_close(void)
{
    for (struct tc_pool_entry *one = entries, *next; one; one = next) {
        next = one->next;
        if (!is_killed(one))
            end_entry(one, TC_POOL_ENDING);
    }
    (void)clear(0, true);
    warm = false;
}
