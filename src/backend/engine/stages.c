/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process that becomes toolcage-engine. It is outside of every cage: it has the caller's id,
 * which the engine's socket asks for, and no other right of the caller's. It does not die with the
 * helper, because it is who has the container removed then. As in every child of the helper: no
 * allocation, and nothing of libc that waits for a lock. */
#include "backend/engine/order.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "cage/stages.h"
#include "engine/engine.h"
#include "policy/clauses.h"

enum { PROGRAM = TC_ENGINE_CONTROL + 1 };

_Static_assert((int)TC_ENGINE_CONTROL == (int)TC_BOX_REPORT, "one socket, under one number");

/* What is sent to the caller's group of processes is not meant for it. */
static int leave_session(const struct tc_box *box)
{
    (void)box;
    (void)umask(0077);
    (void)signal(SIGPIPE, SIG_DFL);
    return setsid() < 0 ? -1 : 0;
}

/* The helper always has 0 to 4 open, so that no number is overwritten here before it is read. */
static int keep_descriptors(const struct tc_box *box)
{
    const int *program = box->own;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < TC_ENGINE_CONTROL; i++)
        if (null < 0 || dup2(null, i) < 0)
            return -1;
    if (dup2(box->report, TC_ENGINE_CONTROL) < 0 || dup3(*program, PROGRAM, O_CLOEXEC) < 0)
        return -1;
    return tc_close_range(PROGRAM + 1, ~0U, 0);
}

static void become_engine(const struct tc_box *box)
{
    static char name[] = "toolcage-engine";
    static char *argv[] = {name, NULL}, *envp[] = {NULL};
    (void)box;
    (void)tc_sys(SYS_execveat, PROGRAM, TC_ARG(""), TC_ARG(argv), TC_ARG(envp), AT_EMPTY_PATH, 0);
    _exit(127);
}

static const struct tc_stage stages[] = {
    {"session", leave_session, TC_CLAUSE_TTY_NONE},
    {"privileges", tc_stage_privileges, TC_CLAUSE_PRIV_NONE},
    {"descriptors", keep_descriptors, TC_CLAUSE_FDS_CLEAN}, /* last: the report socket moves */
};

const struct tc_stages tc_engine_stages = {stages, TC_COUNT(stages), 0, become_engine,
                                           &tc_contained_stages};
