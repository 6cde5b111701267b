/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of what two policies differ in. */
#include <string.h>

#include "policy/compare.h"

void tc_differences_add(struct tc_differences *changes, enum tc_difference_kind kind,
                        const char *fmt, ...)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    struct tc_difference *change = TC_PUSH(changes->items, changes->count);
    if (!change) {
        changes->memory = true;
        return;
    }
    change->kind = kind;
    change->key = changes->key;
    change->place = strdup(changes->place ? changes->place : "");
    change->text = tc_buf_steal(&text);
    changes->memory |= !change->place || !change->text;
}

void tc_differences_choice(struct tc_differences *changes, const char *name, const char *from,
                           const char *to)
{
    if (!tc_streq(from, to))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "%s is %s, before %s; that cannot be compared", name, to ? to : "any",
                           from ? from : "any");
}

void tc_differences_done(struct tc_differences *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->items[i].place);
        free(changes->items[i].text);
    }
    free(changes->items);
    *changes = (struct tc_differences){0};
}
