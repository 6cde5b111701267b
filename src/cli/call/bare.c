/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { OUTPUT_MAX = 1 << 20 };

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A terminal without a user: the master must stay open as long as the program lives. */
static int open_terminal(char *name, size_t size)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master >= 0 && (grantpt(master) || unlockpt(master) || ptsname_r(master, name, size))) {
        (void)close(master);
        return -1;
    }
    return master;
}

/* The first terminal that a session's leader opens becomes its controlling one. */
static int spawn(const char *const argv[], const char *terminal, int out, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    int rc = posix_spawnattr_init(&attributes);
    if (!rc) {
        rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
        if (!rc)
            rc = posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0);
        if (!rc)
            rc = posix_spawn_file_actions_adddup2(&actions, out, 1);
        if (!rc)
            rc = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (!rc)
            rc = posix_spawn(ret, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                             environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = rc;
    return rc ? -1 : 0;
}

static void read_output(int in, int64_t until, struct tc_bare *bare)
{
    while (bare->length < OUTPUT_MAX) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        int64_t left = until - now_ms();
        if (left <= 0 || poll(&ready, 1, (int)left) <= 0)
            return;
        ssize_t n = read(in, bare->output + bare->length, OUTPUT_MAX - bare->length);
        if (n <= 0)
            return;
        bare->length += (size_t)n;
    }
}

int tc_bare_run(const char *const argv[], int timeout_ms, struct tc_bare *ret)
{
    char name[64];
    int ends[2];
    _autofd_ int master = open_terminal(name, sizeof(name));
    if (master < 0 || pipe2(ends, O_CLOEXEC))
        return -1;
    _autofd_ int in = ends[0];
    *ret = (struct tc_bare){.output = calloc(1, OUTPUT_MAX + 1)};
    int rc = ret->output ? spawn(argv, name, ends[1], &ret->pid) : -1;
    (void)close(ends[1]);
    if (rc)
        return -1;
    read_output(in, now_ms() + timeout_ms, ret);
    (void)kill(ret->pid, SIGTERM);
    return 0;
}

void tc_bare_end(struct tc_bare *bare)
{
    if (bare->pid > 0) {
        (void)kill(-bare->pid, SIGKILL);
        (void)kill(bare->pid, SIGKILL);
        while (waitpid(bare->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(bare->output);
    *bare = (struct tc_bare){0};
}
