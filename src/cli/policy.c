/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verbs about a policy file itself: trust, digest. check.c, explain.c and ptest.c hold the
 * others.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/lookup.h"
#include "cli/say.h"
#include "cli/trust.h"

static int load(const struct tc_args *args, char **ret_path, struct toolcage_policy **ret,
                struct tc_failure *failure)
{
    *ret_path = tc_lookup_named(args->words[0], failure);
    return *ret_path ? toolcage_policy_load_file(*ret_path, ret, tc_failure_error(failure)) : -1;
}

/* ---- digest ---- */

static const struct tc_option plain_options[] = {
    TC_OPTION_HELP,
    {0},
};

static int run_digest(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *path = NULL, *line = NULL;
    struct toolcage_policy *policy = NULL;
    if (load(args, &path, &policy, &failure))
        return tc_failure_tell(&failure, args, NULL);
    if (asprintf(&line, "%s  %s\n", toolcage_policy_digest(policy), path) < 0)
        line = NULL;
    (void)toolcage_policy_unref(policy);
    return line ? tc_cli_print_clean(line) : tc_cli_no_memory();
}

const struct tc_verb tc_verb_policy_digest = {
    .name = "policy digest",
    .words = "[FILE]",
    .summary = "the digest of a policy's meaning",
    .text = "The same on every machine; comments and the order of keys do not change it.\n\n"
            "examples:\n  toolcage policy digest toolcage.toml\n",
    .options = plain_options,
    .most = 1,
    .run = run_digest,
};

/* ---- trust ---- */

static const struct tc_option trust_options[] = {
    {"remove", 0, NULL, NULL, "no longer trust the file"},
    TC_OPTION_HELP,
    {0},
};

static int trust(const struct tc_args *args, char **ret_line, struct tc_failure *failure)
{
    struct toolcage_policy *policy = NULL;
    _autofree_ char *path = tc_lookup_named(args->words[0], failure);
    if (!path)
        return -1;
    _autofree_ char *canonical = realpath(path, NULL);
    if (!canonical)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "give the path of a policy file",
                              "cannot find %s: %s", path, strerror(errno));
    if (tc_args_has(args, "remove")) {
        if (asprintf(ret_line, "no longer trusted: %s\n", canonical) < 0)
            *ret_line = NULL;
        return tc_trust_set(canonical, NULL, failure);
    }
    if (toolcage_policy_load_file(canonical, &policy, tc_failure_error(failure)))
        return -1;
    int rc = tc_trust_set(canonical, toolcage_policy_digest(policy), failure);
    if (asprintf(ret_line, "trusted: %s\n         %s\n", canonical,
                 toolcage_policy_digest(policy)) < 0)
        *ret_line = NULL;
    (void)toolcage_policy_unref(policy);
    return rc;
}

static int run_trust(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofree_ char *line = NULL;
    if (trust(args, &line, &failure))
        return tc_failure_tell(&failure, args, NULL);
    return line ? tc_cli_print_clean(line) : tc_cli_no_memory();
}

const struct tc_verb tc_verb_policy_trust = {
    .name = "policy trust",
    .words = "[FILE]",
    .summary = "allow a policy to be used when it is found from the working directory",
    .text = "A toolcage.toml, .yaml or .yml found upward from the working directory is used "
            "only\n"
            "when its digest was trusted; a change must be trusted again. A file named by "
            "--policy or\n"
            "$TOOLCAGE_POLICY needs no trust.\n"
            "\n"
            "examples:\n"
            "  toolcage policy trust toolcage.toml\n"
            "  toolcage policy trust --remove toolcage.toml\n",
    .options = trust_options,
    .most = 1,
    .run = run_trust,
};
