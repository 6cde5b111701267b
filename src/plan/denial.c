/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "plan/denial.h"

const struct tc_denial_row *tc_denial_row(int64_t kind)
{
    static const struct tc_denial_row rows[TC_DENIAL_COUNT + 1] = {
#define ROW(id, word, key, verb, hint) {word, key, verb, hint},
        TC_DENIAL_MAP(ROW)
#undef ROW
            {.word = "?"}};
    return &rows[kind >= 0 && kind < TC_DENIAL_COUNT ? kind : TC_DENIAL_COUNT];
}
