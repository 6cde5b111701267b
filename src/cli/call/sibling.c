/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/sibling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_safe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

char *tc_sibling_place(const char *place)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n < 0 ? 0 : n] = '\0';
    const char *slash = strrchr(self, '/');
    return slash ? tc_cli_format("%.*s/%s", (int)(slash - self), self, place) : NULL;
}

/* -1: it is missing, or other users could modify it. */
static int open_safe(const char *place)
{
    _autofree_ char *path = tc_sibling_place(place);
    _autofd_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    int ret = fd >= 0 && is_safe(fd) ? fd : -1;
    if (ret >= 0)
        fd = -1;
    return ret;
}

int tc_sibling_find(const char *name)
{
    int fd = open_safe(name);
    _autofree_ char *installed = fd < 0 ? tc_cli_format("../libexec/toolcage/%s", name) : NULL;
    return fd < 0 && installed ? open_safe(installed) : fd;
}

int tc_sibling_open(const char *name, const char *what, struct tc_failure *failure)
{
    int fd = tc_sibling_find(name);
    if (fd >= 0)
        return fd;
    _autofree_ char *hint = tc_cli_format(
        "reinstall toolcage; %s must belong to root (or to you) and have mode 0755", name);
    return tc_failure_set(failure, TOOLCAGE_EHELPER, hint, "%s, %s, is not installed with toolcage",
                          name, what);
}

/* Blocks the signals until the program handles them: it must end in order once its address was
 * printed. */
static void hold_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

int tc_sibling_become(int program, char *const argv[], char *const env[], const int *fds,
                      size_t count, struct tc_failure *failure)
{
    enum { FIRST = 3, MOST = 4, ABOVE = 10 };
    int copies[MOST], self = fcntl(program, F_DUPFD_CLOEXEC, ABOVE);
    bool good = self >= 0 && count <= MOST;
    for (size_t i = 0; good && i < count; i++)
        good = (copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE)) >= 0;
    for (size_t i = 0; good && i < count; i++)
        good = dup2(copies[i], FIRST + (int)i) >= 0;
    hold_signals();
    if (good)
        (void)fexecve(self, argv, env);
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "reinstall toolcage",
                          "%s cannot be started: %s", argv[0], strerror(errno));
}
