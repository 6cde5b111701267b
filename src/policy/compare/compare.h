/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares two policies by meaning: what the second grants in addition or no longer. Differences
 * without an order count as more. */
#ifndef TC_POLICY_COMPARE_COMPARE_H
#define TC_POLICY_COMPARE_COMPARE_H

#include "policy/model.h"

enum tc_difference_kind {
    TC_DIFFERENCE_MORE,    /* widened, or without an order */
    TC_DIFFERENCE_LESS,    /* narrowed */
    TC_DIFFERENCE_NEITHER, /* the grant is the same */
};

struct tc_difference {
    enum tc_difference_kind kind;
    enum tc_key_id key; /* of two grants: the key that differs */
    char *place;        /* "tool.x", "defaults", "server.x", "server.x.tool.y" */
    char *text;
};

struct tc_differences {
    const char *place; /* place of the differences added next */
    enum tc_key_id key;
    struct tc_difference *items;
    size_t count;
    bool memory;
    /* A policy that grants nothing: the baseline of a new tool. Against it, only gains are listed,
     * and without their old value; no old value either where `from` is this policy itself
     * (from_nothing). */
    const struct toolcage_policy *nothing;
    bool is_new, from_nothing;
};

/* Stands for the workspace of any call. */
#define TC_COMPARE_WORKSPACE "/\xe2\x80\xa6/workspace"

void tc_differences_add(struct tc_differences *changes, enum tc_difference_kind kind,
                        const char *fmt, ...) TC_PRINTF(3, 4);
/* Like tc_differences_add(); appends the old value `was` to the text. */
void tc_differences_changed(struct tc_differences *changes, enum tc_difference_kind kind,
                            const char *was, const char *fmt, ...) TC_PRINTF(4, 5);
/* `more` is the text for elements that only the second list has, with the kind `gained`; `less` is
 * the text for those that only the first has, with the opposite kind. NEITHER: both count as more.
 * An element replaces the text's %, or follows the text and a space. */
void tc_differences_lists(struct tc_differences *changes, const struct tc_strv *from,
                          const struct tc_strv *to, enum tc_difference_kind gained,
                          const char *more, const char *less);
/* ["a", "b"], as TOML spells it; owned. NULL: out of memory, which is recorded. */
char *tc_differences_list(struct tc_differences *changes, const struct tc_strv *list);
/* A changed choice whose values have no order. */
void tc_differences_choice(struct tc_differences *changes, const char *name, const char *from,
                           const char *to);
void tc_differences_done(struct tc_differences *changes);

/* Compare the grants of one tool (compare_grant.c, compare_more.c, compare_arguments.c). */
void tc_compare_grants(struct tc_differences *changes, const struct tc_grant *from,
                       const struct tc_grant *to);
void tc_compare_more(struct tc_differences *changes, const struct tc_grant *from,
                     const struct tc_grant *to);
void tc_compare_arguments(struct tc_differences *changes, const struct tc_spec *from,
                          const struct tc_spec *to);

/* Compares the caller's variables that a tool gets, and those that the policy sets. x and y: NULL
 * for a bare command. */
void tc_compare_env(struct tc_differences *changes, const struct toolcage_policy *from,
                    const struct tc_spec *x, const struct toolcage_policy *to,
                    const struct tc_spec *y);

/* Compares what calls of the two policies leave in the audit log (compare_audit.c). */
void tc_compare_audit(struct tc_differences *changes, const struct toolcage_policy *from,
                      const struct toolcage_policy *to);

/* Compares all tools, servers and [defaults]. Facts as for a resolution. The caller frees *ret,
 * also after a failure. */
int tc_policy_compare(const struct toolcage_policy *from, const struct toolcage_policy *to,
                      const struct tc_facts *facts, struct tc_differences *ret,
                      struct toolcage_error **err);
/* The differences as JSON: {"widened": bool, "changes": [{"place", "change", "text"}]}. Owned. */
int tc_policy_diff_json(const struct toolcage_policy *from, const struct toolcage_policy *to,
                        const struct tc_facts *facts, char **ret, struct toolcage_error **err);

#endif
