/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stands in for the helper: says what it was born with, then waits for its host to hang up. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "birth.h"

extern char **environ;

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        count += e->d_name[0] != '.' && atoi(e->d_name) > 4 && atoi(e->d_name) != dirfd(dir);
    return dir ? count : -1;
}

static int count_null(void)
{
    int count = 0;
    struct stat st;
    for (int fd = 0; fd < 3; fd++)
        count += fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
    return count;
}

static int is_pidfd(int fd)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return readlink(path, text, sizeof(text) - 1) > 0 && strstr(text, "pidfd") != NULL;
}

static void count_signals(struct birth *b)
{
    sigset_t blocked;
    struct sigaction action;
    (void)sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int sig = 1; sig < NSIG; sig++) {
        b->blocked += sigismember(&blocked, sig) == 1;
        b->ignored += sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
}

int main(int argc, char **argv)
{
    char cwd[8] = "";
    struct birth b = {.argc = argc,
                      .null_descriptors = count_null(),
                      .other_descriptors = count_descriptors(),
                      .host_is_pidfd = is_pidfd(4),
                      .leads_session = getsid(0) == getpid(),
                      .in_root = getcwd(cwd, sizeof(cwd)) && strcmp(cwd, "/") == 0,
                      .parent = getppid(),
                      .pid = getpid()};
    while (environ[b.environment])
        b.environment++;
    count_signals(&b);
    if (send(3, &b, sizeof(b), 0) != sizeof(b))
        return 1;
    char rest;
    return read(3, &rest, 1) < 0;
}
