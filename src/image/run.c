/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/run.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "base/sys.h"
#include "progress/progress.h"
#include "spawn/spawn.h"
#include "state/store.h"

/* The subreaper waits 10 s before SIGKILL, and needs some time after it. */
enum { SECOND_US = 1000000, GRACE_MS = 30000, SLICE_MS = 1000, WATCH_MS = 100 };
enum { FILE_MORE = 32 << 20 }; /* so that the size watch, which explains the error, comes first */

static bool make_environment(const struct tc_run *run, struct tc_strv *ret)
{
    bool fine = tc_spawn_environment(ret) && tc_strv_add(ret, "DEBIAN_FRONTEND=noninteractive");
    for (size_t i = 0; fine && run->env && run->env[i]; i++)
        fine = tc_strv_add(ret, run->env[i]);
    return fine;
}

struct start {
    const struct tc_run *run;
    struct tc_spawn program;
};

/* Makes mounts private. Without the right to unshare, the program cannot mount either. */
static bool hide_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 ? mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0
                                     : errno == EPERM;
}

/* Limits single files, which could grow faster than the watch looks. */
static bool bound_files(const struct tc_run *run)
{
    struct rlimit most;
    rlim_t room = (rlim_t)run->room + FILE_MORE;
    if (!run->made)
        return true;
    if (getrlimit(RLIMIT_FSIZE, &most) < 0)
        return false;
    most.rlim_max = most.rlim_max < room ? most.rlim_max : room;
    most.rlim_cur = most.rlim_cur < room ? most.rlim_cur : room;
    return setrlimit(RLIMIT_FSIZE, &most) == 0;
}

/* In its own process group: a terminal's ^C goes to the subreaper, which ends the program in order.
 */
static void become(const void *ud)
{
    const struct start *s = ud;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && setpgid(0, 0) == 0 &&
        (!s->run->mounts || hide_mounts()) && bound_files(s->run))
        (void)tc_spawn_become(&s->program);
    _exit(127);
}

/* Reads what is available, for at most a slice. False: end of file. */
static bool take_output(int from, struct tc_buf *out, int slice_ms)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int n = poll(&ready, 1, slice_ms);
    if (n <= 0)
        return n == 0 || errno == EINTR;
    char *room = tc_buf_room(out, 1 << 16);
    ssize_t got = room ? read(from, room, 1 << 16) : 0;
    if (got > 0) {
        out->len += (size_t)got;
        room[got] = '\0';
    }
    return got > 0;
}

/* True: the program has ended. */
static bool child_ended(pid_t child, int pidfd, int wait_ms, int *ret_status)
{
    struct pollfd ready = {.fd = pidfd, .events = POLLIN};
    (void)poll(&ready, 1, wait_ms);
    return waitpid(child, ret_status, WNOHANG) == child;
}

static bool is_too_large(const struct tc_run *run)
{
    int64_t size = run->made ? tc_tree_bytes(run->place, run->made) : 0;
    tc_progress_step(size >> 20, 0);
    return (run->output && run->output->failed) || size > run->room;
}

enum end { ENDED, LATE, LARGE };

static enum end await(pid_t child, int pidfd, int from, const struct tc_run *run, int *ret_status)
{
    int64_t until = tc_now_us() + (int64_t)run->seconds * SECOND_US;
    int slice = run->made ? WATCH_MS : SLICE_MS;
    enum end end = LATE;
    while (end == LATE && tc_now_us() < until) {
        if (from >= 0 && !take_output(from, run->output, slice))
            from = -1;
        if (child_ended(child, pidfd, from >= 0 ? 0 : slice, ret_status)) {
            while (from >= 0 && take_output(from, run->output, slice))
                ;
            return is_too_large(run) ? LARGE : ENDED;
        }
        if (is_too_large(run))
            end = LARGE;
    }
    (void)kill(child, SIGTERM);
    if (!child_ended(child, pidfd, GRACE_MS, ret_status)) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, ret_status, 0);
    }
    return end;
}

static int fail_program(const char *name, const char *hint, struct toolcage_error **err,
                        const char *how, int number)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "run", name, hint), "%s %s %d", name, how,
                   number);
}

/* errno: why the program cannot be used. */
static int fail_missing(const char *name, const char *hint, struct toolcage_error **err)
{
    if (errno != EPERM)
        return tc_fail(err, TC_WHY(TOOLCAGE_EBACKEND, "run", name, hint),
                       "the program %s is not installed here", name);
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EDENIED, "run", name,
                          "install it again, and grant no tool its directory for writing"),
                   "a tool may have written the program %s: it is in a directory that a tool could "
                   "write",
                   name);
}

/* Finds the program and those that it runs, each in its variable. NULL, or the name of an unusable
 * one, with errno. */
static const char *find_programs(const struct tc_run *run, struct tc_strv *env, char **ret_path)
{
    _autoprovenance_ struct tc_provenance writers;
    bool known = tc_provenance_here(&writers, NULL, NULL);
    *ret_path = known ? tc_spawn_find(&writers, run->argv[0]) : NULL;
    if (!*ret_path)
        return run->argv[0];
    for (const char *const *name = run->programs; name && *name; name++) {
        _autofree_ char *path = tc_spawn_find(&writers, *name);
        char *pair = path ? tc_format("%s=%s", *name, path) : NULL;
        for (char *at = pair; at && *at != '='; at++)
            *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
        if (!tc_strv_take(env, pair))
            return *name;
    }
    return NULL;
}

int tc_run(const struct tc_run *run, struct toolcage_error **err)
{
    const char *name = run->programs ? run->programs[0] : run->argv[0];
    _autostrv_ struct tc_strv env = {0};
    _autofree_ char *path = NULL;
    int pair[2] = {-1, -1}, pidfd = -1, status = 0;
    const char *missing = find_programs(run, &env, &path);
    if (missing)
        return fail_missing(missing, run->hint, err);
    if (!make_environment(run, &env))
        return tc_fail_memory(err);
    if (run->output && pipe2(pair, O_CLOEXEC) < 0)
        return fail_program(name, "see ulimit -n", err, "cannot have a pipe: errno", errno);
    _autofd_ int from = pair[0], to = pair[1];
    tc_progress_end();
    const struct start start = {run,
                                {.path = path,
                                 .argv = (char *const *)(uintptr_t)run->argv,
                                 .env = env.items,
                                 .in = -1,
                                 .out = to}};
    pid_t self = getpid(), child = tc_fork(&pidfd);
    if (child == 0)
        tc_subreaper_run(self, become, &start);
    if (child < 0)
        return fail_program(name, "see ulimit -u", err, "cannot be started: errno", errno);
    _autofd_ int watched = pidfd;
    if (to >= 0)
        (void)close(TAKE_FD(to));
    if (run->silent)
        tc_progress_start(name, "MiB");
    enum end end = await(child, watched, from, run, &status);
    tc_progress_end();
    if (end == LARGE)
        return fail_program(name, run->large ? run->large : "its messages are above", err,
                            "was stopped after it had created more than these MiB:",
                            (int)((run->made ? run->room : (int64_t)run->output->max) >> 20));
    if (end == LATE)
        return fail_program(name, "try again when the host and the network are less busy", err,
                            "was stopped; it had not finished after seconds:", run->seconds);
    if (WIFSIGNALED(status))
        return fail_program(name, "its messages are above", err, "ended by signal",
                            WTERMSIG(status));
    if (WEXITSTATUS(status))
        return fail_program(name, run->failed ? run->failed : "its messages are above", err,
                            "failed with exit code", WEXITSTATUS(status));
    return 0;
}
