/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/plain.h"

#include <string.h>

/* clang-format off */
#define TC_MORE(gained, lost) {TC_PLAIN_MORE, gained, lost}
#define TC_LESS(gained, lost) {TC_PLAIN_LESS, gained, lost}
#define TC_OTHER(what) {TC_PLAIN_OTHER, what, NULL}
#define TC_BY_HAND {TC_PLAIN_BY_HAND, NULL, NULL}
#define ROW(F, key, kind, type, member, scopes, setter, change, ...) \
    {TC_KEY_##key, offsetof(struct tc_spec, member), TC_FIELD_ROW_(kind, member) change},
/* clang-format on */
#define TC_STRUCT struct tc_grant
const struct tc_plain tc_plain_rows[TC_PLAIN_COUNT] = {TC_PLAIN_MAP(ROW, )};
#undef TC_STRUCT

void tc_plain_lend(const struct tc_plain *row, struct tc_grant *grant, const struct tc_spec *said)
{
    if (said)
        memcpy((char *)grant + row->field.offset, (const char *)said + row->said, row->field.size);
}

bool tc_plain_take(const struct tc_plain *row, struct tc_grant *grant, const struct tc_spec *said)
{
    void *to = (char *)grant + row->field.offset;
    char **text = to;
    if (said && row->field.kind == TC_FIELD_LIST)
        return tc_strv_copy(to, (const void *)((const char *)said + row->said));
    tc_plain_lend(row, grant, said);
    if (row->field.kind != TC_FIELD_TEXT || !*text)
        return true;
    *text = strdup(*text);
    return *text;
}

bool tc_plain_same(const struct tc_plain *row, const struct tc_spec *a, const struct tc_spec *b)
{
    const void *x = (const char *)a + row->said, *y = (const char *)b + row->said;
    return row->field.kind == TC_FIELD_LIST   ? tc_strv_same(x, y)
           : row->field.kind == TC_FIELD_TEXT ? tc_streq(*(char *const *)x, *(char *const *)y)
                                              : memcmp(x, y, row->field.size) == 0;
}

void tc_plain_done(struct tc_spec *spec)
{
    for (const struct tc_plain *row = tc_plain_rows; row < tc_plain_rows + TC_PLAIN_COUNT; row++) {
        void *it = (char *)spec + row->said;
        if (row->field.kind == TC_FIELD_LIST)
            tc_strv_done(it);
        else if (row->field.kind == TC_FIELD_TEXT)
            free(*(char **)it);
    }
}
