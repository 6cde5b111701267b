/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "approve/gate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/strv.h"

static int64_t now_us(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void tc_approval_done(struct tc_approval *a)
{
    free(TAKE(a->refusal));
    a->digest[0] = '\0';
}

bool tc_approval_give(struct tc_approval *a, const char *digest)
{
    if (!tc_digest_valid(digest))
        return false;
    tc_approval_done(a);
    tc_strcopy(a->digest, sizeof(a->digest), digest);
    a->at_us = now_us();
    return true;
}

bool tc_approval_refuse(struct tc_approval *a, const char *reason)
{
    tc_approval_done(a);
    a->refusal = strdup(reason ? reason : "");
    return a->refusal;
}

int tc_approval_take(struct tc_approval *a, const char *digest, struct tc_why *why,
                     char **ret_reason)
{
    char approved[TC_DIGEST_SIZE];
    int64_t age_us = now_us() - a->at_us;
    tc_strcopy(approved, sizeof(approved), a->digest);
    a->digest[0] = '\0';
    why->code = TOOLCAGE_EDENIED;
    why->hint = "ask a person again, and run the call when it is approved";
    if (a->refusal) {
        why->hint = "do not repeat the call: ask the person what to do instead";
        *ret_reason = tc_format("it was refused%s%s", a->refusal[0] ? ": " : "", a->refusal);
    } else if (age_us < 0 || age_us > TC_APPROVAL_SECONDS * 1000000LL) {
        *ret_reason = strdup("its approval has expired");
    } else if (strcmp(approved, digest) != 0) {
        *ret_reason =
            strdup("something has changed since a person approved it: the policy, the grant, the "
                   "arguments, the working directory, the program or a file that it names");
    } else {
        return 0;
    }
    return -1;
}
