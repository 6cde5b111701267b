/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/explain/coverage.h"

#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/pathrule.h"

/* Takes both strings. */
static bool add(struct tc_coverage *c, char *key, char *what, uint32_t line)
{
    struct tc_covered *one = key && what ? TC_PUSH(c->items, c->count) : NULL;
    if (!one) {
        free(key);
        free(what);
        return false;
    }
    *one = (struct tc_covered){.key = key, .what = what, .line = line};
    return true;
}

static bool add_bounds(struct tc_coverage *c, const struct tc_spec *spec)
{
    bool fine = true;
    for (size_t i = 0; fine && i < spec->argument_count; i++)
        for (size_t b = 0; fine && b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            fine = add(c, tc_format("%s.arguments.%s", spec->prefix, spec->arguments[i].name),
                       bound->path ? strdup(bound->path)
                                   : tc_endpoint_write(bound->host.host, bound->host.port),
                       bound->line);
        }
    return fine;
}

static bool add_spec(struct tc_coverage *c, const struct tc_spec *spec)
{
    bool fine = true;
    for (size_t i = 0; fine && i < spec->fs_count; i++)
        fine = add(c, tc_spec_key(spec, tc_access_list(spec->fs[i].access)),
                   strdup(spec->fs[i].path), spec->fs[i].line);
    for (size_t i = 0; fine && i < spec->socket_count; i++)
        fine = add(c, tc_spec_key(spec, "unix_sockets"), strdup(spec->sockets[i].path),
                   spec->sockets[i].line);
    for (size_t i = 0; fine && i < spec->net_count; i++)
        fine =
            add(c, tc_spec_key(spec, "network"),
                tc_endpoint_write(spec->net[i].host, spec->net[i].port), spec->net[i].origin.line);
    return fine && add_bounds(c, spec);
}

static int compare(const void *a, const void *b)
{
    const struct tc_covered *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : strcmp(x->what, y->what);
}

static int by_line(const void *a, const void *b)
{
    const struct tc_covered *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : compare(a, b);
}

bool tc_coverage_new(const struct toolcage_policy *policy, struct tc_coverage *ret)
{
    bool fine = add_spec(ret, &policy->defaults);
    for (size_t i = 0; fine && i < policy->tool_count; i++)
        fine = add_spec(ret, &policy->tools[i]);
    for (size_t i = 0; fine && i < policy->server_count; i++) {
        fine = add_spec(ret, &policy->servers[i].spec);
        for (size_t t = 0; fine && t < policy->servers[i].tool_count; t++)
            fine = add_spec(ret, &policy->servers[i].tools[t]);
    }
    if (fine && ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return fine;
}

void tc_coverage_see(struct tc_coverage *c, const char *key, const char *what)
{
    const struct tc_covered wanted = {.key = (char *)(uintptr_t)key,
                                      .what = (char *)(uintptr_t)what};
    struct tc_covered *one =
        c->count ? bsearch(&wanted, c->items, c->count, sizeof(wanted), compare) : NULL;
    if (one)
        one->seen = true;
}

static bool names(const struct tc_bound *bound, const char *value)
{
    if (!bound->path)
        return strstr(value, bound->host.host) != NULL;
    _autofree_ char *path = tc_path_absolute(TC_WORKSPACE, value);
    return path && tc_path_within(bound->path, path);
}

static bool see_value(struct tc_coverage *c, const struct tc_spec *tool,
                      const struct tc_argument *argument, const char *value)
{
    _autofree_ char *key = tc_format("%s.arguments.%s", tool->prefix, argument->name);
    for (size_t b = 0; key && b < argument->bound_count; b++) {
        const struct tc_bound *bound = &argument->bounds[b];
        if (!names(bound, value))
            continue;
        _autofree_ char *what = bound->path ? strdup(bound->path)
                                            : tc_endpoint_write(bound->host.host, bound->host.port);
        if (!what)
            return false;
        tc_coverage_see(c, key, what);
    }
    return key != NULL;
}

bool tc_coverage_see_arguments(struct tc_coverage *c, const struct tc_spec *tool,
                               const char *arguments)
{
    json_t *all = json_loads(arguments, 0, NULL);
    bool fine = all != NULL;
    for (size_t i = 0; fine && i < tool->argument_count; i++) {
        const struct tc_argument *argument = &tool->arguments[i];
        const json_t *value = json_object_get(all, argument->name);
        size_t count = json_is_array(value) ? json_array_size(value) : 1;
        for (size_t v = 0; fine && value && argument->bound_count && v < count; v++) {
            const json_t *one = json_is_array(value) ? json_array_get(value, v) : value;
            if (json_is_string(one))
                fine = see_value(c, tool, argument, json_string_value(one));
        }
    }
    json_decref(all);
    return fine;
}

void tc_coverage_write(const struct tc_coverage *c, const struct toolcage_policy *policy,
                       struct tc_buf *out)
{
    size_t covered = 0;
    bool first = true;
    if (c->count)
        qsort(c->items, c->count, sizeof(*c->items), by_line);
    for (size_t i = 0; i < c->count; i++)
        covered += c->items[i].seen;
    tc_buf_addf(out, "{\"covered\":%zu,\"total\":%zu,\"missing\":[", covered, c->count);
    for (size_t i = 0; i < c->count; i++) {
        if (c->items[i].seen)
            continue;
        tc_buf_adds(out, first ? "{" : ",{");
        tc_json_member(out, "key", c->items[i].key);
        tc_json_member(out, "what", c->items[i].what);
        tc_line_json(out, policy, "line", c->items[i].line);
        tc_buf_addc(out, '}');
        first = false;
    }
    tc_buf_adds(out, "]}");
}

void tc_coverage_done(struct tc_coverage *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].key);
        free(c->items[i].what);
    }
    free(c->items);
}
