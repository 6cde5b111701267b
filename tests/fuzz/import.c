/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/import. Input: settings of another sandbox. What comes out compiles, is
 * plain ASCII, names no tool, grants no unix socket, and writes only where something was named
 * writable. */
#include "fuzz.h"

#include <string.h>

#include "base/error.h"
#include "import/import.h"
#include "policy/model.h"

static const struct tc_import_facts facts = {.cwd = "/home/me/project", .home = "/home/me"};

static void check_spec(const struct tc_spec *spec, bool writes)
{
    INVARIANT(!spec->socket_count && !spec->unix_sockets && !spec->env_pass.count);
    for (size_t i = 0; i < spec->fs_count; i++)
        INVARIANT(spec->fs[i].access != TC_ACCESS_WRITE || writes);
    for (size_t i = 0; i < spec->net_count; i++)
        INVARIANT(!tc_streq(spec->net[i].host, "*"));
}

static void try_format(const char *format, const char *text, size_t length)
{
    struct tc_import_fault fault;
    struct toolcage_policy *policy = NULL;
    char *out = NULL, *left = NULL;
    if (tc_import_settings(format, text, length, &facts, &out, &left, &fault)) {
        INVARIANT(fault.text[0] && fault.hint[0] && !out && !left);
        return;
    }
    for (const char *c = out; *c; c++)
        INVARIANT((*c >= 0x20 && *c < 0x7f) || *c == '\n');
    INVARIANT(tc_policy_compile(out, strlen(out), "i.toml", facts.cwd, facts.home, &policy, NULL) ==
              0);
    INVARIANT(!policy->tool_count);
    bool writes = memmem(text, length, "llow", 4) || memmem(text, length, "\\u", 2);
    check_spec(&policy->defaults, writes);
    for (size_t i = 0; i < policy->server_count; i++)
        check_spec(&policy->servers[i].spec, writes);
    tc_policy_unref(policy);
    free(out);
    free(left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _autofree_ char *text = malloc(size + 1);
    INVARIANT(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    try_format("srt", text, size);
    try_format("vscode", text, size);
    return 0;
}
