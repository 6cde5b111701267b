/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/preset.h"

#include <stdio.h>
#include <string.h>

/* A policy and a tool of one are chosen elsewhere. */
static int refuse_beside(const struct tc_args *args, struct tc_failure *failure)
{
    static const char *const others[] = {"policy", "tool", "server"};
    for (size_t i = 0; i < TC_COUNT(others); i++)
        if (tc_args_has(args, others[i]))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                  "leave one of them out; a policy file may extend the profile: "
                                  "extends = \"profile:NAME\"",
                                  "--preset is a policy by itself, and so --%s cannot stand beside "
                                  "it",
                                  others[i]);
    return 0;
}

/* The library knows the profiles, and lists them. */
static int refuse_name(const char *name, struct tc_failure *failure)
{
    const char *listed = failure->error ? toolcage_error_hint(failure->error) : NULL;
    _autofree_ char *hint = listed ? strdup(listed) : NULL;
    toolcage_error_free(failure->error);
    failure->error = NULL;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint, "there is no preset \"%.60s\"", name);
}

int tc_preset_open(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const char *name = tc_args_value(args, "preset");
    _autofree_ char *text = NULL;
    *ret = (struct tc_found){0};
    if (refuse_beside(args, failure))
        return -1;
    size_t fine = strspn(name, letters);
    if (asprintf(&text, "extends = \"profile:%.*s%s\"\n", (int)(fine > 60 ? 60 : fine), name,
                 name[fine] ? "-" : "") < 0) {
        text = NULL;
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    }
    int rc = toolcage_policy_load_buffer(text, strlen(text), "preset", &ret->policy,
                                         tc_failure_error(failure));
    if (rc == TOOLCAGE_EPOLICY)
        return refuse_name(name, failure);
    if (rc)
        return -1;
    if (asprintf(&ret->path, "preset %s", name) < 0) {
        ret->path = NULL;
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    }
    ret->preset = true;
    return 0;
}
