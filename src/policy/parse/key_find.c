/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Finds the row of a key, and describes its scope and range. */
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "policy/parse/keys.h"

const char *tc_scope_title(enum tc_scope scope)
{
    static const char *const titles[TC_SCOPE_COUNT] = {
        [TC_SCOPE_FILE] = "the file",
        [TC_SCOPE_TOOL] = "[tool.NAME]",
        [TC_SCOPE_DEFAULTS] = "[defaults]",
        [TC_SCOPE_SERVER] = "[server.NAME]",
        [TC_SCOPE_SERVER_TOOL] = "[server.NAME.tool.NAME]",
        [TC_SCOPE_ARGUMENT] = "arguments.NAME",
        [TC_SCOPE_ITEMS] = "arguments.NAME.items",
        [TC_SCOPE_FILESYSTEM] = "filesystem",
        [TC_SCOPE_FS_ENTRY] = "an entry of readable, writable or unix_sockets",
        [TC_SCOPE_NET_ENTRY] = "an entry of network",
        [TC_SCOPE_PUBLISH] = "an entry of publish",
        [TC_SCOPE_SYSCALLS] = "syscalls",
        [TC_SCOPE_STEERING] = "filesystem.steering",
        [TC_SCOPE_SETUP] = "[tool.NAME.setup]",
        [TC_SCOPE_SECRET] = "secrets.NAME",
        [TC_SCOPE_MEMORY] = "memory",
        [TC_SCOPE_OUTPUT] = "output",
        [TC_SCOPE_ENV] = "env",
        [TC_SCOPE_WORKSPACE] = "workspace",
        [TC_SCOPE_REVIEW] = "review",
        [TC_SCOPE_CLASS] = "[tier.NAME] or [risk.NAME]",
        [TC_SCOPE_BACKENDS] = "[backend]",
        [TC_SCOPE_OCI] = "[backend.oci]",
        [TC_SCOPE_GVISOR] = "[backend.gvisor]",
        [TC_SCOPE_PODMAN] = "[backend.podman]",
        [TC_SCOPE_DOCKER] = "[backend.docker]",
        [TC_SCOPE_CONTAINERD] = "[backend.containerd]",
        [TC_SCOPE_QEMU] = "[backend.qemu]",
        [TC_SCOPE_FIRECRACKER] = "[backend.firecracker]",
        [TC_SCOPE_KATA] = "[backend.kata]",
        [TC_SCOPE_WASM] = "[backend.wasm]",
        [TC_SCOPE_EGRESS] = "[egress]",
        [TC_SCOPE_AUDIT] = "[audit]",
        [TC_SCOPE_TEST] = "[[test]]",
        [TC_SCOPE_TEST_FILE] = "a file of tests",
    };
    return titles[scope];
}

const struct tc_key *tc_key_find(const struct tc_key *keys, enum tc_scope scope, const char *name)
{
    for (const struct tc_key *key = keys; key->name; key++)
        if ((key->scopes & TC_SCOPE_BIT(scope)) && tc_streq(key->name, name))
            return key;
    return NULL;
}

const struct tc_key *tc_key_nearest(const struct tc_key *keys, enum tc_scope scope,
                                    const char *name)
{
    const struct tc_key *best = NULL;
    struct tc_near nearest = tc_near_to(name);
    for (const struct tc_key *key = keys; key->name; key++)
        if ((key->scopes & TC_SCOPE_BIT(scope)) && tc_near_is(&nearest, key->name))
            best = key;
    return best;
}

void tc_key_range(const struct tc_key *key, char *out, size_t size)
{
    char low[TC_VALUE_TEXT_SIZE], high[TC_VALUE_TEXT_SIZE];
    tc_strcopy(out, size, "");
    if (key->max) {
        tc_value_write(key->unit, key->min, low);
        tc_value_write(key->unit, key->max, high);
        (void)snprintf(out, size, "%s to %s", low, high);
        return;
    }
    for (size_t i = 0, n = 0; key->choices && key->choices[i] && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s",
                              !i                    ? ""
                              : key->choices[i + 1] ? ", "
                                                    : " or ",
                              key->choices[i]);
}

/* ---- closed lists of values ---- */

const char *const tc_values_denials[] = {"calls", "paths", "accesses", "off", NULL};
const char *const tc_values_mode[] = {"bind", "copy", "overlay", "auto", NULL};
const char *const tc_values_commit[] = {"on_success", "always", "ask", "never", NULL};
const char *const tc_values_over[] = {"truncate", "kill", NULL};
const char *const tc_values_by[] = {"group", "any", NULL};
/* The clauses of tc_clauses_yielding(). */
const char *const tc_values_without[] = {"proc.own",  "proc.survivors", "tmp.private", "fs.stat",
                                         "fs.denied", "fs.steering",    "limit.pids",  NULL};
const char *const tc_values_pass[] = {"resources", "prompts",      "completions", "logging",
                                      "tasks",     "instructions", "sampling",    "elicitation",
                                      "roots",     "other",        NULL};
const char *const tc_values_runtime[] = {"crun", "runc", NULL};
/* The names under which engines register runtimes that run each container in a VM. The list is
 * closed, because no other runtime may get the privileges that the guest's engine needs. */
const char *const tc_values_kata[] = {"kata",     "kata-qemu",       "kata-fc",
                                      "kata-clh", "kata-dragonball", NULL};
const char *const tc_values_kata_engine[] = {"docker", "containerd", NULL};
const char *const tc_values_names[] = {"here", "upstream", NULL};
const char *const tc_values_recorded[] = {"values", "digests", NULL};
const char *const tc_values_record[] = {"calls", "inputs", NULL};
const char *const tc_values_sync[] = {"interval", "always", "none", NULL};
const char *const tc_values_platform[] = {"ptrace", "systrap", "kvm", NULL};
const char *const tc_values_verdict[] = {"allowed", "denied", NULL};
const char *const tc_values_profile[] = {"default", NULL};
const char *const tc_values_type[] = {"string", "integer", "number", "boolean",
                                      "array",  "object",  "null",   NULL};
