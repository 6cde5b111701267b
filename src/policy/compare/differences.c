/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of differences between two policies. */
#include <string.h>

#include "base/jsontext.h"
#include "policy/compare/compare.h"

static bool knows_before(const struct tc_differences *changes)
{
    return !changes->is_new && !changes->from_nothing;
}

static void add_difference(struct tc_differences *changes, enum tc_difference_kind kind,
                           const char *was, const char *fmt, va_list ap)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (changes->is_new && kind != TC_DIFFERENCE_MORE)
        return;
    tc_buf_vaddf(&text, fmt, ap);
    if (was && knows_before(changes))
        tc_buf_addf(&text, ", before %s", was);
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

void tc_differences_add(struct tc_differences *changes, enum tc_difference_kind kind,
                        const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_difference(changes, kind, NULL, fmt, ap);
    va_end(ap);
}

void tc_differences_changed(struct tc_differences *changes, enum tc_difference_kind kind,
                            const char *was, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_difference(changes, kind, was, fmt, ap);
    va_end(ap);
}

static void add_missing(struct tc_differences *changes, const struct tc_strv *from,
                        const struct tc_strv *to, enum tc_difference_kind kind, const char *text)
{
    size_t n = strcspn(text, "%");
    for (size_t i = 0; i < to->count; i++)
        if (!tc_strv_has(from, to->items[i]))
            tc_differences_add(changes, kind, "%.*s%s%s%s", (int)n, text, text[n] ? "" : " ",
                               to->items[i], text[n] ? text + n + 1 : "");
}

void tc_differences_lists(struct tc_differences *changes, const struct tc_strv *from,
                          const struct tc_strv *to, enum tc_difference_kind gained,
                          const char *more, const char *less)
{
    add_missing(changes, from, to, gained == TC_DIFFERENCE_LESS ? gained : TC_DIFFERENCE_MORE,
                more);
    add_missing(changes, to, from,
                gained == TC_DIFFERENCE_MORE ? TC_DIFFERENCE_LESS : TC_DIFFERENCE_MORE, less);
}

char *tc_differences_list(struct tc_differences *changes, const struct tc_strv *list)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_toml_list(&text, list);
    char *ret = tc_buf_steal(&text);
    changes->memory |= !ret;
    return ret;
}

void tc_differences_choice(struct tc_differences *changes, const char *name, const char *from,
                           const char *to)
{
    if (!tc_streq(from, to) && !knows_before(changes))
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "%s is %s", name, to ? to : "any");
    else if (!tc_streq(from, to))
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
