/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Objects against the words of a schema that speak of their members. */
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "schema/parts.h"

/* By each pattern that the name matches. */
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

/* `because`: the member that asks for them, or NULL. */
static bool check_required(const char *name, const json_t *names, const json_t *value,
                           const char *because, struct tc_complaint *c)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *key = json_string_value(json_array_get(names, i));
        if (key && json_object_get(value, key))
            continue;
        tc_complain(c, "give it", "%s lacks the member %.80s%s%.60s", name, key ? key : "",
                    because ? ", which goes with " : "", because ? because : "");
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
    /* jansson's iterator takes a plain pointer but does not write */
    json_object_foreach((json_t *)(uintptr_t)value, key,
                        member) if (!check_member(run, name, schema, key, member, c)) return false;
    return check_required(name, json_object_get(schema, "required"), value, NULL, c) &&
           check_dependent(run, name, schema, value, c);
}
