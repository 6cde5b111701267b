/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares what two policies record. A weaker log counts as more, as does a file that toolcage
 * writes or removes for it. */
#include "policy/compare/compare.h"
#include "policy/policy.h"

/* From the strictest on. */
static int sync_rank(const struct tc_audit_rules *rules)
{
    static const int ranks[] = {1, 0, 2}; /* interval, always, none */
    return ranks[rules->sync];
}

static void compare_choice(struct tc_differences *changes, int from, int to, const char *weaker,
                           const char *stricter)
{
    if (from != to)
        tc_differences_add(changes, to > from ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS, "%s",
                           to > from ? weaker : stricter);
}

static void compare_files(struct tc_differences *changes, const struct tc_audit_rules *from,
                          const struct tc_audit_rules *to)
{
    if (from->anchor && !tc_streq(from->anchor, to->anchor))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "no longer writes the hash of each record to %s", from->anchor);
    if (to->anchor && !tc_streq(from->anchor, to->anchor))
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "writes the hash of each record to %s",
                           to->anchor);
    if (to->keep && (!from->keep || to->keep < from->keep))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "removes the oldest records of the log beyond %jd MiB",
                           (intmax_t)(to->keep >> 20));
    else if (to->keep != from->keep)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "keeps more of the log");
    if (to->record && from->record && to->keep_inputs != from->keep_inputs)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "keeps another amount of inputs of calls");
    if (to->record != from->record)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "%s",
                           to->record ? "keeps copies of workspaces, input and output of calls"
                                      : "no longer keeps what replays of calls need");
}

void tc_compare_audit(struct tc_differences *changes, const struct toolcage_policy *from,
                      const struct toolcage_policy *to)
{
    static const struct tc_audit_rules none = {0};
    const struct tc_audit_rules *a = tc_policy_audit(from), *b = tc_policy_audit(to);
    changes->place = "audit";
    if (a && !b)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "calls are no longer recorded");
    if (!a && b)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "calls are recorded");
    if (a && b) {
        compare_choice(changes, a->arguments, b->arguments,
                       "arguments and commands are recorded as digests only",
                       "arguments and commands are recorded");
        compare_choice(changes, sync_rank(a), sync_rank(b), "records are flushed less often",
                       "records are flushed more often");
    }
    if (b)
        compare_files(changes, a ? a : &none, b);
}
