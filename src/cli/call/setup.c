/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/setup.h"

#include <string.h>
#include <time.h>

#include "cli/call/preset.h"
#include "cli/call/variables.h"

static int64_t now_us(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int set(struct toolcage_call *call, const struct tc_given *given, struct tc_writers writers,
               struct tc_failure *failure)
{
    const char *key = given->option->key, *fixed = strchr(key, '=');
    struct toolcage_error **err = tc_failure_error(failure);
    if (!strcmp(key, "env"))
        return tc_variables_give(call, given->value, failure);
    if (!strcmp(key, "env-file"))
        return tc_variables_give_file(call, given->value, writers, failure);
    if (!fixed)
        return toolcage_call_set(call, key, given->value, err);
    _autofree_ char *name = strndup(key, (size_t)(fixed - key));
    if (!name)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return toolcage_call_set(call, name, fixed + 1, err);
}

static int narrow(const struct tc_setup *setup, const struct tc_args *args,
                  struct tc_failure *failure)
{
    const struct tc_writers writers = {setup->found.policy, tc_args_value(args, "workspace")};
    for (size_t i = 0; i < args->given_count; i++)
        if (args->given[i].option->key && set(setup->call, &args->given[i], writers, failure))
            return -1;
    return 0;
}

int tc_setup_open(const struct tc_args *args, const char *tool, enum tc_lookup_flags flags,
                  struct tc_setup *ret, struct tc_failure *failure)
{
    *ret = (struct tc_setup){0};
    struct toolcage_error **err = tc_failure_error(failure);
    int64_t start = now_us();
    /* first, so that the helper gets ready while we look for the policy */
    if (toolcage_engine_new(&ret->engine, err))
        return -1;
    int64_t begun = now_us();
    if (tc_args_has(args, "preset")
            ? tc_preset_open(args, &ret->found, failure)
            : tc_lookup(tc_args_value(args, "policy"), flags, &ret->found, failure))
        return -1;
    ret->engine_us = begun - start;
    ret->policy_us = now_us() - begun;
    if (tool && !ret->found.path)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                              "write a policy (toolcage init), or name one with --policy FILE",
                              "there is no policy here, so there is no tool %s", tool);
    if (toolcage_call_new(ret->engine, ret->found.policy, tool, &ret->call, err))
        return -1;
    const char *session = tc_args_value(args, "session");
    if (session && toolcage_call_set_session(ret->call, session, err))
        return -1;
    return narrow(ret, args, failure);
}

int tc_setup_command(struct tc_setup *setup, char *const words[], size_t count,
                     struct tc_failure *failure)
{
    if (!count)
        return 0;
    return toolcage_call_set_command(setup->call, count, (const char *const *)words,
                                     tc_failure_error(failure));
}

void tc_setup_close(struct tc_setup *setup)
{
    (void)toolcage_call_unref(setup->call);
    (void)toolcage_engine_unref(setup->engine);
    tc_found_done(&setup->found);
    *setup = (struct tc_setup){0};
}
