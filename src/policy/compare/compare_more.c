/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares the other parts of two grants: lists and secrets. */

#include "policy/compare/compare.h"
#include "policy/plain.h"

static const struct tc_secret *find_secret(const struct tc_grant *grant,
                                           const struct tc_secret *one)
{
    for (size_t i = 0; i < grant->secret_count; i++) {
        const struct tc_secret *s = &grant->secrets[i];
        if (tc_streq(s->name, one->name) && tc_streq(s->from, one->from) &&
            tc_streq(s->header, one->header) && tc_strv_same(&s->hosts, &one->hosts))
            return s;
    }
    return NULL;
}

static void add_secret(struct tc_differences *changes, const struct tc_secret *secret)
{
    _autofree_ char *hosts = tc_differences_list(changes, &secret->hosts);
    if (hosts)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "has the secret %s from %s for %s",
                           secret->name, secret->from, hosts);
}

static void compare_secrets(struct tc_differences *changes, const struct tc_grant *from,
                            const struct tc_grant *to)
{
    for (size_t i = 0; i < to->secret_count; i++)
        if (!find_secret(from, &to->secrets[i]))
            add_secret(changes, &to->secrets[i]);
    for (size_t i = 0; i < from->secret_count; i++)
        if (!find_secret(to, &from->secrets[i]))
            tc_differences_add(changes, TC_DIFFERENCE_LESS, "no longer has the secret %s as before",
                               from->secrets[i].name);
}

/* Compares the caches if both grants can stage changes; otherwise nothing is reviewed. */
static void compare_caches(struct tc_differences *changes, const struct tc_grant *from,
                           const struct tc_grant *to)
{
    changes->key = TC_KEY_REVIEW;
    if (from->workspace != TC_WORKSPACE_BIND && to->workspace != TC_WORKSPACE_BIND)
        tc_differences_lists(changes, &from->caches, &to->caches, TC_DIFFERENCE_MORE,
                             "summarises in a review files named",
                             "no longer summarises in a review");
}

static void compare_number(struct tc_differences *changes, const struct tc_plain_change *change,
                           int64_t from, int64_t to)
{
    bool more = (to > from) == (change->kind == TC_PLAIN_MORE);
    if (change->kind == TC_PLAIN_OTHER && from != to)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "%s differs; that cannot be compared",
                           change->gained);
    else if (from != to)
        tc_differences_add(changes, more ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS, "%s",
                           to > from ? change->gained : change->lost);
}

static void compare_plain(struct tc_differences *changes, const struct tc_plain *row,
                          const struct tc_grant *from, const struct tc_grant *to)
{
    const struct tc_field *f = &row->field;
    const struct tc_plain_change *change = &row->change;
    const void *a = (const char *)from + f->offset, *b = (const char *)to + f->offset;
    changes->key = row->id;
    if (change->kind == TC_PLAIN_BY_HAND)
        return;
    if (f->kind == TC_FIELD_TEXT)
        tc_differences_choice(changes, change->gained, *(char *const *)a, *(char *const *)b);
    else if (f->kind != TC_FIELD_LIST)
        compare_number(changes, change, tc_field_number(f, from), tc_field_number(f, to));
    else if (change->kind != TC_PLAIN_OTHER)
        tc_differences_lists(
            changes, a, b, change->kind == TC_PLAIN_MORE ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
            change->gained, change->lost);
    else
        compare_number(changes, change, 1, tc_strv_same(a, b));
}

void tc_compare_more(struct tc_differences *changes, const struct tc_grant *from,
                     const struct tc_grant *to)
{
    for (size_t i = 0; i < TC_PLAIN_COUNT; i++)
        compare_plain(changes, &tc_plain_rows[i], from, to);
    compare_caches(changes, from, to);
    size_t before = changes->count;
    changes->key = TC_KEY_FALLBACK;
    tc_differences_lists(changes, &from->fallback, &to->fallback, TC_DIFFERENCE_MORE,
                         "may also run on backend", "no longer falls back to backend");
    if (changes->count == before && !tc_strv_same(&from->fallback, &to->fallback))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "tries backends in another order, which cannot be compared");
    changes->key = TC_KEY_LAYERS;
    if (!tc_strv_same(&from->layers, &to->layers))
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "other layers, which cannot be compared");
    changes->key = TC_KEY_SYSCALLS;
    tc_differences_lists(changes, &from->syscalls_allow, &to->syscalls_allow, TC_DIFFERENCE_MORE,
                         "may make the system call", "may no longer make the system call");
    tc_differences_lists(changes, &from->syscalls_deny, &to->syscalls_deny, TC_DIFFERENCE_LESS,
                         "is denied the system call", "is no longer denied the system call");
    changes->key = TC_KEY_FILESYSTEM;
    tc_differences_lists(changes, &from->steering.remove, &to->steering.remove, TC_DIFFERENCE_MORE,
                         "may write the steering file", "may no longer write the steering file");
    tc_differences_lists(changes, &from->steering.add, &to->steering.add, TC_DIFFERENCE_LESS,
                         "is kept from", "is no longer kept from");
    changes->key = TC_KEY_SECRETS;
    compare_secrets(changes, from, to);
}

void tc_compare_env(struct tc_differences *changes, const struct toolcage_policy *from,
                    const struct tc_spec *x, const struct toolcage_policy *to,
                    const struct tc_spec *y)
{
    static const struct tc_spec none = {0};
    const struct tc_spec *a = tc_policy_given(from, x, TC_KEY_ENV),
                         *b = tc_policy_given(to, y, TC_KEY_ENV);
    a = a ? a : &none;
    b = b ? b : &none;
    tc_differences_lists(changes, &a->env_pass, &b->env_pass, TC_DIFFERENCE_MORE,
                         "passes the caller's variable % on",
                         "no longer passes the caller's variable % on");
    for (size_t i = 0; i < b->env_set.count; i++)
        if (!tc_strv_has(&a->env_set, b->env_set.items[i]))
            tc_differences_add(changes, TC_DIFFERENCE_MORE, "sets the variable %s",
                               b->env_set.items[i]);
    if (a->env_set.count > b->env_set.count)
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "sets fewer variables, which cannot be compared");
}
