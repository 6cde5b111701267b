/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/platform.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/oci/remember.h"
#include "base/cleanup.h"
#include "base/strv.h"

#define OPTION "--platform="

static const char *const options[TC_OCI_PLATFORMS] = {
    [TC_OCI_PTRACE] = OPTION "ptrace",
    [TC_OCI_SYSTRAP] = OPTION "systrap",
    [TC_OCI_KVM] = OPTION "kvm",
};

/* For the helper's life. Who tries has the lock, and who needs the same waits for what is found. */
static struct {
    pthread_mutex_t lock;
    _Atomic enum tc_oci_finding finding;
    char *why; /* it fails; written before the finding is */
} known[TC_OCI_PLATFORMS] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER},
};

static const char *name_of(enum tc_oci_platform platform)
{
    return options[platform] + strlen(OPTION);
}

/* The first that will do, and a named one or none. */
struct tc_oci_choice tc_oci_choose(const char *wish, const enum tc_oci_finding *findings)
{
    static const enum tc_oci_platform order[] = {TC_OCI_SYSTRAP, TC_OCI_PTRACE, TC_OCI_KVM};
    enum tc_oci_platform p = TC_OCI_PTRACE;
    for (size_t i = 0; i < TC_COUNT(order); i++) {
        if (wish && !tc_streq(wish, name_of(order[i])))
            continue;
        p = order[i];
        bool named_and_untried = wish && findings[p] == TC_OCI_UNTRIED;
        if (p == TC_OCI_PTRACE || findings[p] == TC_OCI_WORKS || named_and_untried)
            return (struct tc_oci_choice){TC_OCI_USE, p};
        if (findings[p] == TC_OCI_UNKNOWN)
            return (struct tc_oci_choice){TC_OCI_TRY, p};
    }
    return (struct tc_oci_choice){TC_OCI_REFUSE, p};
}

/* runsc is one large program, and what it nowhere speaks of it cannot know: to see that costs a
 * third of asking it. A small one hands over to the real one. */
bool tc_oci_may_know(const char *program, const char *platform)
{
    enum { SHARE = 1 << 18 };
    _autofree_ char *bytes = malloc(SHARE);
    _autofd_ int fd = open(program, O_RDONLY | O_CLOEXEC);
    const size_t overlap = strlen(platform) - 1;
    size_t kept = 0;
    ssize_t n = -1;
    struct stat st;
    if (!bytes || fd < 0 || fstat(fd, &st) < 0 || st.st_size < TC_OCI_LARGE)
        return true;
    while ((n = read(fd, bytes + kept, SHARE - kept)) > 0) {
        size_t have = kept + (size_t)n;
        if (memmem(bytes, have, platform, strlen(platform)))
            return true;
        kept = have < overlap ? have : overlap;
        memmove(bytes, bytes + have - kept, kept);
    }
    return n < 0;
}

/* ---- in a helper's life
 * ----------------------------------------------------------------------------------- */

/* Whose cage, and which program. */
struct asker {
    struct tc_cage *cage;
    const struct tc_oci_runtime *runtime;
    const char *path;
};

static enum tc_oci_finding look(const struct asker *a, enum tc_oci_platform p, char **ret_why)
{
    if (tc_oci_may_know(a->path, name_of(p)))
        return tc_oci_try(a->cage, a->runtime, a->path, options[p], ret_why);
    return TC_OCI_ABSENT;
}

/* The note of an earlier helper spares both. */
static enum tc_oci_finding recall_or_look(const struct asker *a, enum tc_oci_platform p,
                                          char **ret_why)
{
    _autofree_ char *identity = tc_oci_identity(a->path);
    enum tc_oci_finding found = identity ? tc_oci_recall(identity, name_of(p)) : TC_OCI_UNKNOWN;
    if (found == TC_OCI_UNKNOWN) {
        found = look(a, p, ret_why);
        if (identity && (found == TC_OCI_WORKS || found == TC_OCI_ABSENT))
            tc_oci_remember(identity, name_of(p), found);
    }
    if (found == TC_OCI_ABSENT)
        *ret_why = strdup("this runsc does not know it");
    return found;
}

/* What could not be tried is not known. */
static enum tc_oci_finding find(const struct asker *a, enum tc_oci_platform p)
{
    char *why = NULL;
    (void)pthread_mutex_lock(&known[p].lock);
    enum tc_oci_finding found = known[p].finding;
    if (found == TC_OCI_UNKNOWN && (found = recall_or_look(a, p, &why)) != TC_OCI_UNTRIED) {
        known[p].why = why;
        known[p].finding = found;
    }
    (void)pthread_mutex_unlock(&known[p].lock);
    return found;
}

static void recall(enum tc_oci_finding *findings)
{
    for (int p = 0; p < TC_OCI_PLATFORMS; p++)
        findings[p] = known[p].finding;
}

bool tc_oci_settled(const char *wish)
{
    enum tc_oci_finding findings[TC_OCI_PLATFORMS];
    recall(findings);
    return tc_oci_choose(wish, findings).act == TC_OCI_USE;
}

/* With a platform that does work here, which is found out for it. */
static void refuse(const struct asker *a, enum tc_oci_platform p)
{
    static const enum tc_oci_platform others[] = {TC_OCI_SYSTRAP, TC_OCI_PTRACE};
    _autofree_ char *hint = NULL;
    for (size_t i = 0; i < TC_COUNT(others) && !hint; i++)
        if (others[i] != p && find(a, others[i]) == TC_OCI_WORKS)
            hint = tc_format("[backend.gvisor] platform = \"%s\" works here", name_of(others[i]));
    (void)tc_cage_fail(a->cage,
                       &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                        .stage = "platform",
                                        .subject = name_of(p),
                                        .hint = hint ? hint
                                                     : "`toolcage doctor` shows what this machine "
                                                       "lacks; or use backend = \"process\""},
                       -1, "gVisor's platform %s does not work on this machine: %s", name_of(p),
                       known[p].why ? known[p].why : "it did not say why");
}

const char *tc_oci_settle(struct tc_cage *cage, const struct tc_oci_runtime *runtime,
                          const char *path)
{
    const struct asker a = {cage, runtime, path};
    const char *wish = cage->plan->platform;
    enum tc_oci_finding findings[TC_OCI_PLATFORMS];
    struct tc_oci_choice choice;
    recall(findings);
    while ((choice = tc_oci_choose(wish, findings)).act == TC_OCI_TRY)
        findings[choice.platform] = find(&a, choice.platform);
    if (choice.act == TC_OCI_USE)
        return options[choice.platform];
    refuse(&a, choice.platform);
    return NULL;
}

unsigned tc_oci_forget_all(void)
{
    unsigned gone = 0;
    for (int p = 0; p < TC_OCI_PLATFORMS; p++)
        gone += tc_oci_forget(name_of((enum tc_oci_platform)p));
    return gone;
}

const char *tc_oci_instead(const char *option)
{
    bool preferred = tc_streq(option, options[TC_OCI_SYSTRAP]);
    enum tc_oci_finding found = known[TC_OCI_SYSTRAP].finding;
    bool out = found == TC_OCI_FAILS || found == TC_OCI_ABSENT;
    return !preferred && out ? known[TC_OCI_SYSTRAP].why : NULL;
}
