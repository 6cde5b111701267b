/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Two policies by what they mean: what the second grants more or less than the first. What cannot
 * be compared counts as more. */
#ifndef TC_POLICY_COMPARE_COMPARE_H
#define TC_POLICY_COMPARE_COMPARE_H

#include "policy/model.h"

enum tc_difference_kind {
    TC_DIFFERENCE_MORE,    /* widened, or not comparable */
    TC_DIFFERENCE_LESS,    /* narrowed */
    TC_DIFFERENCE_NEITHER, /* says nothing of what is granted */
};

struct tc_difference {
    enum tc_difference_kind kind;
    enum tc_key_id key; /* of two grants: which key says it */
    char *place;        /* "tool.x", "defaults", "server.x", "server.x.tool.y" */
    char *text;
};

struct tc_differences {
    const char *place; /* where the next ones are */
    enum tc_key_id key;
    struct tc_difference *items;
    size_t count;
    bool memory;
    /* A policy that grants nothing. What is new is compared with it: only more is listed, and no
     * text says how it was before, nor where `from` is that policy itself. */
    const struct toolcage_policy *nothing;
    bool is_new, from_nothing;
};

/* Stands for the workspace of any call. */
#define TC_COMPARE_WORKSPACE "/\xe2\x80\xa6/workspace"

void tc_differences_add(struct tc_differences *changes, enum tc_difference_kind kind,
                        const char *fmt, ...) TC_PRINTF(3, 4);
/* The same with `was`, which the text ends in. */
void tc_differences_changed(struct tc_differences *changes, enum tc_difference_kind kind,
                            const char *was, const char *fmt, ...) TC_PRINTF(4, 5);
/* `more` is said of what the second list has alone, which is `gained`; `less`, and the opposite, of
 * what the first has. NEITHER: both count as more. The element stands at the text's %, or else
 * after the text and a blank. */
void tc_differences_lists(struct tc_differences *changes, const struct tc_strv *from,
                          const struct tc_strv *to, enum tc_difference_kind gained,
                          const char *more, const char *less);
/* ["a", "b"], as TOML writes it; owned. NULL: no memory, which is noted. */
char *tc_differences_list(struct tc_differences *changes, const struct tc_strv *list);
/* Of a choice that cannot be compared with another. */
void tc_differences_choice(struct tc_differences *changes, const char *name, const char *from,
                           const char *to);
void tc_differences_done(struct tc_differences *changes);

/* `from` and `to` of one tool (compare_grant.c, compare_more.c, compare_arguments.c). */
void tc_compare_grants(struct tc_differences *changes, const struct tc_grant *from,
                       const struct tc_grant *to);
void tc_compare_more(struct tc_differences *changes, const struct tc_grant *from,
                     const struct tc_grant *to);
void tc_compare_arguments(struct tc_differences *changes, const struct tc_spec *from,
                          const struct tc_spec *to);

/* The caller's variables and those that are set, for a tool of each (NULL: a bare command). */
void tc_compare_env(struct tc_differences *changes, const struct toolcage_policy *from,
                    const struct tc_spec *x, const struct toolcage_policy *to,
                    const struct tc_spec *y);

/* All tools, servers and [defaults]. Facts as for a resolution. The caller frees also on failure.
 */
int tc_policy_compare(const struct toolcage_policy *from, const struct toolcage_policy *to,
                      const struct tc_facts *facts, struct tc_differences *ret,
                      struct toolcage_error **err);
/* The same as JSON: {"widened": bool, "changes": [{"place", "change", "text"}]}. Owned. */
int tc_policy_diff_json(const struct toolcage_policy *from, const struct toolcage_policy *to,
                        const struct tc_facts *facts, char **ret, struct toolcage_error **err);

#endif
