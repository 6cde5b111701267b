/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "spawn/run.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawn/spawn.h"

static int await(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tc_spawn_run(const char *name, const char *const *words)
{
    _autostrv_ struct tc_strv argv = {0}, env = {0};
    _autoprovenance_ struct tc_provenance writers;
    bool fine = tc_provenance_here(&writers, NULL, NULL) && tc_spawn_environment(&env) &&
                tc_strv_add(&argv, name);
    for (; fine && *words; words++)
        fine = tc_strv_add(&argv, *words);
    errno = ENOMEM;
    _autofree_ char *path = fine ? tc_spawn_find(&writers, name) : NULL;
    if (!path)
        return -1;
    const struct tc_spawn s = {
        .path = path, .argv = argv.items, .env = env.items, .in = -1, .out = -1};
    pid_t pid = fork();
    if (pid == 0) {
        (void)tc_spawn_become(&s);
        _exit(127);
    }
    return pid < 0 ? -1 : await(pid);
}
