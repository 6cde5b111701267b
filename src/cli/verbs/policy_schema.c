/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage policy schema`: the JSON schema of a policy, for editors. */
#include <string.h>

#include "cli/show/failure.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_HELP,
    {0},
};

static int run(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    char *json = NULL;
    if (toolcage_policy_schema_json(&json, tc_failure_error(&failure)))
        return tc_failure_tell(&failure, args, NULL);
    int rc = tc_cli_print(json, strlen(json));
    toolcage_free(json);
    return rc ? rc : tc_cli_print("\n", 1);
}

const struct tc_verb tc_verb_policy_schema = {
    .name = "policy schema",
    .words = "",
    .summary = "a JSON Schema of the policy file, for editors",
    .text = "With it an editor completes and checks a policy while it is written. Name it in the "
            "first\n"
            "line of the policy:\n\n"
            "  #:schema ./policy.schema.json                       TOML, in editors with taplo\n\n"
            "examples:\n  toolcage policy schema > policy.schema.json\n",
    .options = options,
    .run = run,
};
