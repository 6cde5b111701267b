/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Command, standard input and environment of a call: strings of the policy, with arguments in place
 * of placeholders. No shell is involved. */
#include <stdio.h>
#include <string.h>

#include "policy/names/system_paths.h"
#include "policy/parse/template.h"
#include "policy/resolve/resolve.h"

enum { ELEMENT_BYTES_MAX = (128 << 10) - 1, TEXT_BYTES_MAX = 8 << 20, TERM_BYTES_MAX = 63 };

/* A text while its placeholders are replaced. */
struct filled {
    struct tc_buf text;
    bool absent;  /* an optional argument of the text is absent: the text is dropped */
    bool chosen;  /* the model, not the operator, chose the first byte */
    bool bounded; /* ... from values that the operator listed */
};

static const json_t *value_of(const struct tc_resolve *r, const struct tc_hole *hole,
                              const struct tc_argument **ret)
{
    const struct tc_argument *argument = tc_spec_argument(r->tool, hole->name, hole->name_len);
    if (argument)
        *ret = argument;
    return argument ? json_object_get(r->arguments, argument->name) : NULL;
}

static void add_value(struct filled *f, const json_t *value, const struct tc_argument *argument)
{
    bool first = !f->text.len;
    if (json_is_string(value))
        tc_buf_add(&f->text, json_string_value(value), json_string_length(value));
    else if (json_is_real(value) && tc_json_is_whole(value))
        tc_buf_addf(&f->text, "%.0f", json_real_value(value)); /* digits, also for 1e3 or 1.0 */
    else
        tc_json_canonical(value, &f->text);
    if (first && f->text.len && json_is_string(value)) {
        f->chosen = true;
        f->bounded =
            json_object_get(argument->schema, "enum") || json_object_get(argument->schema, "const");
    }
}

static void fill_text(const struct tc_resolve *r, const char *text, struct filled *f)
{
    struct tc_hole hole;
    f->text = TC_BUF_INIT;
    for (; r->arguments && tc_hole_find(text, &hole); text = hole.end) {
        const struct tc_argument *argument = NULL;
        tc_buf_add(&f->text, text, (size_t)(hole.start - text));
        if (hole.all) {
            tc_json_canonical(r->arguments, &f->text);
            continue;
        }
        const json_t *value = value_of(r, &hole, &argument);
        if (value && !json_is_null(value))
            add_value(f, value, argument);
        else
            f->absent = true;
    }
    tc_buf_adds(&f->text, text);
}

static int refuse_option(struct tc_resolve *r, const char *text)
{
    return tc_resolve_refuse(r, TOOLCAGE_EARGUMENTS, "arguments", r->tool->said[TC_KEY_COMMAND],
                             "give a value that does not start with \"-\" (the policy can put "
                             "\"--\" before its placeholder)",
                             "the value \"%.60s\" would be read as an option of the command", text);
}

/* Refuses a model's value that starts with "-", which would be an option. Values listed by the
 * operator, and values after a "--" of the command, may start with "-". */
static int add_element(struct tc_resolve *r, struct filled *f, bool after_dashes)
{
    if (f->absent)
        return 0;
    if (f->text.failed)
        return tc_resolve_memory(r);
    if (f->chosen && !f->bounded && f->text.data[0] == '-' && !after_dashes)
        return refuse_option(r, f->text.data);
    if (f->text.len > ELEMENT_BYTES_MAX)
        return tc_resolve_refuse(
            r, TOOLCAGE_EARGUMENTS, "arguments", r->tool->said[TC_KEY_COMMAND],
            "give less, or let the policy pass it by stdin",
            "an element of the command has %zu bytes, the kernel's maximum is 131071", f->text.len);
    return tc_strv_add(&r->grant->argv, f->text.data ? f->text.data : "") ? 0
                                                                          : tc_resolve_memory(r);
}

static int add_spread(struct tc_resolve *r, const struct tc_hole *hole, bool after_dashes)
{
    const struct tc_argument *argument = NULL;
    const json_t *values = value_of(r, hole, &argument);
    int rc = 0;
    for (size_t i = 0; !rc && i < json_array_size(values); i++) {
        struct filled f = {.text = TC_BUF_INIT};
        const json_t *items = json_object_get(argument->schema, "items");
        add_value(&f, json_array_get(values, i), argument);
        f.bounded = !json_object_get(argument->schema, "prefixItems") &&
                    (json_object_get(items, "enum") || json_object_get(items, "const"));
        rc = add_element(r, &f, after_dashes);
        tc_buf_done(&f.text);
    }
    return rc;
}

static int fill_command(struct tc_resolve *r)
{
    const struct tc_strv *command = &r->tool->command;
    bool after_dashes = false;
    int rc = 0;
    for (size_t i = 0; !rc && i < command->count; i++) {
        struct tc_hole hole;
        struct filled f = {0};
        const char *text = command->items[i];
        if (r->arguments && tc_hole_find(text, &hole) && hole.spread) {
            rc = add_spread(r, &hole, after_dashes);
            continue;
        }
        fill_text(r, text, &f);
        rc = add_element(r, &f, after_dashes);
        tc_buf_done(&f.text);
        after_dashes |= tc_streq(text, "--");
    }
    return rc;
}

static int take_given(struct tc_resolve *r)
{
    const struct tc_strv *given = r->request->argv;
    for (size_t i = 0; i < given->count; i++)
        if (strlen(given->items[i]) > ELEMENT_BYTES_MAX)
            return tc_resolve_refuse(
                r, TOOLCAGE_EUSAGE, "command", 0, "pass it by stdin",
                "element %zu of the command has more bytes than the kernel takes (131071)", i);
    if (!given->items[0][0])
        return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, "command", 0, "name a program",
                                 "the command's name is empty");
    return tc_strv_copy(&r->grant->argv, given) ? 0 : tc_resolve_memory(r);
}

static int fill_stdin(struct tc_resolve *r)
{
    struct filled f = {0};
    if (!r->tool || !r->tool->stdin_text)
        return 0;
    fill_text(r, r->tool->stdin_text, &f);
    size_t length = f.absent ? 0 : f.text.len;
    char *bytes = f.absent ? strdup("") : tc_buf_steal(&f.text);
    tc_buf_done(&f.text);
    if (!bytes)
        return tc_resolve_memory(r);
    r->grant->stdin_bytes = bytes;
    r->grant->stdin_len = length;
    return 0;
}

static int refuse_none(struct tc_resolve *r)
{
    if (!r->tool)
        return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, "command", 0, "add the command after \"--\"",
                                 "there is no command");
    if (tc_policy_given(r->policy, r->tool, TC_KEY_MODULE)) {
        _autofree_ char *words = tc_format(
            "set `command` in [%s]: its first element is the name that the module is given, as in "
            "[\"%s\", \"{file}\"]; toolcage policy check says whether the module exists",
            r->tool->prefix, r->tool->name);
        return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, "command", 0, words,
                                 "tool %s has a module and no command", r->tool->name);
    }
    _autofree_ char *hint = tc_format(
        "set `command` in [%s], or run one with its grant: toolcage exec --tool %s -- COMMAND",
        r->tool->prefix, r->tool->name);
    return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, "command", 0, hint, "tool %s has no command",
                             r->tool->name);
}

int tc_resolve_command(struct tc_resolve *r)
{
    const struct tc_request *request = r->request;
    bool given = request->argv && request->argv->count, own = r->tool && r->tool->command.count;
    int rc = 0;
    if (given && own && !request->terminal)
        return tc_resolve_refuse(r, TOOLCAGE_EDENIED, "command", r->tool->said[TC_KEY_COMMAND],
                                 "leave the command out, or name a tool that has none",
                                 "tool %s already has a command", r->tool->name);
    if (!given && (!own || request->terminal) && !request->explain)
        return refuse_none(r);
    if (given)
        rc = take_given(r);
    else if (own)
        rc = fill_command(r);
    return rc || request->terminal ? rc : fill_stdin(r);
}

static int set_env(struct tc_resolve *r, const struct tc_spec *said)
{
    for (size_t i = 0; i < said->env_set.count; i++) {
        const char *pair = said->env_set.items[i], *equals = strchr(pair, '=');
        struct filled f = {0};
        _autofree_ char *name = strndup(pair, (size_t)(equals - pair));
        fill_text(r, equals + 1, &f);
        bool fine = name && !f.text.failed &&
                    (f.absent || tc_strv_put(&r->grant->env, name, f.text.data ? f.text.data : ""));
        tc_buf_done(&f.text);
        if (!fine)
            return tc_resolve_memory(r);
    }
    return 0;
}

/* Passes the caller's TERM. It must be a plain name, because programs look it up as a file name. */
static int name_terminal(struct tc_resolve *r, const struct tc_spec *said)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    const char *name = tc_variable(r->facts->environ, "TERM");
    if (said && tc_strv_value(&said->env_set, "TERM"))
        return 0; /* the policy sets TERM */
    if (!r->request->terminal || !name || !name[0] || strlen(name) > TERM_BYTES_MAX ||
        name[strspn(name, letters)])
        return 0;
    return tc_strv_put(&r->grant->env, "TERM", name) ? 0 : tc_resolve_memory(r);
}

int tc_resolve_env(struct tc_resolve *r)
{
    static const char *const base[][2] = {
        {"PATH", TC_SEARCH_PATH}, {"HOME", "/tmp"},    {"LANG", "C.UTF-8"}, {"TMPDIR", "/tmp"},
        {"USER", "tool"},         {"LOGNAME", "tool"}, {"TERM", "dumb"}};
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, TC_KEY_ENV);
    for (size_t i = 0; i < TC_COUNT(base); i++)
        if (!tc_strv_put(&r->grant->env, base[i][0], base[i][1]))
            return tc_resolve_memory(r);
    for (size_t i = 0; said && i < said->env_pass.count; i++) {
        const char *value = tc_variable(r->facts->environ, said->env_pass.items[i]);
        if (value && !tc_strv_put(&r->grant->env, said->env_pass.items[i], value))
            return tc_resolve_memory(r);
    }
    int rc = said ? set_env(r, said) : 0;
    return rc ? rc : name_terminal(r, said);
}
