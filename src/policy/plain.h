/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What is done with every plain key (policy/plain_rows.h). */
#ifndef TC_POLICY_PLAIN_H
#define TC_POLICY_PLAIN_H

#include "policy/model.h"

/* What another value of a key is to who compares two policies. */
struct tc_plain_change {
    /* of a number that is higher, and of an element that is new: what that grants; the other way
     * round it is the opposite */
    enum { TC_PLAIN_BY_HAND, TC_PLAIN_MORE, TC_PLAIN_LESS, TC_PLAIN_OTHER } kind;
    const char *gained,
        *lost; /* what is said then; of OTHER, which cannot be compared: what it is */
};

struct tc_plain {
    enum tc_key_id id;
    size_t said;           /* offset in a tc_spec */
    struct tc_field field; /* in a tc_grant; of the same type there */
    struct tc_plain_change change;
};

#define TC_PLAIN_ONE_(...) +1
enum { TC_PLAIN_COUNT = TC_PLAIN_MAP(TC_PLAIN_ONE_, ) };
extern const struct tc_plain tc_plain_rows[TC_PLAIN_COUNT];

/* What it says (NULL: nobody says it) into a grant that has nothing there yet. False: out of
 * memory. */
bool tc_plain_take(const struct tc_plain *row, struct tc_grant *grant, const struct tc_spec *said);
/* The same without a copy: the grant is not to be freed. */
void tc_plain_lend(const struct tc_plain *row, struct tc_grant *grant, const struct tc_spec *said);
bool tc_plain_same(const struct tc_plain *row, const struct tc_spec *a, const struct tc_spec *b);
/* All of them. */
void tc_plain_done(struct tc_spec *spec);

#endif
