/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Walks tables by their rows; setters of simple values. */
#include "policy/parse/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/strv.h"

/* ---- hints for common mistakes ---- */

/* Key names of other sandboxes and of JSON Schema, and values of another kind, remain errors; these
 * functions only write a better hint. False: none. */

const char tc_required_hint[] = "remove it: an argument is required unless it has optional = true";

#define LIMITS_HINT "limits are keys of the tool itself: timeout = \"30s\", memory = \"512MiB\""

/* Keys that people expect from other tools, and what to write instead. */
static const struct {
    enum tc_scope scope;
    const char *key, *hint;
} habits[] = {
    {TC_SCOPE_TOOL, "read", "write filesystem = { readable = [\"/data\"] }"},
    {TC_SCOPE_TOOL, "write", "write filesystem = { writable = [\"/data\"] }"},
    {TC_SCOPE_TOOL, "mounts",
     "write filesystem = { readable = [{ path = \"/data\", from = \"data\" }] }"},
    {TC_SCOPE_TOOL, "volumes",
     "write filesystem = { readable = [{ path = \"/data\", from = \"data\" }] }"},
    {TC_SCOPE_TOOL, "limits", LIMITS_HINT},
    {TC_SCOPE_TOOL, "resources", LIMITS_HINT},
    {TC_SCOPE_TOOL, "parameters", "did you mean \"arguments\"?"},
    {TC_SCOPE_TOOL, "hosts", "write network = [\"api.example.com:443\"]"},
    {TC_SCOPE_FILESYSTEM, "read", "did you mean \"readable\"?"},
    {TC_SCOPE_FILESYSTEM, "write", "did you mean \"writable\"?"},
    {TC_SCOPE_FILESYSTEM, "deny", "did you mean \"denied\"?"},
    {TC_SCOPE_FILESYSTEM, "allow", "readable = [\"/data\"], or writable = [\"/data\"]"},
    {TC_SCOPE_ARGUMENT, "within",
     "for a path within a directory: read = [\"/workspace\"] or write = [\"/workspace\"]"},
    {TC_SCOPE_ARGUMENT, "path",
     "for a path within a directory: read = [\"/workspace\"] or write = [\"/workspace\"]"},
    {TC_SCOPE_ARGUMENT, "min",
     "did you mean \"minimum\"? for the length of a string: minLength; of an array: minItems"},
    {TC_SCOPE_ARGUMENT, "max",
     "did you mean \"maximum\"? for the length of a string: maxLength; of an array: maxItems"},
    {TC_SCOPE_TEST, "read", "allowed = [\"read /PATH\"], or denied = [\"read /PATH\"]"},
    {TC_SCOPE_TEST, "write", "allowed = [\"write /PATH\"], or denied = [\"write /PATH\"]"},
    {TC_SCOPE_TEST, "exec", "allowed = [\"exec /PATH\"], or denied = [\"exec /PATH\"]"},
    {TC_SCOPE_TEST, "connect",
     "allowed = [\"connect HOST:PORT\"], or denied = [\"connect HOST:PORT\"]"},
    {TC_SCOPE_TEST, "expect",
     "allowed = [\"read /PATH\"] lists accesses that must be allowed, denied = [...] those "
     "that must not; call = \"allowed\" or \"denied\" is about the call itself"},
    {TC_SCOPE_WASM, "isolation",
     "a module always runs in a separate caged process: otherwise an engine bug would affect "
     "your program, and a blocked call could not be ended; reuse = \"same-grant\" keeps that "
     "process for the next call"},
};

/* [defaults] has most keys of a tool, and the same habits. */
static bool is_habit_of(enum tc_scope row, enum tc_scope scope)
{
    return row == scope || (row == TC_SCOPE_TOOL && scope == TC_SCOPE_DEFAULTS);
}

static bool find_habit_key(enum tc_scope scope, const char *key, char *hint, size_t size)
{
    for (size_t i = 0; i < TC_COUNT(habits); i++)
        if (is_habit_of(habits[i].scope, scope) && tc_streq(habits[i].key, key))
            return (size_t)snprintf(hint, size, "%s", habits[i].hint) < size;
    if (scope != TC_SCOPE_ENV)
        return false;
    (void)snprintf(hint, size,
                   "env.set = { %.40s = \"value\" }, or env.pass = [\"%.40s\"] for your own value; "
                   "for a secret: secrets.%.40s",
                   key, key, key);
    return true;
}

static bool find_habit_value(const struct tc_node *node, enum tc_node_kind wanted, char *hint,
                             size_t size)
{
    const char *key = node->key ? node->key : "";
    if (node->kind == TC_NODE_BOOL && tc_streq(key, "required"))
        return (size_t)snprintf(hint, size, "%s", tc_required_hint) < size;
    if (wanted == TC_NODE_ARRAY && tc_streq(key, "network"))
        return (size_t)snprintf(hint, size, "\"none\", or [\"api.example.com:443\"]") < size;
    if (wanted == TC_NODE_TABLE && tc_streq(key, "env"))
        return (size_t)snprintf(hint, size,
                                "env.pass = [\"NAME\"] passes your own value, env.set = { NAME = "
                                "\"value\" } sets one") < size;
    bool plain = node->kind == TC_NODE_STRING && node->text && !strpbrk(node->text, "\"\\\n\t");
    if (wanted == TC_NODE_TABLE && tc_streq(key, "workspace") && plain)
        return (size_t)snprintf(hint, size, "write workspace = { mode = \"%s\" }", node->text) <
               size;
    if (wanted != TC_NODE_ARRAY || !plain)
        return false;
    return (size_t)snprintf(hint, size, "write [\"%s\"]", node->text) < size;
}

/* ---- the reader ---- */

static void add_finding(struct tc_parse *p, struct tc_location at, const char *key,
                        const char *hint, const char *fmt, va_list ap) TC_PRINTF(5, 0);
static void add_finding(struct tc_parse *p, struct tc_location at, const char *key,
                        const char *hint, const char *fmt, va_list ap)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    size_t mark = key ? tc_parse_enter(p, key) : p->path_len;
    if (p->placeless && p->path_len > p->placeless)
        tc_buf_addf(&buf, "%s: ", p->path + p->placeless);
    tc_buf_vaddf(&buf, fmt, ap);
    if (buf.failed)
        p->diag.memory = true;
    else
        tc_diag_add(&p->diag, at, p->path, hint ? hint : "toolcage-policy(5) describes this key",
                    "%s", buf.data ? buf.data : "");
    tc_parse_leave(p, mark);
}

void tc_parse_bad(struct tc_parse *p, const struct tc_node *node, const char *hint, const char *fmt,
                  ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_finding(p, node->at, node->key, hint, fmt, ap);
    va_end(ap);
}

void tc_parse_bad_in(struct tc_parse *p, const struct tc_node *array, const struct tc_node *node,
                     const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_finding(p, node->at, array->key, hint, fmt, ap);
    va_end(ap);
}

void tc_parse_bad_key(struct tc_parse *p, const struct tc_node *node, const char *hint,
                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_finding(p, node->key ? node->key_at : node->at, node->key, hint, fmt, ap);
    va_end(ap);
}

void tc_parse_bad_line(struct tc_parse *p, uint32_t line, char *subject, const char *hint,
                       const char *fmt, ...)
{
    _autofree_ char *owned = subject;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (owned && !text.failed)
        tc_diag_add(&p->diag, (struct tc_location){line, 1, 1}, owned, hint, "%s", text.data);
    else
        p->diag.memory = true;
}

void tc_parse_complaint(struct tc_parse *p, const struct tc_node *node,
                        const struct tc_complaint *c)
{
    tc_parse_bad(p, node, c->hint, "%s", c->what);
}

bool tc_parse_is(struct tc_parse *p, const struct tc_node *node, enum tc_node_kind kind)
{
    if (node->kind == kind)
        return true;
    char hint[256];
    bool better = find_habit_value(node, kind, hint, sizeof(hint));
    tc_parse_bad(p, node, better ? hint : NULL, "%s must be %s, not %s",
                 node->key ? node->key : "the element", tc_node_kind_name(kind),
                 tc_node_kind_name(node->kind));
    return false;
}

size_t tc_parse_enter(struct tc_parse *p, const char *name)
{
    size_t mark = p->path_len;
    size_t room = sizeof(p->path) - mark;
    int n = snprintf(p->path + mark, room, "%s%s", mark ? "." : "", name);
    p->path_len = (size_t)n < room ? mark + (size_t)n : sizeof(p->path) - 1;
    return mark;
}

void tc_parse_leave(struct tc_parse *p, size_t mark)
{
    p->path_len = mark;
    p->path[mark] = '\0';
}

char *tc_parse_copy(struct tc_parse *p, const char *text)
{
    char *copy = strdup(text);
    p->diag.memory |= !copy;
    return copy;
}

/* Finds the key in another table: "timeout belongs in [tool.NAME]". */
static const struct tc_key *find_elsewhere(const struct tc_parse *p, const char *name,
                                           enum tc_scope *ret_scope)
{
    static const enum tc_scope places[] = {TC_SCOPE_TOOL,     TC_SCOPE_FILESYSTEM, TC_SCOPE_FILE,
                                           TC_SCOPE_ARGUMENT, TC_SCOPE_SERVER,     TC_SCOPE_ENV,
                                           TC_SCOPE_OUTPUT};
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        *ret_scope = places[i];
        const struct tc_key *key = tc_key_find(p->keys, places[i], name);
        if (key)
            return key;
    }
    return NULL;
}

static void unknown_key(struct tc_parse *p, enum tc_scope scope, const struct tc_node *node)
{
    char hint[256];
    enum tc_scope other = TC_SCOPE_FILE;
    const struct tc_key *near = tc_key_nearest(p->keys, scope, node->key);
    bool any = scope == TC_SCOPE_ENV; /* any name may be meant as an environment variable */
    bool habit = (!any || !near) && find_habit_key(scope, node->key, hint, sizeof(hint));
    bool dotted = scope == TC_SCOPE_TOOL && node->kind == TC_NODE_TABLE && !near &&
                  tc_node_get(node, "command");
    if (dotted)
        (void)snprintf(hint, sizeof(hint),
                       "a dot separates tables; names of tools have letters, digits, _ and -");
    else if (!habit && near)
        (void)snprintf(hint, sizeof(hint), "did you mean \"%s\"?", near->name);
    else if (!habit && find_elsewhere(p, node->key, &other))
        (void)snprintf(hint, sizeof(hint), "%s belongs in %s", node->key, tc_scope_title(other));
    else if (!habit)
        (void)snprintf(hint, sizeof(hint), "toolcage-policy(5) lists the keys of %s",
                       tc_scope_title(scope));
    if (scope == TC_SCOPE_ARGUMENT || scope == TC_SCOPE_ITEMS)
        tc_parse_bad_key(p, node, hint, "unknown argument keyword \"%s\"", node->key);
    else
        tc_parse_bad_key(p, node, hint, "unknown key \"%s\" in %s", node->key,
                         tc_scope_title(scope));
}

void tc_parse_table(struct tc_parse *p, enum tc_scope scope, struct tc_node *table, void *into)
{
    /* once an allocation has failed, the model is incomplete and must not be read */
    for (size_t i = 0; i < table->count && !p->diag.memory; i++) {
        struct tc_node *node = &table->items[i];
        const struct tc_key *key = tc_key_find(p->keys, scope, node->key);
        if (!key) {
            unknown_key(p, scope, node);
            continue;
        }
        if (!key->set) {
            tc_parse_bad_key(p, node, "remove the key; this version would not enforce it",
                             "%s is not provided by this version yet", node->key);
            continue;
        }
        if (key->id != TC_KEY_NONE)
            p->spec->said[key->id] = node->key_at.line;
        key->set(p, key, node, into);
    }
}

bool tc_parse_inner(struct tc_parse *p, enum tc_scope scope, struct tc_node *table, void *into)
{
    if (!tc_parse_is(p, table, TC_NODE_TABLE))
        return false;
    size_t mark = tc_parse_enter(p, table->key);
    tc_parse_table(p, scope, table, into);
    tc_parse_leave(p, mark);
    return true;
}

void tc_parse_names(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, size_t most,
                    tc_parse_judge *judge, struct tc_strv *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    node->unordered = true;
    if (node->count > most)
        tc_parse_bad(p, node, NULL, "%s has more than %zu names", key->name, most);
    for (size_t i = 0; i < node->count && i < most; i++) {
        const struct tc_node *item = &node->items[i];
        if (judge(p, node, item) && !tc_strv_has(into, item->text) &&
            !tc_strv_add(into, item->text))
            p->diag.memory = true;
    }
}

void tc_parse_apart(struct tc_parse *p, const struct tc_node *node, const struct tc_strv *one,
                    const struct tc_strv *other, const char *words)
{
    for (size_t i = 0; i < one->count; i++)
        if (tc_strv_has(other, one->items[i]))
            tc_parse_bad_key(p, node, "keep it in one of the two", "%s is %s", one->items[i],
                             words);
}

#define FIELD(type) ((type *)(void *)((char *)into + key->offset))

void tc_set_table(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    (void)tc_parse_inner(p, key->inner, node, into);
}

void tc_set_string(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    if (!node->len) {
        tc_parse_bad(p, node, NULL, "%s is empty", node->key);
        return;
    }
    free(*FIELD(char *));
    *FIELD(char *) = tc_parse_copy(p, node->text);
}

static void set_array(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                      void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    size_t mark = tc_parse_enter(p, node->key);
    for (size_t i = 0; i < node->count; i++)
        if (tc_parse_is(p, &node->items[i], TC_NODE_STRING) &&
            !tc_strv_add(FIELD(struct tc_strv), node->items[i].text))
            p->diag.memory = true;
    tc_parse_leave(p, mark);
}

void tc_set_strings(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    node->unordered = true;
    set_array(p, key, node, into);
    for (size_t i = 0; node->kind == TC_NODE_ARRAY && i < node->count; i++)
        if (node->items[i].kind == TC_NODE_STRING && !node->items[i].len)
            tc_parse_bad_in(p, node, &node->items[i], NULL, "an element of %s is empty", node->key);
}

void tc_set_ordered(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    set_array(p, key, node, into);
}

static bool judge_pattern(struct tc_parse *p, const struct tc_node *array,
                          const struct tc_node *item)
{
    if (item->kind == TC_NODE_STRING && tc_steering_row(item->text))
        return true;
    tc_parse_bad_in(p, array, item, "write it as in \".github\" or \"ci/*.yml\"",
                    "this is neither a name nor names joined by slashes");
    return false;
}

void tc_set_patterns(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    enum { PATTERNS_MAX = 100 };
    tc_parse_names(p, key, node, PATTERNS_MAX, judge_pattern, FIELD(struct tc_strv));
}

/* The hint for a value that belongs to another key. NULL: none. */
static const char *elsewhere(const struct tc_key *key, const char *word)
{
    if (tc_streq(key->name, "format") && (strstr(word, "path") || strstr(word, "file")))
        return "for a path: read = [\"/workspace\"] or write = [\"/workspace\"]";
    if (key->choices != tc_values_runtime)
        return NULL;
    if (strstr(word, "runsc") || strcasecmp(word, "gvisor") == 0)
        return "runsc is a separate backend, without an engine: backend = \"gvisor\"";
    if (strncasecmp(word, "kata", strlen("kata")) == 0)
        return "Kata is a separate backend: backend = \"kata\"";
    return NULL;
}

/* The most similar choice, or NULL. One that differs only in case wins. */
static const char *nearest_choice(const struct tc_key *key, const struct tc_node *node)
{
    const char *best = NULL;
    struct tc_near nearest = tc_near_to(node->text);
    for (int i = 0; key->choices[i]; i++) {
        if (strcasecmp(key->choices[i], node->text) == 0)
            return key->choices[i];
        if (tc_near_is(&nearest, key->choices[i]))
            best = key->choices[i];
    }
    return best;
}

/* The index of the node's value among the choices, or -1 after a finding. */
static int read_choice(struct tc_parse *p, const struct tc_key *key, const struct tc_node *node)
{
    char range[256], hint[300];
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return -1;
    const char *near = nearest_choice(key, node), *other = elsewhere(key, node->text);
    for (int i = 0; key->choices[i]; i++)
        if (tc_streq(key->choices[i], node->text))
            return i;
    tc_key_range(key, range, sizeof(range));
    if (other)
        (void)snprintf(hint, sizeof(hint), "%s", other);
    else if (near)
        (void)snprintf(hint, sizeof(hint), "did you mean \"%s\"?", near);
    else
        (void)snprintf(hint, sizeof(hint), "the values are %s", range);
    tc_parse_bad(p, node, hint, "%s cannot be \"%.60s\"", node->key, node->text);
    return -1;
}

void tc_set_choice(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (read_choice(p, key, node) < 0)
        return;
    free(*FIELD(char *));
    *FIELD(char *) = tc_parse_copy(p, node->text);
}

void tc_set_index(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    int index = read_choice(p, key, node);
    if (index >= 0)
        *FIELD(int) = index;
}

void tc_set_word(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    (void)read_choice(p, key, node);
}

/* The path of a host socket: absolute, normalized and short enough for sun_path. */
void tc_set_socket(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    enum { PATH_OF_SOCKET_MAX = 107 };
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    _autofree_ char *clean = node->text[0] == '/' ? tc_path_absolute("/", node->text) : NULL;
    if (!tc_streq(clean, node->text))
        tc_parse_bad(p, node, "write it as it is, without . and ..", "%s is an absolute path",
                     node->key);
    else if (node->len > PATH_OF_SOCKET_MAX)
        tc_parse_bad(p, node, "link to it from a shorter path",
                     "%s is too long for a socket's path", node->key);
}

void tc_set_bool(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (tc_parse_is(p, node, TC_NODE_BOOL))
        *FIELD(bool) = node->integer != 0;
}

/* A number without the required unit: the hint shows valid spellings. */
static void refuse_bare(struct tc_parse *p, const struct tc_key *key, const struct tc_node *node)
{
    struct tc_complaint c;
    char text[32] = "";
    if (node->kind == TC_NODE_INTEGER && node->integer >= 0)
        (void)snprintf(text, sizeof(text), "%lld", (long long)node->integer);
    tc_value_bare(key->unit, text, &c);
    tc_parse_bad(p, node, c.hint, "%s needs a unit, in quotes", node->key);
}

static bool read_number(struct tc_parse *p, const struct tc_key *key, const struct tc_node *node,
                        int64_t *ret, struct tc_complaint *c)
{
    if (node->kind == TC_NODE_STRING || node->kind == TC_NODE_BOOL || node->kind == TC_NODE_TABLE ||
        node->kind == TC_NODE_ARRAY || node->kind == TC_NODE_DATETIME) {
        tc_parse_bad(p, node, node->kind == TC_NODE_STRING ? "write it without quotes" : NULL,
                     "%s must be %s, not %s", node->key,
                     key->unit == TC_UNIT_CPUS ? "a number" : "an integer",
                     tc_node_kind_name(node->kind));
        return false;
    }
    if (key->unit == TC_UNIT_COUNT) {
        if (!tc_parse_is(p, node, TC_NODE_INTEGER))
            return false;
        *ret = node->integer;
        return tc_value_check(key->unit, *ret, key->min, key->max, c)
                   ? true
                   : (tc_parse_complaint(p, node, c), false);
    }
    double value = node->kind == TC_NODE_INTEGER ? (double)node->integer : node->number;
    if (!(value >= (double)key->min / 1000 && value <= (double)key->max / 1000)) {
        char range[128], hint[160];
        tc_key_range(key, range, sizeof(range));
        (void)snprintf(hint, sizeof(hint), "the range is %s", range);
        tc_parse_bad(p, node, hint, "%s is out of range", node->key);
        return false;
    }
    *ret = (int64_t)(value * 1000 + 0.5); /* not llround(): the library does not link libm */
    return true;
}

void tc_set_value(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_complaint c;
    int64_t value = 0;
    bool with_unit = key->unit == TC_UNIT_SIZE || key->unit == TC_UNIT_DURATION;
    if (!with_unit) {
        if (!read_number(p, key, node, &value, &c))
            return;
    } else if (node->kind == TC_NODE_INTEGER || node->kind == TC_NODE_FLOAT) {
        refuse_bare(p, key, node);
        return;
    } else if (!tc_parse_is(p, node, TC_NODE_STRING)) {
        return;
    } else if (!tc_value_read(key->unit, node->text, key->min, key->max, &value, &c)) {
        tc_parse_complaint(p, node, &c);
        return;
    }
    *FIELD(int64_t) = value;
    tc_node_become_integer(node, value);
}
