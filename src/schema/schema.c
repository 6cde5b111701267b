/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Checks JSON values against the schemas of policies; canonical JSON of values. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/strv.h"
#include "schema/parts.h"
#include "schema/schema.h"
#include "text/utf8.h"

static const char *type_word(const json_t *value)
{
    static const char *const words[] = {"an object", "an array", "a string", "an integer",
                                        "a number",  "true",     "false",    "null"};
    return words[json_typeof(value)];
}

static long double number_of(const json_t *value)
{
    return json_is_integer(value) ? (long double)json_integer_value(value) : json_real_value(value);
}

int tc_json_compare_numbers(const json_t *a, const json_t *b)
{
    _Static_assert(LDBL_MANT_DIG >= 64, "it holds every integer of 64 bits");
    long double x = number_of(a), y = number_of(b);
    return x < y ? -1 : x > y;
}

/* Exact also beyond 64 bits: halving such a double loses no bits, and the remainder is doubled
 * modulo `step` afterwards. */
static bool is_multiple(const json_t *value, json_int_t step)
{
    double number = fabs(json_number_value(value));
    int halved = 0;
    if (json_is_integer(value))
        return json_integer_value(value) % step == 0;
    if (!tc_json_is_whole(value))
        return false;
    for (; number >= 0x1p63; halved++)
        number /= 2;
    uint64_t rest = (uint64_t)number % (uint64_t)step;
    for (; halved && rest; halved--)
        rest = rest * 2 % (uint64_t)step;
    return rest == 0;
}

static bool check_open(const char *name, const json_t *schema, const json_t *value,
                       struct tc_complaint *c)
{
    const json_t *low = json_object_get(schema, "exclusiveMinimum"),
                 *high = json_object_get(schema, "exclusiveMaximum"),
                 *step = json_object_get(schema, "multipleOf");
    char text[TC_NUMBER_TEXT_SIZE];
    if (low && tc_json_compare_numbers(value, low) <= 0) {
        tc_number_write(json_number_value(low), text);
        tc_complain(c, NULL, "%s is not more than %s", name, text);
        return false;
    }
    if (high && tc_json_compare_numbers(value, high) >= 0) {
        tc_number_write(json_number_value(high), text);
        tc_complain(c, NULL, "%s is not less than %s", name, text);
        return false;
    }
    if (step && !is_multiple(value, json_integer_value(step))) {
        tc_complain(c, NULL, "%s is not a multiple of %lld", name,
                    (long long)json_integer_value(step));
        return false;
    }
    return true;
}

static bool check_number(const char *name, const json_t *schema, const json_t *value,
                         struct tc_complaint *c)
{
    const json_t *low = json_object_get(schema, "minimum"),
                 *high = json_object_get(schema, "maximum");
    char text[TC_NUMBER_TEXT_SIZE];
    if (low && tc_json_compare_numbers(value, low) < 0) {
        tc_number_write(json_number_value(low), text);
        tc_complain(c, NULL, "%s is less than %s", name, text);
        return false;
    }
    if (high && tc_json_compare_numbers(value, high) > 0) {
        tc_number_write(json_number_value(high), text);
        tc_complain(c, NULL, "%s is more than %s", name, text);
        return false;
    }
    return check_open(name, schema, value, c);
}

bool tc_schema_check_count(const char *name, const json_t *schema, const char *least,
                           const char *most, size_t count, const char *unit, struct tc_complaint *c)
{
    const json_t *low = json_object_get(schema, least), *high = json_object_get(schema, most);
    if (low && count < (size_t)json_integer_value(low)) {
        tc_complain(c, NULL, "%s has %zu %s, at least %lld are needed", name, count, unit,
                    (long long)json_integer_value(low));
        return false;
    }
    if (high && count > (size_t)json_integer_value(high)) {
        tc_complain(c, NULL, "%s has %zu %s, at most %lld are allowed", name, count, unit,
                    (long long)json_integer_value(high));
        return false;
    }
    return true;
}

bool tc_json_same(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;
    if (json_is_number(a) && json_is_number(b))
        return tc_json_compare_numbers(a, b) == 0;
    if (json_typeof(a) != json_typeof(b) || json_array_size(a) != json_array_size(b) ||
        json_object_size(a) != json_object_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!tc_json_same(json_array_get(a, i), json_array_get(b, i)))
            return false;
    if (json_is_array(a) || !json_is_object(a))
        return json_is_array(a) || json_equal(a, b);
    json_object_foreach((json_t *)(uintptr_t)a, key, member)
    {
        const json_t *other = json_object_get(b, key);
        if (!other || !tc_json_same(member, other))
            return false;
    }
    return true;
}

static void list_values(const json_t *values, char *out, size_t size)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    for (size_t i = 0; i < json_array_size(values) && text.len < size; i++) {
        const json_t *one = json_array_get(values, i);
        tc_buf_adds(&text, i ? ", " : "the values are ");
        if (json_string_length(one) < size)
            tc_json_canonical(one, &text);
        else
            tc_buf_adds(&text, "a long string");
    }
    tc_strcopy(out, size, text.failed || !text.data ? "" : text.data);
}

static bool check_choice(const char *name, const json_t *schema, const json_t *value,
                         struct tc_complaint *c)
{
    const json_t *only = json_object_get(schema, "const"),
                 *values = json_object_get(schema, "enum");
    if (only && !tc_json_same(only, value)) {
        tc_complain(c, NULL, "%s is not the value that is allowed", name);
        return false;
    }
    for (size_t i = 0; i < json_array_size(values); i++)
        if (tc_json_same(json_array_get(values, i), value))
            return true;
    if (!values)
        return true;
    tc_complain(c, NULL, "%s is none of the values that are allowed", name);
    list_values(values, c->hint, sizeof(c->hint));
    return false;
}

static bool check_elements(struct tc_schema_run *run, const char *name, const json_t *schema,
                           const json_t *value, struct tc_complaint *c)
{
    const json_t *items = json_object_get(schema, "items"),
                 *first = json_object_get(schema, "prefixItems");
    size_t firsts = json_array_size(first), count = json_array_size(value);
    if (json_is_false(items) && count > firsts) {
        tc_complain(c, NULL, "%s has %zu elements, at most %zu are allowed", name, count, firsts);
        return false;
    }
    for (size_t i = 0; i < count && (items || i < firsts); i++) {
        char element[96];
        (void)snprintf(element, sizeof(element), "%.64s[%zu]", name, i);
        if (!tc_schema_check(run, element, i < firsts ? json_array_get(first, i) : items,
                             json_array_get(value, i), c))
            return false;
    }
    return true;
}

/* Sorts the elements first, because models may pass long arrays. */
static bool check_unique(struct tc_schema_run *run, const char *name, const json_t *schema,
                         const json_t *value, struct tc_complaint *c)
{
    _autostrv_ struct tc_strv texts = {0};
    if (!json_is_true(json_object_get(schema, "uniqueItems")))
        return true;
    for (size_t i = 0; i < json_array_size(value); i++) {
        _autobuf_ struct tc_buf one = TC_BUF_INIT;
        tc_json_canonical(json_array_get(value, i), &one);
        run->memory |= !tc_strv_take(&texts, tc_buf_steal(&one));
        if (run->memory)
            return false;
    }
    tc_strv_sort(&texts);
    for (size_t i = 1; i < texts.count; i++) {
        if (!tc_streq(texts.items[i], texts.items[i - 1]))
            continue;
        tc_complain(c, "give each value once", "%s holds %.60s twice", name, texts.items[i]);
        return false;
    }
    return true;
}

void tc_schema_show(const json_t *value, char *out, size_t size)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const char *is = json_string_value(value);
    size_t len = is ? json_string_length(value) : 0, most = size - 8;
    bool cut = len > most;
    if (cut)
        for (len = most; len && tc_utf8_inside(is[len]);)
            len--;
    if (is)
        tc_json_string(&text, is, len);
    else
        tc_json_canonical(value, &text);
    bool fine = !text.failed && text.data;
    (void)snprintf(out, size, "%.*s%s", (int)(size - 4), fine ? text.data : type_word(value),
                   fine && (cut || text.len > size - 4) ? "..." : "");
}

enum tc_pattern_verdict tc_schema_match(struct tc_schema_run *run, const char *pattern,
                                        const char *text, size_t len)
{
    size_t place = 0;
    enum tc_pattern_verdict answer = TC_PATTERN_MEMORY;
    if (tc_pattern_find(run->patterns, run->pattern_count, pattern, &place))
        answer = tc_pattern_match(run->patterns[place], text, len, &run->steps);
    run->costly |= answer == TC_PATTERN_COSTLY;
    run->memory |= answer == TC_PATTERN_MEMORY;
    return answer;
}

static bool check_pattern(struct tc_schema_run *run, const char *name, const json_t *schema,
                          const json_t *value, struct tc_complaint *c)
{
    const char *text = json_string_value(json_object_get(schema, "pattern"));
    char got[64];
    if (!text)
        return true;
    switch (tc_schema_match(run, text, json_string_value(value), json_string_length(value))) {
    case TC_PATTERN_FITS:
        return true;
    case TC_PATTERN_DIFFERS:
        tc_schema_show(value, got, sizeof(got));
        tc_complain(c, NULL, "%s does not match the pattern %.100s: got %s", name, text, got);
        break;
    case TC_PATTERN_COSTLY:
        tc_complain(c, "give a shorter or simpler string",
                    "%s takes too long to match against the pattern %.100s", name, text);
        break;
    case TC_PATTERN_MEMORY:
        break;
    }
    return false;
}

static bool check_format(const char *name, const json_t *schema, const json_t *value,
                         struct tc_complaint *c)
{
    const char *format = json_string_value(json_object_get(schema, "format"));
    char got[64];
    const char *text = json_string_value(value);
    bool whole = strlen(text) == json_string_length(value);
    if (!format || (whole && tc_format_fits(format, text)))
        return true;
    tc_schema_show(value, got, sizeof(got));
    tc_complain(c, NULL, "%s is not of the format %s: got %s", name, format, got);
    (void)snprintf(c->hint, sizeof(c->hint), "write it as in \"%s\"", tc_format_example(format));
    return false;
}

static bool check_type(const char *name, const json_t *schema, const json_t *value,
                       struct tc_complaint *c)
{
    const json_t *type = json_object_get(schema, "type");
    if (!type || tc_type_fits(tc_schema_types(schema), value))
        return true;
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    if (json_is_string(type))
        tc_buf_adds(&words, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        tc_buf_addf(&words, "%s%s", i ? " or " : "", json_string_value(json_array_get(type, i)));
    tc_complain(c, NULL, "%s must be of type %s, not %s", name, words.data ? words.data : "",
                type_word(value));
    return false;
}

/* The cost of writing the value as text: one step per value and per 64 bytes. */
static uint64_t weight(const json_t *value)
{
    uint64_t sum = 1 + json_string_length(value) / 64;
    const char *key;
    json_t *member;
    for (size_t i = 0; i < json_array_size(value); i++)
        sum += weight(json_array_get(value, i));
    if (json_is_object(value))
        json_object_foreach((json_t *)(uintptr_t)value, key, member) sum +=
            weight(member) + strlen(key) / 64;
    return sum;
}

/* Takes the cost of keywords that read a whole value or many members. False: the steps are used
 * up. */
static bool afford(struct tc_schema_run *run, const char *name, const json_t *schema,
                   const json_t *value, struct tc_complaint *c)
{
    uint64_t cost = 1 + json_array_size(json_object_get(schema, "enum")) +
                    json_array_size(json_object_get(schema, "required"));
    if (json_is_object(value))
        cost += json_object_size(json_object_get(schema, "dependentRequired")) +
                json_object_size(json_object_get(schema, "dependentSchemas")) +
                json_object_size(value) *
                    (1 + json_object_size(json_object_get(schema, "patternProperties")));
    if (json_is_string(value))
        cost += json_string_length(value) / 64;
    if (json_is_true(json_object_get(schema, "uniqueItems")))
        cost += weight(value);
    if (cost > run->steps) {
        run->costly = true;
        tc_complain(c, "give a smaller value", "%s takes too long to check", name);
        return false;
    }
    run->steps -= cost;
    return true;
}

static bool check_string(struct tc_schema_run *run, const char *name, const json_t *schema,
                         const json_t *value, struct tc_complaint *c)
{
    return tc_schema_check_count(name, schema, "minLength", "maxLength",
                                 tc_utf8_count(json_string_value(value), json_string_length(value)),
                                 "characters", c) &&
           check_format(name, schema, value, c) && check_pattern(run, name, schema, value, c);
}

static bool check_array(struct tc_schema_run *run, const char *name, const json_t *schema,
                        const json_t *value, struct tc_complaint *c)
{
    return tc_schema_check_count(name, schema, "minItems", "maxItems", json_array_size(value),
                                 "elements", c) &&
           check_elements(run, name, schema, value, c) && check_unique(run, name, schema, value, c);
}

bool tc_schema_check(struct tc_schema_run *run, const char *name, const json_t *schema,
                     const json_t *value, struct tc_complaint *c)
{
    if (!afford(run, name, schema, value, c) || !check_type(name, schema, value, c))
        return false;
    if (json_is_number(value) && !check_number(name, schema, value, c))
        return false;
    if (json_is_string(value) && !check_string(run, name, schema, value, c))
        return false;
    if (json_is_object(value) && !tc_schema_check_members(run, name, schema, value, c))
        return false;
    return check_choice(name, schema, value, c) &&
           (!json_is_array(value) || check_array(run, name, schema, value, c)) &&
           tc_schema_check_parts(run, name, schema, value, c);
}

static void write_object(const json_t *value, struct tc_buf *out)
{
    size_t count = json_object_size(value), n = 0;
    _autofree_ const char **keys = calloc(count + 1, sizeof(*keys));
    if (!keys) {
        out->failed = true;
        return;
    }
    /* jansson's iterator takes a non-const pointer but does not write */
    for (void *it = json_object_iter((json_t *)(uintptr_t)value); it && n < count;
         it = json_object_iter_next((json_t *)(uintptr_t)value, it))
        keys[n++] = json_object_iter_key(it);
    qsort(keys, n, sizeof(*keys), tc_order_texts);
    tc_buf_addc(out, '{');
    for (size_t i = 0; i < n; i++) {
        tc_json_key(out, keys[i]);
        tc_json_canonical(json_object_get(value, keys[i]), out);
    }
    tc_buf_addc(out, '}');
}

void tc_json_canonical(const json_t *value, struct tc_buf *out)
{
    char number[TC_NUMBER_TEXT_SIZE];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(value, out);
        break;
    case JSON_ARRAY:
        tc_buf_addc(out, '[');
        for (size_t i = 0; i < json_array_size(value); i++) {
            tc_buf_adds(out, i ? "," : "");
            tc_json_canonical(json_array_get(value, i), out);
        }
        tc_buf_addc(out, ']');
        break;
    case JSON_STRING:
        tc_json_string(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        tc_buf_addi(out, json_integer_value(value));
        break;
    case JSON_REAL:
        tc_number_write(json_real_value(value), number);
        tc_buf_adds(out, number);
        break;
    case JSON_TRUE:
        tc_buf_adds(out, "true");
        break;
    case JSON_FALSE:
        tc_buf_adds(out, "false");
        break;
    case JSON_NULL:
        tc_buf_adds(out, "null");
        break;
    }
}
