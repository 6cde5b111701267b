/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/adopt. Input: settings of an agent, which a project may bring. Each server that can
 * be wrapped is, and is unwrapped again: its command and variables are then as before, and nothing
 * else has changed meanwhile. No policy grants a path outside the project. */
#include "fuzz.h"

#include <string.h>

#include "adopt/adopt.h"
#include "base/path.h"
#include "base/strv.h"
#include "policy/model.h"
#include "policy/policy.h"

enum { SERVERS = 8 };

static char kind_of(void *userdata, const char *path)
{
    (void)userdata;
    return tc_endswith(path, "/package.json") ? 'f' : 0;
}

static bool linked(void *userdata, const char *path)
{
    (void)userdata;
    return tc_endswith(path, "/link");
}

static const struct tc_adopt_facts facts = {.home = "/home/me",
                                            .project = "/home/me/project",
                                            .origin = "/home/me/project/.mcp.json",
                                            .secrets = "/home/me/secrets/x.",
                                            .kind = kind_of,
                                            .linked = linked};

static char program[] = "/usr/bin/toolcage", verb[] = "wrap", option[] = "--policy",
            policy_file[] = "/p.toml", named[] = "--server", name[] = "x", end[] = "--";
static char *items[] = {program, verb, option, policy_file, named, name, end, NULL};
static const struct tc_adopt_words words = {items, 7};

static void check_policy(const char *text)
{
    struct toolcage_policy *policy = NULL;
    if (tc_policy_compile(text, strlen(text), "a.toml", "/", facts.home, &policy, NULL))
        return;
    INVARIANT(policy->server_count == 1 && !policy->tool_count);
    const struct tc_spec *spec = &policy->servers[0].spec;
    for (size_t i = 0; i < spec->fs_count; i++)
        INVARIANT(tc_path_within(facts.project, spec->fs[i].path));
    for (size_t i = 0; i < spec->net_count; i++)
        INVARIANT(!tc_streq(spec->net[i].host, "*"));
    INVARIANT(!spec->socket_count && !spec->unix_sockets);
    tc_policy_unref(policy);
}

static bool same(const struct tc_adopt_server *a, const struct tc_adopt_server *b)
{
    bool equal = a->argv.count == b->argv.count && a->variable_count == b->variable_count;
    for (size_t i = 0; equal && i < a->argv.count; i++)
        equal = !strcmp(a->argv.items[i], b->argv.items[i]);
    return equal;
}

static char *edited(const char *text, size_t length, struct tc_adopt_edits *edits, size_t *ret)
{
    char *out = tc_adopt_apply(text, length, edits, ret);
    INVARIANT(out);
    tc_adopt_edits_done(edits);
    return out;
}

static void take_back(const struct tc_adopt_settings *before, const struct tc_adopt_server *old,
                      const char *text, size_t length)
{
    struct tc_adopt_settings now, last;
    struct tc_adopt_fault fault;
    struct tc_adopt_edits edits = {0};
    size_t size;
    bool json = before->format == TC_ADOPT_JSON;
    bool read = !tc_adopt_read(before->format, text, length, &now, &fault);
    const struct tc_adopt_server *server = read ? tc_adopt_find(&now, old) : NULL;
    INVARIANT(!json || (server && server->kind == TC_ADOPT_WRAPPED &&
                        server->argv.count == old->argv.count + words.count &&
                        now.server_count == before->server_count));
    if (server && server->kind == TC_ADOPT_WRAPPED &&
        tc_adopt_unwrap(&now, server, before, old, words.count, &edits)) {
        char *out = edited(text, length, &edits, &size);
        read = !tc_adopt_read(before->format, out, size, &last, &fault);
        const struct tc_adopt_server *restored = read ? tc_adopt_find(&last, old) : NULL;
        INVARIANT(!json || (restored && same(restored, old)));
        tc_adopt_settings_done(&last);
        free(out);
    }
    tc_adopt_edits_done(&edits);
    tc_adopt_settings_done(&now);
}

static void try_server(const struct tc_adopt_settings *settings,
                       const struct tc_adopt_server *server)
{
    struct tc_adopt_plan plan;
    struct tc_adopt_edits edits = {0};
    size_t length;
    INVARIANT(!tc_adopt_plan(server, name, &facts, &plan));
    INVARIANT(!plan.why == !!plan.policy);
    if (plan.policy) {
        check_policy(plan.policy);
        tc_adopt_wrap(settings, server, &words, plan.moved, &edits);
        char *out = edited(settings->text, settings->length, &edits, &length);
        take_back(settings, server, out, length);
        free(out);
    }
    tc_adopt_plan_done(&plan);
}

static void try_format(enum tc_adopt_format format, const char *text, size_t length)
{
    struct tc_adopt_settings settings;
    struct tc_adopt_fault fault;
    if (!tc_adopt_read(format, text, length, &settings, &fault)) {
        for (size_t i = 0; i < settings.server_count && i < SERVERS; i++)
            if (settings.servers[i].kind == TC_ADOPT_STDIO)
                try_server(&settings, &settings.servers[i]);
    } else {
        INVARIANT(fault.text[0]);
    }
    tc_adopt_settings_done(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _autofree_ char *text = malloc(size + 1);
    const struct tc_adopt_range range = {size / 3, size / 2};
    INVARIANT(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    try_format(TC_ADOPT_JSON, text, size);
    try_format(TC_ADOPT_TOML, text, size);
    _autofree_ char *shown = tc_adopt_mask(TC_ADOPT_JSON, text, size, &range, 1);
    _autofree_ char *other = tc_adopt_mask(TC_ADOPT_TOML, text, size, &range, 1);
    INVARIANT(shown && other);
    return 0;
}
