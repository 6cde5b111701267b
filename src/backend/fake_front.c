/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fake backend: runs nothing, and answers what its command line says. The words are
 *     ok | failed | timeout | limit | hang, then exit=N stdout=TEXT stderr=TEXT sleep_ms=N
 * limit=NAME They are checked here, so that a test with a spelling error fails as such. */
#include <string.h>

#include "plan/backend.h"

static int fail_word(struct toolcage_error **err, const char *word, const char *expected)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "lower", word, expected),
                   "the fake backend does not know %s", word);
}

static bool is_status(const char *word)
{
    static const char *const words[] = {"ok", "failed", "timeout", "limit", "hang"};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static bool is_setting(const char *word)
{
    static const char *const names[] = {"exit=", "stdout=", "stderr=", "sleep_ms=", "limit="};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (tc_startswith(word, names[i]))
            return true;
    return false;
}

static int lower(const struct tc_front *front, const struct tc_grant *grant, struct tc_plan *ret,
                 struct toolcage_error **err)
{
    const char *status = grant->argv.count ? grant->argv.items[0] : "";
    if (!is_status(status))
        return fail_word(err, status, "begin with one of: ok, failed, timeout, limit, hang");
    for (size_t i = 1; i < grant->argv.count; i++)
        if (!is_setting(grant->argv.items[i]))
            return fail_word(err, grant->argv.items[i],
                             "use exit=, stdout=, stderr=, sleep_ms= or limit=");
    ret->clauses = 0;
    ret->limits = grant->limits;
    ret->backend = strdup(front->name);
    if (!ret->backend || !tc_strv_copy(&ret->argv, &grant->argv))
        return tc_fail_memory(err);
    return 0;
}

const struct tc_front tc_fake_front = {
    .name = "fake",
    .summary = "scripted outcomes for tests; runs nothing",
    .flags = TC_BACKEND_NO_BOUNDARY,
    .provides = 0,
    .has = TC_FEATURES_IGNORED,
    .lower = lower,
};
