/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whether the place where the helper runs lets anybody make a cage with namespaces. */
#include <errno.h>
#include <sched.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "cage/cage.h"

/* Does this say that the place forbids namespaces for good? What passes by, like a lack of memory
 * or of free namespaces, must not lead to less cage. */
static bool forbids(int64_t errnum)
{
    return errnum == EPERM || errnum == EACCES || errnum == ENOSYS || errnum == EINVAL;
}

/* In the place of a cage's child: the two steps that places forbid although they allow the
 * namespaces. Nothing of it is left when the process ends. */
static int try_steps(void)
{
    int fs = tc_fsopen("proc");
    if (fs < 0 || tc_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0 || tc_fsmount(fs, 0) < 0)
        return forbids(errno) ? 1 : 2;
    if (tc_pivot_root(".", ".") < 0 && forbids(errno) && errno != EINVAL)
        return 1;
    return 0;
}

static int try_child(void)
{
    struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                       CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                                       CLONE_CLEAR_SIGHAND,
                              .exit_signal = SIGCHLD};
    int status = 0;
    pid_t pid = tc_clone3(&args);
    if (pid == 0)
        _exit(try_steps());
    if (pid < 0)
        return forbids(errno) ? 1 : 2;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* A full cage, unless it is sure that there can be none. */
static bool whole(struct tc_process_host *h)
{
    if (h->whole)
        return h->whole > 0;
    int answer = try_child();
    if (answer < 2)
        h->whole = answer ? -1 : 1;
    return answer != 1;
}

bool tc_place_forbids(void)
{
    struct tc_outcome found = {0};
    struct tc_process_host *host;
    int rc = tc_process_host_get(&found, &host);
    bool never = rc < 0 ? forbids(found.failure.errnum) : !whole(host);
    tc_outcome_done(&found);
    return never;
}
