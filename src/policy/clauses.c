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

const char *tc_clause_name(enum tc_clause clause)
{
    return clauses[clause].name;
}

const char *tc_clause_text(enum tc_clause clause)
{
    return clauses[clause].text;
}
