/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs the tests of a policy, and reports which policy entries they exercise. */
#include "policy/explain/run_cases.h"

#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "policy/endpoint.h"
#include "policy/explain/explain.h"
#include "policy/pathrule.h"

/* ---- coverage ---- */

/* The policy entries that its tests can exercise: each granted or denied path, endpoint and unix
 * socket, and each bound of an argument. */
struct covered {
    char *key, *what;
    uint32_t line;
    bool seen;
};

struct coverage {
    struct covered *items; /* sorted by key and what */
    size_t count;
};

/* Takes ownership of both strings. */
static bool add_uncovered(struct coverage *c, char *key, char *what, uint32_t line)
{
    struct covered *one = key && what ? TC_PUSH(c->items, c->count) : NULL;
    if (!one) {
        free(key);
        free(what);
        return false;
    }
    *one = (struct covered){.key = key, .what = what, .line = line};
    return true;
}

static bool add_bounds(struct coverage *c, const struct tc_spec *spec)
{
    bool fine = true;
    for (size_t i = 0; fine && i < spec->argument_count; i++)
        for (size_t b = 0; fine && b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            fine = add_uncovered(
                c, tc_format("%s.arguments.%s", spec->prefix, spec->arguments[i].name),
                bound->path ? strdup(bound->path)
                            : tc_endpoint_write(bound->host.host, bound->host.port),
                bound->line);
        }
    return fine;
}

static bool add_spec(struct coverage *c, const struct tc_spec *spec)
{
    bool fine = true;
    for (size_t i = 0; fine && i < spec->fs_count; i++)
        fine = add_uncovered(c, tc_spec_key(spec, tc_access_list(spec->fs[i].access)),
                             strdup(spec->fs[i].path), spec->fs[i].line);
    for (size_t i = 0; fine && i < spec->socket_count; i++)
        fine = add_uncovered(c, tc_spec_key(spec, "unix_sockets"), strdup(spec->sockets[i].path),
                             spec->sockets[i].line);
    for (size_t i = 0; fine && i < spec->net_count; i++)
        fine = add_uncovered(c, tc_spec_key(spec, "network"),
                             tc_endpoint_write(spec->net[i].host, spec->net[i].port),
                             spec->net[i].origin.line);
    return fine && add_bounds(c, spec);
}

static int compare_rows(const void *a, const void *b)
{
    const struct covered *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : strcmp(x->what, y->what);
}

static int by_line(const void *a, const void *b)
{
    const struct covered *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : compare_rows(a, b);
}

static bool new_coverage(const struct toolcage_policy *policy, struct coverage *ret)
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
        qsort(ret->items, ret->count, sizeof(*ret->items), compare_rows);
    return fine;
}

/* Marks the entry that decided an access. Entries outside the policy are ignored. */
static void see(struct coverage *c, const char *key, const char *what)
{
    const struct covered wanted = {.key = (char *)(uintptr_t)key, .what = (char *)(uintptr_t)what};
    struct covered *one =
        c->count ? bsearch(&wanted, c->items, c->count, sizeof(wanted), compare_rows) : NULL;
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

static bool see_value(struct coverage *c, const struct tc_spec *tool,
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
        see(c, key, what);
    }
    return key != NULL;
}

/* Marks the bounds that contain the arguments of a granted call. False: out of memory. */
static bool see_arguments(struct coverage *c, const struct tc_spec *tool, const char *arguments)
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

/* {"covered", "total", "missing": [{key, what, line}]} */
static void write_coverage(const struct coverage *c, const struct toolcage_policy *policy,
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

static void coverage_done(struct coverage *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].key);
        free(c->items[i].what);
    }
    free(c->items);
}

/* ---- running ---- */

struct run {
    const struct toolcage_policy *policy;
    const struct tc_test *test;
    struct tc_facts facts;
    struct coverage coverage;
    struct tc_buf out;
    size_t passed, failed, tests;
    size_t points; /* points of the current test */
};

/* One point: the checked access, the expected verdict and the actual verdict. */
struct point {
    const char *what;
    uint32_t line;
    bool expected, allowed;
    const char *key, *reason, *hint;
    uint32_t key_line;
    const char *key_file; /* the file of key_line, if key_line does not encode it */
};

static void add_point(struct run *r, const struct point *p)
{
    static const char *const words[] = {"denied", "allowed"};
    bool fine = p->expected == p->allowed;
    r->passed += fine;
    r->failed += !fine;
    tc_buf_adds(&r->out, r->points++ ? ",{" : "{");
    tc_json_member(&r->out, "what", p->what);
    tc_buf_addf(&r->out, ",\"line\":%u,\"ok\":%s", TC_LINE_NUMBER(p->line),
                fine ? "true" : "false");
    tc_json_member(&r->out, "expected", words[p->expected]);
    tc_json_member(&r->out, "verdict", words[p->allowed]);
    tc_json_member(&r->out, "key", p->key ? p->key : "");
    tc_line_json(&r->out, r->policy, "key_line", p->key_line);
    if (p->key_file)
        tc_json_member(&r->out, "key_file", p->key_file);
    tc_json_member(&r->out, "reason", p->reason ? p->reason : "");
    tc_json_member(&r->out, "hint", p->hint ? p->hint : "");
    tc_buf_addc(&r->out, '}');
}

/* Adds the points of a refused call, all of whose accesses are denied. An access that the test
 * expects to be denied counts only if the test also expects the refusal; otherwise wrong arguments
 * would make it pass. */
static int refused(struct run *r, struct toolcage_error *why, struct toolcage_error **err)
{
    const struct tc_test *t = r->test;
    uint32_t line = 0;
    if (tc_error_code(why) == TOOLCAGE_EMEMORY)
        return tc_fail_memory(err);
    const char *file = NULL;
    tc_error_location(why, &file, &line, NULL);
    bool meant = t->call && tc_streq(t->call, "denied");
    struct point p = {.what = "call",
                      .line = t->call_line,
                      .expected = !meant,
                      .key = tc_error_subject(why),
                      .key_line = line,
                      .key_file = tc_streq(file, r->policy->name) ? NULL : file,
                      .reason = tc_error_message(why),
                      .hint = tc_error_hint(why)};
    add_point(r, &p);
    for (size_t i = 0; i < t->access_count; i++) {
        p.what = t->accesses[i].text;
        p.line = t->accesses[i].line;
        p.expected = t->accesses[i].allowed;
        if (meant || p.expected)
            add_point(r, &p);
    }
    return 0;
}

/* The grant of the test's call. `supposed`: as in struct tc_request. */
static int resolve_test(void *run, const char *supposed, struct tc_grant *ret,
                        struct toolcage_error **why)
{
    const struct run *r = run;
    const struct tc_test *t = r->test;
    const struct tc_request request = {.tool = t->tool,
                                       .arguments = t->arguments ? t->arguments
                                                    : t->call    ? "{}"
                                                                 : NULL,
                                       .explain = true,
                                       .supposed = supposed};
    int rc = tc_policy_resolve(r->policy, &request, &r->facts, ret, why);
    return rc ? rc : tc_setup_suppose(r->policy, ret, why);
}

/* Marks the entry that allowed or denied an access as expected. False: out of memory. */
static bool see_verdict(struct run *r, const struct tc_verdict *v)
{
    const struct tc_spec *tool = tc_policy_asked(r->policy, r->test->tool);
    for (size_t i = 0; tool && i < tool->argument_count; i++) {
        _autofree_ char *key = tc_format("%s.arguments.%s.", tool->prefix, tool->arguments[i].name);
        if (!key)
            return false;
        if (tc_startswith(v->key, key))
            return see_value(&r->coverage, tool, &tool->arguments[i], v->target);
    }
    see(&r->coverage, v->key, v->entry);
    return true;
}

static int ask_grant(struct run *r, const struct tc_grant *grant,
                     const struct tc_test_access *access, struct toolcage_error **err)
{
    _auto_(tc_verdict_done) struct tc_verdict v = {0};
    _autoerror_ struct toolcage_error *why = NULL;
    int rc = tc_policy_suppose(r->policy, grant, access->text, resolve_test, r, &v, NULL, &why);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_fail_memory(err);
    struct point p = {.what = access->text, .line = access->line, .expected = access->allowed};
    if (rc) { /* an invalid path or endpoint fails, whatever the test expects */
        p.allowed = !p.expected;
        p.reason = tc_error_message(why);
        p.hint = tc_error_hint(why);
    } else {
        p.allowed = v.allowed;
        p.key = v.key;
        p.key_line = v.line;
        p.reason = v.reason;
        p.hint = v.hint;
        if (v.entry && p.expected == p.allowed && !see_verdict(r, &v))
            return tc_fail_memory(err);
    }
    add_point(r, &p);
    return 0;
}

static int granted(struct run *r, const struct tc_grant *grant, struct toolcage_error **err)
{
    const struct tc_test *t = r->test;
    int rc = 0;
    if (t->call) {
        struct point p = {.what = "call",
                          .line = t->call_line,
                          .expected = tc_streq(t->call, "allowed"),
                          .allowed = true,
                          .key = "",
                          .reason = "the arguments fit, and the policy grants the call",
                          .hint = "narrow the bounds of the arguments"};
        add_point(r, &p);
    }
    const struct tc_spec *tool = tc_policy_asked(r->policy, t->tool);
    bool fine = !t->arguments || (t->call && tc_streq(t->call, "denied")) ||
                see_arguments(&r->coverage, tool, t->arguments);
    for (size_t i = 0; fine && !rc && i < t->access_count; i++)
        rc = ask_grant(r, grant, &t->accesses[i], err);
    return fine ? rc : tc_fail_memory(err);
}

static int run_test(struct run *r, const char *file, struct toolcage_error **err)
{
    const struct tc_test *t = r->test;
    _auto_(tc_grant_done) struct tc_grant grant = {0};
    _autoerror_ struct toolcage_error *why = NULL;
    r->points = 0;
    tc_buf_adds(&r->out, r->tests++ ? ",{" : "{");
    tc_json_member(&r->out, "file", file);
    tc_json_member(&r->out, "tool", t->tool);
    tc_buf_addf(&r->out, ",\"line\":%u,\"points\":[", TC_LINE_NUMBER(t->line));
    int rc = resolve_test(r, NULL, &grant, &why);
    rc = rc ? refused(r, why, err) : granted(r, &grant, err);
    tc_buf_adds(&r->out, "]}");
    return rc;
}

static int run_tests(struct run *r, const struct toolcage_policy *from, struct toolcage_error **err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->test_count; i++) {
        r->test = &from->tests[i];
        rc = run_test(r, tc_policy_file(from, from->tests[i].line), err);
    }
    return rc;
}

static void unref(struct toolcage_policy **policy)
{
    (void)tc_policy_unref(*policy);
}

static int run_text(struct run *r, const struct tc_test_texts *tests, size_t i,
                    struct toolcage_error **err)
{
    _auto_(unref) struct toolcage_policy *apart = NULL;
    tc_document_reader *reader =
        tests->reader ? tests->reader(tests->names[i]) : tc_document_read_toml;
    int rc = tc_policy_compile_tests(r->policy, reader, tests->texts[i], tests->lengths[i],
                                     tests->names[i], &apart, err);
    return rc ? rc : run_tests(r, apart, err);
}

static int run_all(struct run *r, const struct tc_test_texts *tests, struct toolcage_error **err)
{
    tc_buf_adds(&r->out, "{\"version\":1");
    tc_json_member(&r->out, "policy", r->policy->name);
    tc_buf_adds(&r->out, ",\"tests\":[");
    int rc = run_tests(r, r->policy, err);
    for (size_t i = 0; !rc && i < tests->count; i++)
        rc = run_text(r, tests, i, err);
    tc_buf_addf(&r->out, "],\"counts\":{\"passed\":%zu,\"failed\":%zu},\"coverage\":", r->passed,
                r->failed);
    write_coverage(&r->coverage, r->policy, &r->out);
    tc_buf_addc(&r->out, '}');
    return rc;
}

int tc_policy_test(const struct toolcage_policy *policy, const struct tc_test_texts *tests,
                   const struct tc_facts *facts, char **ret, struct toolcage_error **err)
{
    static const char *const no_environment[] = {NULL};
    struct run r = {.policy = policy,
                    .facts = {.cwd = policy->dir,
                              .home = policy->home,
                              .workspace = TC_WORKSPACE,
                              .state = facts->state,
                              .config = facts->config,
                              .images = facts->images,
                              .real = facts->real,
                              .environ = no_environment},
                    .out = TC_BUF_INIT};
    int rc = new_coverage(policy, &r.coverage) ? run_all(&r, tests, err) : tc_fail_memory(err);
    coverage_done(&r.coverage);
    char *json = rc ? NULL : tc_buf_steal(&r.out);
    tc_buf_done(&r.out);
    if (!rc && !json)
        return tc_fail_memory(err);
    *ret = json;
    return rc;
}
