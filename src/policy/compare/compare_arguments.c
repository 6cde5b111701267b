/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares the arguments of a tool in two policies: the values that a model may send. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/compare/compare.h"
#include "policy/endpoint.h"
#include "schema/schema.h"

/* An arbitrary order in which only equal values compare equal. */
static int compare_scalars(const void *a, const void *b)
{
    const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;
    if (json_is_number(x) && json_is_number(y))
        return tc_json_compare_numbers(x, y);
    if (json_is_string(x) && json_is_string(y))
        return strcmp(json_string_value(x), json_string_value(y));
    return (int)json_typeof(x) - (int)json_typeof(y);
}

/* Is each of `some` in `all`? Sorts, because a policy may list many. Out of memory: false. */
static bool all_among(const json_t *all, const json_t *some)
{
    size_t count = json_array_size(all), i = 0;
    _autofree_ const json_t **sorted = calloc(count + 1, sizeof(*sorted));
    if (!sorted)
        return false;
    for (; i < count; i++)
        sorted[i] = json_array_get(all, i);
    qsort(sorted, count, sizeof(*sorted), compare_scalars);
    for (i = 0; i < json_array_size(some); i++) {
        const json_t *one = json_array_get(some, i);
        if (!bsearch(&one, sorted, count, sizeof(*sorted), compare_scalars))
            return false;
    }
    return true;
}

/* Are the listed values (enum, const) of `to` within those of `from`? */
static bool values_within(const json_t *from, const json_t *to)
{
    const json_t *few = json_object_get(from, "enum"), *one = json_object_get(from, "const");
    const json_t *now = json_object_get(to, "enum"), *only = json_object_get(to, "const");
    if (one && !(only && tc_json_same(one, only)))
        return false;
    if (!few)
        return true;
    if (!only)
        return now && all_among(few, now);
    for (size_t i = 0; i < json_array_size(few); i++)
        if (tc_json_same(json_array_get(few, i), only))
            return true;
    return false;
}

static bool number_within(const char *key, const json_t *from, const json_t *to)
{
    const json_t *a = json_object_get(from, key), *b = json_object_get(to, key);
    bool least = strncmp(key, "min", 3) == 0;
    if (!a || !b)
        return !a;
    int order = tc_json_compare_numbers(b, a);
    return least ? order >= 0 : order <= 0;
}

static bool same_at(const char *key, const json_t *from, const json_t *to)
{
    const json_t *a = json_object_get(from, key), *b = json_object_get(to, key);
    return a == b || json_equal(a, b);
}

static bool schema_within(const json_t *from, const json_t *to);

/* The schema `false` allows no items. */
static bool items_within(const json_t *from, const json_t *to)
{
    return json_is_false(to) ||
           (json_is_object(from) && json_is_object(to) && schema_within(from, to));
}

/* "number" includes "integer". */
static bool types_within(const json_t *from, const json_t *to)
{
    unsigned a = tc_schema_types(from), b = tc_schema_types(to);
    if (a & TC_TYPE_NUMBER)
        a |= TC_TYPE_INTEGER;
    return !json_object_get(from, "type") || (json_object_get(to, "type") && !(b & ~a));
}

/* Are all values that `to` allows also allowed by `from`? Keywords unknown to this function must be
 * equal. */
static bool schema_within(const json_t *from, const json_t *to)
{
    static const char *const bounds[] = {"minimum",   "maximum",  "minLength",
                                         "maxLength", "minItems", "maxItems"};
    static const char *const known[] = {"minimum",  "maximum",     "minLength", "maxLength",
                                        "minItems", "maxItems",    "enum",      "const",
                                        "items",    "description", "type"};
    /* the scope of a `word` depends on a second keyword, so adding the second could widen the
     * schema */
    static const struct {
        const char *word, *by;
    } turning[] = {{"items", "prefixItems"},
                   {"contains", "minContains"},
                   {"additionalProperties", "patternProperties"}};
    bool within = values_within(from, to) && types_within(from, to);
    for (size_t i = 0; within && i < TC_COUNT(bounds); i++)
        within = number_within(bounds[i], from, to);
    const json_t *a = json_object_get(from, "items"), *b = json_object_get(to, "items");
    if (a)
        within = within && items_within(a, b);
    for (size_t i = 0; within && i < TC_COUNT(turning); i++)
        within = !json_object_get(from, turning[i].word) || same_at(turning[i].by, from, to);
    for (void *it = json_object_iter((json_t *)(uintptr_t)from); within && it;
         it = json_object_iter_next((json_t *)(uintptr_t)from, it)) {
        const char *key = json_object_iter_key(it);
        within = TC_AMONG(known, key) ||
                 json_equal(json_object_iter_value(it), json_object_get(to, key));
    }
    return within;
}

static bool bound_within(const struct tc_argument *from, const struct tc_bound *to)
{
    for (size_t i = 0; i < from->bound_count; i++) {
        const struct tc_bound *outer = &from->bounds[i];
        if (!outer->path != !to->path)
            continue;
        if (to->path && outer->access >= to->access && tc_path_within(outer->path, to->path))
            return true;
        if (!to->path && tc_port_covers(outer->host.port, to->host.port) &&
            tc_streq(outer->host.host, to->host.host))
            return true;
    }
    return false;
}

static void compare_bounds(struct tc_differences *changes, const struct tc_argument *from,
                           const struct tc_argument *to)
{
    bool less = false;
    if (from->bound_count && !to->bound_count)
        tc_differences_add(changes, TC_DIFFERENCE_MORE, "argument %s has no bound", to->name);
    for (size_t i = 0; i < to->bound_count; i++)
        if (!bound_within(from, &to->bounds[i]))
            tc_differences_add(changes, TC_DIFFERENCE_MORE, "argument %s may name paths %s %s",
                               to->name,
                               !to->bounds[i].path                       ? "at"
                               : to->bounds[i].access == TC_ACCESS_WRITE ? "written below"
                                                                         : "read below",
                               to->bounds[i].path ? to->bounds[i].path : to->bounds[i].host.host);
    for (size_t i = 0; to->bound_count && i < from->bound_count; i++)
        less |= !bound_within(to, &from->bounds[i]);
    if (less)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "argument %s has a narrower bound",
                           to->name);
}

static void compare_argument(struct tc_differences *changes, const struct tc_argument *from,
                             const struct tc_argument *to)
{
    bool more = !schema_within(from->schema, to->schema),
         less = !schema_within(to->schema, from->schema);
    if (more)
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "argument %s takes values that it did not%s", to->name,
                           less ? ", or they cannot be compared" : "");
    else if (less)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "argument %s takes fewer values", to->name);
    if (from->optional != to->optional)
        tc_differences_add(changes, to->optional ? TC_DIFFERENCE_MORE : TC_DIFFERENCE_LESS,
                           "argument %s %s", to->name,
                           to->optional ? "may be absent" : "must be given");
    compare_bounds(changes, from, to);
}

static void add_argument(struct tc_differences *changes, const struct tc_argument *argument)
{
    static const struct tc_argument none = {0};
    tc_differences_add(changes, TC_DIFFERENCE_MORE, "takes the argument %s", argument->name);
    compare_bounds(changes, &none, argument);
}

static void compare_together(struct tc_differences *changes, const struct tc_argument *from,
                             const struct tc_argument *to)
{
    if (from && !to)
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "the arguments together are no longer "
                           "bound");
    else if (!from && to)
        tc_differences_add(changes, TC_DIFFERENCE_LESS, "the arguments together are bound");
    else if (from && !json_equal(from->schema, to->schema))
        tc_differences_add(changes, TC_DIFFERENCE_MORE,
                           "the arguments together are bound differently, which cannot be "
                           "compared");
}

void tc_compare_arguments(struct tc_differences *changes, const struct tc_spec *from,
                          const struct tc_spec *to)
{
    for (size_t i = 0; i < to->argument_count; i++) {
        const struct tc_argument *was =
            tc_spec_argument(from, to->arguments[i].name, strlen(to->arguments[i].name));
        if (was)
            compare_argument(changes, was, &to->arguments[i]);
        else
            add_argument(changes, &to->arguments[i]);
    }
    compare_together(changes, from->together, to->together);
    for (size_t i = 0; i < from->argument_count; i++)
        if (!tc_spec_argument(to, from->arguments[i].name, strlen(from->arguments[i].name)))
            tc_differences_add(changes, TC_DIFFERENCE_LESS, "no longer takes the argument %s",
                               from->arguments[i].name);
}
