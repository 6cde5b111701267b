/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Ends what a tool started, where no PID namespace does. */
#include "backend/landlock/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sys.h"

static const char children[] = "/proc/thread-self/children";

enum { ROUNDS = 5000, PAUSE_NS = 1000000 };

bool tc_orphans_known(void)
{
    return access(children, R_OK) == 0;
}

int tc_orphans_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* A number that is cut by the end of the buffer comes whole in the next round. */
void tc_orphans_signal(int sig)
{
    static char text[64 * 1024];
    _autofd_ int fd = open(children, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    char *at = text, *end;
    text[n < 0 ? 0 : n] = '\0';
    for (long pid = strtol(at, &end, 10); end != at && *end == ' '; pid = strtol(at, &end, 10)) {
        (void)kill((pid_t)pid, sig); /* our own child, not reaped: the number is still its */
        at = end + 1;
    }
}

/* The children of a killed one come to us and are killed in the next round. */
bool tc_orphans_end(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid;
        tc_orphans_signal(SIGKILL);
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}
