/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The operations on plain keys, by the rows of policy/plain_rows.h. */
#ifndef TC_POLICY_PLAIN_H
#define TC_POLICY_PLAIN_H

#include "policy/model.h"

/* How `policy diff` judges another value of a key. */
struct tc_plain_change {
    /* Does a higher number or an additional element allow MORE or LESS? A lower number or a removed
     * element has the opposite effect. OTHER: the values have no order. BY_HAND: separate code
     * compares the key. */
    enum { TC_PLAIN_BY_HAND, TC_PLAIN_MORE, TC_PLAIN_LESS, TC_PLAIN_OTHER } kind;
    const char *gained,
        *lost; /* the text that describes the difference; for OTHER, a noun that names the value */
};

struct tc_plain {
    enum tc_key_id id;
    size_t said;           /* offset in a tc_spec */
    struct tc_field field; /* in a tc_grant, with the same type as in the spec */
    struct tc_plain_change change;
};

#define TC_PLAIN_ONE_(...) +1
enum { TC_PLAIN_COUNT = TC_PLAIN_MAP(TC_PLAIN_ONE_, ) };
extern const struct tc_plain tc_plain_rows[TC_PLAIN_COUNT];

/* Copies the value of `said` (NULL: not set) into a grant that has none yet. False: out of
 * memory. */
bool tc_plain_take(const struct tc_plain *row, struct tc_grant *grant, const struct tc_spec *said);
/* Like tc_plain_take(), but borrows: the grant must not be freed. */
void tc_plain_lend(const struct tc_plain *row, struct tc_grant *grant, const struct tc_spec *said);
bool tc_plain_same(const struct tc_plain *row, const struct tc_spec *a, const struct tc_spec *b);
/* Frees the values of all plain keys. */
void tc_plain_done(struct tc_spec *spec);

#endif
