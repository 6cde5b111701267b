/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The books of what is made ahead of calls: who waits for one, and until when; who was ended, and
 * may not be gone yet; what is made a little later. Each kind of what waits has books of its own,
 * and a record that begins with its entry. */
#ifndef TC_CAGE_IDLE_H
#define TC_CAGE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct tc_idle {
    struct tc_idle *next;
    /* When it goes if nobody needs it; when it is made; of who was ended, since when it is. */
    int64_t until_us;
    bool hurries; /* it is to be made as soon as a call has its answer */
};

enum tc_idle_end {
    TC_IDLE_LIVES,
    TC_IDLE_LENT, /* it has ended, and something of it is a cage's that goes on */
    TC_IDLE_GONE
};

struct tc_idle_ways {
    void (*make)(struct tc_idle *like);                            /* takes it */
    void (*kill)(struct tc_idle *one);                             /* if it has a process */
    enum tc_idle_end (*look)(struct tc_idle *one, bool patiently); /* after that */
    void (*let_go)(struct tc_idle *one);                           /* it is gone */
};

struct tc_idle_books {
    const struct tc_idle_ways *ways;
    struct tc_idle *waiting; /* the newest is the first */
    struct tc_idle *wishes;  /* to be made when their time has come */
    struct tc_idle *dying;
    bool warm; /* a first call has had its answer */
};

/* It waits from now on. */
void tc_idle_list(struct tc_idle_books *books, struct tc_idle *one, int64_t idle_us);
/* Out of the list that it is in. */
struct tc_idle *tc_idle_take(struct tc_idle **at);
/* While a call runs, for the next: made a little later, or when this one has its answer. NULL is
 * fine. */
void tc_idle_next(struct tc_idle_books *books, struct tc_idle *like);
/* A call has its answer. After the first one nothing is hurried: a helper of one call (the command
 * line's) is gone before it would make anything for a second. */
void tc_idle_answered(struct tc_idle_books *books);
void tc_idle_soon(struct tc_idle_books *books, struct tc_idle *like);
/* Ends it. Nobody waits for that. */
void tc_idle_end(struct tc_idle_books *books, struct tc_idle *one);
/* The same, and lets go of all that are gone. NULL is fine. */
void tc_idle_drop(struct tc_idle_books *books, struct tc_idle *one);
/* Lets go of those that are gone. When to look again, the later the longer it takes; 0: all are. */
int64_t tc_idle_clear(struct tc_idle_books *books, int64_t now_us);
/* Ends those that nobody needed, makes what is due. When to come again; 0: no matter. */
int64_t tc_idle_tick(struct tc_idle_books *books, int64_t now_us);
/* The helper ends. */
void tc_idle_close(struct tc_idle_books *books);

/* Of two times the earlier one; 0 is none. */
static inline int64_t tc_sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

#endif
