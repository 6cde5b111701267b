/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The model's arguments: checked against the schema and the bounds, and added to the grant. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/names/system_paths.h"
#include "policy/pathrule.h"
#include "policy/resolve/resolve.h"

/* Maxima: each path becomes a mount of the call and is compared with the other paths. */
enum { ARGUMENTS_BYTES_MAX = 4 << 20, NAMED_MAX = 4096 };

/* A refusal that names "arguments.NAME" and the line of the policy that declares it. */
static int refuse_argument(struct tc_resolve *r, const struct tc_argument *argument, uint32_t line,
                           const char *hint, const char *what)
{
    char subject[128];
    (void)snprintf(subject, sizeof(subject), "arguments.%.80s", argument->name);
    return tc_resolve_refuse(
        r, TOOLCAGE_EARGUMENTS, subject, line ? line : argument->line,
        hint && hint[0] ? hint : "give a value that fits the tool's input schema", "%s", what);
}

static int refuse_unknown(struct tc_resolve *r, const char *name)
{
    _autobuf_ struct tc_buf hint = TC_BUF_INIT;
    char subject[128];
    const struct tc_spec *tool = r->asked;
    for (size_t i = 0; tool && i < tool->argument_count && i < 16; i++)
        tc_buf_addf(&hint, "%s%s", i ? ", " : "the arguments are ", tool->arguments[i].name);
    (void)snprintf(subject, sizeof(subject), "arguments.%.80s", name);
    return tc_resolve_refuse(r, TOOLCAGE_EARGUMENTS, subject, 0,
                             hint.data ? hint.data : "this tool takes no arguments",
                             "there is no argument \"%.80s\"", name);
}

/* Is the call for a running server? The server's cage exists already, so the call cannot add to the
 * grant, and the server itself interprets the arguments' values. */
static bool of_server(const struct tc_resolve *r)
{
    return r->asked != r->tool;
}

static int refuse_ungranted(struct tc_resolve *r, const struct tc_argument *argument, uint32_t line)
{
    return refuse_argument(r, argument, line,
                           "name another one, or let the operator grant it to the server",
                           "the server itself is not granted this");
}

static bool bound_to_workspace(const struct tc_argument *argument)
{
    for (size_t i = 0; i < argument->bound_count; i++)
        if (argument->bounds[i].path && tc_path_within(TC_WORKSPACE, argument->bounds[i].path))
            return true;
    return false;
}

/* The base of an argument's relative path: the tool's working directory; for a tool without a
 * granted directory, the workspace if the argument is bound to it. */
static const char *start_directory(const struct tc_resolve *r, const struct tc_argument *argument)
{
    const char *said = tc_request_last(r->request, "cwd");
    if (said && said[0] == '/')
        return said;
    if (r->grant->cwd)
        return r->grant->cwd;
    if (tc_grant_shows(r->grant, TC_WORKSPACE))
        return TC_WORKSPACE;
    if (r->facts->cwd && tc_grant_shows(r->grant, r->facts->cwd))
        return r->facts->cwd;
    return bound_to_workspace(argument) ? TC_WORKSPACE : "/";
}

static bool has_dotdot(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strcspn(at, "/") == 2 && at[0] == '.' && at[1] == '.')
            return true;
    return false;
}

static const char *unclean(const char *value)
{
    if (!value[0])
        return "is empty";
    if (strlen(value) > 4095)
        return "is too long for a path";
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "contains a control character";
    return has_dotdot(value) ? "holds \"..\"" : NULL;
}

static const struct tc_bound *find_bound(const struct tc_argument *argument, const char *path)
{
    const struct tc_bound *best = NULL;
    for (size_t i = 0; i < argument->bound_count; i++) {
        const struct tc_bound *bound = &argument->bounds[i];
        if (bound->path && tc_path_within(bound->path, path) &&
            (!best || best->access < bound->access))
            best = bound;
    }
    return best;
}

static void list_bounds(const struct tc_argument *argument, struct tc_complaint *c)
{
    size_t n = (size_t)snprintf(c->hint, sizeof(c->hint), "allowed: ");
    for (size_t i = 0; i < argument->bound_count && n < sizeof(c->hint); i++) {
        const struct tc_bound *bound = &argument->bounds[i];
        char text[TC_ENDPOINT_SIZE];
        if (!bound->path)
            tc_endpoint_format(text, sizeof(text), bound->host.host, bound->host.port);
        if (bound->path)
            n += (size_t)snprintf(c->hint + n, sizeof(c->hint) - n, "%s%s", i ? ", " : "",
                                  bound->path);
        else
            n += (size_t)snprintf(c->hint + n, sizeof(c->hint) - n, "%s%s", i ? ", " : "", text);
    }
}

/* Grants exactly `path`, resolved beneath the host directory of its bound. */
static int grant_path(struct tc_resolve *r, const struct tc_argument *argument,
                      const struct tc_bound *bound, const char *path)
{
    const struct tc_fs_entry *covering = tc_grant_find(r->grant, path);
    if (covering && covering->access == TC_ACCESS_DENY)
        return refuse_argument(r, argument, covering->origin.line, "name another path",
                               "the path is denied by the policy");
    if (covering && covering->access >= bound->access)
        return 0;
    if (!covering && bound->access == TC_ACCESS_READ && tc_system_path_find(path))
        return 0;
    if (of_server(r))
        return refuse_ungranted(r, argument, bound->line);
    /* an entry deeper than the bound decides the host path of its subtree */
    bool deeper = covering && tc_path_within(bound->path, covering->path);
    const char *dir = deeper ? covering->path : bound->path;
    _autofree_ char *beneath = tc_resolve_host_path(r, dir);
    _autofree_ char *from = beneath ? tc_path_move(dir, beneath, path) : NULL;
    _autofree_ char *key = tc_format("%s.arguments.%s.%s", r->asked->prefix, argument->name,
                                     bound->access == TC_ACCESS_WRITE ? "write" : "read");
    if (!beneath || !from || !key)
        return tc_resolve_memory(r);
    const struct tc_fs_entry entry = {.path = (char *)path,
                                      .from = from,
                                      .access = bound->access,
                                      .argument = true,
                                      .bound = beneath,
                                      .origin = {.key = key, .line = bound->line}};
    return tc_grant_add(r->grant, &entry) ? 0 : tc_resolve_memory(r);
}

/* The value becomes absolute, so the tool opens the granted path from any working directory. */
static int take_path(struct tc_resolve *r, const struct tc_argument *argument, json_t *value)
{
    struct tc_complaint c;
    const char *text = json_string_value(value);
    const char *fault = unclean(text);
    /* a server may expand "~" and similar paths itself */
    if (!fault && of_server(r) && text[0] != '/')
        fault = "does not start with \"/\"";
    if (fault) {
        tc_complain(&c, NULL, "the path %s", fault);
        return refuse_argument(r, argument, 0,
                               of_server(r)
                                   ? "give a plain absolute path"
                                   : "give a plain path, absolute or from the working directory",
                               c.what);
    }
    _autofree_ char *path = tc_path_absolute(start_directory(r, argument), text);
    if (!path)
        return tc_resolve_memory(r);
    const struct tc_bound *bound = find_bound(argument, path);
    if (!bound) {
        tc_complain(&c, NULL, "\"%.150s\" is outside the bounds of the argument", path);
        list_bounds(argument, &c);
        return refuse_argument(r, argument, argument->bounds[0].line, c.hint, c.what);
    }
    int rc = grant_path(r, argument, bound, path);
    if (rc || !json_string_set(value, path))
        return rc;
    return tc_utf8_valid(path, strlen(path))
               ? tc_resolve_memory(r)
               : refuse_argument(r, argument, 0, "start in a directory whose name is UTF-8",
                                 "the path is not UTF-8");
}

/* Reads the endpoint of a URL or "host[:port]". Programs parse user names, backslashes and spaces
 * differently, so values must not contain them. */
static int read_host(const char *text, struct tc_net_entry *ret, struct tc_complaint *c)
{
    static const struct {
        const char *scheme, *port;
    } schemes[] = {{"https://", "443"}, {"http://", "80"}, {"wss://", "443"}, {"ws://", "80"}};
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7f || *at == '\\' || *at == '@') {
            tc_complain(c, "give a plain host or URL", "the host contains '%c'",
                        *at > 0x20 && *at < 0x7f ? *at : '?');
            return TOOLCAGE_EPOLICY;
        }
    for (size_t i = 0; i < TC_COUNT(schemes); i++) {
        if (!tc_startswith(text, schemes[i].scheme))
            continue;
        const char *host = text + strlen(schemes[i].scheme);
        int len = (int)strcspn(host, "/?#");
        const char *colon = memrchr(host, ':', (size_t)len),
                   *close = memrchr(host, ']', (size_t)len);
        bool port = colon && (!close || colon > close);
        _autofree_ char *endpoint =
            tc_format("%.*s%s%s", len, host, port ? "" : ":", port ? "" : schemes[i].port);
        return endpoint ? tc_endpoint_read(endpoint, ret, c) : TOOLCAGE_EMEMORY;
    }
    return tc_endpoint_read(text, ret, c);
}

static int grant_host(struct tc_resolve *r, const struct tc_argument *argument,
                      const struct tc_bound *bound, const struct tc_net_entry *wanted)
{
    if (tc_endpoint_find(r->grant->net, r->grant->net_count, wanted->host, wanted->port))
        return 0;
    if (of_server(r))
        return refuse_ungranted(r, argument, bound->line);
    struct tc_net_entry *entry = TC_PUSH(r->grant->net, r->grant->net_count);
    if (!entry)
        return tc_resolve_memory(r);
    entry->port = wanted->port;
    entry->host = strdup(wanted->host);
    entry->origin.line = bound->line;
    entry->origin.key = tc_format("%s.arguments.%s.host", r->asked->prefix, argument->name);
    return entry->host && entry->origin.key ? 0 : tc_resolve_memory(r);
}

static const struct tc_bound *host_bound(const struct tc_argument *argument,
                                         const struct tc_net_entry *wanted)
{
    for (size_t i = 0; i < argument->bound_count; i++)
        if (tc_endpoint_find(&argument->bounds[i].host, 1, wanted->host, wanted->port))
            return &argument->bounds[i];
    return NULL;
}

static int take_host(struct tc_resolve *r, const struct tc_argument *argument, const json_t *value)
{
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry wanted = {0};
    int rc = read_host(json_string_value(value), &wanted, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_resolve_memory(r);
    if (rc || tc_host_is_pattern(wanted.host))
        return refuse_argument(r, argument, 0, rc ? c.hint : "give one host",
                               rc ? c.what : "a pattern is not a host");
    const struct tc_bound *bound = host_bound(argument, &wanted);
    if (bound)
        return grant_host(r, argument, bound, &wanted);
    char text[TC_ENDPOINT_SIZE];
    tc_endpoint_format(text, sizeof(text), wanted.host, wanted.port);
    tc_complain(&c, NULL, "%.160s is outside the bounds of the argument", text);
    list_bounds(argument, &c);
    return refuse_argument(r, argument, argument->bounds[0].line, c.hint, c.what);
}

static int take_bounded(struct tc_resolve *r, const struct tc_argument *argument, json_t *value)
{
    int rc = 0;
    for (size_t i = 0; json_is_array(value) && !rc && i < json_array_size(value); i++)
        rc = take_bounded(r, argument, json_array_get(value, i));
    if (!json_is_string(value))
        return rc;
    if (++r->named > NAMED_MAX)
        return refuse_argument(r, argument, 0, "give them in several calls",
                               "the arguments name more than 4096 paths and hosts");
    return argument->bounds[0].path ? take_path(r, argument, value) : take_host(r, argument, value);
}

static int check_together(struct tc_resolve *r, struct tc_schema_run *run)
{
    struct tc_complaint c;
    const struct tc_argument *together = r->asked->together;
    run->patterns = together->patterns;
    run->pattern_count = together->pattern_count;
    if (tc_schema_check(run, "the call", together->schema, r->arguments, &c))
        return 0;
    if (run->memory)
        return tc_resolve_memory(r);
    return tc_resolve_refuse(r, TOOLCAGE_EARGUMENTS, "arguments", together->line,
                             c.hint[0] ? c.hint : "give arguments that fit the tool's input schema",
                             "%s", c.what);
}

static int check_all(struct tc_resolve *r)
{
    /* without declared arguments, only the server's own schema applies */
    if (of_server(r) && !r->asked->said[TC_KEY_ARGUMENTS])
        return 0;
    const char *name;
    json_t *value;
    struct tc_schema_run run = {.steps = TC_SCHEMA_STEPS};
    json_object_foreach(r->arguments, name, value)
    {
        struct tc_complaint c;
        const struct tc_argument *argument = tc_spec_argument(r->asked, name, strlen(name));
        if (!argument)
            return refuse_unknown(r, name);
        run.patterns = argument->patterns;
        run.pattern_count = argument->pattern_count;
        if (!tc_schema_check(&run, name, argument->schema, value, &c))
            return run.memory ? tc_resolve_memory(r)
                              : refuse_argument(r, argument, 0, c.hint, c.what);
    }
    for (size_t i = 0; r->asked && i < r->asked->argument_count; i++) {
        const struct tc_argument *argument = &r->asked->arguments[i];
        if (!argument->optional && !json_object_get(r->arguments, argument->name))
            return refuse_argument(r, argument, 0, "give it", "the argument is missing");
    }
    return r->asked && r->asked->together ? check_together(r, &run) : 0;
}

static int parse(struct tc_resolve *r)
{
    json_error_t error;
    const char *text = r->request->arguments ? r->request->arguments : "{}";
    size_t length = strlen(text);
    if (length > ARGUMENTS_BYTES_MAX)
        return tc_resolve_refuse(
            r, TOOLCAGE_EARGUMENTS, "arguments", 0, "pass large data as a file",
            "the arguments have %zu bytes, the maximum is %d", length, ARGUMENTS_BYTES_MAX);
    /* jansson silently drops a character when it runs out of memory, so the text is parsed twice
     * and both results must be equal */
    r->arguments = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    json_t *again = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    bool agree = r->arguments && again ? json_equal(r->arguments, again) : !r->arguments && !again;
    json_decref(again);
    if (!agree || (!again && json_error_code(&error) == json_error_out_of_memory))
        return tc_resolve_memory(r);
    if (!r->arguments)
        return tc_resolve_refuse(
            r, TOOLCAGE_EARGUMENTS, "arguments", 0,
            "give one JSON object, as in {\"name\": \"value\"}; in a shell in single quotes",
            "the arguments are not JSON: %s (line %d, column %d)", error.text, error.line,
            error.column);
    if (!json_is_object(r->arguments))
        return tc_resolve_refuse(
            r, TOOLCAGE_EARGUMENTS, "arguments", 0,
            "give one JSON object, as in {\"name\": \"value\"}; in a shell in single quotes",
            "the arguments are not a JSON object");
    return 0;
}

/* Grants the supposed path or endpoint as far as an argument may name it. A refusal means that no
 * argument may. */
static int suppose(struct tc_resolve *r, const struct tc_argument *argument)
{
    struct tc_complaint c;
    const char *text = r->request->supposed;
    _auto_(tc_net_entry_done) struct tc_net_entry wanted = {0};
    if (argument->bounds[0].path) {
        const struct tc_bound *bound = text[0] == '/' ? find_bound(argument, text) : NULL;
        return bound && !unclean(text) ? grant_path(r, argument, bound, text) : 0;
    }
    int rc = text[0] == '/' ? TOOLCAGE_EPOLICY : tc_endpoint_read(text, &wanted, &c);
    if (rc)
        return rc == TOOLCAGE_EMEMORY ? tc_resolve_memory(r) : 0;
    const struct tc_bound *bound = host_bound(argument, &wanted);
    return bound ? grant_host(r, argument, bound, &wanted) : 0;
}

static int suppose_all(struct tc_resolve *r)
{
    int rc = 0;
    bool any = r->request->supposed && r->asked && !of_server(r);
    for (size_t i = 0; any && !rc && i < r->asked->argument_count; i++)
        if (r->asked->arguments[i].bound_count)
            rc = suppose(r, &r->asked->arguments[i]);
    return rc;
}

int tc_resolve_arguments(struct tc_resolve *r)
{
    if (!r->request->arguments && (r->request->explain || r->request->terminal))
        return suppose_all(r);
    int rc = parse(r);
    if (!rc)
        rc = check_all(r);
    for (size_t i = 0; !rc && r->asked && i < r->asked->argument_count; i++) {
        const struct tc_argument *argument = &r->asked->arguments[i];
        json_t *value = json_object_get(r->arguments, argument->name);
        if (value && argument->bound_count)
            rc = take_bounded(r, argument, value);
    }
    return rc;
}
