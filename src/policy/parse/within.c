/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/parse/within.h"

#include "policy/parse/extends.h"
#include "policy/parse/parse.h"

static int refuse(struct tc_diag *diag, struct tc_place at, const char *hint, const char *what,
                  struct toolcage_error **err)
{
    tc_diag_add(diag, at, "within", hint, "%s", what);
    return tc_diag_result(diag, err);
}

static int compile(struct toolcage_policy *policy, const struct tc_policy_file *file,
                   const struct tc_policy_source *source, struct toolcage_error **err)
{
    const char *first = policy->files[0].real ? policy->files[0].real : "";
    const struct tc_policy_source ceiling = {.text = file->text,
                                             .length = file->len,
                                             .name = file->name,
                                             .path = file->path,
                                             .real = file->real,
                                             .said = file->said,
                                             .reader = file->reader,
                                             .read = source->read,
                                             .context = source->context,
                                             .beside = source->beside ? source->beside : first,
                                             .depth = source->depth + 1};
    return tc_policy_compile_source(&ceiling, file->dir ? file->dir : "/", policy->home,
                                    &policy->ceiling, err);
}

void tc_set_within(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    (void)tc_parse_is(p, node, TC_NODE_STRING); /* a digest by now */
}

int tc_within_compile(struct toolcage_policy *policy, struct tc_document *document,
                      struct tc_diag *diag, const struct tc_policy_source *source,
                      struct toolcage_error **err)
{
    struct tc_node *said = tc_node_get(&document->root, "within");
    struct tc_policy_file file = {0};
    if (!said)
        return 0;
    if (said->kind != TC_NODE_STRING || !said->len)
        return refuse(diag, said->at,
                      "write within = \"profile:team\" or within = \"../team.toml\"",
                      "within names one file or profile", err);
    if (source->depth == TC_WITHIN_DEPTH_MAX)
        return refuse(diag, said->at, "remove it from one of them",
                      "a policy is within at most 8 others, and never within itself", err);
    int rc = tc_extends_read(policy, diag, source, said->text, said->at.line, &file, err);
    if (!rc)
        rc = compile(policy, &file, source, err);
    tc_policy_file_done(&file);
    if (rc)
        return rc;
    policy->within = said->at.line;
    return tc_node_become_string(said, policy->ceiling->digest) ? 0 : tc_fail_memory(err);
}
