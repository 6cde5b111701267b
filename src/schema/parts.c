/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Checks a value against subschemas: anyOf, oneOf, allOf and not, and those of an object's members.
 * A check that was not completed fails, also below `not`. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "schema/parts.h"
#include "schema/schema.h"

static bool run_ended(const struct tc_schema_run *run)
{
    return run->memory || run->costly;
}

static bool check_all_of(struct tc_schema_run *run, const char *name, const json_t *parts,
                         const json_t *value, struct tc_complaint *c)
{
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (!tc_schema_check(run, name, json_array_get(parts, i), value, c))
            return false;
    return true;
}

/* Counts the matching subschemas, up to `most`. The complaint is that of the first subschema whose
 * type the value has, else of the first one. */
static size_t count_fitting(struct tc_schema_run *run, const char *name, const json_t *parts,
                            const json_t *value, size_t most, struct tc_complaint *c)
{
    size_t fitting = 0;
    bool near = false;
    for (size_t i = 0; i < json_array_size(parts) && fitting < most && !run_ended(run); i++) {
        const json_t *part = json_array_get(parts, i);
        struct tc_complaint one = {0};
        if (tc_schema_check(run, name, part, value, &one)) {
            fitting++;
            continue;
        }
        bool alike = tc_type_fits(tc_schema_own_types(part), value);
        if (!i || run_ended(run) || (alike && !near))
            *c = one;
        near = near || alike;
    }
    return fitting;
}

static bool check_any_of(struct tc_schema_run *run, const char *name, const json_t *parts,
                         const json_t *value, struct tc_complaint *c)
{
    struct tc_complaint near = {0};
    size_t fitting = count_fitting(run, name, parts, value, 1, &near);
    if (run_ended(run) || !fitting)
        *c = near;
    if (!run_ended(run) && !fitting && json_array_size(parts) > 1)
        (void)snprintf(c->what, sizeof(c->what), "none of %zu schemas matches: %.200s",
                       json_array_size(parts), near.what);
    return !run_ended(run) && fitting;
}

static bool check_one_of(struct tc_schema_run *run, const char *name, const json_t *parts,
                         const json_t *value, struct tc_complaint *c)
{
    struct tc_complaint near = {0};
    size_t fitting = count_fitting(run, name, parts, value, 2, &near);
    if (fitting == 1 && !run_ended(run))
        return true;
    if (!fitting || run_ended(run))
        *c = near;
    else
        tc_complain(c, "give a value that matches only one of them",
                    "%s matches more than one of the schemas of oneOf", name);
    return false;
}

static bool check_not(struct tc_schema_run *run, const char *name, const json_t *part,
                      const json_t *value, struct tc_complaint *c)
{
    struct tc_complaint one = {0};
    bool fits = tc_schema_check(run, name, part, value, &one);
    if (run_ended(run))
        *c = one;
    else if (fits)
        tc_complain(c, NULL, "%s matches a schema that `not` excludes", name);
    return !fits && !run_ended(run);
}

static bool check_condition(struct tc_schema_run *run, const char *name, const json_t *schema,
                            const json_t *value, struct tc_complaint *c)
{
    const json_t *condition = json_object_get(schema, "if");
    struct tc_complaint one = {0};
    if (!condition)
        return true;
    bool fits = tc_schema_check(run, name, condition, value, &one);
    if (run_ended(run)) {
        *c = one;
        return false;
    }
    const json_t *part = json_object_get(schema, fits ? "then" : "else");
    return !part || tc_schema_check(run, name, part, value, c);
}

static bool check_contains(struct tc_schema_run *run, const char *name, const json_t *schema,
                           const json_t *value, struct tc_complaint *c)
{
    const json_t *part = json_object_get(schema, "contains"),
                 *least = json_object_get(schema, "minContains");
    struct tc_complaint one = {0};
    size_t found = 0;
    if (!part || !json_is_array(value))
        return true;
    for (size_t i = 0; i < json_array_size(value) && !run_ended(run); i++)
        found += tc_schema_check(run, name, part, json_array_get(value, i), &one);
    if (run_ended(run)) {
        *c = one;
        return false;
    }
    if (!least && !found) {
        tc_complain(c, NULL, "%s has no element that matches contains", name);
        return false;
    }
    return tc_schema_check_count(name, schema, "minContains", "maxContains", found,
                                 "elements that match contains", c);
}

bool tc_schema_check_parts(struct tc_schema_run *run, const char *name, const json_t *schema,
                           const json_t *value, struct tc_complaint *c)
{
    static const struct {
        const char *word;
        bool (*check)(struct tc_schema_run *run, const char *name, const json_t *parts,
                      const json_t *value, struct tc_complaint *c);
    } rows[] = {{"allOf", check_all_of},
                {"anyOf", check_any_of},
                {"oneOf", check_one_of},
                {"not", check_not}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const json_t *parts = json_object_get(schema, rows[i].word);
        if (parts && !rows[i].check(run, name, parts, value, c))
            return false;
    }
    return check_condition(run, name, schema, value, c) &&
           check_contains(run, name, schema, value, c);
}

/* ---- members of objects ---- */

/* Checks a member against the patternProperties whose pattern matches its name. */
static bool check_patterns(struct tc_schema_run *run, const char *place, const json_t *schema,
                           const char *key, const json_t *member, bool *ret_known,
                           struct tc_complaint *c)
{
    const char *pattern;
    json_t *part;
    json_object_foreach(json_object_get(schema, "patternProperties"), pattern, part)
    {
        switch (tc_schema_match(run, pattern, key, strlen(key))) {
        case TC_PATTERN_DIFFERS:
            continue;
        case TC_PATTERN_FITS:
            *ret_known = true;
            if (tc_schema_check(run, place, part, member, c))
                continue;
            return false;
        case TC_PATTERN_COSTLY:
            tc_complain(c, "give a shorter name", "the name of %s takes too long to check", place);
            return false;
        case TC_PATTERN_MEMORY:
            return false;
        }
    }
    return true;
}

static bool check_name(struct tc_schema_run *run, const char *name, const json_t *schema,
                       const char *key, struct tc_complaint *c)
{
    const json_t *part = json_object_get(schema, "propertyNames");
    _auto_(json_decrefp) json_t *text = part ? json_string(key) : NULL;
    char place[128];
    if (!part)
        return true;
    run->memory |= !text;
    (void)snprintf(place, sizeof(place), "a name of %.100s", name);
    return text && tc_schema_check(run, place, part, text, c);
}

static bool check_member(struct tc_schema_run *run, const char *name, const json_t *schema,
                         const char *key, const json_t *member, struct tc_complaint *c)
{
    const json_t *named = json_object_get(json_object_get(schema, "properties"), key),
                 *others = json_object_get(schema, "additionalProperties");
    char place[128], got[64];
    bool known = named;
    (void)snprintf(place, sizeof(place), "%.80s.%.40s", name, key);
    if (!check_name(run, name, schema, key, c) ||
        (named && !tc_schema_check(run, place, named, member, c)) ||
        !check_patterns(run, place, schema, key, member, &known, c))
        return false;
    if (known || !others)
        return true;
    if (json_is_object(others))
        return tc_schema_check(run, place, others, member, c);
    _auto_(json_decrefp) json_t *text = json_string(key);
    run->memory |= !text;
    if (!text)
        return false;
    tc_schema_show(text, got, sizeof(got));
    tc_complain(c, "leave it out", "%s has the member %s, which is not declared", name, got);
    return false;
}

/* `because`: the member whose presence requires them, or NULL. */
static bool check_required(const char *name, const json_t *names, const json_t *value,
                           const char *because, struct tc_complaint *c)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *key = json_string_value(json_array_get(names, i));
        if (key && json_object_get(value, key))
            continue;
        tc_complain(c, "give it", "%s lacks the member %.80s%s%.60s", name, key ? key : "",
                    because ? ", which is required with " : "", because ? because : "");
        return false;
    }
    return true;
}

static bool check_dependent(struct tc_schema_run *run, const char *name, const json_t *schema,
                            const json_t *value, struct tc_complaint *c)
{
    const char *key;
    json_t *words;
    json_object_foreach(json_object_get(schema, "dependentRequired"), key,
                        words) if (json_object_get(value, key) &&
                                   !check_required(name, words, value, key, c)) return false;
    json_object_foreach(json_object_get(schema, "dependentSchemas"), key,
                        words) if (json_object_get(value, key) &&
                                   !tc_schema_check(run, name, words, value, c)) return false;
    return true;
}

bool tc_schema_check_members(struct tc_schema_run *run, const char *name, const json_t *schema,
                             const json_t *value, struct tc_complaint *c)
{
    const char *key;
    json_t *member;
    if (!tc_schema_check_count(name, schema, "minProperties", "maxProperties",
                               json_object_size(value), "members", c))
        return false;
    /* jansson's iterator takes a non-const pointer but does not write */
    json_object_foreach((json_t *)(uintptr_t)value, key,
                        member) if (!check_member(run, name, schema, key, member, c)) return false;
    return check_required(name, json_object_get(schema, "required"), value, NULL, c) &&
           check_dependent(run, name, schema, value, c);
}
