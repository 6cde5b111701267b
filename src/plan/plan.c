/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "plan/plan.h"

#include <string.h>

#include "base/strv.h"

enum { MOUNTS_MAX = 4096, NET_MAX = 4096, SECRETS_MAX = 64 };

#define TC_STRUCT struct tc_mount
#define MOUNT(F)      \
    F(ONE, kind)      \
    F(ONE, path)      \
    F(ONE, from)      \
    F(ONE, content)   \
    F(ONE, bound)     \
    F(ONE, optional)  \
    F(ONE, workspace) \
    F(ONE, key)       \
    F(ONE, line)
static TC_FIELDS(mount_fields, MOUNT);
#undef TC_STRUCT

#define TC_STRUCT struct tc_deny
#define DENY(F)  \
    F(ONE, path) \
    F(ONE, key)  \
    F(ONE, line) \
    F(ONE, own)
static TC_FIELDS(deny_fields, DENY);
#undef TC_STRUCT

#define TC_STRUCT struct tc_plan
#define PLAN(F)                                                                               \
    F(ONE, call)                                                                              \
    F(ONE, tool)                                                                              \
    F(ONE, backend)                                                                           \
    F(ONE, grant)                                                                             \
    F(ONE, clauses)                                                                           \
    F(ONE, without)                                                                           \
    F(LIST, argv)                                                                             \
    F(LIST, env)                                                                              \
    F(BYTES, program, TC_COUNTED(program_len))                                                \
    F(BYTES, program_call, TC_COUNTED(program_call_len))                                      \
    F(ONE, ahead)                                                                             \
    F(ONE, calls)                                                                             \
    F(ONE, fuel)                                                                              \
    F(LIST, cwd)                                                                              \
    F(ONE, umask)                                                                             \
    F(ARRAY, mounts, TC_COUNTED(mount_count), TC_OF(mount_fields), .most = MOUNTS_MAX)        \
    F(ONE, system)                                                                            \
    F(ARRAY, denies, TC_COUNTED(deny_count), TC_OF(deny_fields), .most = MOUNTS_MAX)          \
    F(LIST, tool_writable)                                                                    \
    F(LIST, records)                                                                          \
    F(ONE, policy_file)                                                                       \
    F(LIST, extended)                                                                         \
    F(LIST, collect)                                                                          \
    F(LIST, caches)                                                                           \
    F(ARRAY, net, TC_COUNTED(net_count), TC_OF(tc_net_entry_fields), .most = NET_MAX)         \
    F(ARRAY, secrets, TC_COUNTED(secret_count), TC_OF(tc_secret_fields), .most = SECRETS_MAX) \
    F(STRUCT, upstream, TC_OF(tc_upstream_fields))                                            \
    F(ONE, replays)                                                                           \
    F(ONE, asks_network)                                                                      \
    F(LIST, syscalls_allow)                                                                   \
    F(LIST, syscalls_deny)                                                                    \
    F(STRUCT, steering, TC_OF(tc_steering_fields))                                            \
    F(STRUCT, limits, TC_OF(tc_limits_fields))                                                \
    F(ONE, denials)                                                                           \
    F(ONE, workspace)                                                                         \
    F(ONE, commit)                                                                            \
    F(ONE, instead)                                                                           \
    F(ONE, unix_sockets)                                                                      \
    F(ONE, stream)                                                                            \
    F(ONE, terminal)                                                                          \
    F(ONE, rows)                                                                              \
    F(ONE, columns)                                                                           \
    F(ONE, uid)                                                                               \
    F(ONE, session)                                                                           \
    F(ONE, idle_ms)                                                                           \
    F(ONE, lifetime_ms)                                                                       \
    F(LIST, publish)                                                                          \
    F(ONE, live_in)                                                                           \
    F(ONE, live_shell)                                                                        \
    F(ONE, live_file)                                                                         \
    F(ONE, bounds)                                                                            \
    F(ONE, payload)                                                                           \
    F(ONE, audit)                                                                             \
    F(ONE, image)                                                                             \
    F(LIST, settings)
TC_FIELDS(tc_plan_fields, PLAN);
#undef TC_STRUCT

bool tc_session_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-";
    enum { LONGEST = 64 };
    size_t n = strnlen(name, LONGEST + 1);
    return n > 0 && n <= LONGEST && name[0] != '.' && name[0] != '-' && strspn(name, letters) == n;
}

void tc_plan_visit(struct tc_wire *w, struct tc_plan *plan)
{
    tc_fields_visit(w, &tc_plan_fields, plan, 0, 0);
}

void tc_plan_done(struct tc_plan *plan)
{
    tc_fields_done(&tc_plan_fields, plan);
}

bool tc_plan_overlay(struct tc_plan *plan)
{
    if (plan->workspace != TC_WORKSPACE_BIND || plan->uid)
        return false;
    plan->workspace = TC_WORKSPACE_OVERLAY;
    plan->instead = TC_INSTEAD_COPY;
    plan->commit = TC_COMMIT_ALWAYS;
    if (plan->limits.disk < plan->limits.memory)
        plan->limits.disk = plan->limits.memory;
    return true;
}

bool tc_plan_bind(struct tc_plan *plan)
{
    if (plan->workspace == TC_WORKSPACE_BIND || plan->instead != TC_INSTEAD_BIND)
        return false;
    plan->workspace = TC_WORKSPACE_BIND;
    return true;
}

bool tc_plan_shares_memory(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (tc_startswith(plan->mounts[i].path, "/dev/shm/"))
            return true;
    return false;
}

bool tc_plan_tell(struct tc_plan *plan, const struct tc_fields *fields, const void *it,
                  unsigned of_call)
{
    plan->program = tc_fields_put(fields, it, of_call, 0, &plan->program_len);
    plan->program_call = tc_fields_put(fields, it, of_call, of_call, &plan->program_call_len);
    return plan->program && plan->program_call;
}
