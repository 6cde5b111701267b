/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/policy_check.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "call/exec/exec_check.h"
#include "call/host/facts.h"
#include "call/host/programs.h"
#include "plan/backend.h"
#include "policy/lint/lint.h"
#include "policy/names/system_paths.h"

enum { PLANNERS_MAX = 32 };

static bool brings(const struct toolcage_policy *policy, const struct tc_strv *programs,
                   struct tc_strv *ret)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    _auto_(tc_grant_done) struct tc_grant grant = {0};
    struct toolcage_error *err = NULL;
    bool fine = tc_surroundings_gather(&here, &err) == 0 &&
                tc_strv_copy(&grant.programs, programs) &&
                tc_programs_extend(policy, &here.facts, &grant, &err) == 0;
    for (size_t i = 0; fine && i < grant.fs_count; i++)
        if (grant.fs[i].access != TC_ACCESS_DENY)
            fine = tc_strv_add(ret, grant.fs[i].path);
    tc_error_free(err);
    return fine;
}

static char *finds(const char *name)
{
    const char *path = getenv("PATH");
    char *found = tc_program_find(TC_SEARCH_PATH, name);
    return found || !path ? found : tc_program_find(path, name);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static bool is_set(const char *name)
{
    return getenv(name) != NULL;
}

int tc_policy_lint_here(const struct toolcage_policy *policy, const char *text, size_t length,
                        const char *suffixes, size_t suffixes_len, char **ret,
                        struct toolcage_error **err)
{
    struct tc_lint_backend backends[PLANNERS_MAX];
    struct tc_lint_facts facts = {.backends = backends,
                                  .suffixes = suffixes,
                                  .suffixes_len = suffixes_len,
                                  .starts = tc_exec_check_look,
                                  .brings = brings,
                                  .finds = finds,
                                  .exists = exists,
                                  .variable = is_set};
    const struct tc_planner *planner;
    while (facts.backend_count < PLANNERS_MAX && (planner = tc_planner_at(facts.backend_count)))
        backends[facts.backend_count++] =
            (struct tc_lint_backend){.name = planner->name,
                                     .provides = planner->provides,
                                     .has = planner->has,
                                     .no_boundary = planner->flags & TC_BACKEND_NO_BOUNDARY};
    return tc_policy_lint(policy, text, length, &facts, ret, err);
}

int tc_policy_test_here(const struct toolcage_policy *policy, const struct tc_test_texts *tests,
                        char **ret, struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    struct tc_test_texts texts = *tests;
    texts.reader = tc_reader_of;
    int rc = tc_surroundings_gather(&here, err);
    return rc ? rc : tc_policy_test(policy, &texts, &here.facts, ret, err);
}
