/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What every test of the policy needs: compiling a text, resolving a call, and one set of facts. */
#ifndef TC_TEST_POLICY_H
#define TC_TEST_POLICY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "policy/policy.h"

/* Random tests do the same on each run; who names a seed wants others, and more of them. */
static inline unsigned first_round(void)
{
    const char *chosen = getenv("TOOLCAGE_TEST_SEED");
    return chosen ? (unsigned)strtoul(chosen, NULL, 10) : 0;
}

/* Sanitizers take ten times as long. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SLOW
#endif
#endif
#if defined(SLOW) || defined(__SANITIZE_ADDRESS__)
enum { SHARE = 10 };
#else
enum { SHARE = 1 };
#endif

static inline unsigned rounds(unsigned usual)
{
    return usual * (getenv("TOOLCAGE_TEST_SEED") ? 5 : 1) / SHARE;
}

static inline void policy_unrefp(struct toolcage_policy **policy)
{
    (void)tc_policy_unref(*policy);
}
#define _autopolicy_ _auto_(policy_unrefp)
#define _autogrant_ _auto_(tc_grant_done)

static inline struct toolcage_policy *compile(const char *text)
{
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *err = NULL;
    if (tc_policy_compile(text, strlen(text), "t.toml", "/srv/p", "/home/me", &policy, &err))
        print_error("%s", tc_error_report(err));
    assert_non_null(policy);
    return policy;
}

static const char *const test_environ[] = {"TZ=UTC", "LD_PRELOAD=/x.so", "SECRET=1", NULL};
static const struct tc_facts test_facts = {.cwd = "/home/me/project",
                                           .home = "/home/me",
                                           .state = "/home/me/.local/state/toolcage",
                                           .config = "/home/me/.config/toolcage",
                                           .environ = test_environ};

/* One call; narrowing as "key", "value" pairs ended by NULL. */
struct ask {
    const char *tool, *arguments, *command, *narrow[16];
    struct tc_facts facts; /* zero: test_facts */
    bool explain;
};

static inline int resolve(const struct toolcage_policy *policy, const struct ask *ask,
                          struct tc_grant *grant, struct toolcage_error **err)
{
    struct tc_narrowing narrow[8];
    _autostrv_ struct tc_strv argv = {0};
    size_t n = 0;
    for (; n < 8 && ask->narrow[2 * n]; n++)
        narrow[n] = (struct tc_narrowing){(char *)(uintptr_t)ask->narrow[2 * n],
                                          (char *)(uintptr_t)ask->narrow[2 * n + 1]};
    if (ask->command)
        assert_true(tc_strv_add(&argv, ask->command));
    const struct tc_request request = {.tool = ask->tool,
                                       .argv = &argv,
                                       .arguments = ask->arguments,
                                       .narrow = narrow,
                                       .narrow_count = n,
                                       .explain = ask->explain};
    return tc_policy_resolve(policy, &request, ask->facts.cwd ? &ask->facts : &test_facts, grant,
                             err);
}

static inline void granted(const struct toolcage_policy *policy, struct ask ask,
                           struct tc_grant *grant)
{
    _autoerror_ struct toolcage_error *err = NULL;
    if (resolve(policy, &ask, grant, &err))
        print_error("%s", tc_error_report(err));
    assert_null(err);
}

/* Refused with this code and subject, and a message that holds the words. */
static inline void refused(const struct toolcage_policy *policy, struct ask ask, int code,
                           const char *subject, uint32_t line, const char *words)
{
    _autoerror_ struct toolcage_error *err = NULL;
    _autogrant_ struct tc_grant grant = {0};
    uint32_t at = 0;
    assert_int_equal(resolve(policy, &ask, &grant, &err), code);
    assert_string_equal(tc_error_subject(err), subject);
    if (!strstr(tc_error_message(err), words))
        print_error("wanted \"%s\", got \"%s\"\n", words, tc_error_message(err));
    assert_non_null(strstr(tc_error_message(err), words));
    tc_error_location(err, NULL, &at, NULL);
    assert_int_equal(at, line);
    assert_true(tc_error_hint(err)[0]);
    assert_null(grant.fs);
}

/* "rw-" of a path: what the grant says, '-' for nothing, 'd' for denied. */
static inline char access_of(const struct tc_grant *grant, const char *path)
{
    static const char letters[] = "-rwd";
    const struct tc_fs_entry *entry = tc_grant_find(grant, path);
    return entry ? letters[entry->access] : '-';
}

#endif
