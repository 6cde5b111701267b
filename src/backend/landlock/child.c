/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A cage without namespaces: the stages of its first process, and how all processes of the tool are
 * killed although there is no PID namespace whose end would kill them.
 *
 * The first process has the role of PID 1: it starts the tool, reaps and kills. Landlock is applied
 * last, and only in the tool's process. The first process stays outside the Landlock domain, so the
 * tool cannot signal it, and it can see the processes that it must kill. */
#include "backend/landlock/child.h"

#include <fcntl.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "cage/stages.h"
#include "linux/landlock_rules.h"
#include "linux/privileges.h"
#include "linux/seccomp_filter.h"
#include "policy/clauses.h"

static const char children[] = "/proc/thread-self/children";

enum { ROUNDS = 5000, PAUSE_NS = 1000000 }; /* of end_children(): at most about 5 s */

bool tc_landlock_orphans_known(void)
{
    return access(children, R_OK) == 0;
}

/* Makes this process the parent of the tool's orphans; 0, or -1 with errno. */
static int adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Sends a signal to all children, however many: each pid in the file ends with a space. */
static void signal_children(int sig)
{
    static char text[64 * 1024];
    _autofd_ int fd = open(children, O_RDONLY | O_CLOEXEC);
    pid_t pid = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, text, sizeof(text))) > 0;) {
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            if (pid > 1)
                (void)kill(pid, sig); /* our child, not yet reaped, so the pid was not reused */
            pid = 0;
        }
    }
}

/* Kills and reaps until there are no children; false if some did not end. The children of a killed
 * process become ours and are killed in the next round. */
static bool end_children(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid;
        signal_children(SIGKILL);
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

/* An ordinary user has no capabilities: the kernel then refuses to set securebits, which would add
 * nothing. Root of a user namespace has capabilities, and must set them. */
static int drop_privileges(const struct tc_init_config *init)
{
    (void)init;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0) < 0 && geteuid() == 0)
        return -1;
    if (tc_drop_capabilities(TC_BOUNDING_IF_MAY) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Refuses the system calls that mounts and namespaces make harmless in other cages. The profile's
 * filter, which reports denials, is installed after this one; the stricter verdict applies. */
static int raise_second_filter(const struct tc_init_config *init)
{
    (void)init;
    return tc_seccomp_install(tc_seccomp_shared(), false);
}

static const struct tc_stage stages[] = {
    {"session", tc_stage_session, TC_CLAUSE_TTY_NONE},
    {"cwd", tc_stage_cwd, TC_CLAUSE_FS_READ, TC_LACK_CWD},
    {"privileges", drop_privileges, TC_CLAUSE_PRIV_NONE}, /* no_new_privs: before seccomp */
    {"descriptors", tc_stage_ruleset, TC_CLAUSE_FDS_CLEAN},
    {"rlimits", tc_stage_rlimits, TC_CLAUSE_LIMIT_OPEN_FILES},
    {"second filter", raise_second_filter, TC_CLAUSE_FS_WRITE},
    {"seccomp", tc_stage_filter, TC_CLAUSE_SYSCALLS},
};

const struct tc_stages tc_landlock_stages = {stages, TC_COUNT(stages), 0, tc_init_main, NULL};

static int enter_ruleset(const struct tc_init_config *init)
{
    (void)init;
    return tc_landlock_restrict(TC_INIT_RULESET);
}

/* Sends SIGTERM to the tool's process group and to the adopted orphans. */
static void terminate(const struct tc_init_config *init, pid_t tool)
{
    (void)init;
    (void)kill(-tool, SIGTERM);
    signal_children(SIGTERM);
}

static void leave(void)
{
    (void)end_children();
}

const struct tc_reaper_ops tc_landlock_reaper = {.adopt = adopt,
                                                 .enter = enter_ruleset,
                                                 .terminate = terminate,
                                                 .end = end_children,
                                                 .leave = leave,
                                                 .watches = true};
