/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Landlock comes last, in the tool alone: who stands for PID 1 stays outside of it, so that no
 * signal of the tool reaches it, and so that it sees whom it has to end. */
#include "backend/landlock/child.h"

#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/sys.h"
#include "cage/stages.h"
#include "linux/landlock_rules.h"
#include "linux/privileges.h"
#include "linux/seccomp_filter.h"
#include "policy/clauses.h"

/* Without namespaces of its own the caller is an ordinary user with no capabilities, or the helper
 * stands in a user namespace and has them there. */
static int drop_privileges(const struct tc_box *box)
{
    (void)box;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0) < 0 && geteuid() == 0)
        return -1;
    if (tc_drop_capabilities(TC_BOUNDING_IF_MAY) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* What mounts and namespaces would stop; the other filter comes after it, because it reports. */
static int raise_second_filter(const struct tc_box *box)
{
    (void)box;
    return tc_seccomp_install(tc_seccomp_shared(), false);
}

static const struct tc_stage stages[] = {
    {"session", tc_stage_session, TC_CLAUSE_TTY_NONE},
    {"cwd", tc_stage_cwd, TC_CLAUSE_FS_READ, TC_LACK_CWD},
    {"privileges", drop_privileges, TC_CLAUSE_PRIV_NONE}, /* Landlock and seccomp need them gone */
    {"descriptors", tc_stage_ruleset, TC_CLAUSE_FDS_CLEAN},
    {"rlimits", tc_stage_rlimits, TC_CLAUSE_LIMIT_OPEN_FILES},
    {"second filter", raise_second_filter, TC_CLAUSE_FS_WRITE},
    {"seccomp", tc_stage_filter, TC_CLAUSE_SYSCALLS},
};

const struct tc_stages tc_landlock_stages = {stages, TC_COUNT(stages), 0, tc_box_init, NULL};

static int enter(const struct tc_box *box)
{
    (void)box;
    return tc_landlock_restrict(TC_BOX_RULESET);
}

/* To the tool's own group, and to who was orphaned. */
static void terminate(const struct tc_box *box, pid_t tool)
{
    (void)box;
    (void)kill(-tool, SIGTERM);
    tc_orphans_signal(SIGTERM);
}

static void leave(void)
{
    (void)tc_orphans_end();
}

const struct tc_rest tc_landlock_rest = {.adopt = tc_orphans_adopt,
                                         .enter = enter,
                                         .terminate = terminate,
                                         .end = tc_orphans_end,
                                         .leave = leave,
                                         .watches = true};
