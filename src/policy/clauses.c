/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/clauses.h"

static const struct {
    const char *name, *text;
    int always;
} clauses[] = {
#define ROW(id, name, always, text) {name, text, always},
    TC_CLAUSE_MAP(ROW)
#undef ROW
};

tc_clauses tc_clauses_always(void)
{
    tc_clauses set = 0;
    for (int i = 0; i < TC_CLAUSE_COUNT; i++)
        set |= clauses[i].always ? TC_CLAUSE_BIT(i) : 0;
    return set;
}

tc_clauses tc_clauses_yielding(void)
{
    return TC_CLAUSE_BIT(TC_CLAUSE_PROC_OWN) | TC_CLAUSE_BIT(TC_CLAUSE_PROC_SURVIVORS) |
           TC_CLAUSE_BIT(TC_CLAUSE_TMP_PRIVATE) | TC_CLAUSE_BIT(TC_CLAUSE_FS_STAT) |
           TC_CLAUSE_BIT(TC_CLAUSE_FS_DENIED) | TC_CLAUSE_BIT(TC_CLAUSE_FS_STEERING) |
           TC_CLAUSE_BIT(TC_CLAUSE_LIMIT_PIDS);
}

const char *tc_clause_name(enum tc_clause clause)
{
    return clauses[clause].name;
}

const char *tc_clause_text(enum tc_clause clause)
{
    return clauses[clause].text;
}
